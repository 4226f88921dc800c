package record

import (
	"time"

	"github.com/clewdev/clew/clewtest"
)

// cutPace is the time between the events of an answer that is cut off: enough for the agent to pass each one on
// before the cut, which would take it along.
const cutPace = 300 * time.Millisecond

// errorScenarios are about a model that fails.
var errorScenarios = []*Scenario{
	{
		Name:    "error_400",
		About:   "The model refuses the request.",
		Prompts: []string{"Fail"},
		Model:   func(s *Stage) { s.Model.On("Fail").Fail(400).Message("scripted bad request") },
	},
	{
		Name:    "overload_retried",
		About:   "The model is overloaded twice, and then answers.",
		Env:     []string{"CLAUDE_CODE_MAX_RETRIES=2"},
		Prompts: []string{"Try"},
		Model: func(s *Stage) {
			s.Model.On("Try").Fail(529).Times(2)
			s.Model.On("Try").Reply(clewtest.Text("At last.")).Usage(100, 42, 300, 20)
		},
	},
	{
		Name:    "cut_stream",
		About:   "The connection breaks in the middle of an answer, and the agent asks again.",
		Args:    partial,
		Env:     []string{"CLAUDE_CODE_MAX_RETRIES=2"},
		Prompts: []string{"Cut it"},
		Model: func(s *Stage) {
			s.Model.On("Cut it").Reply(clewtest.Text("Never whole.")).ChunkSize(6).Pace(cutPace).Cut(4).Once()
			s.Model.On("Cut it").Reply(clewtest.Text("Whole again.")).ChunkSize(6).Usage(100, 42, 300, 20)
		},
	},
}
