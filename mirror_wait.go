package clew

import (
	"context"
	"fmt"
	"time"

	"github.com/clewdev/clew/wire"
)

// next returns what the caller is shown next: msg, or before a result what says that entries were lost. A result waits
// until everything that came before it is in the store or given up. The error is that of ctx.
func (m *mirror) next(ctx context.Context, msg wire.Message) (wire.Message, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if _, ok := msg.(*wire.ResultMessage); !ok || m == nil {
		return msg, nil
	}
	wanted := m.wantedSoFar()
	if !m.wait(ctx.Done(), func() bool { return m.settled.frames >= wanted }) {
		return nil, context.Cause(ctx)
	}
	if loss := m.tell(); loss != nil {
		return loss, nil
	}
	return msg, nil
}

func (m *mirror) wantedSoFar() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.wanted
}

// wait blocks until done, which is called with the lock held, or until enough is closed. It reports whether it is done.
func (m *mirror) wait(enough <-chan struct{}, done func() bool) bool {
	for {
		m.mu.Lock()
		over, progress := done(), m.progress
		m.mu.Unlock()
		if over {
			return true
		}
		select {
		case <-progress:
		case <-enough:
			return false
		}
	}
}

// tell returns a message about the oldest loss that nobody was told of, or nil.
func (m *mirror) tell() wire.Message {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.losses) == 0 {
		return nil
	}
	loss := m.losses[0]
	m.losses = m.losses[1:]
	return loss.message(m.id())
}

// tellRest shows the losses that nobody was told of.
func (m *mirror) tellRest(show func(wire.Message) (more bool)) {
	for loss := m.tell(); loss != nil && show(loss); loss = m.tell() {
	}
}

// untold returns the losses that nobody was told of, as one error.
func (m *mirror) untold() error {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var errs error
	for _, loss := range m.losses {
		errs = join(errs, loss)
	}
	return errs
}

// end copies what is left when nothing more will come. It takes no longer than one call of the store may: what is not
// copied by then is lost.
func (m *mirror) end() {
	if m == nil {
		return
	}
	overdue := fmt.Errorf("not done %v after the agent had ended: %w", m.timeout, context.DeadlineExceeded)
	timer := time.AfterFunc(m.timeout, func() { m.store.giveUp(overdue) })
	m.drain(nil)
	timer.Stop()
	m.store.giveUp(nil)
	m.queue.Close()
}

// drain copies everything that an agent which is gone has written down, also what it has not mirrored. It blocks until
// all is in the store or given up, or until enough is closed: then the rest goes on in the background.
func (m *mirror) drain(enough <-chan struct{}) {
	if m == nil {
		return
	}
	idle := func() bool { return !m.copying }
	m.setDraining(true)
	if m.wait(enough, idle) {
		m.copyMissed()
		m.wait(enough, idle)
	}
	m.setDraining(false)
}

// copyMissed copies what the agent has not mirrored. Nothing else copies now.
func (m *mirror) copyMissed() {
	missed := m.missed()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.start(missed)
}

func (m *mirror) setDraining(on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.draining = on
	m.copyIfDue()
}
