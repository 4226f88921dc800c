package natsserver

import (
	"context"
	"net"

	"github.com/nats-io/nats-server/v2/server"
)

// Fault returns why the server can't write, or nil if it can. It can't any more after a single write
// has failed, also if the disk has room again, until it is restarted.
func (s *Server) Fault() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	logged := s.log.last()
	if s.ended || logged == nil || s.now.Healthz(new(server.HealthzOptions)).Status == "ok" {
		return nil
	}
	return logged
}

// Restart replaces the server by a new one on the same directory and port. Connections are lost, and
// nothing that was acknowledged. If it fails, there is no server until a Restart succeeds.
func (s *Server) Restart(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return server.ErrServerNotRunning
	}
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
	srv.Start() // returns when it has read its files
	if err := s.checkStart(srv); err != nil {
		srv.Shutdown()
		return err
	}
	return nil
}
