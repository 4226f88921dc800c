package clew_test

import (
	"context"
	"errors"
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
)

// ready is a frame after which the faults before it are in force.
const ready = `{"type":"system","subtype":"status","status":null,"session_id":"s","uuid":"ready"}`

// Close asks ever more firmly. It does so for an agent of its own, not for the context that Connect got.
func TestCloseInsists(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there are no signals")
	}
	for name, test := range map[string]struct {
		faults  []clewtest.Fault
		timeout time.Duration
		signal  os.Signal
	}{
		"an agent that ends by itself":      {nil, longest, nil},
		"one that ignores the end of input": {[]clewtest.Fault{clewtest.IgnoreEndOfInput()}, quickly, syscall.SIGTERM},
		"one that ignores SIGTERM, too": {
			[]clewtest.Fault{clewtest.IgnoreEndOfInput(), clewtest.IgnoreSIGTERM()}, quickly, syscall.SIGKILL,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scenario := greeted()
			for _, fault := range test.faults {
				scenario.Do(fault)
			}
			opts := asProcess(clewtest.NewAgent(t, scenario.Send(ready)))
			opts.CloseTimeout = test.timeout
			ctx, cancel := context.WithCancel(t.Context())
			s, err := clew.Connect(ctx, opts)
			if err != nil {
				t.Fatal(err)
			}
			for range s.Messages(ctx) {
				break
			}
			cancel()
			wantForced(t, s.Close(), test.signal)
			wantForced(t, s.Close(), test.signal)
		})
	}
}

// wantForced checks how an agent that Close has ended did end. Nil means by itself.
func wantForced(t *testing.T, err error, want os.Signal) {
	t.Helper()
	if want == nil {
		if err != nil {
			t.Errorf("error %v", err)
		}
		return
	}
	if diff := cmp.Diff(&clew.ExitError{Code: -1, Signal: want, Forced: true}, wantExit(t, err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Close takes the time that it gives the agent, and not more.
func TestCloseTakesItsTime(t *testing.T) {
	t.Parallel()
	ignoring := func() *clewtest.Scenario { return greeted().Do(clewtest.IgnoreEndOfInput()) }
	for name, test := range map[string]struct {
		scenario *clewtest.Scenario
		want     time.Duration
	}{
		"an agent that ends by itself":      {greeted(), 0},
		"one that ignores the end of input": {ignoring(), 5 * time.Second},
		"one that hangs":                    {greeted().Do(clewtest.Hang()), 5 * time.Second},
		"one that ignores SIGTERM, too":     {ignoring().Do(clewtest.IgnoreSIGTERM()), 10 * time.Second},
		"one that is gone":                  {greeted().Exit(0), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := connectTo(t, overMemory(clewtest.NewAgent(t, test.scenario)))
				synctest.Wait()
				begin := time.Now()
				_ = s.Close()
				wantElapsed(t, begin, test.want)
				_ = s.Close()
				wantElapsed(t, begin, test.want)
				wantNoGoroutine(t)
			})
		})
	}
}

// wantElapsed compares time within a bubble, where it passes only while all wait.
func wantElapsed(t *testing.T, begin time.Time, want time.Duration) {
	t.Helper()
	if got := time.Since(begin); got != want {
		t.Errorf("it took %v, want %v", got, want)
	}
}

// wantNoGoroutine checks, within a bubble, that no goroutine of a session is left.
func wantNoGoroutine(t *testing.T) {
	t.Helper()
	synctest.Wait()
	if left := ofSessions(); len(left) > 0 {
		t.Errorf("goroutines are left:\n%s", strings.Join(left, "\n\n"))
	}
}

// All calls of Close wait for the same end, and everything that waits for the agent ends with it.
func TestCloseFromEverywhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		agent := clewtest.NewAgent(t, asked().
			Expect(`{"type":"control_request","request_id":"1","request":{"subtype":"mcp_status"}}`).
			Do(clewtest.IgnoreEndOfInput()).Expect(aInterrupt))
		s := connectTo(t, overMemory(agent))
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := hearOut(t, s.Turn(t.Context(), "Hi")); !errors.Is(err, clew.ErrClosed) {
				t.Errorf("turn: error %v", err)
			}
		})
		synctest.Wait()
		all.Go(func() {
			if _, err := s.MCPStatus(t.Context()); !errors.Is(err, clew.ErrClosed) {
				t.Errorf("control request: error %v", err)
			}
		})
		synctest.Wait()
		begin := time.Now()
		for range 8 {
			all.Go(func() {
				_ = s.Close()
				wantElapsed(t, begin, 5*time.Second)
			})
		}
		all.Wait()
		wantNoGoroutine(t)
	})
}

func TestCallsAfterClose(t *testing.T) {
	t.Parallel()
	s := connectTo(t, overMemory(clewtest.NewAgent(t, greeted())))
	wantClosed(t, s)
	_, turn := hearOut(t, s.Turn(t.Context(), "Hi"))
	_, send := s.Send(t.Context(), "Hi")
	for name, err := range map[string]error{
		"Turn": turn, "Send": send, "Interrupt": second(s.Interrupt(t.Context())), "Err": s.Err(),
	} {
		if !errors.Is(err, clew.ErrClosed) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if msgs, err := hearOut(t, s.Messages(t.Context())); len(msgs) > 0 || err != nil {
		t.Errorf("messages %v, error %v", msgs, err)
	}
}

// second returns the error of two results.
func second[T any](_ T, err error) error { return err }
