package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/clewdev/clew/clewtest"
	"github.com/rogpeppe/go-internal/testscript"
)

// testKey is the key of the test that a script belongs to.
type testKey struct{}

// scripted begins the names of the variables that make the program claude a
// simulated agent. Under their own names they would make one of clew, too, which is
// the same binary.
const scripted = "SCRIPTED_"

// scriptAgent runs "agent [-lenient] DIALOGUE": from here on the program claude plays it,
// a lenient one as far as it gets.
func scriptAgent(ts *testscript.TestScript, neg bool, args []string) {
	t, ok := ts.Value(testKey{}).(testing.TB)
	if !ok {
		ts.Fatalf("the script belongs to no test")
	}
	if len(args) > 1 && args[0] == "-lenient" {
		t, args = lenient{t}, args[1:]
	}
	if neg || len(args) != 1 {
		ts.Fatalf("usage: agent [-lenient] DIALOGUE")
	}
	agent := clewtest.NewAgent(t, clewtest.LoadDialogue(t, ts.MkAbs(args[0])))
	for _, variable := range agent.Env() {
		name, value, _ := strings.Cut(variable, "=")
		ts.Setenv(scripted+name, value)
	}
	agents, _ := ts.Value(agentKey{}).(*scriptedAgent)
	agents.Agent = agent
}

// A lenient test lets an agent be interrupted or left at any time.
type lenient struct{ testing.TB }

func (l lenient) Errorf(format string, args ...any) { l.Logf(format, args...) }

func (l lenient) Error(args ...any) { l.Log(args...) }

// agentKey is the key of the scriptedAgent of a script, the one that plays now.
type agentKey struct{}

type scriptedAgent struct{ *clewtest.Agent }

var initialized = regexp.MustCompile(`(?m)^> (.*"subtype":"initialize".*)$`)

// scriptLaunch runs "launch": it writes the arguments that the agent was last started
// with to the file argv, one per line, and the initialize request that it got to the
// file initialize.
func scriptLaunch(ts *testscript.TestScript, neg bool, args []string) {
	agent, _ := ts.Value(agentKey{}).(*scriptedAgent)
	if neg || len(args) > 0 || agent.Agent == nil {
		ts.Fatalf("usage: launch, behind agent")
	}
	request := initialized.FindStringSubmatch(agent.Dialogue())
	if request == nil {
		ts.Fatalf("the agent got no initialize request")
	}
	argv := strings.Join(agent.Args(), "\n") + "\n"
	ts.Check(os.WriteFile(ts.MkAbs("argv"), []byte(argv), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("initialize"), []byte(request[1]+"\n"), 0o600))
}

// playScriptedAgent is the program claude.
func playScriptedAgent() {
	path, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	cmd := exec.Command(path, os.Args[1:]...) //nolint:noctx // it ends with its input
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	for _, variable := range os.Environ() {
		if own, ok := strings.CutPrefix(variable, scripted); ok {
			cmd.Env = append(cmd.Env, own)
		}
	}
	if len(cmd.Env) == 0 {
		fmt.Fprintln(os.Stderr, "the script has no agent")
		os.Exit(1)
	}
	cmd.Env = append(os.Environ(), cmd.Env...)
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		os.Exit(exit.ExitCode())
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
