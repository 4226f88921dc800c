// Package natsserver runs a NATS server with JetStream in this process, which syncs what it
// acknowledges.
package natsserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/clewdev/clew/internal/files"
)

// ErrInUse is wrapped by New's error if another server uses the directory.
var ErrInUse = errors.New("it is in use")

// lockName is the name of the file in its directory that a server locks. It is named after the
// first package that ran a server.
const lockName = "natsstore.lock"

// A Server runs in this process.
type Server struct {
	dir     string
	opts    *server.Options
	lock    *os.File
	log     errorLog
	started chan struct{}

	mu      sync.RWMutex   // is held while the server is restarted
	now     *server.Server // another one after a restart
	failure error          // why there is none, if a restart failed
	ended   bool           // it is not to be started again
}

// authTimeout is the time that a client has to identify itself. The server's own two seconds are too few for a
// busy machine. With TLS the server allows a second more than for the handshake.
const authTimeout = time.Minute

// New makes a server for a directory, which it creates and locks. The options choose the
// address and the users; New sets the rest. The caller has to start the server, or to stop it.
func New(ctx context.Context, dir string, opts server.Options) (*Server, error) {
	return NewWith(ctx, dir, func() (*server.Options, error) { return &opts, nil })
}

// NewWith is like New with options that depend on what is in the directory: the function that returns
// them is called when the directory is locked.
func NewWith(ctx context.Context, dir string, options func() (*server.Options, error)) (*Server, error) {
	// The server itself would create the directory with permissions for others.
	if err := os.MkdirAll(filepath.Join(dir, server.JetStreamStoreDir), 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, lockName)
	lock, err := files.TryLock(path)
	if errors.Is(err, files.ErrLocked) {
		return nil, fmt.Errorf("lock %s: %w", path, ErrInUse)
	}
	if err != nil {
		return nil, err
	}
	opts, err := options()
	if err != nil {
		return nil, errors.Join(err, files.Unlock(lock))
	}
	if opts.AuthTimeout == 0 && !opts.TLS {
		opts.AuthTimeout = authTimeout.Seconds()
	}
	opts.NoSigs, opts.JetStream, opts.StoreDir, opts.SyncAlways = true, true, dir, true
	s := &Server{dir: dir, opts: opts, lock: lock, started: make(chan struct{})}
	if s.now, err = s.make(ctx); err != nil {
		return nil, errors.Join(err, files.Unlock(lock))
	}
	return s, nil
}

// make makes a server for the directory, which is locked.
func (s *Server) make(ctx context.Context) (*server.Server, error) {
	if err := checkBlocks(ctx, s.dir); err != nil {
		return nil, err
	}
	srv, err := server.NewServer(s.opts.Clone())
	if err == nil {
		srv.SetLoggerV2(&s.log, false, false, false)
	}
	return srv, err
}

func (s *Server) current() *server.Server {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.now
}

// Start starts the server. It must be stopped even if Start fails.
func (s *Server) Start(ctx context.Context) error {
	srv := s.current()
	go func() {
		defer close(s.started)
		srv.Start()
	}()
	select {
	case <-s.started:
	case <-ctx.Done():
		return ctx.Err()
	}
	return s.checkStart(srv)
}

func (s *Server) checkStart(srv *server.Server) error {
	if !srv.JetStreamEnabled() {
		return fmt.Errorf("JetStream is not enabled: %w", s.log.last())
	}
	if !s.opts.DontListen && srv.Addr() == nil {
		return fmt.Errorf("it does not listen: %w", s.log.last())
	}
	return nil
}

// Stop stops the server, and then unlocks its directory. It waits for that as long as it may.
func (s *Server) Stop(limit time.Duration) error {
	done := make(chan error, 1)
	go func() {
		<-s.started
		s.Shutdown()
		s.current().WaitForShutdown()
		done <- files.Unlock(s.lock)
	}()
	select {
	case err := <-done:
		return err
	case <-time.After(limit):
		return fmt.Errorf("the server did not stop within %v", limit)
	}
}

// Shutdown ends the server for good. The directory stays locked until Stop.
func (s *Server) Shutdown() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.now.Shutdown()
}

// ClientURL returns where the server listens.
func (s *Server) ClientURL() string { return s.current().ClientURL() }

// Jsz returns what the server says about JetStream.
func (s *Server) Jsz(opts *server.JSzOptions) (*server.JSInfo, error) { return s.current().Jsz(opts) }

// InProcessConn implements [nats.InProcessConnProvider]. After a restart, a connection is made
// again to the new server. It does not wait for a restart: its callers hold a lock of their
// connection.
func (s *Server) InProcessConn() (net.Conn, error) {
	if !s.mu.TryRLock() {
		return nil, ErrRestarting
	}
	defer s.mu.RUnlock()
	return s.now.InProcessConn()
}

// LastError returns the last error that the server logged since its start, or nil. A client may
// have caused it.
func (s *Server) LastError() error { return s.log.last() }

// errorLog is the log of a server. It keeps the last error.
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

func (c *errorLog) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = nil
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
