package clew

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/clewdev/clew/internal/backlog"
	"github.com/clewdev/clew/internal/control"
	"github.com/clewdev/clew/wire"
)

// A session is made of types that each own their state, with its lock where it is shared:
//
//	launchPlan     launch.go         everything that a start needs, made once from the options
//	agent          agent.go          the agent, and its processes, one after the other
//	agentProcess   agent.go          one of these processes
//	reconnector    reconnect.go      replaces a process that died, and repeats its requests
//	Outbox, Conn   internal/control  writes frames in order; matches requests with responses
//	callbacks      callbacks.go      serves the agent's requests, such as permissions and hooks
//	Backlog        internal/backlog  holds messages until the caller takes them
//	readers        turn.go           which caller reads
//	progress       progress.go       unanswered prompts, and work in the background
//	mirror         mirror.go         copies entries to the store
//	oneShot        query.go          closes the input of a run whose prompts are all known
//	watchdog       watchdog.go       notices a silent agent
//	ending         session.go        decides once how the session ended
//	recorder       recorder.go       writes the dialogue to Options.Debug.Record
//	tracer         trace.go          calls the functions of Options.Trace
//	meter          budget.go         counts the cost for Options.Limits.Budget
//
// A prompt goes from Session.Send through progress and readers, which register it, to the outbox,
// whose goroutine writes it to the process. Output goes the other way: one goroutine reads
// (receive.go). It feeds each read to a wire.Feeder, records the messages, hands control frames to
// Conn and entries to mirror, and puts the others into the backlog in one batch. A Turn takes them
// from there, in the goroutine of its caller, until the result of its prompt.

// A Session is a live conversation with an agent. It has one process, unless [Options.Reconnect] is
// set, and any number of turns. Its methods may be called from several goroutines.
//
// [Session.Turn] sends a prompt and reads until its result. [Session.Send] only sends, and
// [Session.Messages] reads everything. All other methods that take a context are control requests:
// each waits for the agent's answer, which never waits for unread messages. When its context ends
// first, the request is withdrawn.
type Session struct {
	opts     *Options
	log      *slog.Logger
	agent    *agent
	out      *control.Outbox
	control  *control.Conn
	callback *callbacks
	backlog  *backlog.Backlog
	mirror   *mirror
	record   *recorder
	progress progress
	readers  readers
	sending  sync.Mutex // keeps the order of prompts the same everywhere
	oneShot  *oneShot
	watchdog *watchdog
	ending   *ending
	meter    *meter
	trace    *tracer // nil if there is none
}

func newSession(conn Connection, plan *launchPlan, trace *tracer) *Session {
	opts := plan.options
	s := &Session{opts: opts, log: opts.logger(), ending: newEnding(), meter: plan.meter, trace: trace}
	s.readers.hides = plan.hidesReplays
	s.record = newRecorder(plan, s.log)
	s.agent = newAgent(s, conn)
	s.agent.planned = plan.version != ""
	s.out = control.NewOutbox(s.agent.process().input, s.writeFailed)
	s.callback = newCallbacks(opts)
	s.callback.sendMCP, s.callback.trace = s.SendMCPMessage, trace
	s.control = control.New(s.out, control.Config{
		Serve: func(ctx context.Context, req *wire.ControlRequestMessage) (any, error) {
			defer s.watchdog.markActive()
			return s.callback.serve(ctx, req)
		},
		Urgent: func() {
			s.backlog.Wake()
			s.mirror.wake()
		},
		Log:  s.log,
		Keep: olderThan(plan.version, MinAgentVersion), // some of those die of a withdrawal
	})
	s.backlog = backlog.New(backlog.Options{
		DiskBytes: opts.Limits.MaxBacklogBytes,
		Urgent:    s.urgent,
	})
	s.mirror = newMirror(s)
	s.oneShot = newOneShot(s)
	s.watchdog = newWatchdog(opts.Limits.IdleTimeout, s.expectsOutput, s.agentIsSilent)
	return s
}

