package drive_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/clewdev/clew/cmd/clew/internal/ask"
	"github.com/clewdev/clew/cmd/clew/internal/drive"
	"github.com/clewdev/clew/permission"
)

// An agent's question is answered once: the second of two answers learns who was first.
func TestTwoAnswers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil)
		g := f.start(t, "ask make test")
		s := g.Status()
		if s.State != drive.Waiting || len(s.Questions) != 1 {
			t.Fatalf("status %+v", s)
		}
		q := s.Questions[0]
		if q.Tool != "Bash" || len(q.Members) != 1 || q.Members[0].Text() != "make test" || q.Rule != "Bash(make:*)" {
			t.Errorf("question %+v", q)
		}
		var both sync.WaitGroup
		var errs [2]error
		for i, kind := range []string{ask.AllowOnce, ask.Denied} {
			both.Go(func() {
				_, errs[i] = g.Answer(t.Context(), drive.AnswerRequest{
					ID: "answer-" + kind, Question: q.ID, Digest: q.Digest, By: "tab " + kind, Answer: ask.Answer{Kind: kind},
				})
			})
		}
		both.Wait()
		synctest.Wait()
		if (errs[0] == nil) == (errs[1] == nil) || len(f.sim.Answers()) != 1 {
			t.Fatalf("errors %v, answers %q", errs, f.sim.Answers())
		}
		first, second, behavior := "tab once: allowed once", errs[1], "allow"
		if errs[0] != nil {
			first, second, behavior = "tab deny: denied", errs[0], "deny"
		}
		wantKind(t, second, drive.Conflict, "answered by "+first)
		if !strings.Contains(f.sim.Answers()[0], `"behavior":"`+behavior+`"`) {
			t.Errorf("the agent was told %s", f.sim.Answers()[0])
		}
		if s := g.Status(); s.State != drive.Idle || len(s.Questions) != 0 || len(s.Answers) != 1 {
			t.Errorf("status %+v", s)
		}
	})
}

// An answer to a question that changed since it was shown changes nothing.
func TestChangedQuestion(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil)
		path := filepath.Join(f.dir, "a.txt")
		write := func(text string) {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write("the old line\n")
		g := f.start(t, "edit "+path)
		q := g.Status().Questions[0]
		if q.Diff == nil || q.Path != path {
			t.Fatalf("question %+v", q)
		}
		write("before\nthe old line\n")
		answer := drive.AnswerRequest{ID: f.id(), Question: q.ID, Digest: q.Digest, Answer: ask.Answer{Kind: ask.AllowOnce}}
		_, err := g.Answer(t.Context(), answer)
		wantKind(t, err, drive.Conflict, "has changed")
		now := g.Status().Questions
		if len(now) != 1 || now[0].Digest == q.Digest || len(f.sim.Answers()) != 0 {
			t.Fatalf("questions %+v, answers %q", now, f.sim.Answers())
		}
		answer.ID, answer.Digest = f.id(), now[0].Digest
		if _, err := g.Answer(t.Context(), answer); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		_, err = g.Answer(t.Context(), drive.AnswerRequest{ID: f.id(), Question: "q99", Digest: q.Digest, Answer: answer.Answer})
		wantKind(t, err, drive.Conflict, "not open")
	})
}

// "Always" applies what was shown or less, and no mode that the server was not started with.
func TestAlways(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil)
		g := f.start(t, "ask make test")
		q := g.Status().Questions[0]
		if len(q.Always) != 1 || q.Always[0].Text != "adds Bash(make:*) to .claude/settings.local.json" {
			t.Errorf("always: %+v", q.Always)
		}
		send := func(a ask.Answer) error {
			_, err := g.Answer(t.Context(), drive.AnswerRequest{ID: f.id(), Question: q.ID, Digest: q.Digest, Answer: a})
			return err
		}
		for _, bad := range []ask.Answer{
			{Kind: ask.AllowAlways},
			{Kind: ask.AllowAlways, Changes: []int{1}}, // the mode was not offered
			{Kind: ask.AllowAlways, Changes: []int{-1}},
			{Kind: ask.AllowAlways, Changes: []int{0}, Rule: "Bash"},
			{Kind: ask.AllowAlways, Changes: []int{0}, Rule: "Bash(rm:*)"},
			{Kind: ask.Chosen, Chosen: [][]string{{"Red"}}},
			{Kind: "yes"},
		} {
			wantKind(t, send(bad), drive.Invalid, "")
		}
		if err := send(ask.Answer{Kind: ask.AllowAlways, Changes: []int{0}, Rule: "Bash(make test)"}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		got := f.sim.Answers()[0]
		if !strings.Contains(got, `"ruleContent":"make test"`) || strings.Contains(got, "bypass") {
			t.Errorf("the agent was told %s", got)
		}
	})
}

