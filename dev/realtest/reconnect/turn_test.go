package reconnect_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/cmd/clew/dev/realtest/scene"
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/wire"
)

// wantPast checks that the model has received the conversation from its beginning.
func wantPast(t *testing.T, model *clewtest.Model, last string) {
	t.Helper()
	texts := said(model)
	if len(texts) < 3 || texts[0] != "First" || texts[1] != "Yes." || texts[len(texts)-1] != last {
		t.Errorf("the model was told %q", texts)
	}
}

// Whatever the agent is doing when it is killed, the turn is lost and the next one continues the
// conversation.
func TestRealKilledInMidTurn(t *testing.T) {
	t.Parallel()
	question := make(chan struct{}, 1)
	tests := []struct {
		name   string
		reply  []wire.Block
		now    func(wire.Message) bool // reports whether to kill the agent now
		opts   *clew.Options
		during <-chan struct{} // or when
	}{
		{
			name: "while text streams", reply: []wire.Block{clewtest.Text(strings.Repeat("word ", 10_000))},
			now: func(msg wire.Message) bool {
				event, ok := msg.(*wire.StreamEventMessage)
				return ok && strings.Contains(event.Raw(), "text_delta")
			},
			opts: &clew.Options{IncludePartialMessages: true},
		},
		{
			name: "while a tool runs", reply: []wire.Block{clewtest.Text("I run it."), scene.Bash("sleep 100")},
			now: func(msg wire.Message) bool {
				answer, ok := msg.(*wire.AssistantMessage)
				return ok && len(answer.Content.ToolUses()) > 0
			},
			opts: &clew.Options{AllowedTools: []string{"Bash"}},
		},
		{
			name: "while a question is open", reply: []wire.Block{scene.Bash("touch file")}, during: question,
			opts: &clew.Options{
				CanUseTool: func(ctx context.Context, _ *permission.Request) (permission.Result, error) {
					question <- struct{}{}
					<-ctx.Done()
					return nil, ctx.Err()
				},
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			model := clewtest.NewModel(t)
			model.On("Cut").Reply(test.reply...).Pace(20 * time.Millisecond)
			model.Reply("Yes.")
			s := scene.Connect(t, over(t, model, test.opts))
			scene.Ask(t, s, "First")
			waitForTranscript(t, model, s, `"Yes."`)
			id, pid := s.ID(), s.Info().PID
			var killer sync.WaitGroup
			if test.during != nil {
				killer.Go(func() {
					<-test.during
					kill(t, s)
				})
			}
			prompt := clew.Text("Cut")
			prompt.UUID = "0b7f3c9e-4a52-4a6b-9d0e-5f1f6c2e8a13"
			var once sync.Once
			msgs, err := scene.Read(s.Turn(t.Context(), prompt), func(msg wire.Message) {
				if test.now != nil && test.now(msg) {
					once.Do(func() { kill(t, s) })
				}
			})
			killer.Wait()
			told := wantCut(t, msgs, err)
			if runtime.GOOS != "windows" && (told.Signal != "killed" || told.ExitCode != -1) {
				t.Errorf("the agent ended with %d, %q", told.ExitCode, told.Signal)
			}
			if !told.Resumed || told.SessionID != id || told.Attempts != 1 || told.Downtime <= 0 {
				t.Errorf("told %+v", told)
			}
			if diff := cmp.Diff([]string{prompt.UUID}, told.LostPrompts); diff != "" {
				t.Errorf("lost prompts (-want +got):\n%s", diff)
			}
			scene.Ask(t, s, "Next")
			wantPast(t, model, "Next")
			if s.ID() != id || s.Info().PID == pid {
				t.Errorf("session %s in process %d", s.ID(), s.Info().PID)
			}
		})
	}
}

func TestRealKilledBetweenTurns(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t).Reply("Yes.")
	s := scene.Connect(t, over(t, model, nil))
	for range 2 { // killed twice in a row
		scene.Ask(t, s, "First")
		waitForTranscript(t, model, s, `"Yes."`)
		replace(t, s)
		if told := reconnected(t, scene.Ask(t, s, "Next")); len(told.LostPrompts) > 0 || !told.Resumed {
			t.Errorf("told %+v", told)
		}
		wantPast(t, model, "Next")
	}
}

// An agent that is killed as soon as it starts wrote nothing. The conversation starts again, under
// the same ID.
func TestRealKilledInItsFirstTurn(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t).Reply("Yes.")
	s := scene.Connect(t, over(t, model, &clew.Options{Reconnect: &clew.ReconnectOptions{MinBackoff: time.Millisecond}}))
	msgs, err := scene.Read(s.Turn(t.Context(), clew.Text("Cut")), func(msg wire.Message) {
		if _, ok := msg.(*wire.InitMessage); ok {
			kill(t, s)
		}
	})
	id := s.ID()
	told := wantCut(t, msgs, err)
	scene.Ask(t, s, "First")
	if s.ID() != id || told.SessionID != id {
		t.Errorf("session %s, told %+v", s.ID(), told)
	}
	waitForTranscript(t, model, s, `"Yes."`)
	replace(t, s)
	scene.Ask(t, s, "Next")
	if texts := strings.Join(said(model), "|"); !strings.HasSuffix(texts, "First|Yes.|Next") {
		t.Errorf("the model was told %q", texts)
	}
}

// A transcript with a cut last line can be resumed.
func TestRealKilledWhileItWrites(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t).Reply("Yes.")
	opts := over(t, model, nil)
	var transcript atomic.Pointer[string]
	opts.Transport = &clew.ProcessTransport{Wrap: func(*clew.Launch) error {
		path := transcript.Load()
		if path == nil {
			return nil
		}
		f, err := os.OpenFile(*path, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteString(`{"parentUuid":"0b7f3c9e-4a52","type":"assist`)
		return errors.Join(err, f.Close())
	}}
	s := scene.Connect(t, opts)
	scene.Ask(t, s, "First")
	transcript.Store(new(waitForTranscript(t, model, s, `"Yes."`)))
	replace(t, s)
	reconnected(t, scene.Ask(t, s, "Next"))
	wantPast(t, model, "Next")
}

// A cleared conversation stays cleared.
func TestRealKilledAfterClear(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t).Reply("Yes.")
	s := scene.Connect(t, over(t, model, &clew.Options{Reconnect: &clew.ReconnectOptions{MinBackoff: time.Millisecond}}))
	scene.Ask(t, s, "Secret")
	old := s.ID()
	scene.Ask(t, s, "/clear")
	id := s.ID()
	waitForTranscript(t, model, s, "/clear")
	replace(t, s)
	scene.Ask(t, s, "First")
	if texts := strings.Join(said(model), "|"); strings.Contains(texts, "Secret") || id == old || s.ID() != id {
		t.Errorf("session %s after %s, the model was told %q", s.ID(), id, texts)
	}
}
