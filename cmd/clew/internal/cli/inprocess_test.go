package cli

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/clewdev/clew/cmd/clew/internal/agentcli"
	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/termio"
	"github.com/clewdev/clew/cmd/clew/internal/tui"
	"github.com/clewdev/clew/internal/soak"
)

// An invocation is the program with the arguments, the directory, the environment and the streams of
// a process.
type invocation struct {
	args []string
	dir  string
	env  []string
	Streams
}

// run runs the program in this process, which costs a tenth of a process. The directory and the
// environment belong to all goroutines: nothing else may run at once. "make test-rest" runs what
// uses it with processes.
func (i *invocation) run(ctx context.Context, tb testing.TB) (code int) {
	tb.Helper()
	program, err := exec.LookPath("clew")
	if err != nil {
		tb.Fatal(err)
	}
	before, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	environment, zone, local := os.Environ(), time.Local, localZone(tb)
	processors, pause := runtime.GOMAXPROCS(0), tui.FocusPause
	defer func() { runtime.GOMAXPROCS(processors); tui.FocusPause = pause }()
	defer restoreVariables(executable, termio.Open, termio.Discard, clikit.Now, agentcli.ToolLimit, systemSettingsDir, userSettingsDir)
	defer func() {
		setEnvironment(tb, environment)
		time.Local = zone //nolint:gosmopolitan // the zone of a process
		clikit.GivenColor, clikit.Completing, ownVariables = "", false, nil
		if err := os.Chdir(before); err != nil {
			tb.Fatal(err)
		}
	}()
	if err := os.Chdir(i.dir); err != nil {
		tb.Fatal(err)
	}
	setEnvironment(tb, append(i.env, "PWD="+i.dir))
	time.Local = local //nolint:gosmopolitan // the zone of a process
	if name, ok := os.LookupEnv("TZ"); ok {
		if time.Local, err = time.LoadLocation(name); err != nil { //nolint:gosmopolitan // the zone of a process
			time.Local = time.UTC //nolint:gosmopolitan // as in a process
		}
	}
	executable = func() (string, error) { return program, nil }
	clikit.GivenColor, ownVariables = "", nil
	applyTestVariables()
	return execute(ctx, i.args, i.Streams)
}

// restoreVariables sets the variables that [invocation.run] and [applyTestVariables] change.
func restoreVariables(program func() (string, error), console func() (in, out *os.File, err error), discard func(*os.File),
	now func() time.Time, limit time.Duration, system string, user func() (string, error),
) {
	executable, termio.Open, termio.Discard, clikit.Now, agentcli.ToolLimit = program, console, discard, now, limit
	clikit.ShowProgressAtOnce(false)
	systemSettingsDir, userSettingsDir = system, user
}

// setEnvironment replaces the environment of this process.
func setEnvironment(tb testing.TB, env []string) {
	tb.Helper()
	os.Clearenv()
	for _, variable := range env {
		if name, value, _ := strings.Cut(variable, "="); name != "" {
			if err := os.Setenv(name, value); err != nil { //nolint:usetesting // it is set back after each run, not after the test
				tb.Fatal(err)
			}
		}
	}
}

// localZone returns the zone of a process whose environment names none.
func localZone(tb testing.TB) *time.Location {
	tb.Helper()
	data, err := os.ReadFile("/etc/localtime")
	if err != nil {
		return time.UTC
	}
	zone, err := time.LoadLocationFromTZData("Local", data)
	if err != nil {
		tb.Fatal(err)
	}
	return zone
}

// startsProcesses reports whether tests start the program as a process even if the process is not
// their subject. With the race detector they do, since the time zone belongs to all goroutines.
func startsProcesses() bool {
	return soak.Raced || soak.RestRunning() || os.Getenv("UPDATE_SCRIPTS") != ""
}

// slowScripts start processes, and run at once: most of their commands have a terminal.
var slowScripts = []string{"demo_terminal", "doctor_terminal", "run_terminal", "terminal"}

// A scriptT is the test of scripts, which run one after the other if they share this process.
type scriptT struct{ *testing.T }

func (t scriptT) Parallel() {
	if _, script, _ := strings.Cut(t.Name(), "/"); startsProcesses() || slices.Contains(slowScripts, script) {
		t.T.Parallel()
	}
}

func (t scriptT) Run(name string, f func(testscript.T)) {
	t.T.Run(name, func(t *testing.T) { f(scriptT{t}) })
}

