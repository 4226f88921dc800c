package transcript

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFindLastOutput(t *testing.T) {
	t.Parallel()
	said := DisplayItem{Type: ItemOutput, Text: "Done."}
	blankOutput := DisplayItem{Type: ItemOutput, Text: " \n"}
	ran := DisplayItem{Type: ItemToolCall, ToolName: "Bash", HasResult: true, ToolResult: "a.txt", ToolError: true}
	silent := DisplayItem{Type: ItemToolCall, ToolName: "Write", HasResult: true}
	agent := DisplayItem{Type: ItemSubagent, ToolName: "Agent", HasResult: true, ToolResult: "Found 3."}
	thought := DisplayItem{Type: ItemThinking, Text: "Hmm"}
	mate := DisplayItem{Type: ItemTeammateMessage, Text: "Hello"}
	answer := &LastOutput{Type: LastOutputText, Text: "Done."}
	tests := []struct {
		name  string
		items []DisplayItem
		want  *LastOutput
	}{
		{"nothing", nil, nil},
		{"nothing that is shown", []DisplayItem{thought, mate, silent, blankOutput}, nil},
		{"the answer", []DisplayItem{thought, said}, answer},
		{"the answer although a tool came later", []DisplayItem{said, ran, blankOutput}, answer},
		{"the last answer", []DisplayItem{{Type: ItemOutput, Text: "First"}, said}, answer},
		{
			"a tool if there is no answer", []DisplayItem{agent, ran, silent, thought},
			&LastOutput{Type: LastOutputToolResult, Text: "a.txt", ToolName: "Bash", IsError: true},
		},
		{
			"a subagent if there is no answer", []DisplayItem{ran, agent},
			&LastOutput{Type: LastOutputToolResult, Text: "Found 3.", ToolName: "Agent"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, FindLastOutput(test.items)); diff != "" {
				t.Errorf("FindLastOutput (-want +got):\n%s", diff)
			}
		})
	}
}
