package record

import "github.com/clewdev/clew/clewtest"

// turnScenarios are about the turns of a conversation.
var turnScenarios = []*Scenario{
	{
		Name:    "two_turns",
		About:   "Two prompts, one after the other, in one session.",
		Prompts: []string{"First", "Second"},
		Model: func(s *Stage) {
			s.Model.On("First").Reply(clewtest.Text("One.")).Usage(100, 42, 300, 20)
			s.Model.On("Second").Reply(clewtest.Text("Two.")).Usage(100, 42, 300, 20)
		},
	},
	{
		Name:    "compact",
		About:   "The user has the conversation compacted.",
		Prompts: []string{"First words", "/compact"},
		Model: func(s *Stage) {
			s.Model.On("First words").Reply(clewtest.Text("Some words.")).Once().Usage(100, 42, 300, 20)
			s.Model.On("").Reply(clewtest.Text("<summary>\nTalked about words.\n</summary>")).Usage(100, 42, 300, 20)
		},
	},
	{
		Name:    "turn_limit",
		About:   "The agent may take one turn, and needs two.",
		Args:    append([]string{"--max-turns", "1"}, allowAll...),
		Prompts: []string{"Run echo"},
		Model: func(s *Stage) {
			s.Model.On("Run echo").Reply(bash("echo limited", "Echo")).Usage(100, 42, 300, 20)
		},
	},
}
