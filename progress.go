package clew

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/clewdev/clew/wire"
)

// progress follows the agent's work by its frames: which prompts it has not answered, what runs in
// the background, and whether the last turn failed. It sees frames as they are read, long before a
// slow caller does.
type progress struct {
	mu      sync.Mutex
	prompts ledger
	tasks   map[string]struct{} // subagents and workflows in the background
	owed    bool                // one of them has ended, and the agent will start a turn for it
	running bool                // something runs in the background
	state   wire.SessionState   // empty if the agent does not report it
	failed  *wire.ResultMessage // the result of the last turn, if that failed
	unread  *wire.InvalidFrame  // the same, if it could not be read
	id      string              // of the session
	mode    wire.PermissionMode // empty if the agent does not report it

	midTurn   bool // something of a turn has come since the last result
	spoken    bool // the model has answered in this turn
	answers   int  // how many turns of this conversation have an answer of the model
	reset     bool // it is not the conversation that the session began with
	succeeded bool // a prompt was answered without a failure

	done []string // the prompts that the last frame has settled
}

// sent adds a prompt that is being sent.
func (p *progress) sent(uuid string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.prompts.sent(uuid)
}

// unsent removes a prompt that never reached the agent.
func (p *progress) unsent(uuid string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.prompts.remove([]string{uuid})
}

// see follows a frame. It reports whether the run may be over with it: after a result, when the
// agent is done with a prompt, and when the agent becomes idle.
func (p *progress) see(msg wire.Message) bool {
	mayBeOver, _ := p.seeSettled(msg)
	return mayBeOver
}

// seeSettled is like see and also returns the prompts that the frame settled.
func (p *progress) seeSettled(msg wire.Message) (mayBeOver bool, settled []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = nil
	mayBeOver = p.follow(msg)
	return mayBeOver, p.done
}

// settle removes the prompts that a frame settles, and returns them.
func (p *progress) settle(msg wire.Message) []string {
	p.done = p.prompts.see(msg)
	return p.done
}

func (p *progress) follow(msg wire.Message) bool {
	switch m := msg.(type) {
	case *wire.AssistantMessage:
		p.failed, p.unread, p.spoken, p.midTurn = nil, nil, true, true
		return false
	case *wire.StreamEventMessage, *wire.UserMessage:
		p.failed, p.unread, p.midTurn = nil, nil, true
		p.settle(msg)
		return false
	case *wire.ResultMessage:
		p.result(m)
		return true
	case *wire.InvalidFrame:
		if isResult(m) {
			p.settle(m)
			p.turnEnded(nil, m)
		}
		return isResult(m)
	case *wire.InitMessage:
		p.midTurn = true
		p.setSession(m.SessionID)
		p.mode = cmp.Or(m.PermissionMode, p.mode)
	case *wire.StatusMessage:
		p.mode = cmp.Or(m.PermissionMode, p.mode)
		p.midTurn = p.midTurn || m.Status != ""
	case *wire.SessionStateChangedMessage:
		p.state, p.midTurn = m.State, true
		p.settle(m)
		return m.State == wire.SessionStateIdle
	case *wire.CommandLifecycleMessage:
		return len(p.settle(m)) > 0
	default:
		p.task(msg)
	}
	return false
}

func (p *progress) result(m *wire.ResultMessage) {
	settled := p.settle(m)
	p.succeeded = p.succeeded || len(settled) > 0 && !m.Failed()
	p.setSession(m.SessionID)
	if m.Failed() {
		p.turnEnded(m, nil)
	} else {
		p.turnEnded(nil, nil)
	}
}

// turnEnded follows the end of a turn, which may have failed or have a result that is unread.
func (p *progress) turnEnded(failed *wire.ResultMessage, unread *wire.InvalidFrame) {
	p.failed, p.unread, p.owed, p.midTurn = failed, unread, false, false
	if p.spoken {
		p.answers++
	}
	p.spoken = false
}

// setSession sets the session of the agent, which may start a new conversation.
func (p *progress) setSession(id string) {
	if id == "" {
		return
	}
	if p.id != "" && p.id != id {
		p.reset, p.answers = true, 0
	}
	p.id = id
}

// task follows the tasks that start another turn when they end. Others, such as a shell, may never
// end.
func (p *progress) task(msg wire.Message) {
	switch m := msg.(type) {
	case *wire.TaskStartedMessage:
		if m.TaskID != "" && (m.TaskType == "local_agent" || m.TaskType == "local_workflow") {
			if p.tasks == nil {
				p.tasks = make(map[string]struct{})
			}
			p.tasks[m.TaskID] = struct{}{}
		}
	case *wire.BackgroundTasksChangedMessage:
		p.running = len(m.Tasks) > 0
	case *wire.TaskNotificationMessage:
		p.midTurn = true
		p.taskEnded(m.TaskID)
	case *wire.TaskUpdatedMessage:
		if m.Patch.Status.Terminal() {
			p.taskEnded(m.TaskID)
		}
	}
}