func (t scriptT) Verbose() bool { return testing.Verbose() }

// scriptDir returns the directory of the scripts. Unless tests start processes, the scripts are
// copies that run the program in this process.
func scriptDir(t *testing.T) string {
	t.Helper()
	const dir = "testdata/script"
	if startsProcesses() {
		return dir
	}
	paths, err := filepath.Glob(dir + "/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d scripts, %v", len(paths), err)
	}
	copies := t.TempDir()
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(path)
		if !slices.Contains(slowScripts, strings.TrimSuffix(name, ".txtar")) {
			text = []byte(inProcess(string(text)))
		}
		if err := os.WriteFile(filepath.Join(copies, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return copies
}

// inProcess returns a script with "runs" instead of "exec" and "exits" where the program neither has
// a terminal nor runs in the background, and with "feeds" instead of "stdin" before those.
func inProcess(script string) string {
	commands, files, found := strings.Cut(script, "\n-- ")
	lines := strings.Split(commands, "\n")
	input := -1 // the line with the input of the next command
	for i, line := range lines {
		verb, rest, _ := strings.Cut(line, " ")
		switch _, condition, conditional := strings.Cut(line, "] "); {
		case verb == "stdin":
			input = i
			continue
		case verb == "env":
			lines[i] = "sets " + rest
			continue
		case strings.HasPrefix(condition, "env "):
			lines[i] = strings.Replace(line, "] env ", "] sets ", 1)
			continue
		case verb == "exec" && strings.HasPrefix(rest, "clew") && !strings.HasSuffix(rest, "&"):
			line = "runs 0 " + rest
		case verb == "exits" && strings.HasPrefix(strings.TrimLeft(rest, "0123456789"), " clew "):
			line = "runs " + rest
		case strings.HasPrefix(line, "[") && conditional && !strings.HasPrefix(condition, "exec") && !strings.HasPrefix(condition, "exits"),
			verb != "exec" && verb != "exits" && verb != "!" && !strings.HasPrefix(line, "["):
			continue // it starts nothing
		default:
			input = -1
			continue
		}
		if input >= 0 {
			lines[input] = "feeds " + strings.TrimPrefix(lines[input], "stdin ")
		}
		lines[i], input = line, -1
	}
	if found {
		lines = append(lines, "-- "+files)
	}
	return strings.Join(lines, "\n")
}

// scriptKey is the key of the scriptState of a script.
type scriptKey struct{}

// A scriptState is the state of the program in a script.
type scriptState struct {
	env   []string
	input string // of the next program
}

// setScriptEnv sets a variable of a script.
func setScriptEnv(ts *testscript.TestScript, name, value string) {
	ts.Setenv(name, value)
	if state, ok := ts.Value(scriptKey{}).(*scriptState); ok {
		state.env = append(state.env, name+"="+value)
	}
}

// scriptSets runs "sets NAME=VALUE...": it sets variables, like "env".
func scriptSets(ts *testscript.TestScript, neg bool, args []string) {
	for _, variable := range args {
		name, value, ok := strings.Cut(variable, "=")
		if neg || !ok {
			ts.Fatalf("usage: env NAME=VALUE...")
		}
		setScriptEnv(ts, name, value)
	}
}

// scriptFeeds runs "feeds FILE": the program that "runs" runs next reads the file.
func scriptFeeds(ts *testscript.TestScript, neg bool, args []string) {
	state, ok := ts.Value(scriptKey{}).(*scriptState)
	if neg || !ok || len(args) != 1 {
		ts.Fatalf("usage: feeds FILE")
	}
	state.input = ts.ReadFile(args[0])
}

// scriptRuns runs "runs CODE clew ARGS...": it runs the program in this process.
func scriptRuns(ts *testscript.TestScript, neg bool, args []string) {
	t, ok := ts.Value(testKey{}).(testing.TB)
	state, has := ts.Value(scriptKey{}).(*scriptState)
	if neg || !ok || !has || len(args) < 2 {
		ts.Fatalf("usage: runs CODE clew [ARGS]")
	}
	i := invocation{args: args[2:], dir: ts.MkAbs("."), env: state.env}
	i.Streams = Streams{In: strings.NewReader(state.input), Out: ts.Stdout(), Err: ts.Stderr()}
	state.input = ""
	checkCode(ts, args[0], i.run(t.Context(), t))
}
