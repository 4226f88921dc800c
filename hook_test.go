package clew

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

// oneHook is a set of hooks with one in it.
func oneHook(event HookEvent, hook HookFunc) map[HookEvent][]HookMatcher {
	return map[HookEvent][]HookMatcher{event: {{Hooks: []HookFunc{hook}}}}
}

// says is a host whose hook, hook_0, returns what is given.
func says(out *HookOutput, err error) *Options {
	return &Options{Hooks: oneHook(HookStop, func(context.Context, HookInput) (*HookOutput, error) { return out, err })}
}

func TestHooksInInitialize(t *testing.T) {
	t.Parallel()
	hook := func(context.Context, HookInput) (*HookOutput, error) { return nil, nil }
	for name, test := range map[string]struct {
		hooks map[HookEvent][]HookMatcher
		want  string
	}{
		"none":        {nil, `null`},
		"no matchers": {map[HookEvent][]HookMatcher{HookStop: {}}, `null`},
		"by event, then in order": {
			map[HookEvent][]HookMatcher{
				HookStop: {{Hooks: []HookFunc{hook}}},
				HookPreToolUse: {
					{Matcher: "Bash", Hooks: []HookFunc{hook, hook}, Timeout: 1500 * time.Millisecond, OnFailure: HookFailureBlock},
					{Hooks: []HookFunc{hook}},
				},
				"BrandNew": {{Hooks: []HookFunc{hook}}},
			},
			`{"BrandNew":[{"matcher":null,"hookCallbackIds":["hook_0"]}],
			"PreToolUse":[{"matcher":"Bash","hookCallbackIds":["hook_1","hook_2"],"timeout":1.5,"onFailure":"block"},
				{"matcher":null,"hookCallbackIds":["hook_3"]}],
			"Stop":[{"matcher":null,"hookCallbackIds":["hook_4"]}]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := json.Marshal(newCallbacks(&Options{Hooks: test.hooks}).hooks())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(value(t, test.want), value(t, string(got))); diff != "" {
				t.Errorf("hooks (-want +got):\n%s", diff)
			}
		})
	}
}

// The agent calls a hook by the ID that it got in initialize.
func TestHookCalledByID(t *testing.T) {
	t.Parallel()
	named := func(name string) HookFunc {
		return func(context.Context, HookInput) (*HookOutput, error) { return &HookOutput{SystemMessage: name}, nil }
	}
	o := &Options{Hooks: map[HookEvent][]HookMatcher{
		HookStop:       {{Hooks: []HookFunc{named("stop")}}},
		HookPreToolUse: {{Hooks: []HookFunc{named("first"), named("second")}}, {Hooks: []HookFunc{named("third")}}},
	}}
	for id, want := range map[string]string{"hook_0": "first", "hook_1": "second", "hook_2": "third", "hook_3": "stop"} {
		wantAnswer(t, o, `{"subtype":"hook_callback","callback_id":"`+id+`","input":{}}`, `{"systemMessage":"`+want+`"}`)
	}
}

func TestHookErrors(t *testing.T) {
	t.Parallel()
	wantError(t, says(nil, errors.New("boom")), stopRequest, "boom")
	for fields, want := range map[string]string{
		`"callback_id":"hook_99","input":{}`: `clew: unknown hook "hook_99"`,
		`"input":{}`:                         `clew: unknown hook ""`,
		`"callback_id":0`:                    `clew: hook_callback: field callback_id has the wrong type: number`,
		`"callback_id":"hook_0"`:             `clew: the input of a hook: unexpected end of JSON input`,
		`"callback_id":"hook_0","input":[]`:  `clew: the input of a hook has the wrong type: array`,
	} {
		wantError(t, says(nil, nil), `{"subtype":"hook_callback",`+fields+`}`, want)
	}
}

// A field of another type does not keep an input from the hook.
func TestHookInputWithMisfits(t *testing.T) {
	t.Parallel()
	var got HookInput
	var log bytes.Buffer
	o := &Options{
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Hooks: oneHook(HookPreToolUse, func(_ context.Context, in HookInput) (*HookOutput, error) {
			got = in
			return nil, nil
		}),
	}
	const input = `{"effort":"high","cwd":5,"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"}}`
	wantAnswer(t, o, `{"subtype":"hook_callback","tool_use_id":[],"callback_id":"hook_0","input":`+input+`}`, `{}`)
	use, ok := got.(*PreToolUseInput)
	if !ok || use.ToolName != "Bash" || use.ToolInput != `{"command":"ls"}` || use.Raw() != input {
		t.Errorf("input %#v", got)
	}
	for _, field := range []string{"effort", "cwd", "tool_use_id"} {
		if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "field="+field) {
			t.Errorf("%s is not in the log: %s", field, log.String())
		}
	}
}

// An input without what a hook can't do without does not reach it; the error names the field.
func TestHookInputOfWrongType(t *testing.T) {
	t.Parallel()
	o := &Options{Hooks: oneHook(HookStop, func(_ context.Context, in HookInput) (*HookOutput, error) {
		t.Errorf("the hook was called with %s", in.Raw())
		return nil, nil
	})}
	for input, field := range map[string]string{
		`{"hook_event_name":"PreToolUse","tool_name":5}`:               "tool_name has the wrong type: number",
		`{"hook_event_name":"PreToolUse","cwd":5,"tool_name":{}}`:      "tool_name has the wrong type: object",
		`{"hook_event_name":"UserPromptSubmit","prompt":["a","text"]}`: "prompt has the wrong type: array",
		`{"hook_event_name":["Stop"]}`:                                 "hook_event_name has the wrong type: array",
	} {
		_, err := serve(t, o, `{"subtype":"hook_callback","callback_id":"hook_0","input":`+input+`}`)
		if err == nil || !strings.HasSuffix(err.Error(), field) {
			t.Errorf("%s: error %v, want one about %s", input, err, field)
		}
	}
}

// A hook whose time is up is left to the agent, which has the same time-out and knows better what
// to do.
func TestHookTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hook := func(ctx context.Context, _ HookInput) (*HookOutput, error) { <-ctx.Done(); return nil, ctx.Err() }
		c := newCallbacks(&Options{Hooks: map[HookEvent][]HookMatcher{
			HookStop: {{Hooks: []HookFunc{hook}, Timeout: 3 * time.Second}},
		}})
		start := time.Now()
		if _, err := c.serve(t.Context(), request(t, stopRequest)); !errors.Is(err, errNoAnswer) {
			t.Errorf("error %v", err)
		}
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

func TestHookWithoutTimeout(t *testing.T) {
	t.Parallel()
	o := &Options{Hooks: oneHook(HookStop, func(ctx context.Context, _ HookInput) (*HookOutput, error) {
		if deadline, ok := ctx.Deadline(); ok {
			t.Errorf("deadline %v", deadline)
		}
		return nil, nil
	})}
	if _, err := newCallbacks(o).serve(context.WithoutCancel(t.Context()), request(t, stopRequest)); err != nil {
		t.Error(err)
	}
}

func TestCheckHooks(t *testing.T) {
	t.Parallel()
	hooks := []HookFunc{func(context.Context, HookInput) (*HookOutput, error) { return nil, nil }}
	for name, test := range map[string]struct {
		event  HookEvent
		m      HookMatcher
		reason string // a part of it; "" means that nothing is wrong
	}{
		"all of it":        {HookPreToolUse, HookMatcher{"Bash", hooks, 1, HookFailureBlock}, ""},
		"an unknown event": {"BrandNew", HookMatcher{Hooks: hooks, OnFailure: HookFailureContinue}, ""},
		"no event":         {"", HookMatcher{Hooks: hooks}, "an event has no name"},
		"no hook":          {HookStop, HookMatcher{Matcher: "x"}, "matcher 0 of Stop has no hook"},
		"a nil hook":       {HookStop, HookMatcher{Hooks: append(hooks, nil)}, "has a hook that is nil"},
		"a time-out":       {HookStop, HookMatcher{Hooks: hooks, Timeout: -1}, "negative Timeout"},
		"a pattern":        {HookPreToolUse, HookMatcher{Matcher: "Bash(", Hooks: hooks}, "is not a regular expression"},
		"a failure":        {HookStop, HookMatcher{Hooks: hooks, OnFailure: "explode"}, "unknown OnFailure"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := (&Options{Hooks: map[HookEvent][]HookMatcher{test.event: {test.m}}}).validate()
			wrong, ok := errors.AsType[*OptionsError](err)
			if ok != (test.reason != "") || ok && (wrong.Option != "Hooks" || !strings.Contains(wrong.Reason, test.reason)) {
				t.Errorf("error %v, want one with %q", err, test.reason)
			}
		})
	}
}

// The agent would not call the hooks.
func TestCheckHooksOfABareAgent(t *testing.T) {
	t.Parallel()
	hooks := says(nil, nil).Hooks
	for _, o := range []*Options{{Bare: true, Hooks: hooks}, {Env: []string{"CLAUDE_CODE_SIMPLE=1"}, Hooks: hooks}} {
		if wrong, ok := errors.AsType[*OptionsError](o.validate()); !ok || wrong.Option != "Hooks" {
			t.Errorf("%+v: error %v", o, o.validate())
		}
	}
	for _, o := range []*Options{{Bare: true}, {Env: []string{"CLAUDE_CODE_SIMPLE=0"}, Hooks: hooks}} {
		if err := o.validate(); err != nil {
			t.Error(err)
		}
	}
}

// Only what JavaScript can't read either is refused.
func TestCheckHookMatcher(t *testing.T) {
	t.Parallel()
	hooks := says(nil, nil).Hooks[HookStop][0].Hooks
	for _, pattern := range []string{
		"", "*", "Bash", "Edit|Write", "Edit, Write", "mcp__.*", "mcp__calc__(add|sub)", "^Bash$", ".*", "^(?!Bash)",
		"(?<=mcp__)x", `(a)\1`, "(?<name>a)", `\-`, "a{1,2000}", "a{", "opus[1m]", ".env|.envrc", "]", "}",
		"[^a-z]", "[^]*", "ü",
	} {
		if reason := (&HookMatcher{Matcher: pattern, Hooks: hooks}).check(); reason != "" {
			t.Errorf("%q %s", pattern, reason)
		}
	}
	for _, pattern := range []string{"Bash(", "Bash)", "Bash(git:*", "[a", `a\`, "*Bash", "+", "mcp__**", "(?:a", "a|*"} {
		if reason := (&HookMatcher{Matcher: pattern, Hooks: hooks}).check(); reason == "" {
			t.Errorf("%q is accepted", pattern)
		}
	}
}

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
		`{"decision":"approve"}`:                       {Decision: HookDecisionApprove, Specific: (*PreToolUseOutput)(nil)},
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

// Additional context goes to the model under the name of the event at which the hook was called.
func TestHookAdditionalContext(t *testing.T) {
	t.Parallel()
	for _, event := range []HookEvent{
		HookPostToolUseFailure, HookPostToolBatch, HookNotification, HookStop, HookSetup, HookPostModelSwitch,
		HookSubagentStart, HookSubagentStop,
	} {
		request := strings.Replace(stopRequest, `"Stop"`, `"`+string(event)+`"`, 1)
		callbacks := newCallbacks(&Options{Hooks: map[HookEvent][]HookMatcher{event: {{Hooks: []HookFunc{
			func(context.Context, HookInput) (*HookOutput, error) { return &HookOutput{AdditionalContext: "C"}, nil },
		}}}}})
		answer, err := callbacks.hookCallback(t.Context(), wire.JSON(request))
		want := wire.JSON(`{"hookSpecificOutput":{"hookEventName":"` + string(event) + `","additionalContext":"C"}}`)
		if err != nil || answer != want {
			t.Errorf("%s: answer %s, %v", event, answer, err)
		}
	}
}

func TestHookOutputErrors(t *testing.T) {
	t.Parallel()
	both := &HookOutput{AdditionalContext: "C", Specific: new(PreToolUseOutput)}
	if _, err := serve(t, says(both, nil), stopRequest); err == nil || !strings.Contains(err.Error(), "combined with Specific") {
		t.Errorf("error %v", err)
	}
	_, err := serve(t, says(&HookOutput{Specific: new(PermissionRequestOutput)}, nil), stopRequest)
	if err == nil || !strings.Contains(err.Error(), "has no decision") {
		t.Errorf("error %v", err)
	}
	_, err = serve(t, says(&HookOutput{Specific: &PreToolUseOutput{UpdatedInput: func() {}}}, nil), stopRequest)
	if _, ok := errors.AsType[*json.UnsupportedTypeError](err); !ok {
		t.Errorf("error %v", err)
	}
}

// The constants are the events that the agent has.
func TestHookEventsAreComplete(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("hook.go")
	if err != nil {
		t.Fatal(err)
	}
	var declared []string
	for _, match := range regexp.MustCompile(`(?m)^\tHook\w+ HookEvent = "(\w+)"$`).FindAllStringSubmatch(string(source), -1) {
		declared = append(declared, match[1])
	}
	want := wire.HookEvents()
	slices.Sort(declared)
	slices.Sort(want)
	if diff := cmp.Diff(want, declared); diff != "" {
		t.Errorf("constants (-want +got):\n%s", diff)
	}
}
