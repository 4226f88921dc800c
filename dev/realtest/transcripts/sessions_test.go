package transcripts_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// A past is a session that has ended: a turn with two tool calls at once, and one without.
type past struct {
	model *clewtest.Model
	opts  *clew.Options
	store *sessions.Folder
	id    string
}

func bash(command string) wire.Block {
	return clewtest.ToolUse("Bash", map[string]string{"command": command, "description": "Run a command"})
}

func makePast(t *testing.T) *past {
	t.Helper()
	model := clewtest.NewModel(t)
	model.On("Do both").Reply(clewtest.Text("Both."), bash("echo one"), bash("echo two"))
	model.Reply("Yes.")
	p := &past{model: model, store: sessions.NewFolder(filepath.Join(model.ConfigDir(), "projects"))}
	p.store.Skipped = func(l sessions.SkippedLine) { t.Errorf("a line was left out: %+v", l) }
	p.opts = over(t, model, &clew.Options{PermissionMode: clew.PermissionModeBypassPermissions})
	s, err := clew.Connect(t.Context(), p.opts)
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
	p.id = s.ID()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return p
}

// resume runs one more turn of a session, and returns what the model was sent.
func (p *past) resume(t *testing.T, id, prompt string, env ...string) []string {
	t.Helper()
	opts := *p.opts
	opts.Session.Resume, opts.Env = id, append(opts.Env[:len(opts.Env):len(opts.Env)], env...)
	if _, err := clew.Run(t.Context(), prompt, &opts); err != nil {
		t.Fatal(err)
	}
	for _, r := range p.model.Requests() {
		if strings.HasSuffix(r.Prompt(), prompt) {
			return said(r)
		}
	}
	t.Fatal("the model was not asked")
	return nil
}

// said returns the conversation of a request: texts, calls and results.
func said(r *clewtest.Request) []string {
	var all []string
	for _, msg := range r.Messages {
		if msg.Role == wire.RoleSystem {
			continue
		}
		all = append(all, shown(msg.Content)...)
	}
	return all
}

func shown(content wire.Content) []string {
	var all []string
	for _, block := range content {
		switch b := block.(type) {
		case *wire.TextBlock:
			if !strings.HasPrefix(b.Text, "<system-reminder>") {
				all = append(all, b.Text)
			}
		case *wire.ToolUseBlock:
			all = append(all, "call")
		case *wire.ToolResultBlock:
			all = append(all, "result")
		}
	}
	return all
}

var wholePast = []string{"Do both", "Both.", "call", "call", "result", "result", "Yes.", "And now", "Yes."}

func TestRealSessions(t *testing.T) {
	t.Parallel()
	p := makePast(t)
	t.Run("listed", p.testListed)
	t.Run("read", p.testRead)
	t.Run("forked", p.testForked)
	t.Run("imported", p.testImported)
	t.Run("changed", p.testChanged)
}

func (p *past) testListed(t *testing.T) {
	infos, err := sessions.List(t.Context(), &sessions.ListOptions{Store: p.store, Project: p.opts.Dir})
	if err != nil || len(infos) != 1 {
		t.Fatalf("got %+v, %v", infos, err)
	}
	real, err := filepath.EvalSymlinks(p.opts.Dir)
	if err != nil {
		t.Fatal(err)
	}
	info := infos[0]
	if info.ID != p.id || info.Title() != "And now" || info.FirstPrompt != "Do both" || info.CWD != real ||
		info.Created.IsZero() || info.Size == 0 {
		t.Errorf("got %+v", info)
	}
}

func (p *past) testRead(t *testing.T) {
	var got []string
	for msg, err := range sessions.Messages(t.Context(), p.id, &sessions.Options{Store: p.store}) {
		if err != nil {
			t.Fatal(err)
		}
		switch m := msg.Message.(type) {
		case *wire.UserMessage:
			got = append(got, shown(m.Content)...)
		case *wire.AssistantMessage:
			got = append(got, shown(m.Content)...)
		}
	}
	if diff := cmp.Diff(wholePast, got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func (p *past) testForked(t *testing.T) {
	var firstCall, firstResult, firstAnswer string
	for msg, err := range sessions.Messages(t.Context(), p.id, &sessions.Options{Store: p.store}) {
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case firstCall == "" && strings.Contains(msg.Raw(), `"tool_use"`):
			firstCall = msg.UUID
		case firstResult == "" && strings.Contains(msg.Raw(), `"tool_result"`):
			firstResult = msg.UUID
		case firstAnswer == "" && strings.Contains(msg.Raw(), `"Yes."`):
			firstAnswer = msg.UUID
		}
	}
	tests := []struct {
		prompt, upTo string
		before       []string
	}{
		{"Fork of all", "", wholePast},
		{"Fork at an answer", firstAnswer, wholePast[:7]},
		{"Fork at a call", firstCall, wholePast[:2]},
		{"Fork at a result", firstResult, []string{"Do both", "Both.", "call", "result", "No response requested."}},
	}
	for _, tt := range tests {
		fork, err := sessions.Fork(t.Context(), p.id, &sessions.ForkOptions{Store: p.store, UpTo: tt.upTo})
		if err != nil {
			t.Fatal(err)
		}
		got := p.resume(t, fork, tt.prompt)
		if diff := cmp.Diff(append(tt.before[:len(tt.before):len(tt.before)], tt.prompt), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.prompt, diff)
		}
		if err := sessions.Delete(t.Context(), fork, &sessions.Options{Store: p.store}); err != nil {
			t.Error(err)
		}
	}
}

