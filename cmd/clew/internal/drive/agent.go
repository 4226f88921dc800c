package drive

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/cmd/clew/internal/ask"
	"github.com/clewdev/clew/internal/newid"
	"github.com/clewdev/clew/wire"
)

// A State is the state of an agent.
type State string

// The states.
const (
	Starting State = "starting"
	Working  State = "working"
	Waiting  State = "waiting" // for answers to its questions
	Idle     State = "idle"
	Ended    State = "ended"
)

// A Status is an agent as it was at some time. It does not change.
type Status struct {
	Agent   string // its ID
	Session string // the ID of its session, with @ and the project if it was started with that
	Dir     string // its working directory
	State   State
	Why     string // how it ended, or ""
	Note    string // a line about how it was started, or ""
	Mode    wire.PermissionMode
	Model   string
	Models  []string
	Cost    float64 // in dollars; 0 if it is not known

	Queue     []Prompt        // the prompts that are not answered, in order; the first one may have been sent
	Returned  []Prompt        // prompts that will not be sent, or whose answer is lost
	Sent      []Prompt        // the last prompts that were sent, which it can be rewound to
	Questions []*ask.Question // that are open
	Answers   []Answered      // the last answers to questions
	Text      string          // the answer that is being written
	Failure   string          // why the last turn failed, or ""
	Elsewhere bool            // another process runs the session: only its questions can be answered
}

// An Agent is an agent that is driven. Its methods may be called by several goroutines.
type Agent struct {
	agents *Agents
	id     string
	opts   *clew.Options
	files  ask.Workspace
	calls  *onceEach
	ctx    context.Context //nolint:containedctx // it ends with the agent
	cancel context.CancelFunc
	done   chan struct{} // closed when the agent ends
	note   string

	// project is the project of the session, if several projects have a session with its ID.
	project string
	startID string            // the ID of the request that started it, or ""
	earlier map[string]Prompt // prompts of an earlier server by their IDs, nil unless it is one of its agents

	elsewhere bool // another process runs the session: only its questions are here

	setting chan struct{} // has a value while a setting of the agent is being changed

	mu       sync.Mutex
	conn     *clew.Session // nil before it is connected
	session  string
	ended    bool
	why      string
	mode     wire.PermissionMode
	model    string
	models   []string
	cost     float64
	queue    []*prompt
	current  *prompt // removed from the queue and not answered
	busy     bool    // the agent works without a prompt
	held     bool    // nothing is sent, because the conversation is being rewound
	returned []Prompt
	sent     []Prompt
	asked    []*question
	answers  []Answered
	asks     int // how many questions there were
	text     strings.Builder
	merging  bool // the watchers will learn of the text
	failure  string
	rested   func() // ends the wait for prompts
	asking   int    // questions of another process
	unsaved  bool   // the kept prompts changed
}

func newAgent(a *Agents, opts *clew.Options) *Agent {
	g := &Agent{
		agents: a, id: newid.UUID(), opts: opts, calls: newOnceEach(maxRequests, false), done: make(chan struct{}),
		setting: make(chan struct{}, 1),
		files:   ask.NewWorkspace(opts.Dir), session: cmp.Or(opts.Session.ID, opts.Session.Resume),
		mode: opts.PermissionMode, model: opts.Model,
	}
	g.files.MaxInput, g.files.Modes = ask.MaxShown, a.allows
	g.ctx, g.cancel = context.WithCancel(a.ctx)
	opts.CanUseTool, opts.OnQuestion = g.decide, g.choose
	return g
}

