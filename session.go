package clew

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/clewdev/clew/internal/backlog"
	"github.com/clewdev/clew/internal/control"
	"github.com/clewdev/clew/internal/tempconfig"
	"github.com/clewdev/clew/wire"
)

// A Session is a live conversation with an agent: one process, unless [Options.Reconnect] is set, and any number of
// turns. Its methods may be called from several goroutines.
//
// [Session.Turn] sends a prompt and reads until its result. [Session.Send] only sends, and [Session.Messages] reads
// everything there is. All others that take a context are control requests: each waits for the agent's answer, which
// never waits behind unread messages. When its context ends first, the request is withdrawn.
type Session struct {
	opts     *Options
	log      *slog.Logger
	life     atomic.Pointer[life]
	out      *control.Outbox
	control  *control.Conn
	callback *callbacks
	backlog  *backlog.Backlog
	mirror   *mirror
	folder   *tempconfig.Folder // of the agent's settings, if a session was resumed from a store
	progress progress
	readers  readers
	record   *recorder
	watchdog *watchdog
	info     atomic.Pointer[ServerInfo]
	changes  changes
	reviver  *reviver

	sending   sync.Mutex  // keeps the order of prompts the same everywhere
	lastWord  atomic.Bool // the last prompt of a one-shot run was sent
	impatient sync.Once
	overdue   atomic.Bool                // the agent was ended by impatience
	patience  atomic.Pointer[time.Timer] // ends the input of a one-shot run

	began   time.Time
	stirred atomic.Int64 // when the agent last was known not to be silent, in nanoseconds since it all began
	pushing atomic.Bool  // messages go into the backlog, which a slow reader can delay

	closeDone chan struct{} // closed when the first Close is done
	warned    atomic.Bool   // of an old agent
	ready     atomic.Bool   // the agent has been initialized
	mortal    atomic.Bool   // the session ends with its agent, whatever the options say
	closed    atomic.Bool
	stalled   atomic.Bool
	ended     chan struct{} // closed when the agent is gone and the fields below are set
	exit      *ExitError    // how the agent ended, nil if in order
	cause     error         // what calls return from now on
	verdict   error         // how it all ended, for who reads messages
}

// Connect starts an agent and waits until it is ready. opts may be nil. The context bounds the start alone; the session
// lives until Close, or until the agent dies. When the context ends first, Connect returns once the agent is gone, see
// [Session.Close]. Errors are [*OptionsError] and [*NotFoundError] for what can't be started, [*StoreError] for a
// session that can't be read from [Options.Store], and [*ExitError], or [*ResultError] with the agent's own words, for an
// agent that did not come up.
func Connect(ctx context.Context, opts *Options) (*Session, error) {
	opts = opts.clone()
	if err := opts.validate(); err != nil {
		return nil, err
	}
	folder, err := opts.layOutStored(ctx)
	if err != nil {
		return nil, err
	}
	plan, err := opts.plan()
	if err != nil {
		opts.removeFolder(folder)
		return nil, err
	}
	conn, err := start(ctx, plan)
	if err != nil {
		opts.removeFolder(folder)
		return nil, err
	}
	s := newSession(conn, plan)
	s.folder = folder
	go s.receive() //nolint:contextcheck // the session, and its store, outlive the context of the start
	err = s.initialize(ctx, plan)
	s.life.Load().greeted <- err
	if err != nil {
		err = s.orVerdict(err)
		s.abandon()
		return nil, err
	}
	return s, nil
}

