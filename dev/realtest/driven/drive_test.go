package driven_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/cmd/clew/dev/realtest/scene"
	"github.com/clewdev/clew/cmd/clew/internal/ask"
	"github.com/clewdev/clew/cmd/clew/internal/drive"
	"github.com/clewdev/clew/sessions"
)

// A story is agents over a model, and where it has come to.
type story struct {
	*drive.Agents
	t     *testing.T
	agent *drive.Agent
	n     int
}

func newStory(t *testing.T, model *clewtest.Model, dir string) *story {
	t.Helper()
	base := scene.Options(t, model, &clew.Options{Dir: dir})
	base.Dir = ""
	agents := drive.New(drive.Options{
		Base: *base, Roots: []string{dir},
		Names: func(ctx context.Context, project string) ([]sessions.SessionInfo, error) {
			projects := sessions.NewFolder(filepath.Join(model.ConfigDir(), "projects"))
			return sessions.Names(ctx, &sessions.ListOptions{Store: projects, ProjectName: project})
		},
		Running: func(ctx context.Context) ([]sessions.RunningSession, error) {
			return sessions.Running(ctx, model.ConfigDir())
		},
	})
	t.Cleanup(func() { agents.Close() })
	return &story{Agents: agents, t: t}
}

func (s *story) id() string {
	s.n++
	return fmt.Sprintf("request-%d", s.n)
}

