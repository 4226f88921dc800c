package clew

import (
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

	"github.com/clewdev/clew/wire"
)

// A HookFunc is called by the agent at an event. The type of its input identifies the event:
//
//	func audit(ctx context.Context, in clew.HookInput) (*clew.HookOutput, error) {
//		switch in := in.(type) {
//		case *clew.PreToolUseInput:
//			log.Println("about to use", in.ToolName)
//		}
//		return nil, nil
//	}
//
// A nil output lets the agent continue. An error, a panic, and an input that this package can't
// decode are failures. By default the agent continues after a failure as well. A hook that is meant
// to prevent something needs [HookFailureBlock] in [HookMatcher.OnFailure].
//
// The agent waits for its hooks, and may call several at once. The context ends after
// [HookMatcher.Timeout], or when the agent exits. A failure after that is not sent: the agent
// stopped waiting, and does not use the tool that a late [HookPreToolUse] was about.
type HookFunc func(ctx context.Context, in HookInput) (*HookOutput, error)

// A HookMatcher is a set of hooks for an event, and a condition for them.
type HookMatcher struct {
	// Matcher limits the hooks to some of the events, such as "Bash" or "Edit|Write" for events
	// about tools. The event determines which text it is compared with. A matcher that is not
	// a list of names is a regular expression of JavaScript. Empty and "*" mean always.
	Matcher string
	// Hooks are the hooks that run, at least one.
	Hooks []HookFunc
	// Timeout is the time the agent waits for each hook. Zero means the agent's default.
	Timeout time.Duration
	// OnFailure is the agent's reaction to a failing hook. Empty means [HookFailureContinue].
	OnFailure HookFailure
}

// A HookFailure is the agent's reaction to a failing hook.
type HookFailure string

// The agent can't block at Stop, SubagentStop, TaskCompleted and TeammateIdle.
const (
	// HookFailureContinue continues as if there were no hook.
	HookFailureContinue HookFailure = "continue"
	// HookFailureBlock prevents what the event is about, such as the use of a tool.
	HookFailureBlock HookFailure = "block"
)

// A registeredHook is a hook that the agent can call.
type registeredHook struct {
	run     HookFunc
	timeout time.Duration
}

// A hookMatcher is a [HookMatcher] in the form that the agent reads.
type hookMatcher struct {
	Matcher     *string     `json:"matcher"`
	CallbackIDs []string    `json:"hookCallbackIds"`
	Timeout     float64     `json:"timeout,omitempty"` // in seconds
	OnFailure   HookFailure `json:"onFailure,omitempty"`
}

// registerHooks numbers the hooks: by the name of their event, then in the order that the caller
// gave them.
func (c *callbacks) registerHooks(hooks map[HookEvent][]HookMatcher) {
	c.hookFuncs = make(map[string]*registeredHook)
	c.hookMatchers = make(map[HookEvent][]hookMatcher)
	for _, event := range slices.Sorted(maps.Keys(hooks)) {
		for _, m := range hooks[event] {
			c.hookMatchers[event] = append(c.hookMatchers[event], c.registerMatcher(&m))
		}
	}
}

func (c *callbacks) registerMatcher(m *HookMatcher) hookMatcher {
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
	hook := c.hookFuncs[req.CallbackID]
	if hook == nil {
		return "", fmt.Errorf("clew: unknown hook %q", req.CallbackID)
	}
	in, err := c.decodeHookInput(req.Input)
	if err != nil {
		return "", err
	}
	in.Base().RequestToolUseID = req.ToolUseID
	if hook.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, hook.timeout)
		defer cancel()
	}
	name := "a hook at " + string(in.Base().Event)
	answer, err := c.guard(ctx, name, func() (any, error) {
		out, err := hook.run(ctx, in)
		if err != nil {
			return nil, err
		}
		answer, err := out.answer(in.Base().Event)
		return answer, badAnswer(name, err)
	})
	if err != nil && ctx.Err() != nil {
		// After an error the agent would use the tool. After its own time-out it does not.
		return "", errNoAnswer
	}
	return answer, err
}

// A HookEvent is a point in the agent's work at which hooks run. The input at an event X is an
// XInput. If the event has an output that other events don't have, it is an XOutput in
// [HookOutput.Specific].
type HookEvent string

