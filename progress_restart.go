package clew

import (
	"slices"

	"github.com/clewdev/clew/wire"
)

// lose notes that the agent is gone, and with it all prompts but those that it had not got. It returns the ones that
// are lost.
func (p *progress) lose(kept []string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	lost := slices.DeleteFunc(slices.Clone(p.prompts.open), func(id string) bool { return slices.Contains(kept, id) })
	p.tasks, p.owed, p.running, p.state, p.spoken = nil, false, false, "", false
	return p.prompts.cross(lost)
}

// restart notes that another agent goes on. It reports whether a prompt was answered in order since the last
// time.
func (p *progress) restart() (fine bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fine, p.fine, p.failed = p.fine, false, nil
	return fine
}

// A conversation is what there is to be resumed.
type conversation struct {
	id      string // empty if there was no turn yet
	answers int    // how many turns have an answer of the model
	reset   bool   // it is not the one that the session began with
}

func (p *progress) conversation() conversation {
	p.mu.Lock()
	defer p.mu.Unlock()
	return conversation{p.id, p.answers, p.reset}
}

func (p *progress) permissionMode() wire.PermissionMode {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mode
}

func (p *progress) setPermissionMode(mode wire.PermissionMode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = mode
}

// atWork reports whether the agent is in a turn.
func (p *progress) atWork() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.inTurn()
}
