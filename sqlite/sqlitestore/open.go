package sqlitestore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/sqlite/internal/sqlitefile"
)

var (
	_ sessions.Store         = (*Store)(nil)
	_ sessions.ProjectLister = (*Store)(nil)
	_ sessions.Summarizer    = (*Store)(nil)
)

// Options are the settings of a [Store].
type Options struct {
	// LockTimeout is the time a call waits while other processes write to the file. 0 means 10
	// seconds. A negative value means hardly any time.
	LockTimeout time.Duration
}

const defaultLockTimeout = 10 * time.Second

// A Store keeps transcripts in a SQLite file. It is also a [sessions.ProjectLister] and a
// [sessions.Summarizer]. Its methods may be called from several goroutines, and return the error of
// their context when that ends.
type Store struct {
	path        string
	lockTimeout time.Duration
	writer      *sql.DB // one connection, so that the goroutines of a process wait here instead of polling for a lock
	reader      *sql.DB
}

// Open opens the store in the file at path, and creates the file if it does not exist. Its
// directory must exist. opts may be nil. The caller has to close the store.
//
// Open returns an error, and does not change the file, if it is not a store, has a newer version or
// can't be written. Damage in the file is an error of the call that finds it, here or later. The
// path ":memory:", which SQLite treats as no file at all, is also an error: use [sessions.Memory].
// The context bounds only Open, which waits for locks like a write.
func Open(ctx context.Context, path string, opts *Options) (*Store, error) {
	if path == "" || path == ":memory:" {
		return nil, fmt.Errorf("sqlitestore: invalid path %q", path)
	}
	if opts == nil {
		opts = &Options{}
	}
	path, err := filepath.Abs(path)
	if err == nil {
		err = sqlitefile.Create(path)
	}
	if err != nil {
		return nil, fmt.Errorf("sqlitestore: %w", err)
	}
	wait := fmt.Sprintf("_busy_timeout=%d", lockWait.Milliseconds())
	reader, readerErr := sqlitefile.Open(path, sqlitefile.ReadWrite, wait, "_query_only=1")
	writer, writerErr := sqlitefile.Open(path, sqlitefile.ReadWrite, wait,
		"_txlock=immediate", "_foreign_keys=1", "_synchronous=FULL", "_pragma=fullfsync(1)")
	if err := errors.Join(readerErr, writerErr); err != nil {
		return nil, fmt.Errorf("sqlitestore: %w", err)
	}
	writer.SetMaxOpenConns(1)
	s := &Store{path: path, lockTimeout: cmp.Or(opts.LockTimeout, defaultLockTimeout), writer: writer, reader: reader}
	if err := s.setUp(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close closes the file. It does not wait for other calls: those in progress finish and close what
// they use, and later ones return an error. Calling Close again does nothing.
func (s *Store) Close() error {
	return errors.Join(s.reader.Close(), s.writer.Close())
}
