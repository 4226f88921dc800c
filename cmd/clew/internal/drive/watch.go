package drive

import (
	"context"
	"io"
	"slices"
	"sync"
)

// A Watcher learns of changes. One that is slow skips states: it gets the newest of each agent.
type Watcher struct {
	agents *Agents
	signal chan struct{}
	closed chan struct{}
	once   sync.Once

	mu    sync.Mutex
	dirty map[string]bool
}

// Watch returns a watcher, to which all agents are new. The caller has to close it.
func (a *Agents) Watch() *Watcher {
	w := &Watcher{agents: a, signal: make(chan struct{}, 1), closed: make(chan struct{}), dirty: map[string]bool{}}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.watchers[w] = true
	for _, g := range a.agents {
		w.mark(g.id)
	}
	return w
}

// Next waits for a change, and returns the agents that changed since the last call, as they are
// now. The error is io.EOF after the end of the watcher or of all agents.
func (w *Watcher) Next(ctx context.Context) ([]Status, error) {
	select {
	case <-w.signal:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-w.closed:
		select {
		case <-w.signal: // the last changes come before the end
		default:
			return nil, io.EOF
		}
	}
	w.mu.Lock()
	dirty := w.dirty
	w.dirty = map[string]bool{}
	w.mu.Unlock()
	w.agents.mu.Lock()
	agents := slices.Clone(w.agents.agents)
	w.agents.mu.Unlock()
	var list []Status
	for _, g := range agents {
		if dirty[g.id] {
			list = append(list, g.Status())
		}
	}
	return list, nil
}

// Close ends the watcher.
func (w *Watcher) Close() {
	w.agents.mu.Lock()
	delete(w.agents.watchers, w)
	w.agents.mu.Unlock()
	w.end()
}

func (w *Watcher) end() { w.once.Do(func() { close(w.closed) }) }

func (w *Watcher) mark(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dirty[id] = true
	select {
	case w.signal <- struct{}{}:
	default: // it did not look yet
	}
}

// changed wakes all watchers after a change of an agent.
func (a *Agents) changed(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for w := range a.watchers {
		w.mark(id)
	}
}
