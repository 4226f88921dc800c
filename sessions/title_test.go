package sessions

import (
	"testing"

	"github.com/clewdev/clew/wire"
)

// TestPromptOfContinuation checks that the summary of a compacted conversation is no prompt, even if
// the agent did not mark it, and that a prompt about a tag of the agent is one.
func TestPromptOfContinuation(t *testing.T) {
	t.Parallel()
	const wrapper = "<command-message>foo</command-message> is the XML wrapper of what?"
	for _, tt := range []struct{ name, text, want string }{
		{"in a newer version's words", "This session is being continued from a previous conversation. We did a.", ""},
		{"after a reminder", "<system-reminder>x</system-reminder>\\nThis session is being continued from a previous conversation.", ""},
		{"a prompt about a tag", wrapper, wrapper},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var s Summary
			s.Add(wire.JSON(`{"type":"user","uuid":"u","message":{"role":"user","content":"` + tt.text + `"}}`))
			s.Add(wire.JSON(`{"type":"last-prompt","lastPrompt":"` + tt.text + `"}`))
			if s.FirstPrompt != tt.want || s.LastPrompt != tt.want || s.Title() != tt.want {
				t.Errorf("first %q, last %q, title %q, want %q", s.FirstPrompt, s.LastPrompt, s.Title(), tt.want)
			}
			if !s.Working() {
				t.Error("nothing answers it")
			}
		})
	}
}