// A session is copied through another store to a directory for a new agent, which resumes it.
func (p *past) testImported(t *testing.T) {
	memory, config := sessions.NewMemory(), t.TempDir()
	if err := sessions.Import(t.Context(), memory, p.id, &sessions.ImportOptions{Store: p.store}); err != nil {
		t.Fatal(err)
	}
	there := sessions.NewFolder(filepath.Join(config, "projects"))
	if err := sessions.Import(t.Context(), there, p.id, &sessions.ImportOptions{Store: memory}); err != nil {
		t.Fatal(err)
	}
	got := p.resume(t, p.id, "Taken up", "CLAUDE_CONFIG_DIR="+config)
	if diff := cmp.Diff(append(wholePast[:len(wholePast):len(wholePast)], "Taken up"), got); diff != "" {
		t.Errorf("the conversation (-want +got):\n%s", diff)
	}
	if err := sessions.Import(t.Context(), memory, p.id, &sessions.ImportOptions{Store: there}); err != nil {
		t.Fatal(err)
	}
	info, err := sessions.Get(t.Context(), p.id, &sessions.Options{Store: memory})
	if err != nil || info.Title() != "Taken up" {
		t.Errorf("back in the store, the session is %q, %v", info.Title(), err)
	}
}

func (p *past) testChanged(t *testing.T) {
	opts := &sessions.Options{Store: p.store}
	if err := sessions.Rename(t.Context(), p.id, "A title", opts); err != nil {
		t.Fatal(err)
	}
	if err := sessions.Tag(t.Context(), p.id, "a tag", opts); err != nil {
		t.Fatal(err)
	}
	got := p.resume(t, p.id, "Once more")
	if diff := cmp.Diff(append(wholePast[:len(wholePast):len(wholePast)], "Once more"), got); diff != "" {
		t.Errorf("the conversation (-want +got):\n%s", diff)
	}
	info, err := sessions.Get(t.Context(), p.id, opts)
	if err != nil || info.Title() != "A title" || info.Tag != "a tag" {
		t.Errorf("after another turn, the session is %q, tagged %q, %v", info.Title(), info.Tag, err)
	}
}

// A session is running while its agent has it open, and the agent's report about itself is right.
func TestRealRunning(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("Hi").Hang()
	s := play(t, sceneOptions(t, model))
	idle := waitRunning(t, model, "idle")
	if info := s.Info(); idle.PID != info.PID || idle.ID == "" || idle.Version != clewtest.AgentVersion || idle.Entrypoint == "" ||
		time.Since(idle.Started) > time.Hour {
		t.Errorf("got %+v", idle)
	}
	if _, err := s.Send(t.Context(), clew.Text("Hi")); err != nil {
		t.Fatal(err)
	}
	if busy := waitRunning(t, model, "busy"); busy.ID != idle.ID {
		t.Errorf("got %+v, and before %+v", busy, idle)
	}
	if err := s.Close(); err != nil {
		t.Logf("closing: %v", err) // the turn did not end
	}
	if got, err := sessions.Running(t.Context(), model.ConfigDir()); err != nil || len(got) != 0 {
		t.Errorf("after its end: %+v, %v", got, err)
	}
}

// waitRunning waits until the only session has a status.
func waitRunning(t *testing.T, model *clewtest.Model, status string) (found sessions.RunningSession) {
	t.Helper()
	polltest.Until(t, "a session is "+status, func() bool {
		got, err := sessions.Running(t.Context(), model.ConfigDir())
		if err == nil && len(got) == 1 {
			found = got[0]
		}
		return found.Status == status
	})
	return found
}
