package clew

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/clewdev/clew/redact"
)

// ErrIdle ends a session whose agent has been silent in the middle of a turn for longer than
// [Limits.IdleTimeout].
var ErrIdle = errors.New("clew: the agent has been silent for too long")

// A watchdog notices when the agent is silent although the host expects output. It has its own
// state and lock. A nil watchdog watches nothing.
type watchdog struct {
	limit    time.Duration
	expected func() bool                 // reports whether the agent should write something
	onSilent func(silence time.Duration) // is called each time the limit has passed

	began  time.Time
	active atomic.Int64 // when the agent was last active, in nanoseconds since began
	held   atomic.Bool  // the host is busy, and the agent may have to wait for it

	mu    sync.Mutex
	timer *time.Timer // nil once stopped
}

// newWatchdog returns a watchdog that runs from now on, or nil without a limit.
func newWatchdog(limit time.Duration, expected func() bool, onSilent func(silence time.Duration)) *watchdog {
	if limit <= 0 {
		return nil
	}
	w := &watchdog{limit: limit, expected: expected, onSilent: onSilent, began: time.Now()}
	w.mu.Lock() // check may run before this returns
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(limit, w.check)
	return w
}

// markActive notes that the agent is not silent as of now: it wrote something, or was waiting for
// the host until now.
func (w *watchdog) markActive() {
	if w != nil {
		w.active.Store(int64(time.Since(w.began)))
	}
}

// hold stops the watch while a slow reader may delay the agent. It is for one goroutine at a time.
func (w *watchdog) hold() {
	if w != nil {
		w.held.Store(true)
	}
}

// release resumes the watch. The time until now does not count.
func (w *watchdog) release() {
	if w != nil {
		w.markActive()
		w.held.Store(false)
	}
}

// check acts if the agent has been silent for too long, and sets the timer for the next check.
func (w *watchdog) check() {
	// The order matters: the agent is marked active before output becomes expected.
	due := w.expected() && !w.held.Load()
	silence := time.Since(w.began) - time.Duration(w.active.Load())
	next := w.limit - silence
	if next <= 0 {
		next = w.limit
		if due {
			w.onSilent(silence)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Reset(next)
	}
}

func (w *watchdog) stop() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
}

// expectsOutput reports whether the agent is in a turn, and waits for nobody.
func (s *Session) expectsOutput() bool {
	return s.progress.expectsOutput() && !s.control.Serving() && s.control.Ready()
}

// agentIsSilent calls [Limits.OnIdle], or ends the session if there is none. A panic in OnIdle
// ends only this call.
func (s *Session) agentIsSilent(silence time.Duration) {
	if s.opts.Limits.OnIdle == nil {
		s.log.Warn("the agent is silent in the middle of a turn", "for", silence)
		s.close(true)
		return
	}
	defer func() {
		if p := recover(); p != nil {
			s.log.Error(redact.Mask(fmt.Sprintf("clew: panic in OnIdle: %v", p)), "stack", string(debug.Stack()))
		}
	}()
	s.opts.Limits.OnIdle(silence)
}
