package features_test

import (
	"slices"
	"testing"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
)

func TestRealControlDialogs(t *testing.T) {
	t.Parallel()
	s := connectControlled(t)
	memory := must(s.Memory(t.Context()))(t)
	if !slices.ContainsFunc(memory.Files, func(f clew.MemoryFile) bool { return f.Kind == "project" && f.Exists }) ||
		len(memory.Folders) == 0 || memory.AutoMemory.Status == "" {
		t.Errorf("memory %+v", memory)
	}
	skills := must(s.Skills(t.Context()))(t)
	if !slices.ContainsFunc(skills, func(i clew.SkillInfo) bool { return i.Name == "hello" && i.Source == "project" }) {
		t.Errorf("skills %+v", skills)
	}
	if sandbox := must(s.SandboxStatus(t.Context()))(t); sandbox.Enabled || sandbox.Mode != "disabled" {
		t.Errorf("sandbox %+v", sandbox)
	}
	if chrome := must(s.ChromeStatus(t.Context()))(t); chrome.Connected || chrome.URLs["install"] == "" {
		t.Errorf("chrome %+v", chrome)
	}
	_, err := s.ChromeBrowsers(t.Context())
	wantRefused(t, err, "not connected")
	wantRefused(t, s.SelectChromeBrowser(t.Context(), nil), "not connected")
	wantRefused(t, s.SetChromeBrowserHints(t.Context(), nil), "remote-hosted")
}

// What would leave the machine is refused here, and nothing is sent.
func TestRealControlOutside(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	s := connect(t, model, nil)
	_, err := s.SetRemoteControl(t.Context(), true)
	wantRefused(t, err, "Remote Control is only available")
	must(s.SetRemoteControl(t.Context(), false))(t)
	wantRefused(t, s.EnableChannel(t.Context(), "nobody"), "not connected")
	for name, receipt := range map[string]*clew.FeedbackReceipt{
		"feedback": must(s.SubmitFeedback(t.Context(), nil))(t),
		"survey":   must(s.SubmitSurveyFeedback(t.Context(), nil))(t),
	} {
		if receipt.ID != "" || receipt.UnavailableReason == "" {
			t.Errorf("%s: %+v", name, receipt)
		}
	}
	if launch := must(s.LaunchUltrareview(t.Context(), nil))(t); launch.Status != "error" || launch.GateBlocker == "" {
		t.Errorf("ultrareview %+v", launch)
	}
	wantRefused(t, s.RateMessage(t.Context(), nil), "must be")
	rating := &clew.MessageRating{MessageUUID: "u", Sentiment: clew.RatingPositive, Surface: clew.RatingText}
	if err := s.RateMessage(t.Context(), rating); err != nil {
		t.Error(err)
	}
	for _, request := range model.AllRequests() {
		t.Errorf("a request to %s", request.Host)
	}
}

func TestRealRewindConversation(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t).Reply("Yes.")
	s := &controlled{Session: connect(t, model, &clew.Options{PromptSuggestions: true}), model: model}
	if err := s.PausePromptSuggestions(t.Context(), true); err != nil {
		t.Error(err)
	}
	if err := s.ResetHasSubscribers(t.Context()); err != nil {
		t.Error(err)
	}
	if got := must(s.WorkspaceDiff(t.Context()))(t); got.NoDiffReason != "no-repository" {
		t.Errorf("diff %+v", got)
	}
	prompt := s.turn(t, "Hello")
	if got := must(s.RewindConversation(t.Context(), "nobody"))(t); got.Rewound || got.Reason != "target_not_found" {
		t.Errorf("no such prompt: %+v", got)
	}
	if got := must(s.RewindConversation(t.Context(), prompt))(t); !got.Rewound || got.Prompt != "Hello" {
		t.Errorf("rewind %+v", got)
	}
	other := &clew.RenameOptions{SessionID: "another"}
	wantRefused(t, s.RenameWith(t.Context(), "A name", other), "not the current session")
	same := &clew.RenameOptions{Source: clew.RenamedRemotely, SessionID: s.ID()}
	if err := s.RenameWith(t.Context(), "A name", same); err != nil {
		t.Error(err)
	}
}
