package cli

import (
	"bufio"
	"cmp"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/pflag"

	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/cmd/clew/internal/agentcli"
	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/termio"
	"github.com/clewdev/clew/cmd/clew/internal/tui"
	"github.com/clewdev/clew/internal/timelimit"
	"github.com/clewdev/clew/internal/utcday"
)

// discardTyped is termio.Discard before it is replaced.
var discardTyped = termio.Discard

func TestMain(m *testing.M) {
	applyTestVariables()
	termio.DrawsLines = func() bool { return false } // whatever the locale is
	timelimit.Lift()
	testscript.Main(scriptedMain{m}, map[string]func(){
		"claude":       playScriptedAgent,
		"claude-agent": playScriptedAgent,
		"clew":         func() { os.Exit(Main(os.Args[1:], Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})) },
		"onterminal":   onTerminal,
	})
}

// scriptedMain are the tests with a quick program claude.
type scriptedMain struct{ *testing.M }

func (m scriptedMain) Run() int {
	_ = os.Setenv("TERM", "xterm") // whatever the tests run in
	for _, name := range []string{"NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "ACCESSIBLE", "CLEW_COLOR", "CLEW_PAGER"} {
		_ = os.Unsetenv(name)
	}
	if path, err := exec.LookPath("claude"); err == nil && runtime.GOOS != "windows" {
		// A shell starts in a tenth of the time of this binary.
		err = errors.Join(os.Remove(path), os.WriteFile(path, []byte(quickClaude), 0o700)) //nolint:gosec // a program
		if err != nil {
			panic(err)
		}
	}
	// Most tests are over before a collection matters. A command in this process does not decide for
	// the tests after it.
	debug.SetGCPercent(400)
	setGCPercent = func(int) int { return 400 }
	return m.M.Run()
}

// quickClaude is playScriptedAgent in a shell.
const quickClaude = `#!/bin/sh
if [ -n "$` + scripted + `CLEWTEST_AGENT" ] && [ -z "$` + chatAgentVariable + `" ]; then
	[ "$*" != --version ] || { echo '` + clewtest.AgentVersion + ` (Claude Code)'; exit; }
	export CLEWTEST_AGENT="$` + scripted + `CLEWTEST_AGENT" GORACE="$` + scripted + `GORACE"
fi
exec "${0%/*}/claude-agent" "$@"
`

// applyTestVariables makes the program do what variables of the environment ask for.
func applyTestVariables() {
	firstRetry = 10 * time.Millisecond
	utcday.Of = func(time.Time) string { return "2026-11-02" } // no test meets midnight
	if os.Getenv("TEST_CONSOLE") == "" {                       // people who run the tests are not asked
		termio.Open = func() (in, out *os.File, err error) { return nil, nil, os.ErrNotExist }
	}
	if os.Getenv("TEST_DISCARD") == "" { // scripts type ahead
		termio.Discard = func(*os.File) {}
	}
	if clock := os.Getenv("TEST_CLOCK"); clock != "" { // then nothing takes any time, on a busy machine either
		stopped, err := time.Parse(time.RFC3339, clock)
		if err != nil {
			stopped = time.Now()
		}
		clikit.Now = func() time.Time { return stopped }
	}
	clikit.ShowProgressAtOnce(os.Getenv("TEST_PROGRESS") != "") // then every command is slow
	if os.Getenv(chatAgentVariable) != "" {                     // this agent reports every call before it asks
		agentcli.ToolLimit = time.Hour
		tui.FocusPause = time.Hour // questions are answered with keys
	}
	// Tests do not read the user's settings. Scripts have a separate home, and may have system
	// settings. Others run in this repository, in which a developer may have agent settings.
	systemSettingsDir, userSettingsDir = cmp.Or(os.Getenv("SCRIPT_ETC"), "/nowhere"), os.UserConfigDir
	if os.Getenv("TESTDATA") == "" {
		userSettingsDir = func() (string, error) { return "", errors.New("not in tests") }
		_ = os.Setenv("CLEW_TRUSTED_DIRS", string(filepath.Separator)) // a test that then asks fails
	}
}

