package transcripts_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
)

// takeBack runs a turn and rewinds it.
func (s *scene) takeBack(t *testing.T, words string) *clew.ConversationRewind {
	t.Helper()
	prompt := clew.Text(words)
	if err := s.say(t, prompt, nil); err != nil {
		t.Fatal(err)
	}
	rewind, err := s.RewindConversation(t.Context(), prompt.UUID)
	if err != nil || !rewind.Rewound {
		t.Fatalf("%+v, %v", rewind, err)
	}
	s.live.Rewind(prompt.UUID, rewind.PrecedingAssistantUUID)
	return rewind
}

// shape returns the outlines of the conversation and of its abandoned branches.
func shape(tr *transcript.Transcript) [][]string {
	var all [][]string
	for _, chunks := range allChunks(tr) {
		all = append(all, outline(chunks))
	}
	return all
}

// A rewound turn is a branch, before and after the next turn, and so are the turns that a resume at
// an earlier message has abandoned. Their cost counts nevertheless.
func TestRealRewind(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	opts := sceneOptions(t, model)
	model.On("Two").Reply(bash("echo two")).Once()
	model.OnToolResult("two").Reply(clewtest.Text("Twice.")).Once()
	model.Reply("Yes.")
	p := play(t, opts)
	p.ask(t, "One")
	first := p.takeBack(t, "Two")
	p.ask(t, "Three")
	p.takeBack(t, "Four")
	id := p.end(t)
	disk := recorded(t, model, id)
	want := [][]string{
		{"user: One", "ai: Yes.", "user: Three", "ai: Yes."},
		{"user: Two", "ai Bash: Twice."},
		{"user: Four", "ai: Yes."},
	}
	if diff := cmp.Diff(want, shape(disk)); diff != "" {
		t.Errorf("rewound (-want +got):\n%s", diff)
	}
	p.wantAgreement(t, disk)
	wantMessages(t, model, id, 4)

	opts.Session.Resume, opts.Session.ResumeAt = id, first.PrecedingAssistantUUID
	p = play(t, opts)
	p.ask(t, "Five")
	p.end(t)
	disk = recorded(t, model, id)
	want = [][]string{
		{"user: One", "ai: Yes.", "user: Five", "ai: Yes."},
		{"user: Two", "ai Bash: Twice."},
		{"user: Three", "ai: Yes.", "user: Four", "ai: Yes."},
	}
	if diff := cmp.Diff(want, shape(disk)); diff != "" {
		t.Errorf("resumed (-want +got):\n%s", diff)
	}
	wantMessages(t, model, id, 4)
	if calls := disk.Calls(); len(calls) != len(model.Requests()) {
		t.Errorf("%d calls, and %d requests", len(calls), len(model.Requests()))
	}
}