// start starts an agent.
func start(ctx context.Context, plan *launchPlan) (Connection, error) {
	opts := plan.options
	if err := ctx.Err(); err != nil {
		return nil, err
	}
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

func newSession(conn Connection, plan *launchPlan) *Session {
	opts := plan.options
	s := &Session{
		opts: opts, log: opts.logger(), began: time.Now(),
		closeDone: make(chan struct{}), ended: make(chan struct{}),
	}
	s.record = newRecorder(plan, s.log)
	first := newLife(conn, s.record)
	first.up.Store(true)
	s.life.Store(first)
	s.out = control.NewOutbox(first.input, s.writeFailed)
	s.callback = newCallbacks(opts)
	s.callback.sendMCP = s.SendMCPMessage
	s.control = control.New(s.out, control.Config{
		Serve: func(ctx context.Context, req *wire.ControlRequestMessage) (any, error) {
			defer s.stir()
			return s.callback.serve(ctx, req)
		},
		Urgent: func() {
			s.backlog.Wake()
			s.mirror.wake()
		},
		Log: s.log,
	})
	s.backlog = backlog.New(backlog.Options{
		DiskBytes: opts.MaxBacklogBytes,
		Decode:    s.decode,
		Urgent:    s.urgent,
	})
	s.mirror = newMirror(s)
	s.reviver = newReviver(s)
	s.watchdog = newWatchdog(s)
	return s
}

// Info returns what the agent told about itself when it came up, the newest one if there was more than one.
func (s *Session) Info() *ServerInfo {
	info := *s.info.Load()
	return &info
}

// ID returns the id of the session, or "" before the agent's first turn, unless the options set one.
func (s *Session) ID() string {
	if id := s.progress.sessionID(); id != "" {
		return id
	}
	return s.opts.SessionID
}

// Err returns nil while the session lives, also while a new agent is being started, [ErrClosed] after Close, and else
// how the agent ended.
func (s *Session) Err() error {
	select {
	case <-s.ended:
		return s.cause
	default:
		if s.closed.Load() {
			return s.closeCause()
		}
		return nil
	}
}

// tell sends a control request whose answer nobody waits for. It reports whether it could.
func (s *Session) tell(subtype string, in any) (sent bool) {
	body, err := requestBody(subtype, in)
	if err == nil {
		err = s.control.Tell(body)
	}
	if err != nil {
		s.log.Debug("control request not sent", "subtype", subtype, "error", err)
	}
	return err == nil
}

// logger returns the logger of the options, or one that is silent.
func (o *Options) logger() *slog.Logger {
	if o.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Logger
}

const defaultCloseTimeout = 5 * time.Second

func (o *Options) closeTimeout() time.Duration {
	if o.CloseTimeout <= 0 {
		return defaultCloseTimeout
	}
	return o.CloseTimeout
}

// urgent reports whether the read loop must go on: an answer, or the end, is waited for.
func (s *Session) urgent() bool { return s.control.Waiting() || s.closed.Load() }

// decode reads a message that was kept on disk.
func (s *Session) decode(frame []byte) wire.Message {
	return wire.NewDecoder(s.readerOptions()).Decode(frame)
}

func (s *Session) readerOptions() *wire.ReaderOptions {
	return &wire.ReaderOptions{MaxFrameBytes: s.opts.MaxFrameBytes}
}

// flushTimeout is how long the agent may take to read what was written when the session is closed.
const flushTimeout = time.Second

// Close ends the session: it interrupts the agent's work, also in the background, ends its input and waits until the
// agent is gone, with signals for one that does not go by itself. It may be called from anywhere, any number of times, and
// is bounded by twice [Options.CloseTimeout] and a second or two. It leaves no process and no goroutine behind, unless a
// callback of the caller's does not return when its context ends: Close waits for callbacks, too, for one CloseTimeout at
// most, and so for the one that calls it, and for [Options.Store], for one [Options.StoreTimeout] at most. It returns nil
// if the agent has ended by itself, with its transcript written, an [*ExitError] if the agent had to be killed, and a
// [*StoreError] if something is not in the store and no message has said so.
func (s *Session) Close() error {
	if !s.closed.Swap(true) {
		s.shutDown()
	}
	<-s.closeDone
	lost := s.mirror.untold()
	if s.exit != nil && s.exit.Forced {
		return join(s.exit, lost)
	}
	return lost
}

// closeForLosses closes a session of which only the losses of the store are of interest that nobody was told of.
func (s *Session) closeForLosses() error {
	s.Close() //nolint:errcheck // how the agent ended after all was said is of no interest
	return s.mirror.untold()
}

func (s *Session) shutDown() {
	defer close(s.closeDone)
	s.reviver.stop()
	if s.control.Ready() && s.progress.working() {
		s.stopWork()
	}
	s.out.End()
	s.out.Flush(flushTimeout)
	s.backlog.Close()
	s.mirror.wake()
	s.out.Fail(s.closeCause())
	s.control.Fail(s.closeCause())
	s.callback.mcp.Close()
	cancelled := time.Now()
	s.life.Load().conn.Close() //nolint:errcheck // receive, which ends with it, keeps the error
	<-s.ended
	s.watchdog.stop()
	left := func() time.Duration { return s.opts.closeTimeout() - time.Since(cancelled) }
	if !s.control.Wait(left()) || !s.callback.mcp.Wait(left()) {
		s.log.Warn("a callback has not returned although its context has ended")
	}
}

// closeCause returns what calls return once the session is being closed.
func (s *Session) closeCause() error {
	if s.stalled.Load() {
		return ErrIdle
	}
	return ErrClosed
}

// stopWork interrupts whatever the agent is at. If its input has ended, a request does not reach it any more.
func (s *Session) stopWork() {
	conn, ok := s.life.Load().conn.(Interrupter)
	if s.tell("interrupt", interruptRequest{CancelQueued: true}) || !ok {
		return
	}
	if err := conn.Interrupt(); err != nil {
		s.log.Debug("the agent was not interrupted", "error", err)
	}
}

// abandon ends an agent that has not come up. It has nothing to finish, so it is interrupted at once.
func (s *Session) abandon() {
	s.life.Load().interrupt()
	s.Close() //nolint:errcheck // why it has not come up says more
}
