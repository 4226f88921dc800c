package clew

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/clewdev/clew/internal/redact"
)

// ErrIdle ends a session whose agent has been silent in the middle of a turn for longer than [Options.IdleTimeout].
var ErrIdle = errors.New("clew: the agent has been silent for too long")

// stir notes that the agent is not silent as of now: it was heard, or was waiting for the host until now.
func (s *Session) stir() { s.stirred.Store(int64(time.Since(s.began))) }

// A watchdog notices when the agent falls silent in the middle of a turn while it waits neither for an answer of the
// host nor for a slow reader. A nil watchdog watches nothing.
type watchdog struct {
	session *Session
	limit   time.Duration

	mu    sync.Mutex
	timer *time.Timer // nil once stopped
}

func newWatchdog(s *Session) *watchdog {
	if s.opts.IdleTimeout <= 0 {
		return nil
	}
	w := &watchdog{session: s, limit: s.opts.IdleTimeout}
	s.stir()
	w.mu.Lock() // look may come before this returns
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(w.limit, w.look)
	return w
}

// look acts if the agent has been silent for too long, and comes back when it could be.
func (w *watchdog) look() {
	s := w.session
	// Asked first: what makes it true stirs before.
	due := s.progress.silent() && !s.control.Serving() && !s.pushing.Load() && s.control.Ready()
	silence := time.Since(s.began) - time.Duration(s.stirred.Load())
	next := w.limit - silence
	if next <= 0 {
		next = w.limit
		if due {
			w.bark(silence)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Reset(next)
	}
}

// bark tells the caller, or ends the session if there is nobody to tell.
func (w *watchdog) bark(silence time.Duration) {
	s := w.session
	if s.opts.OnIdle != nil {
		s.callOnIdle(silence)
		return
	}
	s.log.Warn("the agent is silent in the middle of a turn", "for", silence)
	s.stalled.Store(true)
	s.Close() //nolint:errcheck // the session ends with ErrIdle
}

// callOnIdle tells the caller. A panic there costs this call alone.
func (s *Session) callOnIdle(silence time.Duration) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error(redact.Mask(fmt.Sprintf("clew: panic in OnIdle: %v", p)), "stack", string(debug.Stack()))
		}
	}()
	s.opts.OnIdle(silence)
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