// taskEnded follows the end of a task. Without an ID it may be any of them, so none is waited for.
func (p *progress) taskEnded(id string) {
	before := len(p.tasks)
	if delete(p.tasks, id); id == "" {
		clear(p.tasks)
	}
	if len(p.tasks) < before {
		p.owed = true
	}
}

// answered reports whether every prompt was answered.
func (p *progress) answered() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.prompts.open) == 0
}

// reportsStates reports whether the agent reports what becomes of prompts, such as that one was
// canceled.
func (p *progress) reportsStates() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.prompts.reports
}

// position returns how many prompts the agent has to answer before this one, or -1 if it answered
// it.
func (p *progress) position(uuid string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Index(p.prompts.open, uuid)
}

// settled reports whether every prompt was answered and nothing in the background will start
// another turn.
func (p *progress) settled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.prompts.open) == 0 && len(p.tasks) == 0 && (p.state == "" && !p.owed || p.state == wire.SessionStateIdle)
}

// rest reports what an agent that answered every prompt still does: nothing, or whether a subagent
// or a workflow runs in the background, whose end starts another turn. An agent that waits for a
// command in the background does nothing, but does not report that it is idle.
func (p *progress) rest() (idle, background bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	background = len(p.tasks) > 0
	idle = p.state == wire.SessionStateIdle || !p.midTurn && !p.owed
	return idle && !background, background
}

// expectsOutput reports whether the agent is in a turn and does not wait for the user.
func (p *progress) expectsOutput() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.turnRuns() && p.state != wire.SessionStateRequiresAction
}

// working reports whether the agent is in a turn, or waits for something in the background before
// it ends. An agent that reports states becomes idle some time after the result of its turn: in
// between it does not work, so that a caller who saw the result closes an idle agent.
func (p *progress) working() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	done := !p.midTurn && len(p.prompts.open) == 0 && len(p.tasks) == 0 && !p.owed
	return p.running || p.turnRuns() && !done
}

func (p *progress) turnRuns() bool {
	return len(p.prompts.open) > 0 || p.state == wire.SessionStateRunning || p.state == wire.SessionStateRequiresAction
}

// A turnsState is the state of a conversation's turns so far.
type turnsState struct {
	failed *wire.ResultMessage // the result of the last turn, if that failed
	unread *wire.InvalidFrame  // the same, if it could not be read
	open   bool                // a prompt has no result
}

func (p *progress) turns() turnsState {
	p.mu.Lock()
	defer p.mu.Unlock()
	return turnsState{failed: p.failed, unread: p.unread, open: len(p.prompts.open) > 0}
}

// err returns the error of a conversation whose agent ended with exit, which is nil if it exited
// normally: an error if the last turn failed, if the agent died, or if a prompt has no result.
func (t turnsState) err(exit *ExitError) error {
	switch {
	case t.failed != nil:
		return &ResultError{Result: t.failed, Exit: exit}
	case exit != nil:
		return exit
	case t.unread != nil:
		return unreadError(t.unread)
	case t.open:
		return &ExitError{Reason: "ended without a result"}
	}
	return nil
}

// sessionID returns the ID of the session, or "" before the agent reports it.
func (p *progress) sessionID() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.id
}

// lose resets the state after the agent dies. All prompts except those in kept, which the agent had
// not received, are lost. It returns the lost ones.
func (p *progress) lose(kept []string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	lost := slices.DeleteFunc(slices.Clone(p.prompts.open), func(id string) bool { return slices.Contains(kept, id) })
	p.tasks, p.owed, p.running, p.state, p.spoken = nil, false, false, "", false
	return p.prompts.remove(lost)
}

// restart prepares for another agent. It reports whether a prompt was answered without a failure
// since the last restart.
func (p *progress) restart() (succeeded bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	succeeded, p.succeeded, p.failed, p.unread = p.succeeded, false, nil, nil
	return succeeded
}

// A conversation is the state that another agent has to resume.
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

// inTurn reports whether the agent is in a turn.
func (p *progress) inTurn() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.turnRuns()
}

// A ledger holds the prompts that were sent and not answered, oldest first, and removes them as
// frames answer them. Newer agents name the prompts that a result answers. Older ones may answer
// several prompts with a result that names one of them or none; they send each prompt back when
// they start it. The results of agents that don't do that answer one prompt each, in order.
type ledger struct {
	open    []string
	states  map[string]wire.CommandState // of the prompts in open, as far as the agent has reported them
	reports bool                         // the agent reports states
}

func (l *ledger) sent(uuid string) { l.open = append(l.open, uuid) }