func TestScript(t *testing.T) {
	testdata, err := filepath.Abs("../../../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	testscript.RunT(scriptT{t}, testscript.Params{
		Dir:                 scriptDir(t),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"agent":    scriptAgent,
			"exits":    scriptExits,
			"feeds":    scriptFeeds,
			"fleet":    scriptFleetUp,
			"job":      scriptJob,
			"launch":   scriptLaunch,
			"runs":     scriptRuns,
			"sets":     scriptSets,
			"unescape": scriptUnescape,
		},
		Condition: func(name string) (bool, error) {
			if name != "root" {
				return false, errors.New("unknown condition")
			}
			return os.Geteuid() == 0, nil // whom permissions do not stop
		},
		Setup: func(env *testscript.Env) error {
			env.Values[testKey{}] = env.T()
			env.Values[agentKey{}] = &scriptedAgent{}
			env.Values[fleetKey{}] = &scriptFleet{}
			env.Setenv("TESTDATA", testdata)
			env.Setenv("PAGER", "cat")
			env.Setenv("TERM", "xterm")
			env.Setenv("XDG_RUNTIME_DIR", env.WorkDir)
			env.Setenv("XDG_STATE_HOME", env.WorkDir)
			env.Setenv("TEST_CLOCK", "1")
			env.Setenv("GORACE", "atexit_sleep_ms=0") // the race detector waits a second at each exit
			env.Values[scriptKey{}] = &scriptState{env: slices.Clone(env.Vars)}
			return nil
		},
	})
}

// scriptExits runs "exits CODE PROGRAM ARGS...".
func scriptExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM [ARGS]")
	}
	code := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	checkCode(ts, args[0], code)
}

func checkCode(ts *testscript.TestScript, want string, code int) {
	if want != strconv.Itoa(code) {
		ts.Fatalf("exit code %d, want %s", code, want)
	}
}

// scriptUnescape runs "unescape SOURCE TARGET": it copies a file and resolves the escapes of Go
// strings, for bytes that a script cannot hold.
func scriptUnescape(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: unescape SOURCE TARGET")
	}
	var text strings.Builder
	lines := bufio.NewScanner(strings.NewReader(ts.ReadFile(args[0])))
	for lines.Scan() {
		line, err := strconv.Unquote(`"` + strings.ReplaceAll(lines.Text(), `"`, `\"`) + `"`)
		ts.Check(err)
		text.WriteString(line + "\n")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text.String()), 0o600))
}

// Each flag of each command that the help shows is used in a script.
func TestScriptsUseAllFlags(t *testing.T) {
	t.Parallel()
	lines := scriptLines(t)
	for _, cmd := range commandsOf(newRoot(Streams{})) {
		name := cmd.CommandPath() + " "
		used := map[string]bool{"--help": true} // by all
		for _, line := range lines {
			// Chat starts the agent with the same options as run.
			line = strings.Replace(line+" ", "clew run ", "clew run clew chat ", 1)
			if _, args, ok := strings.Cut(line, name); ok {
				for _, flag := range flagPattern.FindAllStringSubmatch(args, -1) {
					used[flag[1]] = true
				}
			}
		}
		cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && !used["--"+f.Name] && !used["-"+f.Shorthand] {
				t.Errorf("no script has %s--%s", name, f.Name)
			}
		})
	}
}

// Scripts end with each code that there is.
func TestScriptsEndWithAllCodes(t *testing.T) {
	t.Parallel()
	all := strings.Join(scriptLines(t), "\n")
	for _, code := range []string{"exec clew", "exits 1 ", "exits 2 ", "exits 3 ", "exits 4 ", "exits 130 "} {
		if !strings.Contains(all, code) {
			t.Errorf("no script has %s", code)
		}
	}
}

var flagPattern = regexp.MustCompile(`(?:^|[ '"])(--?[a-zA-Z][a-zA-Z-]*)`)

// scriptLines returns the commands in all scripts, and not the files in them.
func scriptLines(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d scripts, %v", len(paths), err)
	}
	var lines []string
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		commands, _, _ := strings.Cut(string(text), "\n-- ")
		lines = append(lines, strings.Split(commands, "\n")...)
	}
	return lines
}
