package clew

import (
	"cmp"
	"context"
	"iter"
	"log/slog"
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
func (p *Pool) Query(ctx context.Context, prompt string) iter.Seq2[wire.Message, error] {
	return p.QueryMessage(ctx, NewUserMessage(Text(prompt)))
}

// QueryMessage is like Query for a prompt with images or documents.
func (p *Pool) QueryMessage(ctx context.Context, prompt *wire.UserMessage) iter.Seq2[wire.Message, error] {
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
func (p *Pool) Run(ctx context.Context, prompt string) (*wire.ResultMessage, error) {
	return outcome(p.Query(ctx, prompt))
}

// RunMessage is like Run for a prompt with images or documents.
func (p *Pool) RunMessage(ctx context.Context, prompt *wire.UserMessage) (*wire.ResultMessage, error) {
	return outcome(p.QueryMessage(ctx, prompt))
}

// Connect takes an agent for a session, which counts as in use until it is closed or its agent has died. The context
// bounds the wait alone. Errors are [ErrPoolClosed], that of ctx, and that of an agent that could not be started.
func (p *Pool) Connect(ctx context.Context) (*Session, error) {
	a, err := p.take(ctx)
	if err != nil {
		return nil, err
	}
	a.session.mortal.Store(false)
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
		if id, err = a.session.SendMessage(ctx, prompt); err == nil {
			return a, id, nil
		}
		a.session.Close() //nolint:errcheck // why it did not take the prompt says more
		if ctx.Err() != nil {
			break
		}
	}
	return nil, "", err
}
