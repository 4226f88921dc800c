package clew

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/clewdev/clew/internal/control"
	"github.com/clewdev/clew/internal/process"
)

// Connect starts an agent and waits until it is ready. opts may be nil. The context bounds only the
// start; the session lasts until Close, or until the agent dies. If the context ends first, Connect
// ends the agent as [Session.Close] does before it returns.
//
// It returns an [*OptionsError] or a [*NotFoundError] if the agent can't be started, a
// [*StoreError] if the session can't be read from [StoreOptions.Store], and an [*ExitError], or a
// [*ResultError] with the agent's report, if the agent ends before it is ready. If the
// [Limits.Budget] is spent, it returns [ErrBudgetSpent].
func Connect(ctx context.Context, opts *Options) (*Session, error) { return connect(ctx, opts, false) }

// connect implements Connect, and serves runs with only one prompt as well.
func connect(ctx context.Context, opts *Options, onePrompt bool) (*Session, error) {
	opts = opts.clone()
	if err := opts.validate(); err != nil {
		return nil, err
	}
	if err := opts.Limits.Budget.err(); err != nil {
		return nil, err
	}
	trace := opts.startTrace(ctx)
	s, err := opts.open(ctx, onePrompt, trace)
	if err != nil {
		trace.end(err) // unless the session has ended it
	}
	return s, err
}

// open starts and initializes an agent with options that are valid.
func (o *Options) open(ctx context.Context, onePrompt bool, trace *tracer) (*Session, error) {
	settings, err := o.restoreSession(ctx)
	if err != nil {
		return nil, err
	}
	if err := o.checkContinue(); err != nil {
		return nil, err
	}
	settings, err = o.hideSettings(settings)
	if err != nil {
		o.removeConfig(settings)
		return nil, err
	}
	plan, err := o.planFor(ctx, onePrompt)
	if err != nil {
		o.removeConfig(settings)
		return nil, err
	}
	conn, err := start(ctx, plan)
	if err != nil {
		o.removeConfig(settings)
		return nil, err
	}
	s := newSession(conn, plan, trace)
	s.agent.settings = settings
	go s.receive() //nolint:contextcheck // the session and its store outlast the context of the start
	err = s.agent.initialize(ctx, plan)
	s.agent.process().initialized <- err
	if err != nil {
		if isLost(err) { // the end of the session says more
			err = s.ending.wait()
		}
		if exit, ok := errors.AsType[*ExitError](err); ok {
			err = cmp.Or(plan.unknownFlag(exit.Stderr), err)
		}
		trace.fail(err)
		s.agent.abandon()
		return nil, err
	}
	return s, nil
}

// start starts an agent.
func start(ctx context.Context, plan *launchPlan) (Connection, error) {
	if ctx.Err() != nil {
		return nil, control.ContextError(ctx)
	}
	opts := plan.options
	transport, path := opts.Transport, cmp.Or(opts.AgentPath, "claude")
	if transport == nil {
		transport = new(ProcessTransport)
	}
	if local, ok := transport.(*ProcessTransport); ok {
		found, err := findAgent(opts.AgentPath)
		switch {
		case err == nil:
			path = found
		case local.Wrap == nil:
			return nil, err
		}
	}
	launch := plan.launch(path)
	if log := opts.logger(); log.Enabled(ctx, slog.LevelDebug) {
		log.Debug("starting the agent", "command", opts.CommandLine())
	}
	return transport.Connect(ctx, launch)
}

// FindAgent returns the absolute path of the agent binary that a session with that
// [Options.AgentPath] would start. It starts nothing. If there is none, it returns a
// [*NotFoundError].
func FindAgent(agentPath string) (string, error) { return findAgent(agentPath) }

// findAgent returns the path of the agent binary: the path in the options, or else the first binary
// found.
func findAgent(explicit string) (string, error) {
	path, looked, err := process.Find(explicit)
	if err != nil {
		return "", &NotFoundError{Looked: looked}
	}
	return path, nil
}

// startError gives an error of starting a process its public form.
func startError(err error) error { return fmt.Errorf("clew: starting the agent: %w", err) }
