package transcript

import "strings"

// A LastOutputType says where the last output of a turn comes from.
type LastOutputType int

// The types of last outputs.
const (
	LastOutputText LastOutputType = iota
	LastOutputToolResult
)

// A LastOutput is what a turn came to: the answer, or the result of a tool if there is no answer.
type LastOutput struct {
	Type LastOutputType
	Text string
	// ToolName is the tool whose result it is, and IsError says that the tool failed.
	ToolName string
	IsError  bool
}

// FindLastOutput returns the last output that has text, else the last result of a tool or a subagent that has text,
// else nil.
func FindLastOutput(items []DisplayItem) *LastOutput {
	var result *LastOutput
	for i := len(items) - 1; i >= 0; i-- {
		switch item := &items[i]; item.Type {
		case ItemOutput:
			if !blank(item.Text) {
				return &LastOutput{Type: LastOutputText, Text: item.Text, IsError: item.ToolError}
			}
		case ItemToolCall, ItemSubagent:
			if result == nil && !blank(item.ToolResult) {
				result = &LastOutput{LastOutputToolResult, item.ToolResult, item.ToolName, item.ToolError}
			}
		}
	}
	return result
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }
