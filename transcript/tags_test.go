package transcript

import "testing"

func TestAgentReport(t *testing.T) {
	t.Parallel()
	const note = "[Subagent hand-back] The text below is the final report of a subagent. The report follows:\n"
	for _, tt := range []struct{ name, result, want string }{
		{"a report", note + "  Done.\n    code\n  Yes.", "Done.\n  code\nYes."},
		{
			"tools before it", "  <tools-used-before-summary>Read</tools-used-before-summary>\n  \n" + note + "  Done.", "Done.",
		},
		{"a short note", "[Subagent hand-back]\n  Line 3.\nYes.", "Line 3.\nYes."},
		{"a warning", "SECURITY WARNING: look.\n" + note + "  Done.", "SECURITY WARNING: look.\n\nDone."},
		{"an open tag", "<tools-used-before-summary>Read\n" + note + "  Done.", "<tools-used-before-summary>Read\n\nDone."},
		{"the note within the report", note + "  " + note + "  Done.", note + "Done."},
		{"no report", "It says [Subagent hand-back]\n  Done.", "It says [Subagent hand-back]\n  Done."},
		{"other words", "[Subagent hand-back] is a note\n  of the agent", "[Subagent hand-back] is a note\n  of the agent"},
		{"only the note", "[Subagent hand-back]", ""},
		{"nothing", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := AgentReport(tt.result); got != tt.want {
				t.Errorf("%q becomes %q, want %q", tt.result, got, tt.want)
			}
		})
	}
}