// Status returns the agent as it is now.
func (g *Agent) Status() Status {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := Status{
		Agent: g.id, Session: g.addressLocked(), Dir: g.opts.Dir, State: g.stateLocked(), Why: g.why, Note: g.note,
		Mode: g.mode, Model: g.model, Models: g.models, Cost: g.cost, Text: g.text.String(), Failure: g.failure,
		Elsewhere: g.elsewhere, Returned: slices.Clone(g.returned), Sent: slices.Clone(g.sent), Answers: slices.Clone(g.answers),
	}
	if g.current != nil {
		s.Queue = append(s.Queue, g.current.public("sent"))
	}
	for _, p := range g.queue {
		s.Queue = append(s.Queue, p.public("queued"))
	}
	for _, q := range g.asked {
		s.Questions = append(s.Questions, q.shown)
	}
	return s
}

func (g *Agent) stateLocked() State {
	switch {
	case g.ended:
		return Ended
	case g.conn == nil && !g.elsewhere:
		return Starting
	case len(g.asked) > 0:
		return Waiting
	case g.current != nil || g.busy:
		return Working
	}
	return Idle
}

func (g *Agent) hasEnded() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ended
}

// hasReturned reports whether there are returned prompts that nobody took.
func (g *Agent) hasReturned() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.returned) > 0
}

// addressLocked returns the session under the name in the start request of the agent.
func (g *Agent) addressLocked() string {
	if g.project != "" && g.session == g.opts.Session.Resume {
		return g.session + "@" + g.project
	}
	return g.session
}

func (g *Agent) sessionID() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.session
}

// change changes the agent, and wakes the watchers. A change is applied even if it can't be saved. After a crash the
// server may then return a prompt that was already answered.
func (g *Agent) change(f func()) {
	g.mu.Lock()
	f()
	if g.unsaved {
		g.unsaved = false
		_ = g.saveLocked()
	}
	g.mu.Unlock()
	g.agents.changed(g.id)
}

// connected returns the session of the agent, unless it is starting or ended.
func (g *Agent) connected() (*clew.Session, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.elsewhere:
		return nil, errElsewhere
	case g.ended:
		return nil, errEnded
	case g.conn == nil:
		return nil, &Error{Kind: Conflict, Reason: "the agent is starting", Hint: "Wait a moment, or end it."}
	}
	return g.conn, nil
}

var errEnded = &Error{Kind: Gone, Reason: "the agent has ended", Hint: "Continue its session: that starts another agent."}

// run starts the agent, and sends one prompt after the other until it ends.
func (g *Agent) run() {
	defer close(g.done)
	defer g.cancel()
	conn, err := g.agents.opts.Connect(g.ctx, g.opts)
	if err != nil {
		g.finish(err)
		return
	}
	g.begin(conn)
	for err == nil && g.ctx.Err() == nil {
		if p := g.next(); p != nil {
			g.send(conn, p)
		} else {
			err = g.rest(conn)
		}
		err = cmp.Or(err, conn.Err())
	}
	closed := conn.Close()
	g.finish(cmp.Or(err, closed))
}

// begin notes the report of a new agent.
func (g *Agent) begin(conn *clew.Session) {
	info := conn.Info()
	var models []string
	for i := range info.Models {
		models = append(models, info.Models[i].Value)
	}
	g.agents.mu.Lock()
	if len(models) > 0 {
		g.agents.models = models
	}
	g.agents.mu.Unlock()
	g.change(func() {
		g.conn, g.models = conn, models
		g.model = cmp.Or(info.CurrentModel, g.model)
		g.mode = cmp.Or(info.CurrentPermissionMode, g.mode)
	})
}

// finish notes the end of the agent. Unsent prompts go back to the user.
func (g *Agent) finish(err error) {
	g.change(func() {
		g.ended, g.busy = true, false
		if g.why == "" {
			g.why = reasonOf(err)
		}
		for _, p := range g.queue {
			g.giveBackLocked(p, "unsent")
		}
		g.queue, g.asked, g.unsaved = nil, nil, true
		g.text.Reset()
	})
	g.calls.shrink(maxEndedResultBytes)
}

// reasonOf returns an error in words for a page.
func reasonOf(err error) string {
	if err == nil {
		return "the agent has exited"
	}
	return strings.TrimPrefix(err.Error(), "clew: ")
}

