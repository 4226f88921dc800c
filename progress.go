package clew

import (
	"cmp"
	"slices"
	"sync"

	"github.com/clewdev/clew/wire"
)

// progress follows what the agent is at, as far as its frames tell: which prompts it has not answered, what runs in the
// background, and whether the conversation stands at a failed turn. It sees frames as they are read, long before a slow
// caller does.
type progress struct {
	mu      sync.Mutex
	prompts ledger
	tasks   map[string]struct{} // subagents and workflows in the background
	owed    bool                // one of them has ended, and its turn is to come
	running bool                // anything at all runs in the background
	state   wire.SessionState   // empty for an agent that does not tell
	failed  *wire.ResultMessage // the failed result that the conversation stands at
	id      string
	mode    wire.PermissionMode // empty for an agent that does not tell

	spoken  bool // the model has said something in this turn
	answers int  // how many turns of this conversation have an answer of the model
	reset   bool // it is not the conversation that the session began with
	fine    bool // a prompt was answered in order
}

// sent notes a prompt that is on its way to the agent.
func (p *progress) sent(uuid string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.prompts.sent(uuid)
}

// unsent takes back a prompt that never reached the agent.
func (p *progress) unsent(uuid string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.prompts.cross([]string{uuid})
}

// see takes note of a frame. It reports whether the run may be over with it: after a result, when the agent is done with
// a prompt, and when it says that it is idle.
func (p *progress) see(msg wire.Message) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch m := msg.(type) {
	case *wire.AssistantMessage:
		p.failed, p.spoken = nil, true
		return false
	case *wire.StreamEventMessage, *wire.UserMessage:
		p.failed = nil
		return false
	case *wire.ResultMessage:
		p.result(m)
		return true
	case *wire.InitMessage:
		p.converse(m.SessionID)
		p.mode = cmp.Or(m.PermissionMode, p.mode)
	case *wire.StatusMessage:
		p.mode = cmp.Or(m.PermissionMode, p.mode)
	case *wire.SessionStateChangedMessage:
		p.state = m.State
		p.prompts.see(m)
		return m.State == wire.SessionStateIdle
	case *wire.CommandLifecycleMessage:
		return len(p.prompts.see(m)) > 0
	default:
		p.task(msg)
	}
	return false
}

func (p *progress) result(m *wire.ResultMessage) {
	settled := p.prompts.see(m)
	p.fine = p.fine || len(settled) > 0 && !m.Failed()
	p.failed, p.owed = nil, false
	if m.Failed() {
		p.failed = m
	}
	if m.SessionID != "" {
		p.converse(m.SessionID)
	}
	if p.spoken {
		p.answers++
	}
	p.spoken = false
}

// converse notes which conversation the agent is in: it may begin a new one.
func (p *progress) converse(id string) {
	if p.id != "" && p.id != id {
		p.reset, p.answers = true, 0
	}
	p.id = id
}

// task follows the tasks that start a turn of their own when they end. Others, such as a shell, may never end.
func (p *progress) task(msg wire.Message) {
	switch m := msg.(type) {
	case *wire.TaskStartedMessage:
		if m.TaskType == "local_agent" || m.TaskType == "local_workflow" {
			if p.tasks == nil {
				p.tasks = make(map[string]struct{})
			}
			p.tasks[m.TaskID] = struct{}{}
		}
	case *wire.BackgroundTasksChangedMessage:
		p.running = len(m.Tasks) > 0
	case *wire.TaskNotificationMessage:
		p.taskEnded(m.TaskID)
	case *wire.TaskUpdatedMessage:
		if m.Patch.Status.Terminal() {
			p.taskEnded(m.TaskID)
		}
	}
}

func (p *progress) taskEnded(id string) {
	if _, ok := p.tasks[id]; ok {
		delete(p.tasks, id)
		p.owed = true
	}
}

// answered reports whether every prompt was answered.
func (p *progress) answered() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.prompts.open) == 0
}

// place returns how many prompts the agent has to answer before this one, or -1 if it has answered it.
func (p *progress) place(uuid string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Index(p.prompts.open, uuid)
}

// settled reports whether every prompt was answered and nothing in the background will start another turn.
func (p *progress) settled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.prompts.open) == 0 && len(p.tasks) == 0 && (p.state == "" && !p.owed || p.state == wire.SessionStateIdle)
}

// silent reports whether the agent is in a turn in which it waits for nobody.
func (p *progress) silent() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.inTurn() && p.state != wire.SessionStateRequiresAction
}

// working reports whether the agent is in a turn, or waits for something in the background before it ends.
func (p *progress) working() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running || p.inTurn()
}

func (p *progress) inTurn() bool {
	return len(p.prompts.open) > 0 || p.state == wire.SessionStateRunning || p.state == wire.SessionStateRequiresAction
}

// verdict returns how it all ended, given how the agent did: an error if it died, or if the last turn failed, or if a
// prompt has no result.
func (p *progress) verdict(exit *ExitError) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.failed != nil:
		return &ResultError{Result: p.failed, Exit: exit}
	case exit != nil:
		return exit
	case len(p.prompts.open) > 0:
		return &ExitError{Reason: "ended without a result"}
	}
	return nil
}

// sessionID returns the id of the session, or "" before the agent has told it.
func (p *progress) sessionID() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.id
}
