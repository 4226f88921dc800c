package clew

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clewdev/clew/wire"
)

// A Pool keeps agents started and ready, so that who asks one does not wait until it has come up. Its methods Query,
// Run and Connect are like the functions of the same names, take an agent that is ready, and have the next one started
// in the background. When there is none, they wait in line, first come, first served. All methods may be called from
// several goroutines.
//
// No conversation passes from one caller to another: an agent serves one, and ends. With [PoolOptions.MaxUses] an
// agent serves several, one after the other. It forgets each of them by the command /clear, which gives it a new
// session and brings it back to its working folder, and it is ended if that fails, if the run failed or was left
// early, if something of it still runs, if the prompt was a command, if it used a tool that may leave more behind than
// files, such as a schedule, or if the permission rules, the permission mode, the folders, the tools or the model are
// not as before. What stays is that the next conversation begins with a note of the /clear, and what the agent itself
// keeps in memory, such as web pages that it has fetched. Hooks see the end and the start of the sessions. An agent
// that was given to Connect serves nobody after that.
//
// The callbacks of the options are those of all agents, and may run for several at once, also [Options.Stderr].
type Pool struct {
	opts   *Options
	config PoolOptions
	log    *slog.Logger

	life    context.Context // ends with Close
	end     context.CancelCauseFunc
	tending sync.WaitGroup // a goroutine for each agent
	idle    chan struct{}  // closed when nothing is in use any more, and nothing will be
	drained sync.Once      // closes idle

	mu        sync.Mutex
	agents    map[*poolAgent]struct{} // all there are
	warm      []*poolAgent            // the first one is taken next
	line      []*waiter
	wanted    int         // how many agents are to be ready
	failures  int         // starts that failed, and agents that died, since one was of use
	notBefore time.Time   // when agents for callers to come may be started
	refill    *time.Timer // starts them then, or nil
	draining  bool
	closed    bool
	regrets   []error // for Close to return
	stats     PoolStats
}

// NewPool starts agents for opts, which may be nil, as config says, which may be nil, too. It returns when the first
// agent is ready, and the others follow in the background. If none can be started, it returns the error of [Connect].
// Options that belong to one conversation are refused with an [*OptionsError]: Resume, Continue, SessionID, Title and
// what goes with them, and Record. The context bounds NewPool alone; the pool lives until [Pool.Close].
func NewPool(ctx context.Context, opts *Options, config *PoolOptions) (*Pool, error) {
	opts = opts.clone()
	c := config.filled()
	if err := cmp.Or(c.check(), opts.validate(), opts.checkPooled(c.MaxUses)); err != nil {
		return nil, err
	}
	p := &Pool{
		opts: opts, config: c, log: opts.logger(),
		agents: make(map[*poolAgent]struct{}), idle: make(chan struct{}),
	}
	p.life, p.end = context.WithCancelCause(context.WithoutCancel(ctx))
	if err := p.open(ctx); err != nil {
		p.Close() //nolint:errcheck // why it did not open says more
		return nil, err
	}
	return p, nil
}

// open waits for the first agent.
func (p *Pool) open(ctx context.Context) error {
	first, err := p.await(ctx, p.join(p.config.Warm-1))
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wanted = p.config.Warm
	p.pause(0) // nobody works yet
	p.putBack(first)
	return nil
}

// Query is like the function [Query], on an agent of the pool: nothing is taken before the loop begins, and each loop
// takes an agent of its own. An agent that may serve another conversation does not end with the sequence, which then
// ends when every prompt is answered and nothing in the background will start another turn. Errors are those of the
// function, [ErrPoolClosed], and, for a caller in line, that of ctx or of an agent that could not be started.
func (p *Pool) Query(ctx context.Context, prompt *wire.UserMessage) iter.Seq2[wire.Message, error] {
	return func(yield func(wire.Message, error) bool) {
		a, id, err := p.ask(ctx, prompt)
		if err != nil {
			yield(nil, err)
			return
		}
		last := a.uses >= p.config.MaxUses || leavesTraces(prompt)
		p.converse(ctx, &poolRun{agent: a, prompt: id, last: last}, yield)
	}
}

// Run is Query for who wants the outcome alone. It returns the last result, and beside it a [*ResultError] if that is a
// failure, and a [*StoreError] if part of the session is not in [Options.Store].
func (p *Pool) Run(ctx context.Context, prompt *wire.UserMessage) (*wire.ResultMessage, error) {
	return outcome(p.Query(ctx, prompt))
}

// Connect takes an agent for a session, which counts as in use until it is closed or its agent has died. The context
// bounds the wait alone. Errors are [ErrPoolClosed], that of ctx, and that of an agent that could not be started.
func (p *Pool) Connect(ctx context.Context) (*Session, error) {
	a, err := p.take(ctx)
	if err != nil {
		return nil, err
	}
	a.session.agent.noReconnect.Store(false)
	return a.session, nil
}

