package record

import (
	"context"
	"path/filepath"
	"sync"

	"github.com/clewdev/clew/clewtest"
)

// A Stage is where a scenario plays.
type Stage struct {
	// Model is the one that the agent asks.
	Model *clewtest.Model
	// Work is the folder that the agent works in.
	Work string

	ctx   context.Context
	mu    sync.Mutex
	gates map[string]chan struct{}
}

func newStage(ctx context.Context, model *clewtest.Model, work string) *Stage {
	return &Stage{Model: model, Work: work, ctx: ctx, gates: map[string]chan struct{}{}}
}

// Path returns the path of a file in the work folder.
func (s *Stage) Path(name string) string { return filepath.Join(s.Work, name) }

// Hold waits until Release is called with the same name, or until the run ends. It orders what would be left to chance,
// such as the answers to an agent and to its subagent: a rule's match function calls it. It returns true.
func (s *Stage) Hold(name string) bool {
	select {
	case <-s.gate(name):
	case <-s.ctx.Done():
	}
	return true
}

// Release lets those go on that Hold the name, and those that will. It is called once for a name.
func (s *Stage) Release(name string) { close(s.gate(name)) }

func (s *Stage) gate(name string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gates[name] == nil {
		s.gates[name] = make(chan struct{})
	}
	return s.gates[name]
}