// Info returns what the agent reported about itself when it started. After a reconnect it is the
// newest agent's.
func (s *Session) Info() *ServerInfo {
	info := *s.agent.info.Load()
	return &info
}

// ID returns the ID of the session. It is empty before the agent's first turn, unless the options
// set one.
func (s *Session) ID() string {
	if id := s.progress.sessionID(); id != "" {
		return id
	}
	return s.opts.Session.ID
}

// Err returns nil while the session is open, even while a new agent is being started. After Close
// it returns [ErrClosed], and otherwise how the agent ended.
func (s *Session) Err() error { return s.ending.err() }

// errorOf returns what ended the session in place of an error that only follows from it.
func (s *Session) errorOf(err error) error {
	if end := s.Err(); end != nil {
		return end
	}
	return err
}

// notify sends a control request without waiting for its answer. It reports whether the request was
// queued.
func (s *Session) notify(subtype string, in any) (sent bool) {
	body, err := requestBody(subtype, in)
	if err == nil {
		err = s.control.Notify(body)
	}
	if err != nil {
		s.log.Debug("control request not sent", "subtype", subtype, "error", err)
	}
	return err == nil
}

// urgent reports whether the read loop must continue: somebody waits for an answer, or for the end.
func (s *Session) urgent() bool { return s.control.Waiting() || s.ending.closing() }

func (s *Session) readerOptions() *wire.ReaderOptions {
	return &wire.ReaderOptions{MaxFrameBytes: s.opts.Limits.MaxFrameBytes}
}

// flushTimeout is the time the agent may take to read what was written when the session is closed.
const flushTimeout = time.Second

// exitTimeout is the time that an agent has to exit after it closed its output or its input. Then it counts as
// still running, and the error names the pipe that it closed instead of its exit code. A dying process on a busy
// machine needs more than a second.
const exitTimeout = 5 * time.Second

// Close ends the session. It interrupts the agent's work, including background work, closes its
// input and waits until the agent exits; an agent that does not exit by itself gets signals. Close
// may be called from anywhere, any number of times, and takes at most twice [Limits.CloseTimeout]
// and a few seconds.
//
// Close leaves no process and no goroutine running, unless a callback of the caller does not return
// when its context ends; [Options.KeepBackground] keeps commands in the background. It waits for
// callbacks, even for a callback that calls Close, for at most one CloseTimeout, and for
// [StoreOptions.Store] for at most one [StoreOptions.Timeout].
//
// It returns nil if the agent exited by itself or on SIGTERM, with its transcript written, an
// [*ExitError] if the agent had to be killed, and a [*StoreError] if entries are missing in the
// store and no message reported that.
func (s *Session) Close() error {
	s.close(false)
	lost := s.mirror.unreported()
	if exit := s.ending.exit; exit != nil && exit.Forced {
		return join(exit, lost)
	}
	return lost
}

// close ends the session unless it is being ended already, and waits for its end. silent is the
// reason, if that is an agent that was silent for too long.
func (s *Session) close(silent bool) {
	if s.ending.beginClose(silent) {
		s.shutDown()
	}
	<-s.ending.closeDone
}

// closeForLosses closes the session and returns the store losses that have not been reported yet.
func (s *Session) closeForLosses() error {
	s.Close() //nolint:errcheck // the run is over, so how the agent ends does not matter
	return s.mirror.unreported()
}

func (s *Session) shutDown() {
	defer close(s.ending.closeDone)
	s.oneShot.stop()
	s.agent.reconnector.stop()
	if s.control.Ready() && s.progress.working() {
		s.stopWork()
	}
	s.out.End()
	s.out.Flush(flushTimeout)
	s.backlog.Close()
	s.mirror.wake()
	s.out.Fail(s.Err())
	s.control.Fail(s.Err())
	s.callback.mcp.Close()
	began := time.Now()
	s.agent.process().close()
	<-s.ending.over
	s.watchdog.stop()
	left := func() time.Duration { return s.opts.closeTimeout() - time.Since(began) }
	if !s.control.Wait(left()) || !s.callback.mcp.Wait(left()) {
		s.log.Warn("a callback has not returned although its context has ended")
	}
}

