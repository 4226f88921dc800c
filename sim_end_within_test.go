package clew_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

// Closing a session in the loop over its messages is the end of the loop.
func TestCloseInTheLoop(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		read func(ctx context.Context, s *clew.Session) error
		want error
	}{
		"Turn": {func(ctx context.Context, s *clew.Session) error {
			var last error
			for _, last = range s.Turn(ctx, "Hi") {
				_ = s.Close()
			}
			return last
		}, clew.ErrClosed},
		"Messages": {func(ctx context.Context, s *clew.Session) error {
			if _, err := s.Send(ctx, "Hi"); err != nil {
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

// A callback may close the session that calls it. Close waits for callbacks, and so for this one, but not for ever.
func TestCloseInACallback(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		opts := overMemory(clewtest.NewAgent(t, asked().Send(aQuestion).Expect(aInterrupt)))
		closed := make(chan error, 1)
		var s *clew.Session
		opts.CanUseTool = func(ctx context.Context, _ *clew.PermissionRequest) (clew.PermissionResult, error) {
			closed <- s.Close()
			return nil, ctx.Err()
		}
		s = connectTo(t, opts)
		begin := time.Now()
		if _, err := hearOut(t, s.Turn(t.Context(), "Hi")); !errors.Is(err, clew.ErrClosed) {
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

// aQuestion is one that CanUseTool answers.
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
		opts.CanUseTool = func(context.Context, *clew.PermissionRequest) (clew.PermissionResult, error) {
			<-leave
			return nil, nil
		}
		s := connectTo(t, opts)
		for range s.Turn(t.Context(), "Hi") {
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
				if _, err := s.Send(t.Context(), strings.Repeat("x", 1<<20)); !errors.Is(err, clew.ErrClosed) {
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

// ownErrors is a connection with an error of its own for a write that was cut short.
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
	opts.CloseTimeout = quickly
	s := connectTo(t, opts)
	ctx, cancel := context.WithTimeout(t.Context(), quickly)
	defer cancel()
	if _, err := s.Send(ctx, strings.Repeat("x", 1<<20)); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("error %v: the agent reads", err)
	}
	sent := make(chan error)
	go func() { sent <- second(s.Send(t.Context(), "Hi")) }()
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
		for range s.Turn(t.Context(), "Hi") {
			break
		}
		synctest.Wait()
		if after := len(ofSessions()); after != before {
			t.Errorf("%d goroutines before, %d after", before, after)
		}
		msgs, err := hearOut(t, s.Turn(t.Context(), "Hi"))
		if err != nil || len(msgs) != 1 {
			t.Fatalf("next turn: messages %v, error %v", msgs, err)
		}
		if _, ok := msgs[0].(*wire.ResultMessage); !ok {
			t.Errorf("got %v", msgs)
		}
	})
}
