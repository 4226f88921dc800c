package clew

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// initialize greets the agent, keeps what it tells about itself, and gives it what can't travel with the greeting.
func (s *Session) initialize(ctx context.Context) error {
	ctx, cancel := s.withInitializeTimeout(ctx)
	defer cancel()
	err := s.greet(ctx, s.opts)
	if err == nil {
		err = s.setServers(ctx, s.opts.mcpServersRequest())
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

// greet initializes an agent that was started with opts, and keeps what it tells about itself.
func (s *Session) greet(ctx context.Context, opts *Options) error {
	hello := opts.initializeRequest(s.callback.hooks())
	hello.setServers(s.callback.mcp.configs()) // which may have changed since the options were made
	hello.SDKMCPServerManifests = s.callback.manifests(ctx)
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
	s.callback.mcp.greet()
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
		s.log.Warn("an MCP server can't be used", "server", name, "error", mask(reason))
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
