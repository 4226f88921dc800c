package clew

import (
	"context"
	"errors"
	"time"

	"github.com/clewdev/clew/wire"
)

// errGone says that an agent has died before it was up.
var errGone = errors.New("clew: the agent is gone")

// welcome makes an agent ready that was just started, and the session go on with it. If it can't, it ends the agent.
func (s *Session) welcome(l *life, opts *Options, down *outage) error {
	ctx, cancel := s.withInitializeTimeout(s.reviver.alive)
	defer cancel()
	err := s.prepare(ctx, opts)
	if err != nil {
		if errors.Is(context.Cause(ctx), errInitializeTimeout) {
			err = s.notReady()
		}
		l.interrupt()
		l.conn.Close() //nolint:errcheck // receive, which ends with it, keeps the error
		return err
	}
	s.stir()
	if !l.open() {
		return errGone
	}
	l.rise(func(early []wire.Message) {
		for _, msg := range early {
			s.note(msg)
		}
		told := down.message(s.ID())
		told.Resumed = opts.Resume != "" || opts.Continue
		s.push(append([]wire.Message{told}, early...))
	})
	s.log.Info("the session goes on with another agent", "attempts", down.attempts)
	return nil
}

// prepare gives a new agent what the options say, and what was changed since.
func (s *Session) prepare(ctx context.Context, opts *Options) error {
	if err := s.greet(ctx, opts); err != nil {
		return err
	}
	changed := s.changes.all()
	if err := s.setServers(ctx, serversOf(opts, changed)); err != nil {
		return err
	}
	if mode := s.progress.permissionMode(); mode != "" && mode != s.info.Load().CurrentPermissionMode {
		if _, err := s.ask(ctx, s.control.Greet, modeSubtype, setPermissionModeRequest{mode}); err != nil {
			return err
		}
	}
	for i := range changed {
		if err := s.redo(ctx, &changed[i]); err != nil {
			return err
		}
	}
	return nil
}

// serversOf returns the MCP servers that a new agent gets right after its greeting: those that were set last.
func serversOf(opts *Options, changed []change) any {
	for _, c := range changed {
		if c.subtype == serversSubtype {
			return c.fields
		}
	}
	return opts.mcpServersRequest()
}

// redo repeats a request for a new agent. One that is refused now costs the change, or the agent if that must not go on
// without it.
func (s *Session) redo(ctx context.Context, c *change) error {
	if c.subtype == serversSubtype {
		return nil // it has them already
	}
	_, err := s.ask(ctx, s.control.Greet, c.subtype, c.fields)
	if refusal, ok := errors.AsType[*ControlError](err); ok && !c.strict() {
		s.log.Warn("the new agent refuses what the old one was told", "error", refusal)
		return nil
	}
	return err
}

// message returns what the caller is told when the outage is over.
func (o *outage) message(sessionID string) *wire.SessionReconnectedMessage {
	m := &wire.SessionReconnectedMessage{
		Error: o.exit.Error(), ExitCode: o.exit.Code, Attempts: o.attempts, LostPrompts: o.lost,
		Downtime: wire.Millis(float64(time.Since(o.began)) / float64(time.Millisecond)),
		UUID:     newUUID(), SessionID: sessionID,
	}
	if o.exit.Signal != nil {
		m.Signal = o.exit.Signal.String()
	}
	return m
}
