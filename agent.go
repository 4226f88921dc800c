package clew

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/clewdev/clew/internal/pause"
	"github.com/clewdev/clew/internal/tempconfig"
	"github.com/clewdev/clew/internal/version"
	"github.com/clewdev/clew/redact"
	"github.com/clewdev/clew/wire"
)

// An agent is the agent of a session: its process, and with [Options.Reconnect] the processes that
// replace it.
type agent struct {
	session     *Session
	current     atomic.Pointer[agentProcess]
	info        atomic.Pointer[ServerInfo] // from the process that was initialized last
	noReconnect atomic.Bool                // the session ends with its process, whatever the options say
	warned      atomic.Bool                // that the agent is too old
	planned     bool                       // its version was known when it started
	settings    *tempconfig.Folder         // a directory for its settings, if a session was resumed from a store or Settings are hidden
	changes     changes                    // what a new process has to be told again
	reconnector *reconnector

	checking  sync.Mutex        // protects the fields below
	version   string            // of the process that was initialized last; empty while it is not known
	unchecked *wire.UserMessage // the newest prompt since then, with its ID, if versions may ignore parts of it
}

func newAgent(s *Session, conn Connection) *agent {
	a := &agent{session: s}
	a.reconnector = newReconnector(a)
	first := newAgentProcess(conn, s.record)
	first.ready.Store(true)
	a.current.Store(first)
	return a
}

// process returns the newest process.
func (a *agent) process() *agentProcess { return a.current.Load() }

// initialized reports whether any process was initialized.
func (a *agent) initialized() bool { return a.info.Load() != nil }

const defaultInitializeTimeout = time.Minute

var errInitializeTimeout = errors.New("initialize timed out")

// initialize makes the first process ready.
func (a *agent) initialize(ctx context.Context, plan *launchPlan) error {
	ctx, cancel := a.withInitializeTimeout(ctx)
	defer cancel()
	err := a.sendInitialize(ctx, plan)
	if err == nil {
		err = a.sendServers(ctx, plan.servers)
	}
	if errors.Is(err, errInitializeTimeout) {
		a.abandon()
		return fmt.Errorf("%w: %w", a.notReady(), a.exitOfStart())
	}
	return err
}

func (a *agent) withInitializeTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, a.initializeTimeout(), errInitializeTimeout)
}

func (a *agent) initializeTimeout() time.Duration {
	return cmp.Or(a.session.opts.Limits.InitializeTimeout, defaultInitializeTimeout)
}

// notReady returns the error for an agent that takes too long to start.
func (a *agent) notReady() error {
	return fmt.Errorf("clew: not ready within %v: %w", a.initializeTimeout(), context.DeadlineExceeded)
}

// exitOfStart returns how an agent ended that never was ready.
func (a *agent) exitOfStart() *ExitError {
	<-a.session.ending.over
	if exit := a.session.ending.exit; exit != nil {
		return exit
	}
	return &ExitError{Reason: "gave no answer", Stderr: a.process().stderr()}
}

// abandon ends an agent that did not become ready. It has nothing to finish, so it is interrupted
// at once.
func (a *agent) abandon() {
	a.process().interrupt(a.session.log)
	a.session.Close() //nolint:errcheck // why the agent did not become ready says more
}

// sendInitialize initializes a process that was started with the plan, and keeps what it reports
// about itself.
func (a *agent) sendInitialize(ctx context.Context, plan *launchPlan) error {
	s := a.session
	request := plan.initializeRequest(s.callback.hooks())
	request.setHosted(s.callback.mcp.Servers()) // they may have changed since the options were made
	request.SDKMCPServerManifests = s.callback.mcp.Manifests(ctx)
	answer, err := s.ask(ctx, s.control.CallEarly, "initialize", request)
	if err != nil {
		return err
	}
	info := new(ServerInfo)
	if err := s.readAnswer("initialize", answer, (*plainServerInfo)(info)); err != nil {
		return err
	}
	info.raw = answer
	a.info.Store(info)
	s.callback.mcp.Ready()
	a.forgetVersion()
	a.checkSent(plan.version)
	found := cmp.Or(info.Version, plan.version)
	if found == "" { // old agents don't report it here
		found = plan.options.agentVersion(ctx, false)
	}
	if err := plan.options.checkOld(found); err != nil {
		return err
	}
	a.checkVersion(found)
	if plan.version == "" {
		if err := plan.options.checkUnplanned(found); err != nil {
			return err
		}
	}
	return s.checkHooksApplied(info)
}

