package transcripts_test

import (
	"testing"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
	"github.com/google/go-cmp/cmp"
)

// takeBack has a turn and rewinds it.
func (s *scene) takeBack(t *testing.T, words string) *clew.ConversationRewind {
	t.Helper()
	prompt := clew.NewUserMessage(clew.Text(words))
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

// shape returns the outlines of the conversation and of what was left behind.
func shape(tr *transcript.Transcript) [][]string {
	var all [][]string
	for _, chunks := range parts(tr) {
		all = append(all, outline(chunks))
	}
	return all
}

// What was rewound is a branch, before and after something else was said, and so is what a resume at an earlier message
// has left behind. It was paid for nevertheless.
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

	opts.Resume, opts.ResumeAt = id, first.PrecedingAssistantUUID
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

// wantMessages checks how long the conversation is that an agent would go on with.
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
