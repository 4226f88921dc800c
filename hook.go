package clew

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clewdev/clew/hook"
	"github.com/clewdev/clew/wire"
)

// A registeredHook is a hook that the agent can call.
type registeredHook struct {
	run     hook.Func
	timeout time.Duration
}

// A hookMatcher is a [hook.Matcher] in the form that the agent reads.
type hookMatcher struct {
	Matcher     *string      `json:"matcher"`
	CallbackIDs []string     `json:"hookCallbackIds"`
	Timeout     float64      `json:"timeout,omitempty"` // in seconds
	OnFailure   hook.Failure `json:"onFailure,omitempty"`
}

// registerHooks numbers the hooks: by the name of their event, then in the order that the caller
// gave them.
func (c *callbacks) registerHooks(hooks map[hook.Event][]hook.Matcher) {
	c.hookFuncs = make(map[string]*registeredHook)
	c.hookMatchers = make(map[hook.Event][]hookMatcher)
	for _, event := range slices.Sorted(maps.Keys(hooks)) {
		for _, m := range hooks[event] {
			c.hookMatchers[event] = append(c.hookMatchers[event], c.registerMatcher(&m))
		}
	}
}

func (c *callbacks) registerMatcher(m *hook.Matcher) hookMatcher {
	registered := hookMatcher{Timeout: m.Timeout.Seconds(), OnFailure: m.OnFailure}
	if m.Matcher != "" {
		registered.Matcher = &m.Matcher
	}
	for _, run := range m.Hooks {
		id := "hook_" + strconv.Itoa(len(c.hookFuncs))
		c.hookFuncs[id] = &registeredHook{run, m.Timeout}
		registered.CallbackIDs = append(registered.CallbackIDs, id)
	}
	return registered
}

// hooks returns the hooks for the initialize request, or nil if there are none.
func (c *callbacks) hooks() any {
	if len(c.hookMatchers) == 0 {
		return nil
	}
	return c.hookMatchers
}

// A hookRequest is the body of a hook_callback.
type hookRequest struct {
	CallbackID string    `json:"callback_id"`
	Input      wire.JSON `json:"input"`
	ToolUseID  string    `json:"tool_use_id"`
}

func (c *callbacks) hookCallback(ctx context.Context, body wire.JSON) (wire.JSON, error) {
	var req hookRequest
	if err := loosely(c.log, "hook_callback", &req, "callback_id").Decode(body); err != nil {
		return "", err
	}
	called := c.hookFuncs[req.CallbackID]
	if called == nil {
		return "", fmt.Errorf("clew: unknown hook %q", req.CallbackID)
	}
	in, err := hook.Decode(req.Input, logMisfits(c.log))
	if err != nil {
		return "", err
	}
	in.Base().RequestToolUseID = req.ToolUseID
	if called.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, called.timeout)
		defer cancel()
	}
	name := "a hook at " + string(in.Base().Event)
	answer, err := c.guard(ctx, name, func() (any, error) {
		out, err := called.run(ctx, in)
		if err != nil {
			return nil, err
		}
		answer, err := out.Encode(in.Base().Event)
		return answer, badAnswer(name, err)
	})
	if err != nil && ctx.Err() != nil {
		// After an error the agent would use the tool. After its own time-out it does not.
		return "", errNoAnswer
	}
	return answer, err
}

// checkHooks checks the hooks. A hook that the agent does not call prevents nothing.
func checkHooks(o *Options) error {
	if len(o.Hooks) > 0 && startsBare(o) {
		return badOption("Hooks", "can't be combined with Settings.Bare or %s, which turn hooks off", bareVariable)
	}
	for _, event := range slices.Sorted(maps.Keys(o.Hooks)) {
		if event == "" {
			return badOption("Hooks", "an event has no name")
		}
		for i := range o.Hooks[event] {
			if reason := checkMatcher(&o.Hooks[event][i]); reason != "" {
				return badOption("Hooks", "matcher %d of %s %s", i, event, reason)
			}
		}
	}
	return nil
}

// bareVariable is a variable that does the same as [SettingsOptions.Bare].
const bareVariable = "CLAUDE_CODE_SIMPLE"

// startsBare reports whether an option or a variable makes the agent start bare.
func startsBare(o *Options) bool {
	return o.Settings.Bare || slices.ContainsFunc(agentEnv(o, os.Environ()), func(entry string) bool {
		name, value, _ := strings.Cut(entry, "=")
		return name == bareVariable && slices.Contains([]string{"1", "true", "yes", "on"}, strings.ToLower(value))
	})
}

// checkMatcher returns why m can't be used, or "".
func checkMatcher(m *hook.Matcher) string {
	switch {
	case len(m.Hooks) == 0:
		return "has no hook"
	case slices.ContainsFunc(m.Hooks, func(run hook.Func) bool { return run == nil }):
		return "has a hook that is nil"
	case m.Timeout < 0:
		return "has a negative Timeout"
	case m.Matcher != "*" && brokenPattern(m.Matcher):
		return "is not a regular expression"
	}
	switch m.OnFailure {
	case "", hook.FailureContinue, hook.FailureBlock:
		return ""
	}
	return "has an unknown OnFailure"
}

// brokenPattern reports whether a pattern is a regular expression neither in Go nor in JavaScript,
// which the agent uses. Patterns that only JavaScript knows lead to other errors than these, except
// [^], which is any character.
func brokenPattern(pattern string) bool {
	_, err := syntax.Parse(pattern, syntax.Perl)
	wrong, ok := errors.AsType[*syntax.Error](err)
	if !ok || strings.Contains(pattern, "[^]") {
		return false
	}
	switch wrong.Code {
	case syntax.ErrMissingParen, syntax.ErrUnexpectedParen, syntax.ErrMissingBracket, syntax.ErrTrailingBackslash,
		syntax.ErrMissingRepeatArgument, syntax.ErrInvalidRepeatOp:
		return true
	}
	return false
}

// checkHooksApplied returns an error if the agent reports that it does not use the hooks as the
// options say.
func (s *Session) checkHooksApplied(info *ServerInfo) error {
	switch applied := info.HooksApplied; {
	case len(s.opts.Hooks) > 0 && applied != nil && !*applied:
		return badOption("Hooks", "the agent did not apply them")
	case blocksOnHookFailure(s.opts.Hooks) && !info.HookOnFailureSupported:
		return badOption("Hooks", "Claude Code %s has no OnFailure, and a failing hook would block nothing: use version %s or newer",
			cmp.Or(info.Version, s.agent.knownVersion(), "of this version"), blocksOnFailure)
	}
	return nil
}

// blocksOnHookFailure reports whether a hook is to block when it fails.
func blocksOnHookFailure(hooks map[hook.Event][]hook.Matcher) bool {
	for _, matchers := range hooks {
		for _, m := range matchers {
			if m.OnFailure == hook.FailureBlock {
				return true
			}
		}
	}
	return false
}