// sendServers gives a process that has just been initialized its MCP servers. Nil means that there
// are none.
func (a *agent) sendServers(ctx context.Context, servers any) error {
	if servers == nil {
		return nil
	}
	s := a.session
	answer, err := s.ask(ctx, s.control.CallEarly, "mcp_set_servers", servers)
	if err != nil {
		return err
	}
	var change MCPServersChange
	if err := s.readAnswer("mcp_set_servers", answer, &change); err != nil {
		return err
	}
	for name, reason := range change.Errors {
		s.log.Warn("an MCP server can't be used", "server", name, "error", redact.Mask(reason))
	}
	return nil
}

// checkPrompt returns an error if the agent would ignore a part of the prompt with that ID. While
// its version is not known, the prompt is checked later.
func (a *agent) checkPrompt(prompt *wire.UserMessage, id string) error {
	if fitsAll(prompt) {
		return nil
	}
	a.checking.Lock()
	defer a.checking.Unlock()
	if a.version == "" {
		sent := *prompt
		sent.UUID = id
		a.unchecked = &sent
	}
	return checkPrompt(prompt, a.version)
}

// forgetPrompt drops the version checks of prompts that never reach the agent.
func (a *agent) forgetPrompt(gone func(id string) bool) {
	a.checking.Lock()
	defer a.checking.Unlock()
	if a.unchecked != nil && gone(a.unchecked.UUID) {
		a.unchecked = nil
	}
}

// forgetVersion marks the version of a new process as unknown.
func (a *agent) forgetVersion() {
	a.checking.Lock()
	defer a.checking.Unlock()
	a.version = ""
}

// checkSent warns if an agent whose version has become known ignores a part of a prompt that was
// sent before. The version that a start was planned for stays.
func (a *agent) checkSent(found string) {
	prompt := a.learnVersion(found)
	if prompt == nil {
		return
	}
	if err := checkPrompt(prompt, found); err != nil {
		a.session.log.Warn("the agent ignores a part of a prompt: its version was not known", "error", err)
	}
}

// knownVersion returns the version of the newest process, or "" while it is not known.
func (a *agent) knownVersion() string {
	a.checking.Lock()
	defer a.checking.Unlock()
	return a.version
}

// learnVersion sets the version unless it is known, and returns the prompt that is to be checked
// then, or nil.
func (a *agent) learnVersion(found string) *wire.UserMessage {
	a.checking.Lock()
	defer a.checking.Unlock()
	if a.version != "" || found == "" {
		return nil
	}
	prompt := a.unchecked
	a.version, a.unchecked = found, nil
	return prompt
}

// checkVersion warns, once, if the agent is too old, whether in general or for an option. An agent
// whose version is not known is not checked.
func (a *agent) checkVersion(found string) {
	if !version.Valid(found) {
		return
	}
	a.checkSent(found)
	if a.warned.Load() {
		return
	}
	if version.Compare(found, MinAgentVersion) < 0 {
		a.warned.Store(true)
		a.session.log.Warn("the agent is older than this package supports: update it", "version", found, "minimum", MinAgentVersion)
	} else if err := a.session.opts.checkUnplanned(found); err != nil && !a.planned {
		a.warned.Store(true)
		a.session.log.Warn("the agent ignores an option: its version was not known when it started", "error", err)
	}
}

// removeSettings removes the directory of the agent's settings, if there is one.
func (a *agent) removeSettings() { a.session.opts.removeConfig(a.settings) }

