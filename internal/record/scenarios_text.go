package record

import (
	"time"

	"github.com/clewdev/clew/clewtest"
)

// textScenarios are about answers without tools.
var textScenarios = []*Scenario{
	{
		Name:    "hello_partial",
		About:   "An answer in text, with its pieces while the model writes it.",
		Args:    partial,
		Prompts: []string{"Say hello"},
		Model: func(s *Stage) {
			s.Model.On("Say hello").Reply(clewtest.Text("Hello, this is a scripted answer.")).ChunkSize(16).Usage(100, 42, 300, 20)
		},
	},
	{
		Name:    "thinking",
		About:   "The model thinks before it answers.",
		Prompts: []string{"Think first"},
		Model: func(s *Stage) {
			s.Model.On("Think first").Reply(
				clewtest.Thinking("Consider the question with care.", "c2lnbmF0dXJl"),
				clewtest.Text("Thought about it."),
			).ChunkSize(16).Usage(100, 42, 300, 20)
		},
	},
	{
		Name:    "structured_output",
		About:   "The answer has to follow a JSON schema.",
		Args:    []string{"--json-schema", `{"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, "required": ["name", "age"]}`},
		Prompts: []string{"Give data"},
		Model: func(s *Stage) {
			s.Model.On("Give data").Reply(clewtest.ToolUse("StructuredOutput", map[string]any{"name": "Ada", "age": 36})).Usage(100, 42, 300, 20)
		},
	},
	{
		Name:  "interrupt",
		About: "The host interrupts an answer that comes slowly.",
		Args:  partial,
		Model: func(s *Stage) {
			s.Model.On("Slow").Reply(clewtest.Text("This answer comes in pieces, and it takes its time to be complete.")).
				ChunkSize(4).Pace(150*time.Millisecond).Usage(100, 42, 300, 20)
		},
		Play: func(h *Host) {
			h.Prompt("Slow")
			h.Await("stream_event content_block_delta", 3)
			h.Request("req_int", `{"subtype":"interrupt"}`)
			h.AwaitResult()
		},
	},
}
