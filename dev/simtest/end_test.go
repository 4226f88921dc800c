package simtest_test

import (
	"context"
	"errors"
	"iter"
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
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/wire"
)

// Frames of the simulated agents in the tests of how sessions end.
const (
	aPrompt    = `{"type":"user","message":{"role":"user","content":[{"type":"text","text":"Hi"}]}}`
	aWord      = `{"type":"assistant","message":{"content":[{"type":"text","text":"Well"}]},"session_id":"s","uuid":"w"}`
	aResult    = `{"type":"result","subtype":"success","result":"Hello","session_id":"s","uuid":"r"}`
	aInterrupt = `{"type":"control_request","request_id":"stop","request":{"subtype":"interrupt","cancel_queued":true}}`
)

// answering returns a scenario whose agent answers initialize with these fields.
func answering(fields string) *clewtest.Scenario {
	return new(clewtest.Scenario).
		Expect(`{"type":"control_request","request_id":"hello","request":{"subtype":"initialize"}}`).
		Send(`{"type":"control_response","response":{"request_id":"hello",` + fields + `}}`)
}

// greeted returns a scenario whose agent is up.
func greeted() *clewtest.Scenario { return answering(`"subtype":"success","response":{}`) }

// asked returns a scenario whose agent is up and got a prompt.
func asked() *clewtest.Scenario { return greeted().Expect(aPrompt) }

// overConn returns options with which one session runs over conn.
func overConn(conn clew.Connection) *clew.Options {
	return &clew.Options{
		Transport: clew.TransportFunc(func(context.Context, *clew.Launch) (clew.Connection, error) { return conn, nil }),
	}
}

// overMemory returns options with which one session runs over the agent in memory.
func overMemory(agent *clewtest.Agent) *clew.Options { return overConn(agent.Conn()) }

// asProcess returns options with which the agent is a process.
func asProcess(agent *clewtest.Agent) *clew.Options {
	return &clew.Options{AgentPath: agent.Path(), Env: agent.Env()}
}

// connectTo opens a session that ends with the test at the latest.
func connectTo(t *testing.T, opts *clew.Options) *clew.Session {
	t.Helper()
	s, err := clew.Connect(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// wantClosed closes a session whose agent ends by itself.
func wantClosed(t *testing.T, s *clew.Session) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// readOut reads a sequence to its end. It checks that an error is the last pair.
func readOut(t *testing.T, seq iter.Seq2[wire.Message, error]) (msgs []wire.Message, last error) {
	t.Helper()
	for msg, err := range seq {
		switch {
		case last != nil:
			t.Errorf("%v, %v behind an error", msg, err)
		case (msg == nil) == (err == nil):
			t.Errorf("a pair of %v, %v", msg, err)
		}
		if last = err; err == nil {
			msgs = append(msgs, msg)
		}
	}
	return msgs, last
}

// wantExit returns the [clew.ExitError] in err.
func wantExit(t *testing.T, err error) *clew.ExitError {
	t.Helper()
	exit, ok := errors.AsType[*clew.ExitError](err)
	if !ok {
		t.Fatalf("error %v, want an ExitError", err)
	}
	return exit
}

// ready is a frame after which the faults before it are in force.
const ready = `{"type":"system","subtype":"status","status":null,"session_id":"s","uuid":"ready"}`

// Close asks ever more firmly. It does so independently of the context that Connect got.
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
		"one that ignores the end of input": {[]clewtest.Fault{clewtest.IgnoreEndOfInput()}, unhurried, syscall.SIGTERM},
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
			opts.Limits.CloseTimeout = test.timeout
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

// An agent that ends in order on request does not fail.
func TestCloseOfAnAgentThatWaits(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there are no signals")
	}
	opts, err := plainOptions()
	if err != nil {
		t.Fatal(err)
	}
	opts.Env, opts.Limits.CloseTimeout = roleEnv("waiting agent"), unhurried
	wantClosed(t, connectTo(t, opts))
}

// An agent that answered is not interrupted, although it reports only later that it is idle.
func TestCloseAfterTheResult(t *testing.T) {
	t.Parallel()
	const running = `{"type":"system","subtype":"session_state_changed","state":"running"}`
	for name, test := range map[string]*clewtest.Scenario{
		"between the turns":   asked().Send(running, aWord, aResult),
		"in the turn":         asked().Send(running, aWord, aResult, aWord, ready).Expect(aInterrupt),
		"another state since": asked().Send(running, aWord, aResult, running, ready).Expect(aInterrupt),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := connectTo(t, overMemory(clewtest.NewAgent(t, test)))
				if _, err := readOut(t, s.Turn(t.Context(), clew.Text("Hi"))); err != nil {
					t.Error(err)
				}
				synctest.Wait()
				wantClosed(t, s)
			})
		})
	}
}

