package transcripts_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/internal/sessionfile"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

const (
	liveID = "5d3ab3a5-7a1e-4c39-9b8e-0a4a8b1f2c33"
	theEnd = "The end"
)

// A live session has a turn with several tool calls at once, and a turn that starts a subagent in
// the background.
type live struct {
	opts    *clew.Options
	builder *transcript.Builder // of its messages
}

func newLive(t *testing.T, model *clewtest.Model) *live {
	model.On("Do both").Reply(clewtest.Text("Both."), bash("echo one"), bash("echo two"))
	model.On("Delegate").Reply(clewtest.Text("Somebody will."), clewtest.ToolUse("Agent", map[string]any{
		"description": "Count", "prompt": "INNER count", "subagent_type": "general-purpose", "run_in_background": true,
	}))
	model.On("INNER count").Reply(clewtest.Text("Counting."), bash("echo counted"))
	model.OnToolResult("counted").Reply(clewtest.Text("Three."))
	model.OnToolResult("agent launched").Reply(clewtest.Text("Started."))
	model.When(func(r *clewtest.Request) bool {
		return strings.Contains(r.Turn().Text(), "<task-notification>")
	}).Reply(clewtest.Text("It is over."))
	model.Reply("Yes.")
	return &live{
		builder: transcript.NewBuilder(nil),
		opts: over(t, model, &clew.Options{
			PermissionMode: clew.PermissionModeBypassPermissions, Session: clew.SessionOptions{ID: liveID},
		}),
	}
}

// path returns the path to which the agent will write the session.
func (l *live) path(t *testing.T, model *clewtest.Model) string {
	real, err := filepath.EvalSymlinks(l.opts.Dir)
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(model.ConfigDir(), "projects", sessionfile.ProjectName(real), liveID+".jsonl")
}

// run runs the turns, and then gives the session a title, which is the last line of its transcript.
func (l *live) run(ctx context.Context, store sessions.Store) error {
	s, err := clew.Connect(ctx, l.opts)
	if err != nil {
		return err
	}
	err = errors.Join(l.turn(ctx, s, "Do both"), l.turn(ctx, s, "Delegate"), l.await(ctx, s, "It is over."), s.Close())
	return errors.Join(err, sessions.Rename(ctx, liveID, theEnd, &sessions.Options{Store: store}))
}

func (l *live) turn(ctx context.Context, s *clew.Session, prompt string) error {
	sent := wire.Decode([]byte(`{"type":"user","message":{"role":"user","content":"` + prompt + `"}}`))
	l.builder.AddMessage(sent, time.Time{})
	for msg, err := range s.Turn(ctx, clew.Text(prompt)) {
		if err != nil {
			return err
		}
		l.builder.AddMessage(msg, time.Time{})
	}
	return nil
}

// await reads messages up to a result.
func (l *live) await(ctx context.Context, s *clew.Session, result string) error {
	for msg, err := range s.Messages(ctx) {
		if err != nil {
			return err
		}
		l.builder.AddMessage(msg, time.Time{})
		if r, ok := msg.(*wire.ResultMessage); ok && r.Result == result {
			break
		}
	}
	return nil
}

// Following a session while the agent writes it ends with the same transcript as reading it, and as
// its messages.
func TestRealTail(t *testing.T) {
	t.Parallel()
	modes := map[string]*sessions.TailOptions{"told": nil, "polling": {PollInterval: 5 * time.Millisecond}}
	for name, opts := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := clewtest.NewModel(t)
			l := newLive(t, model)
			path := l.path(t, model)
			done := make(chan error, 1)
			go func() { done <- l.run(t.Context(), sessions.NewFolder(filepath.Dir(filepath.Dir(path)))) }()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			main, updates := followToEnd(ctx, t, path, opts)
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if updates < 3 {
				t.Errorf("%d updates only", updates)
			}
			l.compare(t, main)
		})
	}
}

var asRead = cmp.Options{
	cmpopts.IgnoreUnexported(transcript.Transcript{}, transcript.Agent{}), cmpopts.EquateEmpty(),
}

// followToEnd follows a session until it equals what Read returns after its end.
func followToEnd(
	ctx context.Context, t *testing.T, path string, opts *sessions.TailOptions,
) (main *transcript.Transcript, updates int) {
	for u, err := range sessions.TailFile(ctx, path, opts) {
		if err != nil || u.Err != nil || u.Reset || u.Gone {
			t.Fatalf("got %+v, %v", u, err)
		}
		if updates++; u.Agent == nil {
			main = u.Transcript
		}
		if main.Title != theEnd {
			continue
		}
		whole, err := sessions.ReadFile(ctx, path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if cmp.Equal(whole, main, asRead) {
			break
		}
	}
	return main, updates
}

// Differences between messages and entries are ignored.
var notFollowed = cmp.Options{
	cmpopts.IgnoreFields(transcript.Chunk{}, "Timestamp", "DurationMs", "Usage", "StopReason", "PermissionMode", "At", "Lines"),
	cmpopts.IgnoreFields(transcript.DisplayItem{}, "Timestamp", "DurationMs", "At", "ResultAt", "Agents", "Permission", "Sandboxed"),
	cmpopts.IgnoreFields(transcript.TaskReport{}, "Time"),
}

func (l *live) compare(t *testing.T, disk *transcript.Transcript) {
	streamed := l.builder.Transcript()
	transcript.Link(streamed, transcript.InlineAgents(streamed))
	if diff := cmp.Diff(disk.Chunks, streamed.Chunks, notFollowed); diff != "" {
		t.Errorf("(-disk +messages):\n%s", diff)
	}
	a, b := agentsUnder(disk), agentsUnder(streamed)
	if len(a) != 1 || len(b) != 1 {
		t.Fatalf("%d subagents on disk, %d in the messages", len(a), len(b))
	}
	if diff := cmp.Diff(a[0].Transcript.Chunks, b[0].Transcript.Chunks, notFollowed); diff != "" {
		t.Errorf("subagent (-disk +messages):\n%s", diff)
	}
}

func agentsUnder(tr *transcript.Transcript) []*transcript.Agent {
	var agents []*transcript.Agent
	for _, chunk := range tr.Chunks {
		for _, item := range chunk.Items {
			agents = append(agents, item.Agents...)
		}
	}
	return agents
}
