package clew_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

// The error of a sequence of prompts ends the prompts, not the turn that runs, and is returned.
func TestPromptsFail(t *testing.T) {
	t.Parallel()
	failing := func(prompts int) iter.Seq2[*wire.UserMessage, error] {
		return func(yield func(*wire.UserMessage, error) bool) {
			for range prompts {
				if !yield(clew.NewUserMessage(clew.Text("Hi")), nil) {
					return
				}
			}
			yield(nil, io.ErrUnexpectedEOF)
		}
	}
	for name, test := range map[string]struct {
		prompts  int
		scenario *clewtest.Scenario
		messages int
		options  func(*clewtest.Agent) *clew.Options
	}{
		"at once":                  {0, greeted().CloseStdin().Exit(0), 0, overMemory},
		"at once, with a callback": {0, greeted().CloseStdin().Exit(0), 0, asking},
		"later":                    {1, asked().CloseStdin().Send(aResult).Exit(0), 1, overMemory},
		"later, with a callback":   {1, asked().Send(aResult).CloseStdin().Exit(0), 1, asking},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				opts := test.options(clewtest.NewAgent(t, test.scenario))
				if err := wantQuery(t, failing(test.prompts), opts, test.messages); !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("error %v", err)
				}
			})
		})
	}
}

// stuck is a prompt, and then a sequence that waits for ever for the next one.
func stuck(stop <-chan struct{}) iter.Seq[*wire.UserMessage] {
	return func(yield func(*wire.UserMessage) bool) {
		if yield(clew.NewUserMessage(clew.Text("Hi"))) {
			<-stop
		}
	}
}

// Prompts that never end delay the end of a query for a while, once.
func TestPromptsThatNeverEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		begin := time.Now()
		opts := overMemory(clewtest.NewAgent(t, asked().Send(aResult).Exit(1)))
		_, err := hearOut(t, clew.Query(t.Context(), stuck(stop), opts))
		if exit := wantExit(t, err); exit.Code != 1 {
			t.Errorf("error %v", err)
		}
		wantElapsed(t, begin, 5*time.Second)
		close(stop)
		wantNoGoroutine(t)
	})
}

// Whoever leaves a query stops the agent at once, also while the prompts are stuck.
func TestPromptsDontHoldUpTheEnd(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(cancel func()) (more bool){
		"the loop is left": func(func()) bool { return false },
		"the context ends": func(cancel func()) bool { cancel(); return true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				conn := clewtest.NewAgent(t, asked().Send(aWord).Expect(aInterrupt)).Conn()
				begin := time.Now()
				go func() {
					_ = conn.Wait()
					wantElapsed(t, begin, 0)
				}()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				stop := make(chan struct{})
				defer close(stop)
				for range clew.Query(ctx, stuck(stop), overConn(conn)) {
					if !leave(cancel) {
						break
					}
				}
			})
		})
	}
}

// An agent that dies under a sequence of prompts has died once.
func TestPromptsToTheDead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		agent := clewtest.NewAgent(t, asked().Exit(3))
		var slow iter.Seq[*wire.UserMessage] = func(yield func(*wire.UserMessage) bool) {
			for yield(clew.NewUserMessage(clew.Text("Hi"))) {
				time.Sleep(time.Second)
			}
		}
		_, err := hearOut(t, clew.Query(t.Context(), slow, overMemory(agent)))
		if err == nil || err.Error() != "clew: the agent exited with code 3" {
			t.Errorf("error %q", err)
		}
		wantNoGoroutine(t)
	})
}
