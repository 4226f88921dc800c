package simtest_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
)

// A run returns its answer, whether or not the agent exits by itself.
func TestRunReturnsItsAnswer(t *testing.T) {
	t.Parallel()
	for name, scenario := range map[string]*clewtest.Scenario{
		"an agent that ignores the end of input": asked().Do(clewtest.IgnoreEndOfInput()).Send(aWord, aResult),
		"one that ignores SIGTERM, too": asked().Do(clewtest.IgnoreEndOfInput()).Do(clewtest.IgnoreSIGTERM()).
			Send(aWord, aResult),
		"one that hangs":                 asked().Send(aWord, aResult).Do(clewtest.Hang()),
		"one with a command":             asked().Send(taskStarted("local_bash"), aResult).Do(clewtest.Hang()),
		"one that has closed its output": asked().Send(aWord, aResult).Do(clewtest.CloseStdout()).Do(clewtest.Hang()),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := asProcess(clewtest.NewAgent(t, scenario))
			opts.Limits.CloseTimeout = quickly
			result, err := clew.Run(t.Context(), "Hi", opts)
			if err != nil || result == nil || result.Result != "Hello" {
				t.Errorf("result %v, error %v", result, err)
			}
		})
	}
}

// A subagent in the background is waited for, and so is the turn that it starts.
func TestRunWaitsForSubagents(t *testing.T) {
	t.Parallel()
	const (
		ended = `{"type":"system","subtype":"task_notification","task_id":"t1","status":"completed",` +
			`"output_file":"","summary":"","session_id":"s","uuid":"tn"}`
		last = `{"type":"result","subtype":"success","result":"Done","session_id":"s","uuid":"r2",` +
			`"origin":{"kind":"task-notification"}}`
	)
	synctest.Test(t, func(t *testing.T) {
		slowly := clewtest.Trickle(ended, 30*time.Second) // more than an hour in all
		turn := clewtest.Trickle(last, time.Second)
		agent := clewtest.NewAgent(t, asked().Send(taskStarted("local_agent"), aResult).Do(slowly).Do(turn).Exit(0))
		result, err := clew.Run(t.Context(), "Hi", overMemory(agent))
		if err != nil || result == nil || result.Result != "Done" {
			t.Errorf("result %v, error %v", result, err)
		}
		wantNoGoroutine(t)
	})
}

// A prompt can't reach an agent that closed its input, and the error reports it.
//
// Tests of closed inputs are not parallel. Another process that is started meanwhile has the reading
// end of the pipe as well until it runs its own program, and then the input is not closed yet.
func TestPromptForADeafAgent(t *testing.T) {
	for name, ask := range map[string]func(ctx context.Context, opts *clew.Options) error{
		"Run": func(ctx context.Context, opts *clew.Options) error { return second(clew.Run(ctx, "Hi", opts)) },
		"Turn": func(ctx context.Context, opts *clew.Options) error {
			s, err := clew.Connect(ctx, opts)
			if err != nil {
				return err
			}
			defer s.Close() //nolint:errcheck // the agent has to be killed
			var last error
			for _, last = range s.Turn(ctx, clew.Text("Hi")) {
			}
			return last
		},
	} {
		t.Run(name, func(t *testing.T) {
			opts, err := plainOptions()
			if err != nil {
				t.Fatal(err)
			}
			opts.Env, opts.Limits.CloseTimeout = roleEnv("deaf agent"), quickly
			if err := ask(t.Context(), opts); err == nil || !strings.Contains(err.Error(), "the agent closed its input") {
				t.Errorf("error %v", err)
			}
		})
	}
}

// An agent may close its input when it has its prompt. A caller who gives up learns that.
func TestAgentGoesDeafInATurn(t *testing.T) {
	opts, err := plainOptions()
	if err != nil {
		t.Fatal(err)
	}
	opts.Env, opts.Limits.CloseTimeout, opts.ExtraArgs = roleEnv("deaf agent"), quickly, []string{"--" + afterPrompt}
	s := connectTo(t, opts)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for _, err := range s.Turn(ctx, clew.Text("Hi")) {
		cancel()
		last = err
	}
	if !errors.Is(last, context.Canceled) || !strings.Contains(last.Error(), "the agent has closed its input") {
		t.Errorf("error %v", last)
	}
}

// An agent that exits before it is ready, even with code 0, failed.
func TestAgentExitsBeforeItIsReady(t *testing.T) {
	t.Parallel()
	agent := clewtest.NewAgent(t, new(clewtest.Scenario).Stderr("no thanks\n").Exit(0))
	_, err := clew.Connect(t.Context(), asProcess(agent))
	const want = "clew: the agent exited with code 0 before it was ready; stderr ends with: no thanks"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// An agent that exits before it gets a prompt did not answer, even if nothing else went wrong.
func TestAgentExitsBeforeThePrompt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var slowly iter.Seq[*clew.UserMessage] = func(yield func(*clew.UserMessage) bool) {
			time.Sleep(time.Second)
			yield(clew.Text("Hi"))
		}
		agent := clewtest.NewAgent(t, greeted().Exit(0))
		_, err := readOut(t, clew.Query(t.Context(), slowly, overMemory(agent)))
		if diff := cmp.Diff(&clew.ExitError{Reason: "ended without a result"}, wantExit(t, err)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		wantNoGoroutine(t)
	})
}

// The error for a context that was canceled with a cause wraps both.
func TestCauseOfTheContext(t *testing.T) {
	t.Parallel()
	enough := errors.New("enough")
	for name, ask := range map[string]func(t *testing.T, ctx context.Context, s *clew.Session) error{
		"Turn": func(t *testing.T, ctx context.Context, s *clew.Session) error {
			return second(readOut(t, s.Turn(ctx, clew.Text("Hi"))))
		},
		"a request": func(_ *testing.T, ctx context.Context, s *clew.Session) error { return second(s.MCPStatus(ctx)) },
		"Query": func(t *testing.T, ctx context.Context, _ *clew.Session) error {
			agent := clewtest.NewAgent(t, new(clewtest.Scenario).Do(clewtest.Hang()))
			return second(readOut(t, clew.Query(ctx, "Hi", overMemory(agent))))
		},
	} {
		for when, wait := range map[string]time.Duration{"before": 0, "meanwhile": time.Second} {
			t.Run(name+", "+when, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := connectTo(t, overMemory(clewtest.NewAgent(t, greeted().Do(clewtest.Hang()))))
					ctx, cancel := context.WithCancelCause(t.Context())
					if wait == 0 {
						cancel(enough)
					} else {
						time.AfterFunc(wait, func() { cancel(enough) })
					}
					if err := ask(t, ctx, s); !errors.Is(err, context.Canceled) || !errors.Is(err, enough) {
						t.Errorf("error %v", err)
					}
				})
			})
		}
	}
}