// see returns the prompts that msg settles.
func (l *ledger) see(msg wire.Message) []string {
	switch m := msg.(type) {
	case *wire.ResultMessage:
		if !goesOn(m) {
			return l.remove(slices.Concat(l.answered(m), l.ended()))
		}
	case *wire.InvalidFrame:
		if isResult(m) {
			return l.remove(slices.Concat(l.named(m.Raw()), l.ended()))
		}
	case *wire.SessionStateChangedMessage:
		if m.State == wire.SessionStateIdle {
			return l.remove(l.ended())
		}
	case *wire.CommandLifecycleMessage:
		return l.follow(m)
	case *wire.UserMessage:
		if m.Replay && slices.Contains(l.open, m.UUID) {
			l.setState(m.UUID, wire.CommandStateStarted)
		}
	case *wire.SessionReconnectedMessage:
		return l.remove(m.LostPrompts)
	}
	return nil
}

// follow follows the state of a prompt. A prompt that is canceled in the queue is settled. A prompt
// that the agent took up in the middle of a turn ends before the result that answers it, and waits
// for that.
func (l *ledger) follow(m *wire.CommandLifecycleMessage) []string {
	uuid := m.CommandUUID
	if uuid == "" || m.State == "" {
		return nil // they do not fit, so that nothing is known
	}
	l.reports = l.reports || m.State != wire.CommandStateCanceled // that one may be our own, see reportCanceled
	switch {
	case !slices.Contains(l.open, uuid):
		return nil
	case m.State == wire.CommandStateCanceled && l.states[uuid] != wire.CommandStateStarted:
		return l.remove([]string{uuid})
	}
	l.setState(uuid, m.State)
	return nil
}

func (l *ledger) setState(uuid string, state wire.CommandState) {
	if l.states == nil {
		l.states = make(map[string]wire.CommandState)
	}
	l.states[uuid] = state
}

// in returns the prompts that are in one of the states.
func (l *ledger) in(states ...wire.CommandState) []string {
	var found []string
	for _, uuid := range l.open {
		if slices.Contains(states, l.states[uuid]) {
			found = append(found, uuid)
		}
	}
	return found
}

// ended returns the prompts that the agent is done with and that wait for their result.
func (l *ledger) ended() []string { return l.in(wire.CommandStateCompleted, wire.CommandStateCanceled) }

// goesOn reports whether the turn of a result continues in the background: it answers nothing yet.
func goesOn(m *wire.ResultMessage) bool {
	return m.TerminalReason == wire.TerminalReasonBackgroundRequested && m.UserMessageUUID != ""
}

// isResult reports whether a frame that could not be read is a result, as far as it goes. It ends a
// turn, for another result does not come.
func isResult(m *wire.InvalidFrame) bool { return m.Kind().Type == "result" }

// unreadError is the error of a turn whose result could not be read.
func unreadError(m *wire.InvalidFrame) error {
	return fmt.Errorf("clew: the result of the turn could not be read: %w", m)
}

// named returns the prompts that the text of a result names, or else the prompt it can answer.
func (l *ledger) named(text string) []string {
	named := slices.DeleteFunc(slices.Clone(l.open), func(id string) bool { return !strings.Contains(text, id) })
	switch started := l.in(wire.CommandStateStarted); {
	case len(named) > 0 || len(started) > 0:
		return append(named, started...)
	case len(l.open) > 0 && l.begun(l.open[0]):
		return l.open[:1]
	}
	return nil
}

// answered returns the prompts that a result answers. An agent may answer several at once.
func (l *ledger) answered(m *wire.ResultMessage) []string {
	if slices.ContainsFunc(m.UserMessageUUIDs, func(id string) bool { return id != "" }) {
		return m.UserMessageUUIDs
	}
	switch started := l.in(wire.CommandStateStarted); {
	case m.UserMessageUUID != "":
		return append(started, m.UserMessageUUID)
	case len(started) > 0: // the agent has one turn at a time
		return started
	case len(l.open) > 0 && prompted(m) && l.begun(l.open[0]):
		return l.open[:1]
	}
	return nil
}

// begun reports whether the agent may have started a prompt. An agent that reports states has not,
// if it reported nothing about the prompt: the result that was read belongs to a turn that the
// agent started itself.
func (l *ledger) begun(uuid string) bool {
	return l.states[uuid] == wire.CommandStateStarted || l.states[uuid] == "" && !l.reports
}

// prompted reports whether a result that names no prompt can answer one. It can't if a finished
// task or a schedule started its turn.
func prompted(m *wire.ResultMessage) bool { return m.Origin == nil || m.Origin.Kind == "human" }

// remove removes prompts, and returns the prompts that it found. An agent answers a prompt that was
// sent twice once.
func (l *ledger) remove(uuids []string) []string {
	var removed []string
	for _, uuid := range uuids {
		if slices.Contains(l.open, uuid) {
			removed = append(removed, uuid)
			l.open = slices.DeleteFunc(l.open, func(open string) bool { return open == uuid })
			delete(l.states, uuid)
		}
	}
	return removed
}
