package clew

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestHookOutputs(t *testing.T) {
	t.Parallel()
	for want, out := range map[string]*HookOutput{
		`{}`: nil,
		`{"continue":false,"stopReason":"enough"}`:     {Stop: true, StopReason: "enough"},
		`{"decision":"block","reason":"tests fail"}`:   {Decision: HookDecisionBlock, Reason: "tests fail"},
		`{"systemMessage":"hi","suppressOutput":true}`: {SystemMessage: "hi", SuppressOutput: true},
		`{"terminalSequence":"\u0007"}`:                {TerminalSequence: "\a"},
		`{"async":true}`:                               {Async: true},
		`{"async":true,"asyncTimeout":1500}`:           {Async: true, AsyncTimeout: 1500 * time.Millisecond},
		`{"decision":"approve"}`:                       {Decision: HookDecisionApprove, Specific: (*StopOutput)(nil)},
		`{"hookSpecificOutput":{"hookEventName":"BrandNew","a":[1]}}`: {
			Specific: &RawHookOutput{`{"hookEventName":"BrandNew","a":[1]}`},
		},
	} {
		wantAnswer(t, says(out, nil), stopRequest, want)
	}
	wantAnswer(t, says(new(HookOutput), nil), stopRequest, `{}`)
}

func TestHookSpecificOutputs(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		out  HookSpecificOutput
		want string
	}{
		{new(PreToolUseOutput), `"PreToolUse"`},
		{
			&PreToolUseOutput{
				Decision: PermissionBehaviorDefer, Reason: "R", UpdatedInput: map[string]int{"a": 1}, AdditionalContext: "C",
			},
			`"PreToolUse","permissionDecision":"defer","permissionDecisionReason":"R","updatedInput":{"a":1},
			"additionalContext":"C"`,
		},
		{
			&PostToolUseOutput{
				AdditionalContext: "C", ClassifierContext: "K", UpdatedToolOutput: []int{1}, UpdatedMCPToolOutput: "x",
			},
			`"PostToolUse","additionalContext":"C","classifierContext":"K","updatedToolOutput":[1],
			"updatedMCPToolOutput":"x"`,
		},
		{&PostToolUseFailureOutput{AdditionalContext: "C"}, `"PostToolUseFailure","additionalContext":"C"`},
		{&PostToolBatchOutput{AdditionalContext: "C"}, `"PostToolBatch","additionalContext":"C"`},
		{&PermissionRequestOutput{Allow()}, `"PermissionRequest","decision":{"behavior":"allow"}`},
		{
			&PermissionRequestOutput{&AllowResult{
				UpdatedInput:       map[string]string{"command": "ls"},
				UpdatedPermissions: []PermissionUpdate{SetMode(PermissionDestinationSession, "plan")},
			}},
			`"PermissionRequest","decision":{"behavior":"allow","updatedInput":{"command":"ls"},
			"updatedPermissions":[{"type":"setMode","mode":"plan","destination":"session"}]}`,
		},
		{
			&PermissionRequestOutput{&DenyResult{Message: "no", Interrupt: true}},
			`"PermissionRequest","decision":{"behavior":"deny","message":"no","interrupt":true}`,
		},
		{&PermissionDeniedOutput{Retry: true}, `"PermissionDenied","retry":true`},
		{
			&UserPromptSubmitOutput{AdditionalContext: "C", SessionTitle: "T", SuppressOriginalPrompt: true},
			`"UserPromptSubmit","additionalContext":"C","sessionTitle":"T","suppressOriginalPrompt":true`,
		},
		{
			&UserPromptExpansionOutput{AdditionalContext: "C", SuppressOriginalPrompt: true},
			`"UserPromptExpansion","additionalContext":"C","suppressOriginalPrompt":true`,
		},
		{&MessageDisplayOutput{DisplayContent: new("")}, `"MessageDisplay","displayContent":""`},
		{&NotificationOutput{AdditionalContext: "C"}, `"Notification","additionalContext":"C"`},
		{&StopOutput{AdditionalContext: "C"}, `"Stop","additionalContext":"C"`},
		{&SetupOutput{AdditionalContext: "C"}, `"Setup","additionalContext":"C"`},
		{
			&SessionStartOutput{
				AdditionalContext: "C", InitialUserMessage: "M", SessionTitle: "T", WatchPaths: []string{"/w"}, ReloadSkills: true,
			},
			`"SessionStart","additionalContext":"C","initialUserMessage":"M","sessionTitle":"T","watchPaths":["/w"],
			"reloadSkills":true`,
		},
		{
			&PreModelSwitchOutput{Decision: PermissionBehaviorDeny, Reason: "R"},
			`"PreModelSwitch","permissionDecision":"deny","permissionDecisionReason":"R"`,
		},
		{&PostModelSwitchOutput{AdditionalContext: "C"}, `"PostModelSwitch","additionalContext":"C"`},
		{&SubagentStartOutput{AdditionalContext: "C"}, `"SubagentStart","additionalContext":"C"`},
		{&SubagentStopOutput{AdditionalContext: "C"}, `"SubagentStop","additionalContext":"C"`},
		{
			&ElicitationOutput{Action: ElicitationAccept, Content: map[string]int{"a": 1}},
			`"Elicitation","action":"accept","content":{"a":1}`,
		},
		{&ElicitationResultOutput{Action: ElicitationDecline}, `"ElicitationResult","action":"decline"`},
		{new(CWDChangedOutput), `"CwdChanged"`},
		{&CWDChangedOutput{WatchPaths: []string{}}, `"CwdChanged","watchPaths":[]`},
		{&FileChangedOutput{WatchPaths: []string{"/w"}}, `"FileChanged","watchPaths":["/w"]`},
		{&WorktreeCreateOutput{WorktreePath: "/w"}, `"WorktreeCreate","worktreePath":"/w"`},
	} {
		wantAnswer(t, says(&HookOutput{Specific: test.out}, nil), stopRequest,
			`{"hookSpecificOutput":{"hookEventName":`+test.want+`}}`)
	}
}

func TestHookOutputErrors(t *testing.T) {
	t.Parallel()
	_, err := serve(t, says(&HookOutput{Specific: new(PermissionRequestOutput)}, nil), stopRequest)
	if err == nil || !strings.Contains(err.Error(), "without a decision") {
		t.Errorf("error %v", err)
	}
	_, err = serve(t, says(&HookOutput{Specific: &PreToolUseOutput{UpdatedInput: func() {}}}, nil), stopRequest)
	if _, ok := errors.AsType[*json.UnsupportedTypeError](err); !ok {
		t.Errorf("error %v", err)
	}
}