func (s *story) start(req drive.StartRequest) drive.Status {
	s.t.Helper()
	req.ID = s.id()
	status, err := s.Start(s.t.Context(), req)
	if err == nil {
		s.agent, err = s.Agent(status.Agent)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return status
}

func (s *story) prompt(text string) {
	s.t.Helper()
	if _, err := s.agent.Prompt(s.t.Context(), drive.PromptRequest{ID: s.id(), Text: text}); err != nil {
		s.t.Fatal(err)
	}
}

// until waits until the agent is as ok says.
func (s *story) until(what string, ok func(drive.Status) bool) drive.Status {
	s.t.Helper()
	w := s.Watch()
	defer w.Close()
	ctx, cancel := context.WithTimeout(s.t.Context(), 5*time.Minute)
	defer cancel()
	for {
		status := s.agent.Status()
		if ok(status) {
			return status
		}
		if _, err := w.Next(ctx); err != nil || status.State == drive.Ended {
			s.t.Fatalf("%s: %v, status %+v", what, err, status)
		}
	}
}

func (s *story) answer(q *ask.Question, a ask.Answer) {
	s.t.Helper()
	_, err := s.agent.Answer(s.t.Context(), drive.AnswerRequest{ID: s.id(), Question: q.ID, Digest: q.Digest, By: "test", Answer: a})
	if err != nil {
		s.t.Fatal(err)
	}
}

func sent(n int) func(drive.Status) bool {
	return func(s drive.Status) bool { return s.State == drive.Idle && len(s.Sent) == n }
}

func asked(s drive.Status) bool { return len(s.Questions) > 0 }

// The main story: start, prompt, a tool with a question, an answer, an interrupt, rewind, and another
// agent that resumes.
func TestRealDrive(t *testing.T) {
	t.Parallel()
	model, dir := clewtest.NewModel(t), scene.Dir(t)
	path := filepath.Join(dir, "note.txt")
	model.On("Write it").Reply(clewtest.ToolUse("Write", map[string]string{"file_path": path, "content": "noted\n"})).Once()
	model.OnToolResult("created").Reply(clewtest.Text("Written.")).Once()
	model.On("Wait").Hang().Once()
	model.On("And now").Reply(clewtest.Text("Still here.")).Once()
	model.On("Which").Reply(clewtest.ToolUse("AskUserQuestion", map[string]any{"questions": []any{map[string]any{
		"question": "Which color?", "header": "Color", "multiSelect": false,
		"options": []any{map[string]any{"label": "Red", "description": "warm"}, map[string]any{"label": "Blue", "description": "cold"}},
	}}})).Once()
	model.OnToolResult("Blue").Reply(clewtest.Text("Blue it is.")).Once()
	s := newStory(t, model, dir)
	projects, err := s.Projects(t.Context())
	if err != nil || len(projects) != 1 {
		t.Fatal(projects, err)
	}
	begun := s.start(drive.StartRequest{Project: projects[0].ID, Prompt: "Write it"})
	q := s.until("a question", asked).Questions[0]
	if q.Tool != "Write" || q.Diff == nil || !q.Diff.Created {
		t.Errorf("question %+v", q)
	}
	s.answer(q, ask.Answer{Kind: ask.AllowOnce})
	s.until("the first turn", sent(1))
	if text, err := os.ReadFile(path); err != nil || string(text) != "noted\n" {
		t.Errorf("the file has %q: %v", text, err)
	}
	s.interruptTurn(model)
	s.choose()
	s.rewind(path)
	s.resume(model, begun.Session)
	if n := strings.Count(string(scene.Newest(model).Body), "And now"); n != 1 {
		t.Errorf("the prompt is %d times in the request", n)
	}
}

// interruptTurn interrupts a turn once the model has its request: an agent that is interrupted before
// sends the prompt with the next one.
func (s *story) interruptTurn(model *clewtest.Model) {
	s.t.Helper()
	s.prompt("Wait")
	scene.Eventually(s.t, "the request", func() bool { return strings.Contains(string(scene.Newest(model).Body), "Wait") })
	if _, err := s.agent.Interrupt(s.t.Context(), drive.InterruptRequest{ID: s.id()}); err != nil {
		s.t.Fatal(err)
	}
	s.until("the end of the turn", sent(2))
}

func (s *story) choose() {
	s.t.Helper()
	s.prompt("Which color?")
	q := s.until("a choice", asked).Questions[0]
	if len(q.Choices) != 1 || len(q.Choices[0].Options) != 2 {
		s.t.Errorf("question %+v", q)
	}
	s.answer(q, ask.Answer{Kind: ask.Chosen, Chosen: [][]string{{"Blue"}}})
	s.until("the answer", sent(3))
}

// rewind goes back to before the first prompt, which removes the file that it made.
func (s *story) rewind(path string) {
	s.t.Helper()
	to := s.agent.Status().Sent[0].ID
	preview, err := s.agent.Rewind(s.t.Context(), drive.RewindRequest{ID: s.id(), To: to, Preview: true})
	if err != nil || len(preview.Files) != 1 || preview.Files[0] != path {
		s.t.Errorf("preview %+v: %v", preview, err)
	}
	if _, err := os.Stat(path); err != nil {
		s.t.Errorf("after the preview: %v", err)
	}
	done, err := s.agent.Rewind(s.t.Context(), drive.RewindRequest{ID: s.id(), To: to, Digest: preview.Digest})
	if err != nil || done.Prompt != "Write it" {
		s.t.Errorf("rewound %+v: %v", done, err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		s.t.Errorf("after the rewind: %v", err)
	}
}

// resume ends the agent, and continues its session with another one. A session that another process
// has open is not continued.
func (s *story) resume(model *clewtest.Model, session string) {
	s.t.Helper()
	other := newStory(s.t, model, s.agent.Status().Dir)
	_, err := other.Start(s.t.Context(), drive.StartRequest{ID: other.id(), Session: session})
	if e, ok := errors.AsType[*drive.Error](err); !ok || e.Kind != drive.Conflict || !strings.Contains(e.Reason, "open in another process") {
		s.t.Errorf("the session was continued twice: %v", err)
	}
	if _, err := s.agent.End(s.t.Context(), drive.EndRequest{ID: s.id()}); err != nil {
		s.t.Fatal(err)
	}
	s.start(drive.StartRequest{Session: session, Prompt: "And now?"})
	if status := s.until("the resumed session", sent(1)); status.Session != session {
		s.t.Errorf("session %s", status.Session)
	}
}
