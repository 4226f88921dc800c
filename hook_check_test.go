package clew

import (
	"context"
	"errors"
	"strings"
	"testing"
)

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
		"a pattern":        {HookPreToolUse, HookMatcher{Matcher: "Bash(", Hooks: hooks}, "is no regular expression"},
		"a failure":        {HookStop, HookMatcher{Hooks: hooks, OnFailure: "explode"}, "OnFailure that is not known"},
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