// ask takes an agent and gives it the prompt, whose id it returns. An agent that turns out to be dead before the prompt
// has reached it is not the caller's: another one is asked.
func (p *Pool) ask(ctx context.Context, prompt *wire.UserMessage) (a *poolAgent, id string, err error) {
	if _, _, err := promptFrame(prompt, p.opts.VerbatimPrompts); err != nil {
		return nil, "", err // no agent has to be spent on it
	}
	const agents = 3
	for range agents {
		if a, err = p.take(ctx); err != nil {
			return nil, "", err
		}
		if id, err = a.session.Send(ctx, prompt); err == nil {
			return a, id, nil
		}
		a.session.Close() //nolint:errcheck // why it did not take the prompt says more
		if ctx.Err() != nil {
			break
		}
	}
	return nil, "", err
}

// PoolOptions say how many agents a [Pool] keeps, and for how long. The zero value means the defaults.
type PoolOptions struct {
	// Warm is how many agents are kept ready for the callers to come. An agent takes about 250 MB of memory. 0 means 1.
	Warm int
	// MaxAgents is how many agents there are at most, those that start, wait, work or end all counted. Callers beyond that
	// wait in line. It can't be less than Warm. 0 means four times Warm.
	MaxAgents int
	// MaxUses is how many conversations an agent serves, one after the other. 0 means 1, so that nothing at all can pass
	// from one to the next. With more, an agent whose [Pool.Query] or [Pool.Run] has ended in order is told to forget it,
	// by the command /clear, and is kept if all went well: see [Pool]. It can't be more than 1 together with
	// [Options.DisableSlashCommands], [Options.VerbatimPrompts] or [Options.PromptSuggestions].
	MaxUses int
	// IdleTimeout is how long an agent waits for a caller before it is ended. The next caller has others started. 0 means
	// 15 minutes.
	IdleTimeout time.Duration
	// HealthInterval is how often an agent that waits for a caller is asked whether it still answers. One that does not
	// within 10 seconds is ended and replaced. 0 means a minute.
	HealthInterval time.Duration
}

// filled returns a copy with the defaults in place of zeros; nil is the zero value.
func (o *PoolOptions) filled() PoolOptions {
	var c PoolOptions
	if o != nil {
		c = *o
	}
	c.Warm = cmp.Or(c.Warm, 1)
	c.MaxAgents = cmp.Or(c.MaxAgents, 4*c.Warm)
	c.MaxUses = cmp.Or(c.MaxUses, 1)
	c.IdleTimeout = cmp.Or(c.IdleTimeout, 15*time.Minute)
	c.HealthInterval = cmp.Or(c.HealthInterval, time.Minute)
	return c
}

// check returns what is wrong with options whose defaults are filled in.
func (o *PoolOptions) check() error {
	switch {
	case o.Warm < 0:
		return badOption("PoolOptions.Warm", "is negative")
	case o.MaxAgents < o.Warm:
		return badOption("PoolOptions.MaxAgents", "%d is less than the %d that are kept ready", o.MaxAgents, o.Warm)
	case o.MaxUses < 0:
		return badOption("PoolOptions.MaxUses", "is negative")
	case o.IdleTimeout < 0:
		return badOption("PoolOptions.IdleTimeout", "is negative")
	case o.HealthInterval < 0:
		return badOption("PoolOptions.HealthInterval", "is negative")
	}
	return nil
}

// checkPooled returns what can't be an option of many sessions, or of agents that serve so many of them each.
func (o *Options) checkPooled(uses int) error {
	const single, reused = "is for one session, and a pool has many", "not together with PoolOptions.MaxUses"
	for _, c := range []struct {
		set            bool
		option, reason string
	}{
		{o.Continue, "Continue", single},
		{o.Resume != "", "Resume", single},
		{o.SessionID != "", "SessionID", single},
		{o.Title != "", "Title", single},
		{o.Record != nil, "Record", single},
		{uses > 1 && o.DisableSlashCommands, "DisableSlashCommands", reused},
		{uses > 1 && o.VerbatimPrompts, "VerbatimPrompts", reused},
		{uses > 1 && o.PromptSuggestions, "PromptSuggestions", reused},
	} {
		if c.set {
			return badOption(c.option, "%s", c.reason)
		}
	}
	return nil
}

// PoolStats count what a [Pool] has and has done.
type PoolStats struct {
	// Warm agents are ready, Starting ones come up or forget their last conversation, InUse ones serve a caller, and
	// Ending ones are told to end.
	Warm, Starting, InUse, Ending int
	// Waiting callers are in line.
	Waiting int

	// Started counts the agents that were started, and Failed those of them that did not come up. Died counts those that
	// ended, or did not answer any more, while they waited for a caller.
	Started, Failed, Died int
	// Served counts the callers that got an agent, and Reused those of them whose agent had served others before.
	Served, Reused int
	// WaitTime is how long all callers together have waited for their agents.
	WaitTime time.Duration
}

