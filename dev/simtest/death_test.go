package simtest_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/screens"
)

// requests are control requests of the host that stay without an answer.
var requests = []any{
	`{"type":"control_request","request_id":"1","request":{"subtype":"mcp_status"}}`,
	`{"type":"control_request","request_id":"2","request":{"subtype":"get_settings"}}`,
	`{"type":"control_request","request_id":"3","request":{"subtype":"get_context_usage"}}`,
}

// pendingCalls are calls that wait for the same agent, and their errors.
type pendingCalls struct {
	calls sync.WaitGroup
	mu    sync.Mutex
	errs  map[string]error
}

func (v *pendingCalls) expect(name string, call func() error) {
	v.calls.Go(func() {
		err := call()
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.errs == nil {
			v.errs = map[string]error{}
		}
		v.errs[name] = err
	})
}

// expectRequests makes control requests.
func (v *pendingCalls) expectRequests(ctx context.Context, s *clew.Session) {
	v.expect("MCPStatus", func() error { return second(s.MCPStatus(ctx)) })
	v.expect("Settings", func() error { return second(screens.Settings(ctx, s)) })
	v.expect("ContextUsage", func() error { return second(screens.Context(ctx, s, nil)) })
}

// want waits for all calls and checks that their errors describe the end of the agent.
func (v *pendingCalls) want(t *testing.T, want *clew.ExitError) {
	t.Helper()
	v.calls.Wait()
	for name, err := range v.errs {
		if diff := cmp.Diff(want, wantExit(t, err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// When an agent dies, every pending and every later call fails with an error that describes its
// death.
func TestDeathFailsAll(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		death    clewtest.Fault
		want     clew.ExitError
		unixOnly bool
	}{
		"a code":  {clewtest.ExitBefore(3), clew.ExitError{Code: 3}, false},
		"no code": {clewtest.ExitBefore(0), clew.ExitError{Reason: "ended without a result"}, false},
		"SIGKILL": {clewtest.KilledBy(os.Kill), clew.ExitError{Code: -1, Signal: syscall.SIGKILL}, true},
		"SIGSEGV": {clewtest.KilledBy(syscall.SIGSEGV), clew.ExitError{Code: -1, Signal: syscall.SIGSEGV}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.unixOnly && runtime.GOOS == "windows" {
				t.Skip("there are no signals")
			}
			test.want.Stderr = "out of memory\n"
			scenario := greeted().ExpectAny(append(requests, aPrompt)...).Send(aWord).Stderr("out of memory\n").Do(test.death)
			s := connectTo(t, asProcess(clewtest.NewAgent(t, scenario)))
			ctx := t.Context()
			var calls pendingCalls
			calls.expectRequests(ctx, s)
			calls.expect("Turn", func() error {
				var last error
				for _, last = range s.Turn(ctx, clew.Text("Hi")) {
					if last == nil {
						calls.expect("Send", func() error { return second(s.Send(ctx, clew.Text(strings.Repeat("x", 1<<20)))) })
					}
				}
				return last
			})
			calls.want(t, &test.want)

			calls.expectRequests(ctx, s)
			calls.expect("Turn", func() error { return second(readOut(t, s.Turn(ctx, clew.Text("Hi")))) })
			calls.expect("Send", func() error { return second(s.Send(ctx, clew.Text("Hi"))) })
			calls.expect("Err", s.Err)
			calls.want(t, &test.want)
			// Only one loop at a time may read messages, and Turn is one.
			calls.expect("Messages", func() error { return second(readOut(t, s.Messages(ctx))) })
			calls.want(t, &test.want)
			wantClosed(t, s)
		})
	}
}

// Nobody waits for anything once the agent is dead, including callers whose writes are stuck.
func TestDeathIsSeenAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		conn := clewtest.NewAgent(t, greeted().Do(clewtest.Hang())).Conn()
		s := connectTo(t, overConn(conn))
		var calls pendingCalls
		ctx := t.Context()
		calls.expectRequests(ctx, s)
		calls.expect("Messages", func() error { return second(readOut(t, s.Messages(ctx))) })
		synctest.Wait()
		calls.expect("Send", func() error { return second(s.Send(ctx, clew.Text(strings.Repeat("x", 1<<20)))) })
		synctest.Wait()
		calls.expect("Send in line", func() error { return second(s.Send(ctx, clew.Text("Hi"))) })
		synctest.Wait()
		if len(calls.errs) > 0 {
			t.Fatalf("errors of a live agent: %v", calls.errs)
		}
		begin := time.Now()
		if err := conn.Signal(os.Kill); err != nil {
			t.Fatal(err)
		}
		calls.want(t, &clew.ExitError{Code: -1, Reason: "was lost: signal: killed"})
		wantElapsed(t, begin, 0)
		wantNoGoroutine(t)
	})
}

