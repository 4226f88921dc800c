package turns_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/cmd/clew/dev/realtest/scene"
	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/wire"
)

// wantWhole checks that a transcript has only complete JSON lines, and contains these words.
func wantWhole(t *testing.T, transcript, words string) {
	t.Helper()
	if !strings.HasSuffix(transcript, "\n") || !strings.Contains(transcript, words) {
		t.Errorf("the transcript has no %q, or no end:\n%s", words, transcript)
	}
	for line := range strings.Lines(transcript) {
		if !json.Valid([]byte(line)) {
			t.Errorf("a line is broken: %q", line)
		}
	}
}

func TestRealClose(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.Reply("Yes.")
	s := scene.Connect(t, options(t, model))
	answer := scene.Of[*wire.AssistantMessage](ask(t, s, "Hello").messages)[0]
	var closing sync.WaitGroup
	for range 3 {
		closing.Go(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	closing.Wait()
	wantWhole(t, readTranscript(t, model, s.ID()), answer.UUID)
	wantGone(t, s.Info().PID)
	if got := read(s.Turn(t.Context(), clew.Text("More")), nil); !errors.Is(got.err, clew.ErrClosed) {
		t.Errorf("a turn after that: %v", got.err)
	}
	if _, err := s.Interrupt(t.Context(), nil); !errors.Is(err, clew.ErrClosed) {
		t.Errorf("a control request after that: %v", err)
	}
}

// wantGone checks that a process ended.
func wantGone(t *testing.T, pid int) {
	t.Helper()
	if polltest.Running(pid) {
		t.Errorf("process %d is still there", pid)
	}
}

// The transcript of a session that is closed in the middle of a tool call records how the call
// ended, and can be resumed.
func TestRealCloseDuringTool(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	sleeper := newSleeper(t, model)
	s := scene.Connect(t, sleeper.opts)
	for msg, err := range s.Turn(t.Context(), clew.Text("Work")) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := msg.(*wire.AssistantMessage); ok {
			break
		}
	}
	sleeper.awake(t)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	wantGone(t, s.Info().PID)
	sleeper.wantGone(t)
	wantWhole(t, readTranscript(t, model, s.ID()), "[Request interrupted by user for tool use]")

	sleeper.opts.Session.Resume = s.ID()
	ask(t, scene.Connect(t, sleeper.opts), "Go on").wantText(t, "Yes.")
}

// After a caller has left a query in the middle of a tool call, nothing is running anymore.
func TestRealQueryLeft(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	sleeper := newSleeper(t, model)
	var id string
	for msg, err := range clew.Query(t.Context(), "Work", sleeper.opts) {
		if err != nil {
			t.Fatal(err)
		}
		if msg, ok := msg.(*wire.AssistantMessage); ok {
			sleeper.awake(t)
			id = msg.SessionID
			break
		}
	}
	sleeper.wantGone(t)
	wantWhole(t, readTranscript(t, model, id), "touch begun")
}

func TestRealQueryCanceled(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	sleeper := newSleeper(t, model)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var id string
	got := read(clew.Query(ctx, "Work", sleeper.opts), on(func(msg *wire.AssistantMessage) {
		sleeper.awake(t)
		id = msg.SessionID
		cancel()
	}))
	if !errors.Is(got.err, context.Canceled) {
		t.Errorf("error %v", got.err)
	}
	sleeper.wantGone(t)
	wantWhole(t, readTranscript(t, model, id), "touch begun")
}

// The end of its context ends a turn, but not the session.
func TestRealTurnCanceled(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	sleeper := newSleeper(t, model)
	s := scene.Connect(t, sleeper.opts)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	got := read(s.Turn(ctx, clew.Text("Work")), on(func(*wire.AssistantMessage) {
		sleeper.awake(t)
		cancel()
	}))
	if !errors.Is(got.err, context.Canceled) {
		t.Errorf("error %v", got.err)
	}
	sleeper.wantGone(t)
	next := ask(t, s, "And now?")
	next.wantText(t, "Yes.")
	if results := scene.Of[*wire.ResultMessage](next.messages); len(results) != 1 {
		t.Errorf("%d results in the next turn", len(results))
	}
}

// When the agent is killed, every waiting call returns.
func TestRealKill(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no signals")
	}
	model := slowModel(t)
	model.On("Aside").Hang()
	s := scene.Connect(t, options(t, model))
	wantKilled := func(who string, err error) {
		exit, ok := errors.AsType[*clew.ExitError](err)
		if !ok || exit.Signal != os.Kill || exit.Code != -1 {
			t.Errorf("%s: %v", who, err)
		}
	}
	var aside sync.WaitGroup
	turns := queueTwo(t, s, model, func([]string) {
		aside.Go(func() {
			_, err := s.SideQuestion(t.Context(), "Aside")
			wantKilled("a control request", err)
		})
		if _, err := model.WaitRequest(t.Context(), 2); err != nil {
			t.Error(err)
		}
		if p, err := os.FindProcess(s.Info().PID); err != nil || p.Kill() != nil {
			t.Error("the agent can't be killed")
		}
	})
	aside.Wait()
	for _, turn := range turns {
		wantKilled("a turn", turn.err)
	}
	wantKilled("the session", s.Err())
	wantKilled("a turn that comes late", read(s.Turn(t.Context(), clew.Text("Late")), nil).err)
	_, err := s.Send(t.Context(), clew.Text("Late"))
	wantKilled("a prompt that comes late", err)
}

// A killed agent can't end its tools. On Linux they are found anyway.
func TestRealKillDuringTool(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere a tool in a session of its own survives the agent")
	}
	sleeper := newSleeper(t, clewtest.NewModel(t))
	s := scene.Connect(t, sleeper.opts)
	got := read(s.Turn(t.Context(), clew.Text("Work")), on(func(*wire.AssistantMessage) {
		sleeper.awake(t)
		if p, err := os.FindProcess(s.Info().PID); err != nil || p.Kill() != nil {
			t.Error("the agent can't be killed")
		}
	}))
	if exit, ok := errors.AsType[*clew.ExitError](got.err); !ok || exit.Signal != os.Kill {
		t.Errorf("error %v", got.err)
	}
	sleeper.wantGone(t)
}
