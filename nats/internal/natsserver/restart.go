package natsserver

import (
	"context"
	"errors"
	"net"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
)

// ErrRestarting is the error of methods that need a server while there is none.
var ErrRestarting = errors.New("the server is being restarted")

// Fault returns the reason why the server can't write, or nil if it can. After a single failed
// write it can't, even if the disk has room again, until it is restarted. Other reports of the
// server don't count: a restart would not help, and others could cause one.
func (s *Server) Fault() error {
	if !s.mu.TryRLock() {
		return ErrRestarting
	}
	defer s.mu.RUnlock()
	if s.ended {
		return nil
	}
	if s.failure != nil {
		return s.failure
	}
	for _, e := range s.now.Healthz(&server.HealthzOptions{Details: true}).Errors {
		if e.Type == server.HealthzErrorJetStream { // it ends if it has no space
			return errors.New(e.Error)
		}
		if _, reason, ok := strings.Cut(e.Error, "' write error: "); ok && e.Type == server.HealthzErrorStream {
			return errors.New(reason)
		}
	}
	return nil
}

// Restart replaces the server by a new one on the same directory and port. Connections are lost, and
// nothing that was acknowledged. If it fails, there is no server until a Restart succeeds.
func (s *Server) Restart(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return server.ErrServerNotRunning
	}
	s.failure = s.restart(ctx)
	return s.failure
}

func (s *Server) restart(ctx context.Context) error {
	if at, ok := s.now.Addr().(*net.TCPAddr); ok {
		s.opts.Port = at.Port // it may have been any free one
	}
	s.now.Shutdown()
	s.now.WaitForShutdown()
	srv, err := s.make(ctx)
	if err != nil {
		return err
	}
	s.now = srv
	s.log.forget()
	srv.Start() // returns after it read its files
	if err := s.checkStart(srv); err != nil {
		srv.Shutdown()
		return err
	}
	return nil
}
