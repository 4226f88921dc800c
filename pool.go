package clew

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clewdev/clew/internal/control"
	"github.com/clewdev/clew/wire"
)

// A Pool keeps started agents ready, so that callers don't wait for one to start. Its methods
// Query, Run and Connect are like the functions of the same names. They take an agent that is
// ready, and the pool starts the next one in the background. If none is ready, callers wait in
// order of arrival. All methods may be called from several goroutines.
//
// No conversation passes from one caller to another: an agent serves one conversation and ends.
// With [PoolOptions.MaxUses] it serves several, one after the other. After each of them the command
// /clear gives the agent a new session and takes it back to its working directory. The pool ends an
// agent instead of using it again
//
//   - if /clear fails, or if the run failed or was left early,
//   - if a task of the run is still running,
//   - if the prompt was a command,
//   - if the agent used a tool that may leave more than files, such as a schedule,
//   - if the permission rules, the permission mode, the directories, the tools or the model have
//     changed.
//
// Two things remain: the next conversation starts with a note about the /clear, and the agent keeps
// some things in memory, such as web pages that it fetched. Hooks see the end and the start of the
// sessions. An agent that Connect returned is not used again.
//
// All agents share the callbacks of the options, including [DebugOptions.Stderr], which may run for
// several agents at once. When their [Limits.Budget] is spent, the pool starts no more agents, and
// all callers, including waiting ones, get [ErrBudgetSpent].
type Pool struct {
	opts   *Options
	config PoolOptions
	log    *slog.Logger

	open    context.Context // ends with Close
	end     context.CancelCauseFunc
	running sync.WaitGroup // one goroutine for each agent
	idle    chan struct{}  // closed when no agent is in use any more, and none will be
	drained sync.Once      // closes idle

	mu        sync.Mutex
	agents    map[*poolAgent]struct{} // all agents
	warm      []*poolAgent            // the first one is taken next
	line      []*waiter               // the callers that wait
	wanted    int                     // how many agents should be ready
	failures  int                     // how many agents in a row failed to start or died before they served a caller
	notBefore time.Time               // when agents for future callers may be started
	refill    *time.Timer             // starts them then, or nil
	opened    bool                    // NewPool has returned it
	draining  bool
	closed    bool
	errs      []error // for Close to return
	stats     PoolStats
}

// NewPool returns a pool of agents started with opts. Both opts and config may be nil. It returns
// when the first agent is ready; the others start in the background. If the first one can't be
// started, it returns the error of [Connect]. Options that belong to one conversation, such as
// [SessionOptions.Resume] and [DebugOptions.Record], are refused with an [*OptionsError]. The
// context bounds only NewPool; the pool stays open until [Pool.Close].
func NewPool(ctx context.Context, opts *Options, config *PoolOptions) (*Pool, error) {
	opts = opts.clone()
	c := config.withDefaults()
	if err := cmp.Or(c.check(), opts.validate(), opts.checkPooled(c.MaxUses)); err != nil {
		return nil, err
	}
	p := &Pool{
		opts: opts, config: c, log: opts.logger(),
		agents: make(map[*poolAgent]struct{}), idle: make(chan struct{}),
	}
	p.open, p.end = context.WithCancelCause(context.WithoutCancel(ctx))
	if err := p.start(ctx); err != nil {
		p.Close() //nolint:errcheck // why the pool did not open says more
		return nil, err
	}
	return p, nil
}

// start waits for the first agent.
func (p *Pool) start(ctx context.Context) error {
	first, err := p.await(ctx, p.join(p.config.Warm-1)) //nolint:contextcheck // agents live as long as the pool
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.opened, p.wanted = true, p.config.Warm
	p.pause(0)       // no agent is in use yet
	p.putBack(first) //nolint:contextcheck // agents live as long as the pool
	return nil
}

