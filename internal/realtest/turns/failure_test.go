package turns_test

import (
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

// What goes wrong between agent and API fails a turn, if anything. The session lives on.
func TestRealAPIFailures(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	// A prompt that failed is still part of the next one: the last comes first.
	model.On("Cut").Reply(clewtest.Text("Never whole.")).ChunkSize(6).Cut(4).Once()
	model.On("Cut").Reply(clewtest.Text("Whole again."))
	model.On("Exhaust").Fail(529)
	model.On("Overload").Fail(529).Once()
	model.On("Overload").Reply(clewtest.Text("At last."))
	model.On("Refuse").Fail(400).Message("scripted bad request")
	opts := turnsOptions(t, model)
	opts.Env = append(opts.Env, "CLAUDE_CODE_MAX_RETRIES=1")
	s := turnsConnect(t, opts)
	tests := []struct {
		prompt  string
		text    string // of the result, or of the error
		status  int    // of the failure, or 0
		retries int
	}{
		{"Refuse", "scripted bad request", 400, 0},
		{"Overload", "At last.", 0, 1},
		{"Exhaust", "529", 529, 1},
		{"Cut", "Whole again.", 0, 1},
	}
	for _, test := range tests {
		got := turnsRead(s.Turn(t.Context(), test.prompt), nil)
		if test.status == 0 {
			got.wantText(t, test.text)
		} else {
			failed := turnsFailure(t, got.err)
			if failed.Result != got.result(t) || failed.Result.APIErrorStatus != test.status || failed.Interrupted() ||
				!strings.Contains(got.err.Error(), test.text) {
				t.Errorf("%s: error %v with result %s", test.prompt, got.err, failed.Result.Raw())
			}
		}
		if retries := turnsOf[*wire.APIRetryMessage](got.messages); len(retries) != test.retries {
			t.Errorf("%s: retries %v", test.prompt, retries)
		}
	}
}

// A failure ends a run with the error, and the exit code of the agent.
func TestRealRunFails(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("Fail").Fail(400).Message("scripted bad request")
	result, err := clew.Run(t.Context(), "Fail", turnsOptions(t, model))
	failed := turnsFailure(t, err)
	if result == nil || failed.Result != result || failed.Exit == nil || failed.Exit.Code != 1 {
		t.Errorf("result %v, error %v, exit %v", result, err, failed.Exit)
	}
}

func TestRealLimits(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		limit   func(*clew.Options)
		subtype wire.ResultSubtype
	}{
		{"turns", func(o *clew.Options) { o.MaxTurns = 1 }, wire.ResultErrorMaxTurns},
		{"budget", func(o *clew.Options) { o.MaxBudgetUSD = 0.000001 }, wire.ResultErrorMaxBudgetUSD},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			model := clewtest.NewModel(t)
			model.On("Work").Reply(turnsBash("true"))
			model.Reply("Done.")
			opts := turnsOptions(t, model)
			test.limit(opts)
			s := turnsConnect(t, opts)
			got := turnsRead(s.Turn(t.Context(), "Work"), nil)
			if failed := turnsFailure(t, got.err); failed.Result.Subtype != test.subtype || failed.Text() == "" {
				t.Errorf("error %v with result %s", got.err, failed.Result.Raw())
			}
			if n := len(model.Requests()); n != 1 {
				t.Errorf("the model was asked %d times", n)
			}
			turnsAsk(t, s, "/cost")
		})
	}
}

// An agent whose model never answers is silent: that ends the session, or is the caller's decision.
func TestRealIdle(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("Hang").Hang()
	opts := turnsOptions(t, model)
	opts.IdleTimeout, opts.CloseTimeout = time.Second, 500*time.Millisecond
	s, err := clew.Connect(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	if got := turnsRead(s.Turn(t.Context(), "Hang"), nil); !errors.Is(got.err, clew.ErrIdle) {
		t.Errorf("error %v", got.err)
	}
	if !errors.Is(s.Err(), clew.ErrIdle) {
		t.Errorf("the session's error is %v", s.Err())
	}
	s.Close() //nolint:errcheck // it says how the agent was ended
	turnsWantGone(t, s.Info().PID)
}

func TestRealOnIdle(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("Hang").Hang().Once()
	model.Reply("Fine.")
	opts := turnsOptions(t, model)
	opts.IdleTimeout = time.Second
	var s *clew.Session
	var once sync.Once
	opts.OnIdle = func(silence time.Duration) {
		if silence < opts.IdleTimeout {
			t.Errorf("called after %v", silence)
		}
		once.Do(func() { turnsInterrupt(t, s) })
	}
	s = turnsConnect(t, opts)
	turnsRead(s.Turn(t.Context(), "Hang"), nil).wantInterrupted(t, wire.TerminalReasonAbortedStreaming)
	turnsAsk(t, s, "Again").wantText(t, "Fine.")
}

func TestRealNotStarted(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	opts := turnsOptions(t, model)
	opts.AgentPath = filepath.Join(opts.Dir, "claude")
	_, err := clew.Connect(t.Context(), opts)
	if missing, ok := errors.AsType[*clew.NotFoundError](err); !ok || !strings.Contains(missing.Error(), opts.AgentPath) {
		t.Errorf("without an agent: %v", err)
	}

	opts = turnsOptions(t, model)
	opts.Dir = filepath.Join(opts.Dir, "nowhere")
	_, err = clew.Connect(t.Context(), opts)
	if err == nil || !strings.Contains(err.Error(), opts.Dir) {
		t.Errorf("without a folder: %v", err)
	}
}