// stopWork interrupts whatever the agent is doing. If its input ended, a request can't reach it any
// more.
func (s *Session) stopWork() {
	if !s.notify("interrupt", interruptRequest{CancelQueued: true}) {
		s.agent.process().interrupt(s.log)
	}
}

// An ending knows whether and how a session ended. It has its own lock.
type ending struct {
	over      chan struct{} // closed when the session has ended and the fields below are final
	closeDone chan struct{} // closed when the first Close is done

	mu     sync.Mutex
	closed bool // Close was called
	silent bool // Close was called because the agent was silent for too long

	exit     *ExitError // how the last process ended, nil if it exited normally
	calls    error      // what calls return from now on
	messages error      // the final error of Messages
}

func newEnding() *ending {
	return &ending{over: make(chan struct{}), closeDone: make(chan struct{})}
}

// beginClose notes that the session is being closed, because its agent is silent or because the
// caller wants it. The first call decides which. It reports whether this is the first one.
func (e *ending) beginClose(silent bool) (first bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return false
	}
	e.closed, e.silent = true, silent
	return true
}

// closing reports whether Close was called.
func (e *ending) closing() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.closed
}

// err returns what calls return now, which is nil while the session is open.
func (e *ending) err() error {
	select {
	case <-e.over:
		return e.calls
	default:
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case !e.closed:
		return nil
	case e.silent:
		return ErrIdle
	}
	return ErrClosed
}

// wait waits for the end of the session, and returns what calls return from then on.
func (e *ending) wait() error {
	<-e.over
	return e.calls
}

// settle decides how the session ended. exit describes the end of the last process, and state
// everything else that is known.
func (e *ending) settle(exit *ExitError, state endState) {
	e.mu.Lock()
	defer e.mu.Unlock()
	state.closed, state.silent = e.closed, e.silent
	e.exit = exit
	e.calls, e.messages = state.decide()
}

// An endState is everything that decides how a session ended.
type endState struct {
	closed      bool            // Close was called
	silent      bool            // the agent was silent for too long
	gaveUp      *ReconnectError // the agent could not be replaced
	overdue     bool            // the agent did not exit after a one-shot run, and was ended
	initialized bool            // the agent had been initialized
	failure     *ExitError      // how the agent failed, nil if it exited normally
	exitedLate  bool            // the failure is that it closed its output some time before it exited normally
	stderr      string          // the end of what the agent wrote to its standard error
	turns       turnsState
}

// decide returns how the session ended: what calls return from now on, and the final error of
// [Session.Messages].
func (e *endState) decide() (calls, messages error) {
	failure := e.failure
	switch {
	case e.silent:
		return ErrIdle, ErrIdle
	case e.closed:
		return ErrClosed, nil
	case e.gaveUp != nil:
		return e.gaveUp, e.gaveUp
	case e.overdue:
		failure = nil
	}
	messages = e.turns.err(failure)
	if e.exitedLate && e.initialized && !e.turns.open { // nothing can be missing
		messages = e.turns.err(nil)
	}
	calls = messages
	if failure != nil && e.initialized {
		calls = failure // the failed turn has been reported
	}
	switch {
	case calls != nil:
	case e.initialized:
		calls = &ExitError{Reason: "has ended"}
	default:
		calls = &ExitError{Reason: "exited with code 0 before it was ready"}
	}
	if exit, ok := errors.AsType[*ExitError](calls); ok && exit.Stderr == "" {
		exit.Stderr = e.stderr
	}
	return calls, messages
}