// Query is like the function [Query], on an agent of the pool. Nothing is taken before the loop
// starts, and each loop takes its own agent. If the agent may serve another conversation, the
// sequence does not wait for its exit: it ends when the prompt is answered and no background task
// will start another turn.
//
// A prompt that did not reach its agent, because the agent died, goes to the next one. If the agent
// dies later, the error is a [*LostError]: the agent may have acted on the prompt, so it is not sent
// again. An agent that dies when everything is answered is no error. The others are the errors of
// the function, [ErrPoolClosed], and, while the caller waits, the error of ctx or of agents that
// could not be started. An agent that can't be started is tried again: callers get the error only
// if a new start can't help, such as an [*OptionsError], or if starts keep failing: MaxAgents and
// eight more in a row.
func (p *Pool) Query(ctx context.Context, prompt *wire.UserMessage) iter.Seq2[wire.Message, error] {
	return func(yield func(wire.Message, error) bool) {
		a, id, err := p.ask(ctx, prompt)
		if err != nil {
			yield(nil, err)
			return
		}
		last := a.uses >= p.config.MaxUses || a.onlyOnce || leavesTraces(prompt)
		p.run(ctx, &poolRun{agent: a, prompt: id, last: last}, yield)
	}
}

// Run is like [Pool.Query] but returns only the last result. With a failed result it also returns a
// [*ResultError], and with entries that are missing in [StoreOptions.Store] a [*StoreError].
//
// The TotalCostUSD of the result covers this run alone, even if the agent served others before. So
// the cost of a pool is the sum over its runs; a [Budget] limits them.
func (p *Pool) Run(ctx context.Context, prompt *wire.UserMessage) (*wire.ResultMessage, error) {
	return outcome(p.Query(ctx, prompt))
}

// Connect takes an agent for a session. The agent counts as in use until the session is closed or
// the agent dies. The context bounds only the wait. The errors are [ErrPoolClosed], the error of
// ctx, [ErrBudgetSpent], and the error of an agent that could not be started.
func (p *Pool) Connect(ctx context.Context) (*Session, error) {
	if err := p.opts.Limits.Budget.err(); err != nil {
		return nil, err
	}
	a, err := p.take(ctx)
	if err != nil {
		return nil, err
	}
	a.session.agent.noReconnect.Store(false)
	return a.session, nil
}

// A Claim lists the differences from the pool's options for the session of one caller. Zero fields
// leave it as it is.
type Claim struct {
	// Dir is the working directory of the session.
	Dir string
	// TrustedDirectory is a directory that the user trusts, as in [CWDOptions]. Without it, the
	// agent may refuse Dir with an [*UntrustedError], which names the directory.
	TrustedDirectory string
	// Model is the model, as in [Session.SetModel].
	Model string
	// PermissionMode is the permission mode, as in [Session.SetPermissionMode].
	PermissionMode PermissionMode
	// Settings are merged into the session's settings, as in [Session.ApplySettings].
	Settings map[string]any
}

// Claim is like [Pool.Connect], but also gives the session another directory, model, permission
// mode or settings before it returns. Each is one request to an agent that is ready, so one pool
// can serve callers whose directories differ. Options that an agent gets only when it starts can't
// be changed, such as tools, hooks, MCP servers and the system prompt: those need another pool.
//
// If the agent refuses a part of the claim, the session is closed and the error names the part: it
// wraps a [*ControlError] or an [*UntrustedError]. An agent that dies before that is replaced by the
// next one. claim may be nil.
func (p *Pool) Claim(ctx context.Context, claim *Claim) (*Session, error) {
	for taken := 1; ; taken++ {
		s, err := p.Connect(ctx)
		if err != nil || claim == nil {
			return s, err
		}
		if err = claim.apply(ctx, s); err == nil {
			return s, nil
		}
		died := s.Err() != nil || isLost(err)
		s.Close() //nolint:errcheck // why the claim was refused says more
		if !died || ctx.Err() != nil || taken == maxTaken {
			return nil, fmt.Errorf("clew: claiming an agent of the pool: %w", err)
		}
	}
}

