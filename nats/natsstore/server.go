package natsstore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/clewdev/clew/nats/internal/natsclient"
	"github.com/clewdev/clew/nats/internal/natsserver"
)

// embed starts a server on a directory, without a port, and connects to it in memory.
func (s *Store) embed(ctx context.Context, dir string) error {
	srv, err := natsserver.New(ctx, dir, server.Options{DontListen: true})
	if err != nil {
		return fmt.Errorf("natsstore: %w", err)
	}
	var conn *nats.Conn
	if err = srv.Start(ctx); err == nil {
		conn, err = natsclient.Dial(ctx, "", nats.InProcessServer(srv))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("natsstore: starting a server in %s: %w", dir, err), stop(srv))
	}
	if s.mark, err = openMark(filepath.Join(dir, markName)); err != nil {
		conn.Close()
		return errors.Join(fmt.Errorf("natsstore: %w", err), stop(srv))
	}
	s.serverError = srv.LastError
	s.conn, s.shutdown = conn, sync.OnceValue(func() error {
		conn.Close()
		return errors.Join(stop(srv), s.mark.file.Close())
	})
	return nil
}

func stop(srv *natsserver.Server) error {
	if err := srv.Stop(answerTimeout); err != nil {
		return fmt.Errorf("natsstore: %w", err)
	}
	return nil
}
