package render

import (
	"strings"
	"testing"

	"github.com/clewdev/clew/transcript"
)

func TestReportOfSubagent(t *testing.T) {
	t.Parallel()
	const result = "<tools-used-before-summary>Read</tools-used-before-summary>\n\n[Subagent hand-back]\n  Line 3.\nYes."
	item := transcript.DisplayItem{
		Type: transcript.ItemSubagent, ToolName: "Agent", HasResult: true, ToolResult: result,
		Agents: []*transcript.Agent{{ID: "a1"}},
	}
	chunk := &transcript.Chunk{Type: transcript.AIChunk, Items: []transcript.DisplayItem{item}}
	short := Options{Width: 80}.Chunk(chunk, 1)
	if strings.Contains(short, "hand-back") || !strings.Contains(short, "    Line 3.\n    Yes.\n") {
		t.Errorf("short:\n%s", short)
	}
	if whole := (Options{Width: 80, Expand: true}).Chunk(chunk, 1); !strings.Contains(whole, "[Subagent hand-back]") {
		t.Errorf("expanded:\n%s", whole)
	}
	chunk.Items[0].Agents = nil
	if other := (Options{Width: 80}).Chunk(chunk, 1); !strings.Contains(other, "[Subagent hand-back]") {
		t.Errorf("no subagent:\n%s", other)
	}
}
