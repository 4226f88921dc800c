package clew

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/clewdev/clew/wire"
)

// A HookFunc is called by the agent at an event. It tells the variants of its input apart by their type:
//
//	func audit(ctx context.Context, in clew.HookInput) (*clew.HookOutput, error) {
//		switch in := in.(type) {
//		case *clew.PreToolUseInput:
//			log.Println("about to use", in.ToolName)
//		}
//		return nil, nil
//	}
//
// A nil output has nothing to say: the agent goes on. An error, a panic, and an input that this package cannot read are
// failures, and the agent goes on after them as well, unless [HookMatcher.OnFailure] says otherwise: a hook that is to
// prevent something needs [HookFailureBlock].
//
// The agent waits for its hooks, and may call several at once. The context ends when [HookMatcher.Timeout] is over or
// the agent dies. A hook that fails after that is not answered: the agent has given it up already, and does not use the
// tool that a late [HookPreToolUse] was about.
type HookFunc func(ctx context.Context, in HookInput) (*HookOutput, error)

// A HookMatcher says which hooks run at an event.
type HookMatcher struct {
	// Matcher narrows the event down, to "Bash" or "Edit|Write" for one about tools. What it is compared with depends
	// on the event. One that is more than names is a regular expression of JavaScript. Empty and "*" mean always.
	Matcher string
	// Hooks are those that run, at least one.
	Hooks []HookFunc
	// Timeout is how long the agent waits for each hook. Zero means the agent's own limit.
	Timeout time.Duration
	// OnFailure is what the agent does when a hook fails. Empty means [HookFailureContinue].
	OnFailure HookFailure
}

// A HookFailure is what the agent does when a hook fails.
type HookFailure string

// What the agent can do. It cannot block on Stop, SubagentStop, TaskCompleted and TeammateIdle.
const (
	HookFailureContinue HookFailure = "continue"
	HookFailureBlock    HookFailure = "block"
)

// A registeredHook is a hook that the agent can call.
type registeredHook struct {
	run     HookFunc
	timeout time.Duration
}

// A hookMatcher is a [HookMatcher] as the agent is told of it.
type hookMatcher struct {
	Matcher     *string     `json:"matcher"`
	CallbackIDs []string    `json:"hookCallbackIds"`
	Timeout     float64     `json:"timeout,omitempty"` // in seconds
	OnFailure   HookFailure `json:"onFailure,omitempty"`
}

// registerHooks numbers the hooks: by the name of their event, then in the order that the caller gave them.
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

// hooks returns what initialize tells the agent about hooks, or nil if there are none.
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
	if err := (looseReader{"hook_callback", c.log}).decode(body, &req, "callback_id"); err != nil {
		return "", err
	}
	hook := c.hookFuncs[req.CallbackID]
	if hook == nil {
		return "", fmt.Errorf("clew: there is no hook %q", req.CallbackID)
	}
	in, err := c.decodeHookInput(req.Input)
	if err != nil {
		return "", err
	}
	in.Base().CallID = req.ToolUseID
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
		answer, err := out.answer()
		return answer, badAnswer(name, err)
	})
	if err != nil && ctx.Err() != nil {
		// An error would let the agent use a tool that it would not use after its own time-out.
		return "", errNoAnswer
	}
	return answer, err
}