// An agent that closes its output and lives on is asked to end, as by Close.
func TestAgentClosesItsOutput(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		scenario *clewtest.Scenario
		want     clew.ExitError
		elapsed  time.Duration
	}{
		"and ends with its input": {
			asked().Do(clewtest.CloseStdout()), clew.ExitError{Reason: "ended without a result"}, 0,
		},
		"and lives on": {
			asked().Do(clewtest.CloseStdout()).Do(clewtest.IgnoreEndOfInput()),
			clew.ExitError{Code: -1, Reason: "was lost: signal: terminated"}, 5 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				_, err := readOut(t, clew.Query(t.Context(), "Hi", overMemory(clewtest.NewAgent(t, test.scenario))))
				if diff := cmp.Diff(&test.want, wantExit(t, err)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				wantElapsed(t, begin, test.elapsed)
				wantNoGoroutine(t)
			})
		})
	}
}

// The same with a process, whose end has more details.
func TestProcessClosesItsOutput(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		scenario *clewtest.Scenario
		forced   bool
	}{
		"and ends with its input": {asked(), false},
		"and lives on":            {asked().Do(clewtest.IgnoreEndOfInput()), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := asProcess(clewtest.NewAgent(t, test.scenario.Stderr("oh\n").Do(clewtest.CloseStdout())))
			opts.Limits.CloseTimeout = unhurried
			if test.forced {
				opts.Limits.CloseTimeout = quickly
			}
			s := connectTo(t, opts)
			_, err := readOut(t, s.Turn(t.Context(), clew.Text("Hi")))
			if exit := wantExit(t, err); exit.Forced != test.forced || exit.Stderr != "oh\n" || exit.Reason != "closed its output" {
				t.Errorf("got %+v", exit)
			}
		})
	}
}

// A read error that only wraps io.EOF, such as a broken connection's, is a failure.
func TestBrokenConnectionIsAFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		agent := clewtest.NewAgent(t, greeted().Exit(0))
		s := connectTo(t, overConn(&wrappedEOF{agent.Conn()}))
		var last error
		for _, err := range s.Messages(t.Context()) {
			last = err
		}
		if exit := wantExit(t, last); !strings.Contains(exit.Reason, "can't be read from: header: EOF") {
			t.Errorf("got %+v", exit)
		}
		_ = s.Close()
		wantNoGoroutine(t)
	})
}

// wrappedEOF is a connection whose read error at the end wraps io.EOF.
type wrappedEOF struct{ clew.Connection }

func (c *wrappedEOF) Read(p []byte) (int, error) {
	n, err := c.Connection.Read(p)
	if err != nil {
		err = fmt.Errorf("header: %w", err)
	}
	return n, err
}

// A child of the agent may hold its output open after the agent exits.
func TestGrandchildHoldsTheOutput(t *testing.T) {
	t.Parallel()
	scenario := asked().Do(clewtest.LeaveGrandchild()).Send(aResult).Exit(0)
	msgs, err := readOut(t, clew.Query(t.Context(), "Hi", asProcess(clewtest.NewAgent(t, scenario))))
	if len(msgs) != 1 || err != nil {
		t.Errorf("messages %v, error %v", msgs, err)
	}
}

