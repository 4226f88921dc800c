package tui

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/clewdev/clew/cmd/clew/internal/ask"
	"github.com/clewdev/clew/cmd/clew/internal/keymap"
	"github.com/clewdev/clew/fleet"
)

// An answer that did not reach the fleet is given again with the same key, and is the same answer.
func TestJobAnswerAgain(t *testing.T) {
	t.Parallel()
	f := someJobs(t)
	f.ask(&fleet.Question{Job: "runsxxxxxxxx", ID: "q1", Attempt: 1, Tool: "AskUserQuestion", Input: json.RawMessage(
		`{"questions":[{"question":"Which color?","options":[{"label":"Red"},{"label":"Blue"}]}]}`)})
	a, j := openJobScreen(t, f, "runsxxxxxxxx")
	j.do(keymap.AnswerJob)
	question, ok := a.top().(*questionScreen)
	if !ok {
		t.Fatalf("%T is on top", a.top())
	}
	question.draw(80, 24)
	question.update(settledMsg{})
	question.typed(tea.KeyPressMsg{Text: "2", Code: '2'})
	question.update(answeredMsg{err: context.DeadlineExceeded})
	if question.sent || !strings.Contains(question.dock.remark, "not answered: the fleet does not answer") {
		t.Fatalf("sent %t, remark %q", question.sent, question.dock.remark)
	}
	cmd, _ := question.typed(tea.KeyPressMsg{Text: "2", Code: '2'})
	if cmd == nil {
		t.Fatalf("it is not answered again: %s", question.dock.remark)
	}
	runAll(question, cmd)
	if q := f.question("runsxxxxxxxx", "q1"); q.Answer == nil || !q.Answer.Allow || fmt.Sprint(q.Answer.Answers) != "map[Which color?:Blue]" {
		t.Errorf("the answer is %+v", q.Answer)
	}
	for _, a := range []ask.Answer{{Kind: ask.AllowOnce}, {Kind: ask.AllowAlways}, {Kind: ask.Chosen}, {Kind: ask.Chosen, Chosen: [][]string{{"Red"}, {"Blue"}}}} {
		if given, err := question.dock.JobAnswer(a); err == nil {
			t.Errorf("%+v is given as %+v", a, given)
		}
	}
}

// The answer to a decision does not hide what was read of the job before the answer came.
func TestJobLateDecision(t *testing.T) {
	t.Parallel()
	f := someJobs(t)
	a, j := openJobScreen(t, f, "runsxxxxxxxx")
	late, ok := j.doing(func(ctx context.Context) (*fleet.Job, error) { return a.fleet.Cancel(ctx, j.id, "") })().(answer)
	if !ok {
		t.Fatal("the job is not canceled")
	}
	f.put(&fleet.Job{ID: j.id, Spec: j.job.Spec, State: fleet.Canceled, Cause: fleet.ByPerson, Changed: storyTime})
	for row, _ := j.list.board.Job(j.id); row.Summary.State != fleet.Canceled; row, _ = j.list.board.Job(j.id) {
		<-j.list.told
	}
	runAll(j, j.refresh())
	runAll(j, j.update(late.msg))
	if j.job.State != fleet.Canceled || !strings.Contains(a.notice, "its worker ends it") {
		t.Errorf("the job is shown as %s, and the outcome is %q", j.job.State, a.notice)
	}
}

// A question that can't be read costs no other.
func TestJobUnreadableQuestion(t *testing.T) {
	t.Parallel()
	f := someJobs(t)
	f.write(fleet.Questions, "asksxxxxxxxx.bad", "open", "damaged")
	_, j := openJobScreen(t, f, "asksxxxxxxxx")
	text, _ := unpaint(strings.Join(j.draw(80, 40).Lines, "\n"))
	if j.err != nil || !strings.Contains(text, "not all questions can be read") || !strings.Contains(text, "drop table old") {
		t.Errorf("%v\n%s", j.err, text)
	}
}