// wantForced checks Close's error: a forced end by a signal, or none if want is nil.
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

// All Close calls wait for the same end, and everything that waits for the agent ends with it.
func TestCloseFromEverywhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		agent := clewtest.NewAgent(t, asked().
			Expect(`{"type":"control_request","request_id":"1","request":{"subtype":"mcp_status"}}`).
			Do(clewtest.IgnoreEndOfInput()).Expect(aInterrupt))
		s := connectTo(t, overMemory(agent))
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := readOut(t, s.Turn(t.Context(), clew.Text("Hi"))); !errors.Is(err, clew.ErrClosed) {
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
	_, turn := readOut(t, s.Turn(t.Context(), clew.Text("Hi")))
	_, send := s.Send(t.Context(), clew.Text("Hi"))
	for name, err := range map[string]error{
		"Turn": turn, "Send": send, "Interrupt": second(s.Interrupt(t.Context(), nil)), "Err": s.Err(),
	} {
		if !errors.Is(err, clew.ErrClosed) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if msgs, err := readOut(t, s.Messages(t.Context())); len(msgs) > 0 || err != nil {
		t.Errorf("messages %v, error %v", msgs, err)
	}
}

// second returns the error, the second of two results.
func second[T any](_ T, err error) error { return err }

// Closing a session in the loop over its messages is the end of the loop.
func TestCloseInTheLoop(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		read func(ctx context.Context, s *clew.Session) error
		want error
	}{
		"Turn": {func(ctx context.Context, s *clew.Session) error {
			var last error
			for _, last = range s.Turn(ctx, clew.Text("Hi")) {
				_ = s.Close()
			}
			return last
		}, clew.ErrClosed},
		"Messages": {func(ctx context.Context, s *clew.Session) error {
			if _, err := s.Send(ctx, clew.Text("Hi")); err != nil {
				return err
			}
			var last error
			for _, last = range s.Messages(ctx) {
				_ = s.Close()
			}
			return last
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := connectTo(t, overMemory(clewtest.NewAgent(t, asked().Send(aWord).Expect(aInterrupt))))
				begin := time.Now()
				if err := test.read(t.Context(), s); !errors.Is(err, test.want) {
					t.Errorf("error %v, want %v", err, test.want)
				}
				wantElapsed(t, begin, 0)
				wantNoGoroutine(t)
			})
		})
	}
}

// A callback may close the session that calls it. Close waits for callbacks, and so for this one,
// but not for ever.
func TestCloseInACallback(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		opts := overMemory(clewtest.NewAgent(t, asked().Send(aQuestion).Expect(aInterrupt)))
		closed := make(chan error, 1)
		var s *clew.Session
		opts.CanUseTool = func(ctx context.Context, _ *permission.Request) (permission.Result, error) {
			closed <- s.Close()
			return nil, ctx.Err()
		}
		s = connectTo(t, opts)
		begin := time.Now()
		if _, err := readOut(t, s.Turn(t.Context(), clew.Text("Hi"))); !errors.Is(err, clew.ErrClosed) {
			t.Errorf("turn: error %v", err)
		}
		wantElapsed(t, begin, 0)
		if err := <-closed; err != nil {
			t.Error(err)
		}
		wantElapsed(t, begin, 5*time.Second)
		wantNoGoroutine(t)
	})
}

