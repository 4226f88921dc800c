package clewtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clewdev/clew/internal/simagent"
)

// agentVariable makes a test binary an agent. Its value is the address of the test, the secret, and
// the role.
const agentVariable = "CLEWTEST_AGENT"

// The roles of a process that a test started.
const (
	roleAgent      = "agent"
	roleGrandchild = "grandchild"
)

// endGrace is the time a process that can't interrupt its reading may read the rest of its input
// after the test.
const endGrace = 500 * time.Millisecond

// errTestEnded is the error of an agent that read all of its input when the test ends.
var errTestEnded = errors.New("the test ended")

// A test binary that is started as an agent plays its scenario and exits here, before flags are
// parsed and tests run. Any other program that links this package is not affected by the variable.
func init() {
	if value := os.Getenv(agentVariable); value != "" && testing.Testing() {
		if slices.Equal(os.Args[1:], []string{"--version"}) { // a host asks before it starts the agent
			fmt.Println(AgentVersion, "(Claude Code)")
			os.Exit(0)
		}
		os.Exit(processMain(value))
	}
}

// Path returns the path of the binary that is the agent: the running test binary, which must be
// started with [Agent.Env].
func (a *Agent) Path() string {
	a.t.Helper()
	path, err := os.Executable()
	if err != nil {
		a.t.Errorf("clewtest: %v", err)
	}
	return path
}

// Env returns the variables, as in [os/exec.Cmd.Env], that make the binary of [Agent.Path] the
// agent. A host must add them to the environment of its agent; they may be set in the test's own
// with t.Setenv for a host that passes that on.
//
// Every test binary that imports this package and inherits the variables becomes the agent,
// whatever its path: don't set them where tests start test binaries for another reason. It becomes
// the agent when this package is initialized. Packages that are initialized earlier run as usual,
// and their standard output comes before the agent's first frame.
//
// The process talks to the test over a loopback connection and ends when that does: with the test,
// even when the test binary is killed. It can't be used within testing/synctest, which does not
// wait for connections.
func (a *Agent) Env() []string {
	a.t.Helper()
	if !testing.Testing() {
		a.t.Errorf("clewtest: an agent as a process needs a test binary")
		return nil
	}
	h := a.listen()
	if h == nil {
		return nil
	}
	// A process with the race detector sleeps for a second before it exits, unless this is set to
	// 0.
	race := strings.TrimSpace(os.Getenv("GORACE") + " atexit_sleep_ms=0")
	return []string{agentVariable + "=" + h.address(roleAgent), "GORACE=" + race}
}

// Command returns the agent as a command with the environment of the test, not started yet. Its
// process is killed when ctx is done. The caller should wait for it after starting it: the test
// ends the process, but can't reap it.
func (a *Agent) Command(ctx context.Context, args ...string) *exec.Cmd {
	a.t.Helper()
	cmd := exec.CommandContext(ctx, a.Path(), args...)
	cmd.Env = append(os.Environ(), a.Env()...)
	return cmd
}

// processMain is the main function of a process that a test started. It returns the exit code.
func processMain(value string) int {
	l, err := dial(value)
	if err != nil {
		fmt.Fprintln(os.Stderr, "clewtest: the test is gone:", err)
		return simagent.MismatchCode
	}
	if l.role == roleGrandchild {
		<-l.gone
		return 0
	}
	s, err := simagent.ReadDialogue(strings.NewReader(l.scenario), "line ")
	if err != nil {
		fmt.Fprintln(os.Stderr, "clewtest:", err)
		return simagent.MismatchCode
	}
	return simagent.Play(s, simagent.Environment{
		Stdin:  inputUntil(l.gone),
		Stdout: outputUntil{os.Stdout, l.gone}, Stderr: outputUntil{os.Stderr, l.gone},
		Process: &process{value}, Recorder: l, Quit: l.gone,
	}).Code
}

// An outputUntil writes to a file until the test ends. From then on it writes nothing and succeeds:
// nobody may read what an agent writes, and it must not block.
type outputUntil struct {
	file *os.File
	gone <-chan struct{}
}

// Write blocks until all is written or the test ends.
func (o outputUntil) Write(p []byte) (int, error) {
	select {
	case <-o.gone:
		return len(p), nil
	default:
	}
	type result struct {
		n   int
		err error
	}
	written := make(chan result, 1)
	data := bytes.Clone(p) // it may be written after the return
	go func() {
		n, err := o.file.Write(data)
		written <- result{n, err}
	}()
	select {
	case r := <-written:
		return r.n, r.err
	case <-o.gone:
		return len(p), nil
	}
}

// exitAfterGrace ends the process some time after the test ends, for an agent whose reading can't
// be interrupted.
func exitAfterGrace(gone <-chan struct{}) {
	<-gone
	time.Sleep(endGrace)
	os.Exit(simagent.MismatchCode)
}

// A process is the [simagent.Process] of an agent that is a process.
type process struct {
	variable string // the value of agentVariable
}

// CloseStdout closes the standard output of this process.
func (*process) CloseStdout() error { return os.Stdout.Close() }

// IgnoreSIGTERM ignores SIGTERM in this process.
func (*process) IgnoreSIGTERM() { signal.Ignore(syscall.SIGTERM) }

// LeaveGrandchild starts this binary once more, with the agent's output. The new process ends with
// its connection to the test, or at once if the test ended before it could connect.
func (b *process) LeaveGrandchild() error {
	path, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(context.Background(), path)
	cmd.Env = append(os.Environ(), agentVariable+"="+strings.TrimSuffix(b.variable, roleAgent)+roleGrandchild)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Start()
}

// Kill ends this process by a signal.
func (*process) Kill(sig os.Signal) error { return killSelf(sig) }