// The end of the agent's standard error is in the error, however long it is.
func TestDeathHasTheEndOfStderr(t *testing.T) {
	t.Parallel()
	scenario := asked().Do(clewtest.NoisyStderr(1 << 20)).Stderr("last words\n").Exit(1)
	_, err := readOut(t, clew.Query(t.Context(), "Hi", asProcess(clewtest.NewAgent(t, scenario))))
	exit := wantExit(t, err)
	if !strings.HasSuffix(exit.Stderr, "last words\n") || len(exit.Stderr) < 4<<10 || len(exit.Stderr) > 64<<10 {
		t.Errorf("%d bytes of stderr", len(exit.Stderr))
	}
	head, tail := "clew: the agent exited with code 1; stderr ends with: ", "last words"
	if text := err.Error(); !strings.HasPrefix(text, head) || !strings.HasSuffix(text, tail) {
		t.Errorf("error %.200s", text)
	}
}

// memoryInUse returns the statistics of memory that is needed.
func memoryInUse() *runtime.MemStats {
	runtime.GC()
	runtime.GC() // frees what cleanups of the first one let go
	m := new(runtime.MemStats)
	runtime.ReadMemStats(m)
	return m
}

// wantSameHeap checks that the memory used by f is free again.
func wantSameHeap(t *testing.T, f func()) {
	t.Helper()
	before, begin := memoryInUse().HeapAlloc, time.Now()
	f()
	took, after := time.Since(begin), memoryInUse().HeapAlloc
	t.Logf("%v; %d bytes of memory before, %d after", took.Round(time.Millisecond), before, after)
	if after > before+2<<20 {
		t.Errorf("%d bytes of memory before, %d after", before, after)
	}
}

// A thousand sessions leave nothing. Each hundred uses one agent, which records the dialogue.
func TestThousandSessions(t *testing.T) {
	hundred := func(t *testing.T) {
		agent := clewtest.NewAgent(t, asked().Send(aWord, aResult))
		for range 100 {
			s := connectTo(t, overMemory(agent))
			if _, err := readOut(t, s.Turn(t.Context(), clew.Text("Hi"))); err != nil {
				t.Fatal(err)
			}
			wantClosed(t, s)
		}
	}
	t.Run("warm up", hundred)
	wantSameHeap(t, func() {
		wantNothingLeft(t, func() {
			for range 10 {
				t.Run("sessions", hundred)
			}
		})
	})
}

func TestHundredsOfProcesses(t *testing.T) {
	sessions := soak.Size(10, 400)
	opts, err := plainOptions()
	if err != nil {
		t.Fatal(err)
	}
	one := func() {
		s, err := clew.Connect(t.Context(), opts)
		if err != nil {
			t.Fatal(err)
		}
		wantClosed(t, s)
	}
	one()
	wantSameHeap(t, func() {
		wantNothingLeft(t, func() {
			for range sessions {
				one()
			}
		})
	})
}

// A session that has nothing to do costs few goroutines and little memory.
func TestIdleSessionCost(t *testing.T) {
	const sessions = 20
	opts, err := plainOptions()
	if err != nil {
		t.Fatal(err)
	}
	connectTo(t, opts) // opens what is shared by all
	goroutines, before := runtime.NumGoroutine(), memoryInUse()
	for range sessions {
		connectTo(t, opts)
	}
	if !polltest.Eventually(func() bool { return runtime.NumGoroutine() <= goroutines+4*sessions }) {
		t.Errorf("%d goroutines before, %d with %d sessions", goroutines, runtime.NumGoroutine(), sessions)
	}
	after := memoryInUse()
	each := (int64(after.HeapInuse+after.StackInuse) - int64(before.HeapInuse+before.StackInuse)) / sessions
	t.Logf("each session: %d goroutines, %d bytes of memory", (runtime.NumGoroutine()-goroutines)/sessions, each)
	if each > 64<<10 {
		t.Errorf("%d bytes of memory each", each)
	}
}
