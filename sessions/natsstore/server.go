package natsstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// embed starts a server on a directory and connects to it in memory.
func (s *Store) embed(ctx context.Context, dir string) error {
	srv, err := newEmbedded(ctx, dir)
	if err != nil {
		return fmt.Errorf("natsstore: %w", err)
	}
	var conn *nats.Conn
	if err = srv.start(ctx); err == nil {
		conn, err = dial(ctx, "", nats.InProcessServer(srv))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("natsstore: starting a server in %s: %w", dir, err), srv.stop())
	}
	if s.mark, err = openMark(filepath.Join(dir, markName)); err != nil {
		conn.Close()
		return errors.Join(fmt.Errorf("natsstore: %w", err), srv.stop())
	}
	s.serverError = srv.log.last
	s.conn, s.shutdown = conn, sync.OnceValue(func() error {
		conn.Close()
		return errors.Join(srv.stop(), s.mark.file.Close())
	})
	return nil
}

// An embedded server runs in this process and has no port.
type embedded struct {
	*server.Server
	lock    *os.File
	log     errorLog
	started chan struct{}
}

func newEmbedded(ctx context.Context, dir string) (*embedded, error) {
	// The server itself would create the directory with permissions for others.
	if err := os.MkdirAll(filepath.Join(dir, server.JetStreamStoreDir), 0o700); err != nil {
		return nil, err
	}
	lock, err := lockFile(filepath.Join(dir, "natsstore.lock"))
	if err != nil {
		return nil, err
	}
	var srv *server.Server
	if err = checkBlocks(ctx, dir); err == nil {
		srv, err = server.NewServer(&server.Options{
			DontListen: true, NoSigs: true, JetStream: true, StoreDir: dir, SyncAlways: true,
		})
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return &embedded{Server: srv, lock: lock, started: make(chan struct{})}, nil
}

// start starts the server. It must be stopped even if start fails.
func (e *embedded) start(ctx context.Context) error {
	e.SetLoggerV2(&e.log, false, false, false)
	go func() {
		defer close(e.started)
		e.Start()
	}()
	select {
	case <-e.started:
	case <-ctx.Done():
		return ctx.Err()
	}
	if !e.JetStreamEnabled() {
		return fmt.Errorf("JetStream is not enabled: %w", e.log.last())
	}
	return nil
}

// stop stops the server, and then unlocks its directory.
func (e *embedded) stop() error {
	done := make(chan error, 1)
	go func() {
		<-e.started
		e.Shutdown()
		e.WaitForShutdown()
		done <- e.lock.Close()
	}()
	select {
	case err := <-done:
		return err
	case <-time.After(answerTimeout):
		return fmt.Errorf("natsstore: the server did not stop within %v", answerTimeout)
	}
}

// errorLog is the log of a server. It keeps the last error, since a server that does not start or
// can't write reports the reason nowhere else.
type errorLog struct {
	mu  sync.Mutex
	err error
}

// last returns the last error, or nil.
func (c *errorLog) last() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Errorf keeps the error.
func (c *errorLog) Errorf(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = fmt.Errorf(format, args...)
}

// Fatalf is the same as Errorf: the process continues.
func (c *errorLog) Fatalf(format string, args ...any) { c.Errorf(format, args...) }

// Noticef does nothing.
func (c *errorLog) Noticef(string, ...any) {}

// Warnf does nothing.
func (c *errorLog) Warnf(string, ...any) {}

// Debugf does nothing.
func (c *errorLog) Debugf(string, ...any) {}

// Tracef does nothing.
func (c *errorLog) Tracef(string, ...any) {}