// aQuestion is a question that CanUseTool answers.
const aQuestion = `{"type":"control_request","request_id":"may I","request":` +
	`{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"ls"},"tool_use_id":"toolu_1"}}`

// A callback that does not return delays Close for a while only.
func TestCloseWithACallbackThatStays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		scenario := asked().Do(clewtest.IgnoreEndOfInput()).Do(clewtest.IgnoreSIGTERM()).
			Send(aQuestion, aWord).Expect(aInterrupt)
		opts := overMemory(clewtest.NewAgent(t, scenario))
		leave := make(chan struct{})
		opts.CanUseTool = func(context.Context, *permission.Request) (permission.Result, error) {
			<-leave
			return nil, nil
		}
		s := connectTo(t, opts)
		for range s.Turn(t.Context(), clew.Text("Hi")) {
			break
		}
		begin := time.Now()
		_ = s.Close()
		wantElapsed(t, begin, 10*time.Second)
		close(leave)
		wantNoGoroutine(t)
	})
}

// A prompt that waits for room in the agent's pipe does not keep Close from its end.
func TestCloseWhileSendBlocks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		agent := clewtest.NewAgent(t, greeted().Do(clewtest.IgnoreSIGTERM()).Do(clewtest.Hang()))
		s := connectTo(t, overConn(&ownErrors{agent.Conn()}))
		var begin time.Time
		var sending sync.WaitGroup
		for range 3 {
			sending.Go(func() {
				if _, err := s.Send(t.Context(), clew.Text(strings.Repeat("x", 1<<20))); !errors.Is(err, clew.ErrClosed) {
					t.Errorf("error %v", err)
				}
				wantElapsed(t, begin, time.Second) // which the agent has to read what was written
			})
		}
		synctest.Wait()
		begin = time.Now()
		_ = s.Close()
		wantElapsed(t, begin, 11*time.Second)
		sending.Wait()
		wantNoGoroutine(t)
	})
}

// ownErrors is a connection that returns its own error for a write that was cut short.
type ownErrors struct{ clew.Connection }

func (c *ownErrors) Write(p []byte) (int, error) {
	n, err := c.Connection.Write(p)
	if err != nil {
		err = os.ErrClosed
	}
	return n, err
}

// The same with a process, whose pipe is the system's.
func TestCloseWhileSendBlocksOnAProcess(t *testing.T) {
	t.Parallel()
	opts := asProcess(clewtest.NewAgent(t, greeted().Do(clewtest.Hang())))
	opts.Limits.CloseTimeout = quickly
	s := connectTo(t, opts)
	ctx, cancel := context.WithTimeout(t.Context(), quickly)
	defer cancel()
	prompt := clew.Text(strings.Repeat("x", 1<<20)) // longer than the pipe
	if _, err := s.Send(ctx, prompt); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("error %v: the agent reads", err)
	}
	sent := make(chan error)
	go func() { sent <- second(s.Send(t.Context(), prompt)) }()
	if exit := wantExit(t, s.Close()); !exit.Forced {
		t.Errorf("got %+v", exit)
	}
	if err := <-sent; !errors.Is(err, clew.ErrClosed) {
		t.Errorf("error %v", err)
	}
}

// A turn that was left costs nothing more than the session itself.
func TestLeavingATurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := connectTo(t, overMemory(clewtest.NewAgent(t, asked().Send(aWord, aResult).Expect(aPrompt).Send(aResult))))
		synctest.Wait()
		before := len(ofSessions())
		for range s.Turn(t.Context(), clew.Text("Hi")) {
			break
		}
		synctest.Wait()
		if after := len(ofSessions()); after != before {
			t.Errorf("%d goroutines before, %d after", before, after)
		}
		msgs, err := readOut(t, s.Turn(t.Context(), clew.Text("Hi")))
		if err != nil || len(msgs) != 1 {
			t.Fatalf("next turn: messages %v, error %v", msgs, err)
		}
		if _, ok := msgs[0].(*wire.ResultMessage); !ok {
			t.Errorf("got %v", msgs)
		}
	})
}
