package clew

import (
	"errors"
	"maps"
	"os"
	"regexp/syntax"
	"slices"
	"strings"
)

// checkHooks returns what is wrong with the hooks. A hook that the agent does not call prevents nothing.
func (o *Options) checkHooks() error {
	if len(o.Hooks) > 0 && o.startsBare() {
		return badOption("Hooks", "not together with Bare or %s, which turn them off", bareVariable)
	}
	for _, event := range slices.Sorted(maps.Keys(o.Hooks)) {
		if event == "" {
			return badOption("Hooks", "an event has no name")
		}
		for i := range o.Hooks[event] {
			if reason := o.Hooks[event][i].check(); reason != "" {
				return badOption("Hooks", "matcher %d of %s %s", i, event, reason)
			}
		}
	}
	return nil
}

// bareVariable starts the agent bare, as Bare does.
const bareVariable = "CLAUDE_CODE_SIMPLE"

// startsBare reports whether the agent is told to start bare, in one way or the other.
func (o *Options) startsBare() bool {
	return o.Bare || slices.ContainsFunc(o.environ(os.Environ()), func(entry string) bool {
		name, value, _ := strings.Cut(entry, "=")
		return name == bareVariable && slices.Contains([]string{"1", "true", "yes", "on"}, strings.ToLower(value))
	})
}

// check returns why m cannot be used, or "".
func (m *HookMatcher) check() string {
	switch {
	case len(m.Hooks) == 0:
		return "has no hook"
	case slices.ContainsFunc(m.Hooks, func(hook HookFunc) bool { return hook == nil }):
		return "has a hook that is nil"
	case m.Timeout < 0:
		return "has a negative Timeout"
	case m.Matcher != "*" && brokenPattern(m.Matcher):
		return "is no regular expression"
	}
	switch m.OnFailure {
	case "", HookFailureContinue, HookFailureBlock:
		return ""
	}
	return "has an OnFailure that is not known"
}

// brokenPattern reports whether a pattern is a regular expression neither in Go nor in JavaScript, which the agent
// speaks. What JavaScript has and Go lacks leads to other errors than these, but for [^], which is any character.
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

// checkHooksApplied returns an error if the agent says that it won't do with the hooks what the options ask for.
func (s *Session) checkHooksApplied(info *ServerInfo) error {
	switch applied := info.HooksApplied; {
	case len(s.opts.Hooks) > 0 && applied != nil && !*applied:
		return badOption("Hooks", "the agent did not apply them")
	case s.opts.blocksOnHookFailure() && !info.HookOnFailureSupported:
		return badOption("Hooks", "this agent is too old for OnFailure: a hook that fails would block nothing")
	}
	return nil
}

// blocksOnHookFailure reports whether a hook is to block when it fails.
func (o *Options) blocksOnHookFailure() bool {
	for _, matchers := range o.Hooks {
		for _, m := range matchers {
			if m.OnFailure == HookFailureBlock {
				return true
			}
		}
	}
	return false
}
