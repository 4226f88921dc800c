package cli

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/pflag"
)

func TestMain(m *testing.M) {
	if os.Getenv("TEST_CONSOLE") == "" { // those who run the tests are not asked
		openConsole = func() (in, out *os.File, err error) { return nil, nil, os.ErrNotExist }
	}
	if os.Getenv("TEST_DISCARD") == "" { // scripts type ahead
		discardInput = func(*os.File) {}
	}
	drawsLines = func() bool { return false } // whatever the locale is
	for _, limit := range []*time.Duration{
		&stopLimit, &contextLimit, &tidyLimit, &completionLimit, &checkLimit, &versionLimit,
	} {
		*limit = time.Hour
	}
	if os.Getenv("TEST_CLOCK") != "" { // then nothing takes any time, on a busy machine either
		stopped := time.Now()
		clock = func() time.Time { return stopped }
	}
	if os.Getenv(chatAgentVariable) != "" { // this agent reports every call before it asks
		toolLimit = time.Hour
	}
	testscript.Main(m, map[string]func(){
		"claude": playScriptedAgent,
		"clew":   func() { os.Exit(Main(os.Args[1:], Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})) },
	})
}

func TestScript(t *testing.T) {
	testdata, err := filepath.Abs("../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"agent":    scriptAgent,
			"exits":    scriptExits,
			"fleet":    scriptFleetUp,
			"job":      scriptJob,
			"launch":   scriptLaunch,
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
			env.Setenv("XDG_RUNTIME_DIR", env.WorkDir)
			env.Setenv("XDG_STATE_HOME", env.WorkDir)
			env.Setenv("TEST_CLOCK", "1")
			env.Setenv("GORACE", "atexit_sleep_ms=0") // the race detector waits a second at each exit
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
	if args[0] != strconv.Itoa(code) {
		ts.Fatalf("exit code %d, want %s", code, args[0])
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

// scriptLines returns the commands of all scripts, and not the files in them.
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