// An agentProcess is one process of an agent: the first or a replacement.
type agentProcess struct {
	conn        Connection
	input       Connection  // the same connection, recorded
	initialized chan error  // gets the outcome of initialization
	open        func() bool // lets prompts and calls reach the process, if it still runs; nil for the first one

	ready atomic.Bool // its messages are for the caller
	mu    sync.Mutex
	early []wire.Message // what it wrote before it was ready

	active atomic.Int64 // when it last wrote something, in nanoseconds since 1970

	// How it ended.
	inputClosed  atomic.Bool // it was ended because it had closed its input
	outputClosed bool        // it has closed its output and was still running
	exit         *ExitError  // nil if it exited normally
	readError    error
}

func newAgentProcess(conn Connection, rec *recorder) *agentProcess {
	return &agentProcess{conn: conn, input: rec.input(conn), initialized: make(chan error, 1)}
}

// keepEarly keeps a message of a process that is not ready yet. It reports whether it did.
func (p *agentProcess) keepEarly(msg wire.Message) bool {
	if p.ready.Load() {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ready.Load() {
		return false
	}
	p.early = append(p.early, msg)
	return true
}

// markReady passes the messages so far to deliver. Messages that come meanwhile wait until deliver
// returns.
func (p *agentProcess) markReady(deliver func(early []wire.Message)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	deliver(p.early)
	p.early = nil
	p.ready.Store(true)
}

// failure returns how the process failed, or nil if it exited normally.
func (p *agentProcess) failure() *ExitError {
	switch {
	case p.exit == nil && p.readError != nil:
		return &ExitError{Code: -1, Reason: "can't be read from: " + p.readError.Error()}
	case p.exit != nil && !p.exit.Forced:
		return p.exit
	case p.inputClosed.Load():
		return p.endedBecause("closed its input")
	case p.outputClosed:
		return p.endedBecause("closed its output")
	}
	return p.exit
}

// endedBecause returns how the process ended, and why it had to be ended.
func (p *agentProcess) endedBecause(reason string) *ExitError {
	exit := *cmp.Or(p.exit, new(ExitError))
	exit.Reason = reason
	return &exit
}

// unexpectedEnd returns how the process ended when it should not have, even if it exited normally.
func (p *agentProcess) unexpectedEnd() *ExitError {
	exit := cmp.Or(p.failure(), &ExitError{Reason: "ended without a result"})
	exit.Stderr = cmp.Or(exit.Stderr, p.stderr())
	return exit
}

// startError returns why a process that never was ready ended with exit, in the agent's own words
// if there are any.
func (p *agentProcess) startError(exit *ExitError) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.early) - 1; i >= 0; i-- {
		if result, ok := p.early[i].(*wire.ResultMessage); ok && result.Failed() {
			return &ResultError{Result: result, Exit: exit}
		}
	}
	return exit
}

// stderr returns the tail of a process's standard error, if it is known. It blocks until the
// process ends.
func (p *agentProcess) stderr() string {
	if conn, ok := p.conn.(*processConnection); ok {
		return conn.stderr()
	}
	return ""
}

// hasClosedInput reports whether a process that runs closed its input, if that can be known.
func (p *agentProcess) hasClosedInput() bool {
	conn, ok := p.conn.(*processConnection)
	return ok && conn.InputClosed()
}

// runsOn reports whether the process still runs some time after its output ends, if that can be
// known.
func (p *agentProcess) runsOn() bool {
	conn, ok := p.conn.(*processConnection)
	return ok && !conn.ExitsWithin(exitTimeout)
}

// terminate ends a process that has nothing more to do. Its output is still read until over is
// closed or the limit passes.
func (p *agentProcess) terminate(over <-chan struct{}, limit time.Duration) {
	if conn, ok := p.conn.(*processConnection); ok {
		conn.Terminate()
		pause.Until(over, limit)
	}
	p.close()
}

// interrupt stops whatever the process is doing, if the connection can do that.
func (p *agentProcess) interrupt(log *slog.Logger) {
	conn, ok := p.conn.(Interrupter)
	if !ok {
		return
	}
	if err := conn.Interrupt(); err != nil { // it may have exited
		log.Debug("the agent was not interrupted", "error", err)
	}
}

// close ends the process. The read loop, which ends with it, keeps the error.
func (p *agentProcess) close() { _ = p.conn.Close() }