// agentSays returns a frame with a text of the agent.
func agentSays(t *testing.T, n int, text string) agentFrame {
	t.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return agentFrame{1, fmt.Appendf(nil, `{"type":"assistant","uuid":"%d","message":{"role":"assistant","id":"m%d","content":[{"type":"text","text":%s}]}}`, n, n, quoted), storyTime}
}

// While the agent works, the selected line stays selected in its place on the screen. At the end of
// the agent's activity, the selection follows it.
func TestJobSelectionStays(t *testing.T) {
	t.Parallel()
	f := someJobs(t)
	_, j := openJobScreen(t, f, "runsxxxxxxxx")
	says := func(n int) {
		j.update(tailMsg{from: j.tail.watch, frames: []agentFrame{agentSays(t, n, fmt.Sprintf("sentence %d\n\nand more", n))}})
		j.draw(80, 24)
	}
	selected := func() string {
		text, _ := unpaint(j.line().text)
		return text
	}
	j.draw(80, 24)
	says(1)
	says(2)
	j.do(keymap.Bottom)
	j.draw(80, 24)
	last, offset := selected(), j.pick.offset()
	if !strings.Contains(last, "worker000001") {
		t.Fatalf("%q is selected, not the attempt", last)
	}
	for n := range 3 * maxTailLines {
		if says(3 + n); selected() != last || j.pick.offset() != offset {
			t.Fatalf("%q in line %d is selected, want %q in line %d", selected(), j.pick.offset(), last, offset)
		}
	}
	// Another question comes above it.
	f.ask(&fleet.Question{Job: "runsxxxxxxxx", ID: "q1", Attempt: 1, Tool: "Bash", Input: json.RawMessage(`{"command":"ls"}`)})
	j.update(jobMsg{job: j.job, around: j.around, questions: []*fleet.Question{f.question("runsxxxxxxxx", "q1")}})
	if j.draw(80, 24); selected() != last || j.pick.offset() != offset {
		t.Errorf("after a question, %q in line %d is selected", selected(), j.pick.offset())
	}
	for j.line().key != j.lastLive() {
		j.do(keymap.Up)
		if j.pick.selected == 0 {
			t.Fatal("nothing of the agent is shown")
		}
	}
	before := j.line().key
	says(10000)
	if key := j.line().key; key != j.lastLive() || key == before {
		t.Errorf("line %v is selected, want the last one, %v", key, j.lastLive())
	}
}

// The agent's activity is drawn again for another width, and times are updated.
func TestJobIsDrawnAgain(t *testing.T) {
	t.Parallel()
	_, j := openJobScreen(t, someJobs(t), "runsxxxxxxxx")
	j.update(tailMsg{from: j.tail.watch, frames: []agentFrame{agentSays(t, 1, strings.Repeat("many words of the agent ", 10)+"end")}})
	for _, width := range []int{80, 30, 120} {
		j.draw(width, 24)
		if text := j.text(); !strings.Contains(text, "end\n") {
			t.Errorf("in %d columns the end is cut off:\n%s", width, text)
		}
	}
	now := storyTime
	j.opts.Now = func() time.Time { return now }
	j.stale = true
	j.draw(80, 24)
	before := j.text()
	now = now.Add(time.Hour)
	j.list.update(minuteMsg{})
	if j.draw(80, 24); j.text() == before {
		t.Errorf("the time stands still:\n%s", before)
	}
}

// The kept part of an agent's messages does not grow with their number.
func TestJobTailIsBounded(t *testing.T) {
	t.Parallel()
	_, j := openJobScreen(t, someJobs(t), "runsxxxxxxxx")
	for n := range maxTailMessages + 1 {
		j.update(tailMsg{from: j.tail.watch, frames: []agentFrame{agentSays(t, n, "a sentence")}})
	}
	if j.tail.shown.Seen("0") || !j.tail.shown.Seen(fmt.Sprint(maxTailMessages)) {
		t.Error("the IDs of all messages are kept")
	}
}
