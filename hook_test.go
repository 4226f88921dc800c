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

// The agent calls a hook by the id that it was told.
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
		`"callback_id":"hook_99","input":{}`: `clew: there is no hook "hook_99"`,
		`"input":{}`:                         `clew: there is no hook ""`,
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

// A hook whose time is up is left to the agent, which has the same time-out and knows better what to do.
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
