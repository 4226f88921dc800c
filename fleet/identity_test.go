package fleet

import (
	"context"
	"testing"
)

// An asked engine is an engine whose server takes long to name the user.
type asked struct {
	Engine
	meanwhile func()
}

func (e *asked) Identity(context.Context) (string, error) {
	e.meanwhile()
	return "alice", nil
}

// Nobody waits for a lock while the server is asked for the user, and it is asked once.
func TestIdentityOutsideLock(t *testing.T) {
	t.Parallel()
	n := 0
	e := new(asked)
	f := Open(e, "me")
	e.meanwhile = func() {
		if n++; !f.mu.TryLock() {
			t.Error("the fleet is locked")
			return
		}
		f.mu.Unlock()
	}
	for range 2 {
		if user, err := f.user(t.Context()); user != "alice" || err != nil || n != 1 {
			t.Errorf("%q, %v, after %d requests", user, err, n)
		}
	}
}