// The user chooses among options, or says something else, or nothing.
func TestChoices(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil)
		for _, tt := range []struct {
			answer ask.Answer
			want   string
		}{
			{ask.Answer{Kind: ask.Chosen, Chosen: [][]string{{"Blue"}}}, `"answers":{"Which color?":"Blue"}`},
			{ask.Answer{Kind: ask.Chosen, Chosen: [][]string{{"none of these"}}}, `"none of these"`},
			{ask.Answer{Kind: ask.Skipped}, "declined"},
		} {
			g := f.start(t, "choose")
			q := g.Status().Questions[0]
			for _, bad := range []ask.Answer{
				{Kind: ask.AllowOnce}, {Kind: ask.Chosen}, {Kind: ask.Chosen, Chosen: [][]string{{"Red", "Blue"}}},
			} {
				_, err := g.Answer(t.Context(), drive.AnswerRequest{ID: f.id(), Question: q.ID, Digest: q.Digest, Answer: bad})
				wantKind(t, err, drive.Invalid, "")
			}
			if _, err := g.Answer(t.Context(), drive.AnswerRequest{ID: f.id(), Question: q.ID, Digest: q.Digest, Answer: tt.answer}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			answers := f.sim.Answers()
			if got := answers[len(answers)-1]; !strings.Contains(got, tt.want) {
				t.Errorf("%+v: the agent was told %s", tt.answer, got)
			}
			if _, err := g.End(t.Context(), drive.EndRequest{ID: f.id()}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// An interrupt answers open questions with no.
func TestInterruptQuestion(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil)
		g := f.start(t, "ask make")
		q := g.Status().Questions[0]
		if _, err := g.Interrupt(t.Context(), drive.InterruptRequest{ID: f.id()}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if s := g.Status(); len(s.Questions) != 0 || s.State != drive.Idle {
			t.Errorf("status %+v", s)
		}
		_, err := g.Answer(t.Context(), drive.AnswerRequest{ID: f.id(), Question: q.ID, Digest: q.Digest, Answer: ask.Answer{Kind: ask.AllowOnce}})
		wantKind(t, err, drive.Conflict, "interrupted")
	})
}

// A question from a session in another process is answered here or not at all.
func TestElsewhere(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil)
		type outcome struct {
			result permission.Result
			err    error
		}
		put := func(ctx context.Context, tool string) <-chan outcome {
			done := make(chan outcome, 1)
			go func() {
				result, err := f.AskElsewhere(ctx, &drive.ElsewhereRequest{Session: oldSession, Dir: f.dir, Tool: tool, Input: `{"command":"make"}`})
				done <- outcome{result, err}
			}()
			synctest.Wait()
			return done
		}
		answered := put(t.Context(), "Bash")
		s := f.List()[0]
		if s.State != drive.Waiting || !s.Elsewhere || len(s.Questions) != 1 || len(s.Questions[0].Always) != 0 || f.Driving(oldSession) != "" {
			t.Fatalf("status %+v", s)
		}
		g, err := f.Agent(s.Agent)
		if err != nil {
			t.Fatal(err)
		}
		_, err = g.Prompt(t.Context(), drive.PromptRequest{ID: f.id(), Text: "say hello"})
		wantKind(t, err, drive.Forbidden, "another process")
		_, err = g.End(t.Context(), drive.EndRequest{ID: f.id()})
		wantKind(t, err, drive.Forbidden, "another process")
		q := s.Questions[0]
		req := drive.AnswerRequest{ID: f.id(), Question: q.ID, Digest: q.Digest, Answer: ask.Answer{Kind: ask.AllowOnce}}
		if _, err := g.Answer(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		if got := <-answered; got.err != nil || !isAllowed(got.result) {
			t.Errorf("answered with %+v", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		withdrawn := put(ctx, "Bash")
		cancel()
		if got := <-withdrawn; got.result != nil || got.err != nil {
			t.Errorf("withdrawn: %+v", got)
		}
		for _, tool := range []string{"ExitPlanMode", "AskUserQuestion"} {
			if got := <-put(t.Context(), tool); got.result != nil || got.err != nil {
				t.Errorf("%s: %+v", tool, got)
			}
		}
		synctest.Wait()
		if s := g.Status(); s.State != drive.Ended || len(s.Questions) != 0 || len(s.Answers) != 2 {
			t.Errorf("status %+v", s)
		}
		last := put(t.Context(), "Bash")
		if open := f.Close(); len(open) != 0 {
			t.Errorf("open: %+v", open)
		}
		if got := <-last; got.result != nil {
			t.Errorf("after the end: %+v", got)
		}
	})
}

func isAllowed(r permission.Result) bool {
	_, ok := r.(*permission.AllowResult)
	return ok
}
