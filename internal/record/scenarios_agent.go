package record

import (
	"os"
	"strings"

	"github.com/clewdev/clew/clewtest"
)

// delegate makes the model start a subagent that counts files; input is what the call has besides.
func delegate(s *Stage, command, input string) {
	call := `{"description":"Count files","prompt":"INNER count","subagent_type":"general-purpose"` + input + `}`
	s.Model.On("Delegate").Reply(clewtest.Text("Delegating."), clewtest.ToolUse("Agent", rawInput(call))).Usage(100, 42, 300, 20)
	s.Model.On("INNER count").Reply(clewtest.Text("Counting."), bash(command, "Count")).Usage(100, 42, 300, 20)
}

// agentScenarios are about subagents.
var agentScenarios = []*Scenario{
	{
		Name:  "subagent_background",
		About: "A subagent works in the background; when it is done, a second result follows.",
		Args:  allowAll,
		Model: func(s *Stage) {
			// The turn goes on when the subagent has begun, and the subagent when the turn has ended.
			delegate(s, "until test -e go; do sleep 0.05; done; ls | wc -l", "")
			s.Model.When(func(r *clewtest.Request) bool {
				results := r.ToolResults()
				return len(results) == 1 && strings.Contains(results[0].Text(), "agent launched") && s.Hold("begun")
			}).Reply(clewtest.Text("All done.")).Usage(100, 42, 300, 20)
			s.Model.When(func(r *clewtest.Request) bool {
				// The note that the subagent is done is a reminder, not a prompt.
				return strings.Contains(r.Turn().Text(), "<task-notification>")
			}).Reply(clewtest.Text("The subagent finished.")).Usage(100, 42, 300, 20)
			done(s)
		},
		Play: func(h *Host) {
			h.Prompt("Delegate")
			h.Await("system/task_progress", 1)
			h.Release("begun")
			h.AwaitResult()
			h.fail(os.WriteFile(h.Path("go"), nil, 0o600))
			h.AwaitResult()
		},
	},
	{
		Name:    "subagent_foreground",
		About:   "The agent waits for its subagent.",
		Args:    allowAll,
		Prompts: []string{"Delegate"},
		Model: func(s *Stage) {
			delegate(s, "ls | wc -l", `,"run_in_background":false`)
			s.Model.OnToolResult("0").Reply(clewtest.Text("No files.")).Once().Usage(100, 42, 300, 20)
			done(s)
		},
	},
}
