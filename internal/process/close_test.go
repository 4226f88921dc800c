package process

import (
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/clewtest"
)

// quick is a close timeout for agents that will not go by themselves.
const quick = 50 * time.Millisecond

// agentSpec returns a spec for a simulated agent.
func agentSpec(agent *clewtest.Agent) *Spec {
	return &Spec{Path: agent.Path(), Env: append(os.Environ(), agent.Env()...), CloseTimeout: long}
}

func TestExit(t *testing.T) {
	t.Parallel()
	scenario := func() *clewtest.Scenario { return new(clewtest.Scenario) }
	tests := []struct {
		name     string
		scenario *clewtest.Scenario
		want     Exit
		unixOnly bool
	}{
		{"at the end of input", scenario(), Exit{}, false},
		{"with a code", scenario().Exit(3), Exit{Code: 3}, false},
		{"with last words", scenario().Stderr("no key\n").Exit(1), Exit{Code: 1, Stderr: "no key\n"}, false},
		{"by SIGKILL", scenario().Do(clewtest.KilledBy(os.Kill)), Exit{Code: -1, Signal: syscall.SIGKILL}, true},
		{"by SIGSEGV", scenario().Do(clewtest.KilledBy(syscall.SIGSEGV)), Exit{Code: -1, Signal: syscall.SIGSEGV}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if test.unixOnly {
				skipOnWindows(t, "there are no signals")
			}
			p := start(t, agentSpec(clewtest.NewAgent(t, test.scenario)))
			if diff := cmp.Diff(test.want, p.Close()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !isDone(p.Done()) {
				t.Error("the agent has not exited")
			}
		})
	}
}

func TestCloseInsists(t *testing.T) {
	t.Parallel()
	skipOnWindows(t, "there are no signals")
	for role, want := range map[string]Exit{
		"hang":          {Code: -1, Signal: syscall.SIGTERM, Killed: true},
		"hang for good": {Code: -1, Signal: syscall.SIGKILL, Killed: true},
	} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			line := newLifeline(t)
			spec := child(t, role)
			spec.Env = append(spec.Env, line.env())
			spec.CloseTimeout = quick
			p := start(t, spec)
			if want.Signal == syscall.SIGTERM {
				p.signalTimeout = long
			}
			conn := line.connected()
			wantReady(t, p)
			if diff := cmp.Diff(want, p.Close()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			wantGone(t, conn)
		})
	}
}

// An agent that has more to say than the pipe holds can only exit if somebody reads.
func TestCloseDrainsOutput(t *testing.T) {
	t.Parallel()
	p := start(t, child(t, "frames at the end", "50000"))
	if diff := cmp.Diff(Exit{}, p.Close()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCloseAtOnce(t *testing.T) {
	t.Parallel()
	p := start(t, child(t, "echo"))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if diff := cmp.Diff(Exit{}, p.Close()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	all.Wait()
	if diff := cmp.Diff(Exit{}, p.Close()); diff != "" {
		t.Errorf("later (-want +got):\n%s", diff)
	}
}