// Events of the use of tools.
const (
	// HookPreToolUse comes before a tool runs, and can deny it or change its input.
	HookPreToolUse HookEvent = "PreToolUse"
	// HookPostToolUse comes after a tool has run, and can change its result.
	HookPostToolUse HookEvent = "PostToolUse"
	// HookPostToolUseFailure comes after a tool fails.
	HookPostToolUseFailure HookEvent = "PostToolUseFailure"
	// HookPostToolBatch comes after all tools that one answer of the model called.
	HookPostToolBatch HookEvent = "PostToolBatch"
	// HookPermissionRequest comes when the agent asks for permission.
	HookPermissionRequest HookEvent = "PermissionRequest"
	// HookPermissionDenied comes when the use of a tool was denied.
	HookPermissionDenied HookEvent = "PermissionDenied"

	// Events of a turn.

	// HookUserPromptSubmit comes before the agent starts on a prompt, and can add to it or block
	// it.
	HookUserPromptSubmit HookEvent = "UserPromptSubmit"
	// HookUserPromptExpansion comes when a slash command is replaced by its prompt.
	HookUserPromptExpansion HookEvent = "UserPromptExpansion"
	// HookMessageDisplay comes while an answer streams, before a part of it is shown.
	HookMessageDisplay HookEvent = "MessageDisplay"
	// HookNotification comes when the agent notifies the user.
	HookNotification HookEvent = "Notification"
	// HookStop comes when the agent is about to end its turn, and can make it continue.
	HookStop HookEvent = "Stop"
	// HookStopFailure comes when an error ends the turn.
	HookStopFailure HookEvent = "StopFailure"

	// Events of a session.

	// HookSetup comes when the agent sets itself up.
	HookSetup HookEvent = "Setup"
	// HookSessionStart comes when a session starts or is resumed. Claude Code 2.1.325 calls
	// callbacks only at /clear, because it does not have them yet when it starts.
	HookSessionStart HookEvent = "SessionStart"
	// HookSessionEnd comes when a session ends. Claude Code 2.1.325 calls callbacks only at /clear.
	HookSessionEnd HookEvent = "SessionEnd"
	// HookPreCompact comes before the conversation is compacted.
	HookPreCompact HookEvent = "PreCompact"
	// HookPostCompact comes after the conversation was compacted.
	HookPostCompact HookEvent = "PostCompact"
	// HookPreModelSwitch comes before the session changes its model, and can deny that.
	HookPreModelSwitch HookEvent = "PreModelSwitch"
	// HookPostModelSwitch comes after the session changes its model.
	HookPostModelSwitch HookEvent = "PostModelSwitch"

	// Events of subagents, teammates and tasks.

	// HookSubagentStart comes when a subagent starts.
	HookSubagentStart HookEvent = "SubagentStart"
	// HookSubagentStop comes when a subagent is about to end.
	HookSubagentStop HookEvent = "SubagentStop"
	// HookTeammateIdle comes when a teammate has nothing to do.
	HookTeammateIdle HookEvent = "TeammateIdle"
	// HookTaskCreated comes when a task is added to the agent's list.
	HookTaskCreated HookEvent = "TaskCreated"
	// HookTaskCompleted comes when a task of the list is done.
	HookTaskCompleted HookEvent = "TaskCompleted"

	// Events of MCP servers.

	// HookElicitation comes when an MCP server asks the user something.
	HookElicitation HookEvent = "Elicitation"
	// HookElicitationResult comes before the answer goes back to the MCP server.
	HookElicitationResult HookEvent = "ElicitationResult"

	// Events of settings, files and directories.

	// HookConfigChange comes when settings change on disk.
	HookConfigChange HookEvent = "ConfigChange"
	// HookInstructionsLoaded comes when a file with instructions was read.
	HookInstructionsLoaded HookEvent = "InstructionsLoaded"
	// HookCWDChanged comes when the working directory changes.
	HookCWDChanged HookEvent = "CwdChanged"
	// HookDirectoryAdded comes when the agent may work in another directory as well.
	HookDirectoryAdded HookEvent = "DirectoryAdded"
	// HookFileChanged comes when a watched file changes.
	HookFileChanged HookEvent = "FileChanged"
	// HookWorktreeCreate comes when the agent needs a git worktree.
	HookWorktreeCreate HookEvent = "WorktreeCreate"
	// HookWorktreeRemove comes when the agent no longer needs a git worktree.
	HookWorktreeRemove HookEvent = "WorktreeRemove"
)

// checkHooks checks the hooks. A hook that the agent does not call prevents nothing.
func checkHooks(o *Options) error {
	if len(o.Hooks) > 0 && startsBare(o) {
		return badOption("Hooks", "can't be combined with Bare or %s, which turn hooks off", bareVariable)
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

// bareVariable is a variable that does the same as [Options.Bare].
const bareVariable = "CLAUDE_CODE_SIMPLE"

// startsBare reports whether an option or a variable makes the agent start bare.
func startsBare(o *Options) bool {
	return o.Bare || slices.ContainsFunc(agentEnv(o, os.Environ()), func(entry string) bool {
		name, value, _ := strings.Cut(entry, "=")
		return name == bareVariable && slices.Contains([]string{"1", "true", "yes", "on"}, strings.ToLower(value))
	})
}

// check returns why m can't be used, or "".
func (m *HookMatcher) check() string {
	switch {
	case len(m.Hooks) == 0:
		return "has no hook"
	case slices.ContainsFunc(m.Hooks, func(hook HookFunc) bool { return hook == nil }):
		return "has a hook that is nil"
	case m.Timeout < 0:
		return "has a negative Timeout"
	case m.Matcher != "*" && brokenPattern(m.Matcher):
		return "is not a regular expression"
	}
	switch m.OnFailure {
	case "", HookFailureContinue, HookFailureBlock:
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
		return badOption("Hooks", "this agent is too old for OnFailure: a failing hook would block nothing")
	}
	return nil
}

// blocksOnHookFailure reports whether a hook is to block when it fails.
func blocksOnHookFailure(hooks map[HookEvent][]HookMatcher) bool {
	for _, matchers := range hooks {
		for _, m := range matchers {
			if m.OnFailure == HookFailureBlock {
				return true
			}
		}
	}
	return false
}