// wantMessages checks the length of the conversation that an agent would continue.
func wantMessages(t *testing.T, model *clewtest.Model, id string, want int) {
	t.Helper()
	n := 0
	for _, err := range sessions.Messages(t.Context(), id, &sessions.Options{Store: projects(model)}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != want {
		t.Errorf("%d messages, want %d", n, want)
	}
}

// A meddler changes a session whenever the agent asks for a permission, which is in the middle of a
// turn.
type meddler struct {
	*past
	mu    sync.Mutex
	forks []string
	errs  []error
}

func (m *meddler) allow(ctx context.Context, _ *permission.Request) (permission.Result, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	infos, err := sessions.List(ctx, &sessions.ListOptions{Store: m.store})
	m.errs = append(m.errs, err)
	for _, info := range infos {
		if info.CustomTitle != "" && info.Title() != "Meddled" {
			continue // a fork
		}
		if !info.Ongoing {
			m.errs = append(m.errs, fmt.Errorf("the session seems to have ended: %+v", info))
		}
		opts := &sessions.Options{Store: m.store}
		fork, err := sessions.Fork(ctx, info.ID, &sessions.ForkOptions{Store: m.store, Title: "A fork"})
		m.forks = append(m.forks, fork)
		m.errs = append(m.errs, err,
			sessions.Rename(ctx, info.ID, "Meddled", opts), sessions.Tag(ctx, info.ID, "meddled", opts))
	}
	return permission.Allow(), nil
}

// A session is renamed, tagged and forked while the agent works in it. The agent continues, and so
// does an agent that resumes the session or a fork.
func TestRealChangedWhileRunning(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("Do both").Reply(clewtest.Text("Both."), bash("touch one"), bash("touch two"))
	model.Reply("Yes.")
	m := &meddler{past: &past{model: model, store: sessions.NewFolder(filepath.Join(model.ConfigDir(), "projects"))}}
	m.store.Skipped = func(l sessions.SkippedLine) { t.Errorf("a line was left out: %+v", l) }
	m.opts = over(t, model, &clew.Options{CanUseTool: m.allow})
	s, err := clew.Connect(t.Context(), m.opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, prompt := range []string{"Do both", "And now"} {
		for _, err := range s.Turn(t.Context(), clew.Text(prompt)) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	m.id = s.ID()
	if err := errors.Join(append(m.errs, s.Close())...); err != nil || len(m.forks) == 0 {
		t.Fatalf("%d forks, %v", len(m.forks), err)
	}
	info, err := sessions.Get(t.Context(), m.id, &sessions.Options{Store: m.store})
	if err != nil || info.Title() != "Meddled" || info.Tag != "meddled" || info.Ongoing {
		t.Errorf("after the turns, the session is %+v, %v", info, err)
	}
	got := m.resume(t, m.id, "Once more")
	if diff := cmp.Diff(append(wholePast[:len(wholePast):len(wholePast)], "Once more"), got); diff != "" {
		t.Errorf("the conversation (-want +got):\n%s", diff)
	}
	for i, fork := range m.forks {
		prompt := fmt.Sprintf("Fork %d", i)
		if got := m.resume(t, fork, prompt); got[0] != "Do both" || got[len(got)-1] != prompt {
			t.Errorf("the conversation of a fork is %q", got)
		}
	}
}

// A line that a crash has torn affects nothing else, when the session is renamed and when it is
// resumed.
func TestRealTornLine(t *testing.T) {
	t.Parallel()
	p := makePast(t)
	p.store.Skipped = nil
	info, err := sessions.Get(t.Context(), p.id, &sessions.Options{Store: p.store})
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(info.Path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.WriteString("\n" + `{"type":"user","uuid":"torn`)
	if err = errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	if err := sessions.Rename(t.Context(), p.id, "A title", &sessions.Options{Store: p.store}); err != nil {
		t.Fatal(err)
	}
	got := p.resume(t, p.id, "Once more")
	if diff := cmp.Diff(append(wholePast[:len(wholePast):len(wholePast)], "Once more"), got); diff != "" {
		t.Errorf("the conversation (-want +got):\n%s", diff)
	}
	if info, err = sessions.Get(t.Context(), p.id, &sessions.Options{Store: p.store}); err != nil || info.Title() != "A title" {
		t.Errorf("got %q, %v", info.Title(), err)
	}
}

// A deleted session can't be resumed. A restored one can.
func TestRealRestored(t *testing.T) {
	t.Parallel()
	p := makePast(t)
	opts := &sessions.Options{Store: p.store}
	if err := sessions.Delete(t.Context(), p.id, opts); err != nil {
		t.Fatal(err)
	}
	gone := *p.opts
	gone.Session.Resume = p.id
	if _, err := clew.Run(t.Context(), "Once more", &gone); err == nil {
		t.Error("a deleted session was resumed")
	}
	if err := sessions.Restore(t.Context(), p.id, opts); err != nil {
		t.Fatal(err)
	}
	got := p.resume(t, p.id, "Again")
	if diff := cmp.Diff(append(wholePast[:len(wholePast):len(wholePast)], "Again"), got); diff != "" {
		t.Errorf("the conversation (-want +got):\n%s", diff)
	}
}

// The agent takes the name of its project from the environment, and the session is found there.
func TestRealGivenProjectName(t *testing.T) {
	model := clewtest.NewModel(t)
	model.Reply("Yes.")
	t.Setenv("CLAUDE_CONFIG_DIR", model.ConfigDir())
	t.Setenv("CLAUDE_CODE_PROJECT_DIR_NAME", "given_name")
	opts := over(t, model, &clew.Options{Env: []string{"CLAUDE_CODE_PROJECT_DIR_NAME=given_name"}})
	if _, err := clew.Run(t.Context(), "Hello", opts); err != nil {
		t.Fatal(err)
	}
	infos, err := sessions.List(t.Context(), &sessions.ListOptions{Project: opts.Dir})
	if err != nil || len(infos) != 1 || infos[0].Project != "given_name" || infos[0].Title() != "Hello" {
		t.Errorf("got %+v, %v", infos, err)
	}
}