// apply applies the claim to a session. The directory comes first, because it has settings.
func (c *Claim) apply(ctx context.Context, s *Session) error {
	if c.Dir != "" {
		if _, err := s.SetCWD(ctx, c.Dir, &CWDOptions{TrustedDirectory: c.TrustedDirectory}); err != nil {
			return fmt.Errorf("setting the directory: %w", err)
		}
	}
	if c.Settings != nil {
		if err := s.ApplySettings(ctx, c.Settings); err != nil {
			return fmt.Errorf("applying the settings: %w", err)
		}
	}
	if c.Model != "" {
		if _, err := s.SetModel(ctx, c.Model); err != nil {
			return fmt.Errorf("setting the model: %w", err)
		}
	}
	if c.PermissionMode != "" {
		if err := s.SetPermissionMode(ctx, c.PermissionMode); err != nil {
			return fmt.Errorf("setting the permission mode: %w", err)
		}
	}
	return nil
}

// maxTaken is the maximum number of agents that a caller takes, one after the other, when each dies
// before it is given anything.
const maxTaken = 10

// ask takes an agent, gives it the prompt, and returns the ID of the prompt. A prompt that did not
// reach its agent goes to the next one. One that may have reached it is never sent again.
func (p *Pool) ask(ctx context.Context, prompt *wire.UserMessage) (a *poolAgent, id string, err error) {
	if _, _, err := promptFrame(prompt, p.opts.VerbatimPrompts); err != nil {
		return nil, "", err // no agent is needed to find that out
	}
	if err := p.opts.Limits.Budget.err(); err != nil {
		return nil, "", err
	}
	for range maxTaken {
		if a, err = p.take(ctx); err != nil {
			return nil, "", err
		}
		var reached bool
		if id, reached, err = a.session.send(ctx, prompt); err == nil {
			return a, id, nil
		}
		_, unfit := errors.AsType[*OptionsError](err)
		if unfit && p.returnUnused(a) { //nolint:contextcheck // agents live as long as the pool
			return nil, "", err
		}
		a.session.Close() //nolint:errcheck // why the prompt was not sent says more
		switch {
		case reached:
			return nil, "", lostWith(err)
		case ctx.Err() != nil, unfit, errors.Is(err, ErrBudgetSpent):
			return nil, "", err
		}
	}
	return nil, "", fmt.Errorf("clew: no agent of the pool got the prompt, %d of them failed before: %w", maxTaken, err)
}

// lostWith returns the error of a caller whose agent ended with err after it was given the prompt.
func lostWith(err error) error {
	if exit, ok := err.(*ExitError); ok { //nolint:errorlint // a failed result that wraps one was an answer
		return &LostError{Exit: exit}
	}
	if errors.Is(err, ErrClosed) {
		return ErrPoolClosed
	}
	return err
}

// PoolOptions configure how many agents a [Pool] keeps, and for how long. The zero value means the
// defaults.
type PoolOptions struct {
	// Warm is the number of agents that are kept ready for future callers. An agent takes about 250
	// MB of memory. 0 means 1.
	Warm int
	// MaxAgents is the highest number of agents, including starting and ending ones. Further
	// callers wait. It can't be less than Warm. 0 means four times Warm.
	MaxAgents int
	// MaxUses is the number of conversations an agent serves, one after the other. 0 means 1, so
	// that nothing can pass from one to the next. With more, the pool sends the command /clear
	// after a [Pool.Query] or [Pool.Run] that succeeded, and keeps the agent if that works: see
	// [Pool]. It can't be more than 1 together with [Options.DisableSlashCommands],
	// [Options.VerbatimPrompts] or [Options.PromptSuggestions]. Claude Code up to 2.1.250 serves
	// only one, with a warning to [Options.Logger].
	MaxUses int
	// IdleTimeout is the time an agent waits for a caller before it is ended. The pool starts new
	// agents for the next caller. 0 means 15 minutes.
	IdleTimeout time.Duration
	// HealthInterval is the interval at which the pool checks that a waiting agent still answers.
	// An agent that does not answer within [Limits.ControlTimeout] is ended and replaced. 0 means
	// a minute.
	HealthInterval time.Duration
}

