package record

import "encoding/json"

// rawInput is the input of a tool, as JSON.
func rawInput(text string) json.RawMessage { return json.RawMessage(text) }

// hookScenarios are about hooks that the host answers.
var hookScenarios = []*Scenario{
	{
		Name:  "hook_pre_tool",
		About: "Hooks before and after a tool, at a prompt and at the end of a turn; none of them objects.",
		Args:  allowAll,
		Initialize: `"hooks":{"PreToolUse":[{"matcher":"Bash","hookCallbackIds":["hook_0"]}],"PostToolUse":[{"hookCallbackIds":["hook_1"]}],` +
			`"Stop":[{"hookCallbackIds":["hook_2"]}],"UserPromptSubmit":[{"hookCallbackIds":["hook_3"]}]}`,
		Prompts: []string{"Run echo"},
		Model: func(s *Stage) {
			s.Model.On("Run echo").Reply(bash("echo hooked", "Echo")).Usage(100, 42, 300, 20)
			done(s)
		},
	},
	{
		Name:       "hook_denies",
		About:      "A hook denies a tool although the permission mode allows everything.",
		Args:       allowAll,
		Initialize: `"hooks":{"PreToolUse":[{"matcher":"Bash","hookCallbackIds":["hook_0"]}]}`,
		Prompts:    []string{"Run echo"},
		Hook: func(*Question) string {
			return `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no commands today"}}`
		},
		Model: func(s *Stage) {
			s.Model.On("Run echo").Reply(bash("echo hooked", "Echo")).Usage(100, 42, 300, 20)
			done(s)
		},
	},
}