// Stats returns the counters as they are now.
func (p *Pool) Stats() PoolStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	stats := p.stats
	stats.Warm, stats.Starting = p.count(agentWarm), p.coming()
	stats.InUse, stats.Ending = p.count(agentInUse), p.count(agentEnding)
	stats.Waiting = len(p.line)
	return stats
}

// ErrPoolClosed is what callers of a [Pool] get once it was drained or closed.
var ErrPoolClosed = errors.New("clew: pool closed")

// Drain ends the pool in order: it takes no more callers, serves those that wait in line, waits until all that is in
// use was given back, and closes the pool. When ctx ends first, it returns the error of ctx, and the rest goes on
// until [Pool.Close].
func (p *Pool) Drain(ctx context.Context) error {
	p.mu.Lock()
	p.draining, p.wanted = true, 0
	p.balance()
	p.mu.Unlock()
	select {
	case <-p.idle:
		return p.Close()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Close ends all agents of the pool, also those in use, and waits until they are gone. Who waits in line gets
// [ErrPoolClosed]. It may be called from anywhere, any number of times, and is bounded like [Session.Close]. It returns
// nil if all agents have ended by themselves, and else an error with an [*ExitError] for each that had to be killed. With
// [Options.Store], the error has a [*StoreError] for what was lost without a caller to tell.
func (p *Pool) Close() error {
	p.shut()
	p.tending.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(p.regrets...)
}

// maxRegrets bounds what a pool whose store is broken for long remembers of it.
const maxRegrets = 100

// regret keeps an error of an agent for Close, if it matters by then: that the agent had to be killed does once the pool
// is closed, and that something is not in the store always. The lock is held.
func (p *Pool) regret(err error) {
	_, lost := errors.AsType[*StoreError](err)
	if err != nil && (p.closed || lost) && len(p.regrets) < maxRegrets {
		p.regrets = append(p.regrets, err)
	}
}

// shut tells everybody that the pool is closed.
func (p *Pool) shut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	for _, w := range p.line {
		w.settle(nil, ErrPoolClosed)
	}
	p.line, p.wanted, p.draining = nil, 0, true
	for a := range p.agents {
		p.dismiss(a)
	}
	p.wind()
	p.closed = true
	p.end(ErrPoolClosed)
	p.pause(0)
}

// traceless are the tools that leave nothing behind in the agent that /clear does not remove. Those of MCP servers are
// the servers' own business. Others may register hooks, change folders, or have something run later.
var traceless = []string{
	"AskUserQuestion", "Bash", "Edit", "Glob", "Grep", "NotebookEdit", "Read",
	"StructuredOutput", "WebFetch", "WebSearch", "Write",
}

// leavesTraces reports whether a prompt is one after which an agent can't be used again: a command, which may change
// anything, or one that is not answered.
func leavesTraces(prompt *wire.UserMessage) bool {
	unanswered := prompt.ShouldQuery != nil && !*prompt.ShouldQuery
	return unanswered || strings.HasPrefix(strings.TrimSpace(prompt.Content.Text()), "/")
}

// A poolRun is a prompt that an agent of a pool was given.
type poolRun struct {
	agent    *poolAgent
	prompt   string // its id
	last     bool   // of its agent
	seen     progress
	answered bool // the model has said something
	traces   bool // a tool was used that may leave some
}

// converse yields the messages of a conversation, and ends the agent, or gives it back.
func (p *Pool) converse(ctx context.Context, c *poolRun, yield func(wire.Message, error) bool) {
	s := c.agent.session
	over := false
	defer func() {
		if !over || !p.giveBack(c.agent) {
			s.Close() //nolint:errcheck // how the agent ended after all was said is of no interest
		}
	}()
	c.seen.sent(c.prompt)
	if c.last {
		s.oneShot.allSent()
	}
	for msg, err := range s.Messages(ctx) {
		if err != nil {
			yield(nil, join(err, s.closeForLosses()))
			return
		}
		settled := c.see(msg)
		over = settled && !c.last && !c.traces && !c.seen.working() && c.seen.turns().err(nil) == nil
		if !yield(msg, nil) || over {
			return
		}
		if _, answer := msg.(*wire.AssistantMessage); answer && !c.answered {
			c.answered = true
			p.underWay()
		}
		if settled && !c.last { // and the agent can't be used again
			c.last = true
			s.oneShot.allSent()
		}
	}
	if errors.Is(s.Err(), ErrClosed) {
		yield(nil, join(ErrPoolClosed, s.closeForLosses()))
	}
}

// see takes note of a message. It reports whether everything is answered with it.
func (c *poolRun) see(msg wire.Message) bool {
	switch m := msg.(type) {
	case *wire.InitMessage:
		if c.agent.face == "" {
			c.agent.face = faceOf(m)
		}
	case *wire.AssistantMessage:
		for _, use := range m.Content.ToolUses() {
			c.traces = c.traces || !slices.Contains(traceless, use.Name) && !strings.HasPrefix(use.Name, "mcp__")
		}
	}
	return c.seen.see(msg) && c.seen.settled()
}