// withDefaults returns a copy with defaults for the fields that are zero. o may be nil.
func (o *PoolOptions) withDefaults() PoolOptions {
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

// check returns an error if the options, with their defaults, can't be used.
func (o *PoolOptions) check() error {
	switch {
	case o.Warm < 0:
		return badOption("PoolOptions.Warm", "is negative")
	case o.MaxAgents < o.Warm:
		return badOption("PoolOptions.MaxAgents", "%d is less than Warm, which is %d", o.MaxAgents, o.Warm)
	case o.MaxUses < 0:
		return badOption("PoolOptions.MaxUses", "is negative")
	case o.IdleTimeout < 0:
		return badOption("PoolOptions.IdleTimeout", "is negative")
	case o.HealthInterval < 0:
		return badOption("PoolOptions.HealthInterval", "is negative")
	}
	return nil
}

// checkPooled returns an error if the options can't be used for the sessions of a pool whose agents
// have so many uses.
func (o *Options) checkPooled(uses int) error {
	const single, reused = "can't be used in a pool, which has many sessions", "can't be combined with PoolOptions.MaxUses"
	for _, c := range []struct {
		set            bool
		option, reason string
	}{
		{o.Session.Continue, "Session.Continue", single},
		{o.Session.Resume != "", "Session.Resume", single},
		{o.Session.ID != "", "Session.ID", single},
		{o.Session.Title != "", "Session.Title", single},
		{o.Debug.Record != nil, "Debug.Record", single},
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

// PoolStats counts the agents and callers of a [Pool].
type PoolStats struct {
	// Warm agents are ready for a caller. Starting agents are not ready yet, or are being cleared.
	// InUse agents serve a caller. Ending agents were asked to exit.
	Warm, Starting, InUse, Ending int
	// Waiting counts the callers that wait for an agent.
	Waiting int

	// Started counts the agents that the pool started, and Failed the ones among them that did not
	// become ready. Died counts the agents that exited or stopped answering while they waited for a
	// caller.
	Started, Failed, Died int
	// Served counts the callers that got an agent, and Reused the callers among them whose agent
	// had served others before.
	Served, Reused int
	// WaitTime is the total time that callers waited for agents.
	WaitTime time.Duration
}

// Stats returns the current counters.
func (p *Pool) Stats() PoolStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	stats := p.stats
	stats.Warm, stats.Starting = p.count(agentWarm), p.coming()
	stats.InUse, stats.Ending = p.count(agentInUse), p.count(agentEnding)
	stats.Waiting = len(p.line)
	return stats
}

// ErrPoolClosed is the error of calls on a [Pool] that was drained or closed.
var ErrPoolClosed = errors.New("clew: pool closed")

// Drain closes the pool when its work is done: it refuses new callers, serves waiting ones, waits
// until no agent is in use, and then calls Close. If ctx ends first, it returns ctx's error,
// and the pool continues to drain until [Pool.Close].
func (p *Pool) Drain(ctx context.Context) error {
	p.mu.Lock()
	p.draining, p.wanted = true, 0
	p.balance() //nolint:contextcheck // agents live as long as the pool
	p.mu.Unlock()
	select {
	case <-p.idle:
		return p.Close()
	case <-ctx.Done():
		return control.ContextError(ctx)
	}
}

// Close ends all agents of the pool, including agents in use, and waits until they exit. Callers
// that wait get [ErrPoolClosed]. Close may be called from anywhere, any number of times, and takes
// no longer than [Session.Close]. It returns nil if all agents exited by themselves, and otherwise
// an error with an [*ExitError] for each that had to be killed. With [StoreOptions.Store], the error
// also has a [*StoreError] for each loss that no caller saw.
func (p *Pool) Close() error {
	p.shutDown()
	p.running.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(p.errs...)
}

// maxErrs limits how many errors of a broken store a pool keeps.
const maxErrs = 100

// keepError keeps an error of an agent for Close, if it matters by then: store losses always do,
// and that an agent had to be killed does once the pool is closed. The lock is held.
func (p *Pool) keepError(err error) {
	_, lost := errors.AsType[*StoreError](err)
	if err != nil && (p.closed || lost) && len(p.errs) < maxErrs {
		p.errs = append(p.errs, err)
	}
}

// shutDown marks the pool as closed, fails the callers that wait and dismisses all agents.
func (p *Pool) shutDown() {
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
	p.dismissWarm()
	p.closed = true
	p.end(ErrPoolClosed)
	p.pause(0)
}

// traceless are the tools after which /clear removes everything that they changed in the agent.
// Tools of MCP servers, which are not in this list, change only their servers. Other tools may
// register hooks, change directories or schedule work.
var traceless = []string{
	"AskUserQuestion", "Bash", "Edit", "Glob", "Grep", "NotebookEdit", "Read",
	"StructuredOutput", "WebFetch", "WebSearch", "Write",
}

// leavesTraces reports whether an agent can't be used again after a prompt: a command may change
// anything, and a prompt without an answer has no end.
func leavesTraces(prompt *wire.UserMessage) bool {
	unanswered := prompt.ShouldQuery != nil && !*prompt.ShouldQuery
	return unanswered || strings.HasPrefix(strings.TrimSpace(prompt.Content.Text()), "/")
}

// A poolRun is a prompt that an agent of a pool was given.
type poolRun struct {
	agent    *poolAgent
	prompt   string // its ID
	last     bool   // the agent is not used again
	seen     progress
	answered bool // the model has answered something
	traces   bool // a tool was used that may leave traces
}

// run yields the messages of a conversation, and then gives the agent back or ends it.
func (p *Pool) run(ctx context.Context, c *poolRun, yield func(wire.Message, error) bool) {
	s := c.agent.session
	over := false
	defer func() {
		if !over || !p.giveBack(c.agent) {
			s.Close() //nolint:errcheck // the run is over, so how the agent ends does not matter
		}
	}()
	c.seen.sent(c.prompt)
	if c.last {
		s.oneShot.allSent()
	}
	for msg, err := range s.Messages(ctx) { //nolint:contextcheck // agents live as long as the pool
		if err != nil {
			if err = join(p.endOf(c, err), s.closeForLosses()); err != nil {
				yield(nil, err)
			}
			return
		}
		settled := c.see(msg)
		over = settled && !c.last && !c.traces && !c.seen.working() && c.seen.turns().err(nil) == nil
		if !yield(msg, nil) || over {
			return
		}
		if _, answer := msg.(*wire.AssistantMessage); answer && !c.answered {
			c.answered = true
			p.endHeadStart()
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

// endOf returns the error of a run whose agent ended with err.
func (p *Pool) endOf(c *poolRun, err error) error {
	err = lostWith(err)
	if !isLost(err) || !c.seen.answered() || c.seen.working() {
		return err
	}
	p.log.Warn("an agent of the pool has died after its last answer", "error", err)
	return c.seen.turns().err(nil)
}

// see follows a message. It reports whether everything is answered with it.
func (c *poolRun) see(msg wire.Message) bool {
	switch m := msg.(type) {
	case *wire.InitMessage:
		if c.agent.profile == "" {
			c.agent.profile = profileOf(m)
		}
	case *wire.AssistantMessage:
		for _, use := range m.Content.ToolUses() {
			c.traces = c.traces || !slices.Contains(traceless, use.Name) && !strings.HasPrefix(use.Name, "mcp__")
		}
	}
	return c.seen.see(msg) && c.seen.settled()
}
