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

	"github.com/clewdev/clew/internal/backlog"
	"github.com/clewdev/clew/internal/control"
	"github.com/clewdev/clew/wire"
)

// A Session is a live conversation with an agent: one process, any number of turns. Its methods may be called from
// several goroutines.
//
// [Session.Turn] sends a prompt and reads until its result. [Session.Send] only sends, and [Session.Messages] reads
// everything there is. All others that take a context are control requests: each waits for the agent's answer, which
// never waits behind unread messages. When its context ends first, the request is withdrawn.
type Session struct {
	opts     *Options
	log      *slog.Logger
	conn     Connection
	out      *control.Outbox
	control  *control.Conn
	callback *callbacks
	backlog  *backlog.Backlog
	progress progress
	readers  readers
	record   *recorder
	watchdog *watchdog
	info     ServerInfo

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
	closed    atomic.Bool
	stalled   atomic.Bool
	ended     chan struct{} // closed when the agent is gone and the fields below are set
	exit      *ExitError    // how the agent ended, nil if in order
	cause     error         // what calls return from now on
	verdict   error         // how it all ended, for who reads messages
}

// Connect starts an agent and waits until it is ready. opts may be nil. The context bounds the start alone; the session
// lives until Close, or until the agent dies. When the context ends first, Connect returns once the agent is gone, see
// [Session.Close]. Errors are [*OptionsError] and [*NotFoundError] for what can't be started, and [*ExitError], or
// [*ResultError] with the agent's own words, for an agent that did not come up.
func Connect(ctx context.Context, opts *Options) (*Session, error) {
	opts = opts.clone()
	if err := opts.validate(); err != nil {
		return nil, err
	}
	conn, err := start(ctx, opts)
	if err != nil {
		return nil, err
	}
	s := newSession(conn, opts)
	go s.receive()
	if err := s.initialize(ctx); err != nil {
		s.abandon()
		return nil, err
	}
	return s, nil
}

// start starts the agent that the options describe.
func start(ctx context.Context, opts *Options) (Connection, error) {
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
	launch, err := opts.launch(path)
	if err != nil {
		return nil, err
	}
	if log := opts.logger(); log.Enabled(ctx, slog.LevelDebug) {
		log.Debug("starting the agent", "command", opts.CommandLine())
	}
	return transport.Connect(ctx, launch)
}

func newSession(conn Connection, opts *Options) *Session {
	s := &Session{
		opts: opts, conn: conn, log: opts.logger(), began: time.Now(),
		closeDone: make(chan struct{}), ended: make(chan struct{}),
	}
	s.record = newRecorder(opts, s.log)
	s.out = control.NewOutbox(s.record.input(conn), s.writeFailed)
	s.callback = newCallbacks(opts)
	s.callback.mcp.send = s.SendMCPMessage
	s.control = control.New(s.out, control.Config{
		Serve: func(ctx context.Context, req *wire.ControlRequestMessage) (any, error) {
			defer s.stir()
			return s.callback.serve(ctx, req)
		},
		Urgent: func() { s.backlog.Wake() },
		Log:    s.log,
	})
	s.backlog = backlog.New(backlog.Options{
		DiskBytes: opts.MaxBacklogBytes,
		Decode:    s.decode,
		Urgent:    func() bool { return s.control.Waiting() || s.closed.Load() },
	})
	s.watchdog = newWatchdog(s)
	return s
}

// initialize greets the agent, keeps what it tells about itself, and gives it what can't travel with the greeting.
func (s *Session) initialize(ctx context.Context) error {
	limit := cmp.Or(s.opts.InitializeTimeout, defaultInitializeTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errInitializeTimeout)
	defer cancel()
	err := s.greet(ctx)
	if errors.Is(err, errInitializeTimeout) {
		s.abandon()
		return fmt.Errorf("clew: not ready within %v: %w: %w", limit, context.DeadlineExceeded, s.lastWords())
	}
	return err
}

func (s *Session) greet(ctx context.Context) error {
	hello := s.opts.initializeRequest(s.callback.hooks())
	hello.SDKMCPServerManifests = s.callback.manifests(ctx)
	answer, err := s.request(ctx, "initialize", hello)
	if err != nil {
		return err
	}
	if err := s.readAnswer("initialize", answer, (*plainServerInfo)(&s.info)); err != nil {
		return err
	}
	s.info.raw = answer
	s.ready.Store(true)
	s.callback.mcp.greet()
	s.checkVersion(s.info.Version)
	if err := s.checkHooksApplied(); err != nil {
		return err
	}
	servers := s.opts.mcpServersRequest()
	if servers == nil {
		return nil
	}
	change, err := call[MCPServersChange](ctx, s, "mcp_set_servers", servers)
	if err != nil {
		return err
	}
	for name, reason := range change.Errors {
		s.log.Warn("an MCP server can't be used", "server", name, "error", mask(reason))
	}
	return nil
}

const (
	defaultInitializeTimeout = time.Minute
	defaultCloseTimeout      = 5 * time.Second
)

var errInitializeTimeout = errors.New("initialize timed out")

// lastWords returns how an agent ended that never came up.
func (s *Session) lastWords() *ExitError {
	<-s.ended
	if s.exit != nil {
		return s.exit
	}
	exit := &ExitError{Reason: "gave no answer"}
	s.addStderr(exit)
	return exit
}

// Info returns what the agent told about itself when it came up.
func (s *Session) Info() *ServerInfo {
	info := s.info
	return &info
}

// ID returns the id of the session, or "" before the agent's first turn, unless the options set one.
func (s *Session) ID() string {
	if id := s.progress.sessionID(); id != "" {
		return id
	}
	return s.opts.SessionID
}

// Err returns nil while the session lives, [ErrClosed] after Close, and else how the agent ended.
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

func (o *Options) closeTimeout() time.Duration {
	if o.CloseTimeout <= 0 {
		return defaultCloseTimeout
	}
	return o.CloseTimeout
}

// decode reads a message that was kept on disk.
func (s *Session) decode(frame []byte) wire.Message {
	return wire.NewDecoder(s.readerOptions()).Decode(frame)
}

func (s *Session) readerOptions() *wire.ReaderOptions {
	return &wire.ReaderOptions{MaxFrameBytes: s.opts.MaxFrameBytes}
}
