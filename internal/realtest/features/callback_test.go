package features_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/clewdev/clew"
)

// A callback answers the agent as a test wants it, and keeps what it was asked. The zero value answers nothing.
type callback[In, Out any] struct {
	mu     sync.Mutex
	answer func(In) (Out, error)
	asked  []In
}

// The callbacks that the agent has for its host.
type (
	permissionCalls  = callback[*clew.PermissionRequest, clew.PermissionResult]
	hookCalls        = callback[clew.HookInput, *clew.HookOutput]
	questionCalls    = callback[*clew.QuestionRequest, *clew.QuestionResult]
	elicitationCalls = callback[*clew.ElicitationRequest, *clew.ElicitationResult]
)

func (c *callback[In, Out]) call(_ context.Context, in In) (out Out, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, in)
	if c.answer == nil {
		return out, nil
	}
	return c.answer(in)
}

// say sets the answer to what is asked from now on, and returns c.
func (c *callback[In, Out]) say(out Out, err error) *callback[In, Out] {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answer = func(In) (Out, error) { return out, err }
	return c
}

// calls returns what was asked since it was last called.
func (c *callback[In, Out]) calls() []In {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.asked
	c.asked = nil
	return list
}

// hooksAt are hooks that run at one event, always.
func hooksAt(event clew.HookEvent, hooks ...clew.HookFunc) map[clew.HookEvent][]clew.HookMatcher {
	return map[clew.HookEvent][]clew.HookMatcher{event: {{Hooks: hooks}}}
}

// happens waits for an event that comes soon if it comes at all.
func happens(t *testing.T, what string, event <-chan struct{}) {
	t.Helper()
	select {
	case <-event:
	case <-time.After(30 * time.Second):
		t.Errorf("%s: it did not happen", what)
	}
}
