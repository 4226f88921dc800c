package clew

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/hook"
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/wire"
)

// oneHook is a set of hooks with one in it.
func oneHook(event hook.Event, run hook.Func) map[hook.Event][]hook.Matcher {
	return map[hook.Event][]hook.Matcher{event: {{Hooks: []hook.Func{run}}}}
}

// says is a host whose hook, hook_0, returns what is given.
func says(out *hook.Output, err error) *Options {
	return &Options{Hooks: oneHook(hook.Stop, func(context.Context, hook.Input) (*hook.Output, error) { return out, err })}
}

func TestHooksInInitialize(t *testing.T) {
	t.Parallel()
	nop := func(context.Context, hook.Input) (*hook.Output, error) { return nil, nil }
	for name, test := range map[string]struct {
		hooks map[hook.Event][]hook.Matcher
		want  string
	}{
		"none":        {nil, `null`},
		"no matchers": {map[hook.Event][]hook.Matcher{hook.Stop: {}}, `null`},
		"by event, then in order": {
			map[hook.Event][]hook.Matcher{
				hook.Stop: {{Hooks: []hook.Func{nop}}},
				hook.PreToolUse: {
					{Matcher: "Bash", Hooks: []hook.Func{nop, nop}, Timeout: 1500 * time.Millisecond, OnFailure: hook.FailureBlock},
					{Hooks: []hook.Func{nop}},
				},
				"BrandNew": {{Hooks: []hook.Func{nop}}},
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
	named := func(name string) hook.Func {
		return func(context.Context, hook.Input) (*hook.Output, error) { return &hook.Output{SystemMessage: name}, nil }
	}
	o := &Options{Hooks: map[hook.Event][]hook.Matcher{
		hook.Stop:       {{Hooks: []hook.Func{named("stop")}}},
		hook.PreToolUse: {{Hooks: []hook.Func{named("first"), named("second")}}, {Hooks: []hook.Func{named("third")}}},
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
	var got hook.Input
	var log bytes.Buffer
	o := &Options{
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Hooks: oneHook(hook.PreToolUse, func(_ context.Context, in hook.Input) (*hook.Output, error) {
			got = in
			return nil, nil
		}),
	}
	const input = `{"effort":"high","cwd":5,"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"}}`
	wantAnswer(t, o, `{"subtype":"hook_callback","tool_use_id":[],"callback_id":"hook_0","input":`+input+`}`, `{}`)
	use, ok := got.(*hook.PreToolUseInput)
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
	o := &Options{Hooks: oneHook(hook.Stop, func(_ context.Context, in hook.Input) (*hook.Output, error) {
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
		wait := func(ctx context.Context, _ hook.Input) (*hook.Output, error) { <-ctx.Done(); return nil, ctx.Err() }
		c := newCallbacks(&Options{Hooks: map[hook.Event][]hook.Matcher{
			hook.Stop: {{Hooks: []hook.Func{wait}, Timeout: 3 * time.Second}},
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
	o := &Options{Hooks: oneHook(hook.Stop, func(ctx context.Context, _ hook.Input) (*hook.Output, error) {
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
	hooks := []hook.Func{func(context.Context, hook.Input) (*hook.Output, error) { return nil, nil }}
	for name, test := range map[string]struct {
		event  hook.Event
		m      hook.Matcher
		reason string // a part of it; "" means that nothing is wrong
	}{
		"all of it":        {hook.PreToolUse, hook.Matcher{Matcher: "Bash", Hooks: hooks, Timeout: 1, OnFailure: hook.FailureBlock}, ""},
		"an unknown event": {"BrandNew", hook.Matcher{Hooks: hooks, OnFailure: hook.FailureContinue}, ""},
		"no event":         {"", hook.Matcher{Hooks: hooks}, "an event has no name"},
		"no hook":          {hook.Stop, hook.Matcher{Matcher: "x"}, "matcher 0 of Stop has no hook"},
		"a nil hook":       {hook.Stop, hook.Matcher{Hooks: append(hooks, nil)}, "has a hook that is nil"},
		"a time-out":       {hook.Stop, hook.Matcher{Hooks: hooks, Timeout: -1}, "negative Timeout"},
		"a pattern":        {hook.PreToolUse, hook.Matcher{Matcher: "Bash(", Hooks: hooks}, "is not a regular expression"},
		"a failure":        {hook.Stop, hook.Matcher{Hooks: hooks, OnFailure: "explode"}, "unknown OnFailure"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := (&Options{Hooks: map[hook.Event][]hook.Matcher{test.event: {test.m}}}).validate()
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
	for _, o := range []*Options{{Settings: SettingsOptions{Bare: true}, Hooks: hooks}, {Env: []string{"CLAUDE_CODE_SIMPLE=1"}, Hooks: hooks}} {
		if wrong, ok := errors.AsType[*OptionsError](o.validate()); !ok || wrong.Option != "Hooks" {
			t.Errorf("%+v: error %v", o, o.validate())
		}
	}
	for _, o := range []*Options{{Settings: SettingsOptions{Bare: true}}, {Env: []string{"CLAUDE_CODE_SIMPLE=0"}, Hooks: hooks}} {
		if err := o.validate(); err != nil {
			t.Error(err)
		}
	}
}

// Only what JavaScript can't read either is refused.
func TestCheckHookMatcher(t *testing.T) {
	t.Parallel()
	hooks := says(nil, nil).Hooks[hook.Stop][0].Hooks
	for _, pattern := range []string{
		"", "*", "Bash", "Edit|Write", "Edit, Write", "mcp__.*", "mcp__calc__(add|sub)", "^Bash$", ".*", "^(?!Bash)",
		"(?<=mcp__)x", `(a)\1`, "(?<name>a)", `\-`, "a{1,2000}", "a{", "opus[1m]", ".env|.envrc", "]", "}",
		"[^a-z]", "[^]*", "ü",
	} {
		if reason := checkMatcher(&hook.Matcher{Matcher: pattern, Hooks: hooks}); reason != "" {
			t.Errorf("%q %s", pattern, reason)
		}
	}
	for _, pattern := range []string{"Bash(", "Bash)", "Bash(git:*", "[a", `a\`, "*Bash", "+", "mcp__**", "(?:a", "a|*"} {
		if reason := checkMatcher(&hook.Matcher{Matcher: pattern, Hooks: hooks}); reason == "" {
			t.Errorf("%q is accepted", pattern)
		}
	}
}

func TestHookOutputs(t *testing.T) {
	t.Parallel()
	for want, out := range map[string]*hook.Output{
		`{}`: nil,
		`{"continue":false,"stopReason":"enough"}`:     {Stop: true, StopReason: "enough"},
		`{"decision":"block","reason":"tests fail"}`:   {Decision: hook.DecisionBlock, Reason: "tests fail"},
		`{"systemMessage":"hi","suppressOutput":true}`: {SystemMessage: "hi", SuppressOutput: true},
		`{"terminalSequence":"\u0007"}`:                {TerminalSequence: "\a"},
		`{"async":true}`:                               {Async: true},
		`{"async":true,"asyncTimeout":1500}`:           {Async: true, AsyncTimeout: 1500 * time.Millisecond},
		`{"decision":"approve"}`:                       {Decision: hook.DecisionApprove, Specific: (*hook.PreToolUseOutput)(nil)},
		`{"hookSpecificOutput":{"hookEventName":"BrandNew","a":[1]}}`: {
			Specific: &hook.RawOutput{JSON: `{"hookEventName":"BrandNew","a":[1]}`},
		},
	} {
		wantAnswer(t, says(out, nil), stopRequest, want)
	}
	wantAnswer(t, says(new(hook.Output), nil), stopRequest, `{}`)
}

func TestHookSpecificOutputs(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		out  hook.SpecificOutput
		want string
	}{
		{new(hook.PreToolUseOutput), `"PreToolUse"`},
		{
			&hook.PreToolUseOutput{
				Decision: permission.BehaviorDefer, Reason: "R", UpdatedInput: map[string]int{"a": 1}, AdditionalContext: "C",
			},
			`"PreToolUse","permissionDecision":"defer","permissionDecisionReason":"R","updatedInput":{"a":1},
			"additionalContext":"C"`,
		},
		{
			&hook.PostToolUseOutput{
				AdditionalContext: "C", ClassifierContext: "K", UpdatedToolOutput: []int{1}, UpdatedMCPToolOutput: "x",
			},
			`"PostToolUse","additionalContext":"C","classifierContext":"K","updatedToolOutput":[1],
			"updatedMCPToolOutput":"x"`,
		},
		{&hook.PermissionRequestOutput{Decision: permission.Allow()}, `"PermissionRequest","decision":{"behavior":"allow"}`},
		{
			&hook.PermissionRequestOutput{Decision: &permission.AllowResult{
				UpdatedInput:       map[string]string{"command": "ls"},
				UpdatedPermissions: []permission.Update{permission.SetMode(permission.DestinationSession, "plan")},
			}},
			`"PermissionRequest","decision":{"behavior":"allow","updatedInput":{"command":"ls"},
			"updatedPermissions":[{"type":"setMode","mode":"plan","destination":"session"}]}`,
		},
		{
			&hook.PermissionRequestOutput{Decision: &permission.DenyResult{Message: "no", Interrupt: true}},
			`"PermissionRequest","decision":{"behavior":"deny","message":"no","interrupt":true}`,
		},
		{&hook.PermissionDeniedOutput{Retry: true}, `"PermissionDenied","retry":true`},
		{
			&hook.UserPromptSubmitOutput{AdditionalContext: "C", SessionTitle: "T", SuppressOriginalPrompt: true},
			`"UserPromptSubmit","additionalContext":"C","sessionTitle":"T","suppressOriginalPrompt":true`,
		},
		{
			&hook.UserPromptExpansionOutput{AdditionalContext: "C", SuppressOriginalPrompt: true},
			`"UserPromptExpansion","additionalContext":"C","suppressOriginalPrompt":true`,
		},
		{&hook.MessageDisplayOutput{DisplayContent: new("")}, `"MessageDisplay","displayContent":""`},
		{
			&hook.SessionStartOutput{
				AdditionalContext: "C", InitialUserMessage: "M", SessionTitle: "T", WatchPaths: []string{"/w"}, ReloadSkills: true,
			},
			`"SessionStart","additionalContext":"C","initialUserMessage":"M","sessionTitle":"T","watchPaths":["/w"],
			"reloadSkills":true`,
		},
		{
			&hook.PreModelSwitchOutput{Decision: permission.BehaviorDeny, Reason: "R"},
			`"PreModelSwitch","permissionDecision":"deny","permissionDecisionReason":"R"`,
		},
		{
			&hook.ElicitationOutput{Action: wire.ElicitationAccept, Content: map[string]int{"a": 1}},
			`"Elicitation","action":"accept","content":{"a":1}`,
		},
		{&hook.ElicitationResultOutput{Action: wire.ElicitationDecline}, `"ElicitationResult","action":"decline"`},
		{new(hook.CWDChangedOutput), `"CwdChanged"`},
		{&hook.CWDChangedOutput{WatchPaths: []string{}}, `"CwdChanged","watchPaths":[]`},
		{&hook.FileChangedOutput{WatchPaths: []string{"/w"}}, `"FileChanged","watchPaths":["/w"]`},
		{&hook.WorktreeCreateOutput{WorktreePath: "/w"}, `"WorktreeCreate","worktreePath":"/w"`},
	} {
		wantAnswer(t, says(&hook.Output{Specific: test.out}, nil), stopRequest,
			`{"hookSpecificOutput":{"hookEventName":`+test.want+`}}`)
	}
}

// Additional context goes to the model under the name of the event at which the hook was called.
func TestHookAdditionalContext(t *testing.T) {
	t.Parallel()
	for _, event := range []hook.Event{
		hook.PostToolUseFailure, hook.PostToolBatch, hook.Notification, hook.Stop, hook.Setup, hook.PostModelSwitch,
		hook.SubagentStart, hook.SubagentStop,
	} {
		request := strings.Replace(stopRequest, `"Stop"`, `"`+string(event)+`"`, 1)
		callbacks := newCallbacks(&Options{Hooks: map[hook.Event][]hook.Matcher{event: {{Hooks: []hook.Func{
			func(context.Context, hook.Input) (*hook.Output, error) {
				return &hook.Output{AdditionalContext: "C"}, nil
			},
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
	both := &hook.Output{AdditionalContext: "C", Specific: new(hook.PreToolUseOutput)}
	if _, err := serve(t, says(both, nil), stopRequest); err == nil || !strings.Contains(err.Error(), "combined with Specific") {
		t.Errorf("error %v", err)
	}
	_, err := serve(t, says(&hook.Output{Specific: new(hook.PermissionRequestOutput)}, nil), stopRequest)
	if err == nil || !strings.Contains(err.Error(), "has no decision") {
		t.Errorf("error %v", err)
	}
	_, err = serve(t, says(&hook.Output{Specific: &hook.PreToolUseOutput{UpdatedInput: func() {}}}, nil), stopRequest)
	if _, ok := errors.AsType[*json.UnsupportedTypeError](err); !ok {
		t.Errorf("error %v", err)
	}
}