// rest reads what the agent says by itself, until there is a prompt to send.
func (g *Agent) rest(conn *clew.Session) error {
	ctx, wake := context.WithCancel(g.ctx)
	defer wake()
	g.mu.Lock()
	if len(g.queue) > 0 && !g.held {
		g.mu.Unlock()
		return nil
	}
	g.rested = wake
	g.mu.Unlock()
	for msg, err := range conn.Messages(ctx) {
		if err != nil {
			if ctx.Err() != nil {
				return nil // there is a prompt, or the agent is being ended
			}
			return err
		}
		g.follow(msg, true)
	}
	if ctx.Err() == nil {
		return &clew.ExitError{Reason: "has ended"} // the messages ended, and so did the session
	}
	return nil
}

// wakeLocked ends the wait for prompts.
func (g *Agent) wakeLocked() {
	if g.rested != nil {
		g.rested()
		g.rested = nil
	}
}

// follow updates the agent's status from a message. Alone means that it belongs to no prompt.
func (g *Agent) follow(msg wire.Message, alone bool) {
	switch m := msg.(type) {
	case *wire.InitMessage:
		g.change(func() {
			g.model, g.mode = cmp.Or(m.Model, g.model), cmp.Or(m.PermissionMode, g.mode)
			g.session = cmp.Or(m.SessionID, g.session)
		})
	case *wire.StatusMessage:
		g.change(func() { g.mode = cmp.Or(m.PermissionMode, g.mode) })
	case *wire.StreamEventMessage:
		if delta, ok := m.Event.(*wire.TextDeltaEvent); ok && m.ParentToolUseID == "" {
			g.grow(delta.Text, alone)
		}
	case *wire.AssistantMessage:
		g.change(func() {
			g.busy = alone
			if m.ParentToolUseID == "" {
				g.text.Reset() // it is complete, and in the transcript
			}
		})
	case *wire.ResultMessage:
		g.change(func() {
			g.busy, g.cost = false, m.TotalCostUSD
			g.text.Reset()
		})
	}
}

// maxText is the maximum size of a partial answer.
const maxText = 1 << 20

// grow adds to the answer that is being written. The watchers learn of it a little later, with the
// text until then.
func (g *Agent) grow(text string, alone bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.busy = alone
	if g.text.Len() < maxText {
		g.text.WriteString(text)
	}
	if !g.merging {
		g.merging = true
		time.AfterFunc(mergeInterval, func() { g.change(func() { g.merging = false }) })
	}
}

// stopTimeout is the time that an agent has to accept an interrupt before it is closed.
var stopTimeout = 5 * time.Second

// stop interrupts the agent, ends it, and waits for that.
func (g *Agent) stop(why string) {
	g.mu.Lock()
	conn, working := g.conn, g.current != nil || g.busy
	if g.why == "" && !g.ended {
		g.why = why
	}
	g.mu.Unlock()
	if conn != nil && working {
		g.stopQuestions("the agent was ended")
		ctx, cancel := context.WithTimeout(g.ctx, stopTimeout)
		_, _ = conn.Interrupt(ctx, nil) // it is closed in any case
		cancel()
	}
	g.cancel()
	<-g.done
}

// withTimeout calls a function with the session of the agent, and a time limit.
func (g *Agent) withTimeout(ctx context.Context, what string, f func(context.Context, *clew.Session) error) error {
	conn, err := g.connected()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, controlTimeout)
	defer cancel()
	stop := context.AfterFunc(g.ctx, cancel) //nolint:contextcheck // the end of the agent ends it as well
	defer stop()
	err = f(ctx, conn)
	switch {
	case err == nil:
		return nil
	case g.ctx.Err() != nil:
		return errEnded
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Kind: Failed, Reason: what + ": the agent does not answer", Hint: "End it, and continue its session."}
	}
	return failed(what, err)
}
