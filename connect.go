package clew

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/clewdev/clew/internal/process"
	"github.com/clewdev/clew/internal/redact"
	"github.com/clewdev/clew/wire"
)

// initialize greets the agent, keeps what it tells about itself, and gives it what can't travel with the greeting.
func (s *Session) initialize(ctx context.Context, plan *launchPlan) error {
	ctx, cancel := s.withInitializeTimeout(ctx)
	defer cancel()
	err := s.greet(ctx, plan)
	if err == nil {
		err = s.setServers(ctx, plan.servers)
	}
	if errors.Is(err, errInitializeTimeout) {
		s.abandon()
		return fmt.Errorf("%w: %w", s.notReady(), s.lastWords())
	}
	return err
}

func (s *Session) withInitializeTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, s.initializeTimeout(), errInitializeTimeout)
}

func (s *Session) initializeTimeout() time.Duration {
	return cmp.Or(s.opts.InitializeTimeout, defaultInitializeTimeout)
}

// notReady returns the error about an agent that takes too long.
func (s *Session) notReady() error {
	return fmt.Errorf("clew: not ready within %v: %w", s.initializeTimeout(), context.DeadlineExceeded)
}

// greet initializes an agent that was started with the plan, and keeps what it tells about itself.
func (s *Session) greet(ctx context.Context, plan *launchPlan) error {
	hello := plan.initializeRequest(s.callback.hooks())
	hello.setHosted(s.callback.mcp.Servers()) // which may have changed since the options were made
	hello.SDKMCPServerManifests = s.callback.mcp.Manifests(ctx)
	answer, err := s.ask(ctx, s.control.Greet, "initialize", hello)
	if err != nil {
		return err
	}
	info := new(ServerInfo)
	if err := s.readAnswer("initialize", answer, (*plainServerInfo)(info)); err != nil {
		return err
	}
	info.raw = answer
	s.info.Store(info)
	s.ready.Store(true)
	s.callback.mcp.Ready()
	s.checkVersion(info.Version)
	return s.checkHooksApplied(info)
}

// setServers gives an agent that has just been initialized its MCP servers. Nil means that there are none to give.
func (s *Session) setServers(ctx context.Context, servers any) error {
	if servers == nil {
		return nil
	}
	answer, err := s.ask(ctx, s.control.Greet, "mcp_set_servers", servers)
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

const defaultInitializeTimeout = time.Minute

var errInitializeTimeout = errors.New("initialize timed out")

// lastWords returns how an agent ended that never came up.
func (s *Session) lastWords() *ExitError {
	<-s.ended
	if s.exit != nil {
		return s.exit
	}
	exit := &ExitError{Reason: "gave no answer"}
	s.life.Load().addStderr(exit)
	return exit
}

// MinAgentVersion is the oldest version of Claude Code that this package is meant for. An older one is used all the
// same, with a warning to [Options.Logger].
const MinAgentVersion = "2.0.0"

// checkVersion warns of an agent that is too old. An agent that does not tell its version is not judged.
func (s *Session) checkVersion(version string) {
	if olderThan(version, MinAgentVersion) && !s.warned.Swap(true) {
		s.log.Warn("the agent is older than this package was made for: update it", "version", version, "minimum", MinAgentVersion)
	}
}

// olderThan compares versions by their numbers. What is not a version is not older.
func olderThan(version, minimum string) bool {
	have, ok := numbers(version)
	want, _ := numbers(minimum)
	if !ok {
		return false
	}
	for i := range want {
		if have[i] != want[i] {
			return have[i] < want[i]
		}
	}
	return false
}

// numbers returns the three numbers that a version begins with.
func numbers(version string) (n [3]int, ok bool) {
	parts := strings.SplitN(version, ".", len(n))
	if len(parts) < len(n) {
		return n, false
	}
	for i, part := range parts {
		digits := part[:len(part)-len(strings.TrimLeft(part, "0123456789"))]
		value, err := strconv.Atoi(digits)
		if err != nil {
			return n, false
		}
		n[i] = value
	}
	return n, true
}

// A life is one agent of a session: the first, or one that has taken the place of another.
type life struct {
	conn    Connection
	input   Connection  // the same, recorded
	greeted chan error  // gets how the greeting went
	open    func() bool // lets prompts and calls go to it, if it is still there; nil for the first, which needs none

	up    atomic.Bool // its messages are for the caller
	mu    sync.Mutex
	early []wire.Message // what it has said before

	// How it ended.
	deaf    atomic.Bool // it was ended because it took nothing any more
	exit    *ExitError  // nil if in order
	failure error       // of reading
}

func newLife(conn Connection, rec *recorder) *life {
	return &life{conn: conn, input: rec.input(conn), greeted: make(chan error, 1)}
}

// holds keeps a message of an agent that is not up yet. It reports whether it did.
func (l *life) holds(msg wire.Message) bool {
	if l.up.Load() {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.up.Load() {
		return false
	}
	l.early = append(l.early, msg)
	return true
}

// rise hands over what the agent has said so far. What it says meanwhile comes behind that.
func (l *life) rise(deliver func(early []wire.Message)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	deliver(l.early)
	l.early = nil
	l.up.Store(true)
}

// death returns how the agent ended if that was not in order, and else nil.
func (l *life) death() *ExitError {
	switch {
	case l.exit == nil && l.failure != nil:
		return &ExitError{Code: -1, Reason: "can't be read from: " + l.failure.Error()}
	case l.exit == nil && l.deaf.Load():
		return &ExitError{Reason: "closed its input"}
	}
	return l.exit
}

// lastResult returns the last failed result of an agent that never was up.
func (l *life) lastResult() *wire.ResultMessage {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := len(l.early) - 1; i >= 0; i-- {
		if result, ok := l.early[i].(*wire.ResultMessage); ok && result.Failed() {
			return result
		}
	}
	return nil
}

// addStderr completes the error about an agent that ended where it should not have, but in order.
func (l *life) addStderr(exit *ExitError) {
	if conn, ok := l.conn.(*processConnection); ok && exit.Stderr == "" {
		exit.Stderr = conn.stderr()
	}
}

// interrupt stops whatever the agent is at, if it can be interrupted.
func (l *life) interrupt() {
	if conn, ok := l.conn.(Interrupter); ok {
		_ = conn.Interrupt() // it may be gone
	}
}

// FindAgent returns the absolute path of the agent binary that a session with that [Options.AgentPath] would start. It
// starts nothing. If there is none, it returns a [*NotFoundError].
func FindAgent(agentPath string) (string, error) { return findAgent(agentPath) }

// findAgent returns the path of the agent binary: the one that the options name, or else the first that is found.
func findAgent(explicit string) (string, error) {
	path, looked, err := process.Find(explicit)
	if err != nil {
		return "", &NotFoundError{Looked: looked}
	}
	return path, nil
}

// startError gives an error of starting a process its public form.
func startError(err error) error { return fmt.Errorf("clew: starting the agent: %w", err) }
