package sqlitestore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/clewdev/clew/sessions"
)

var (
	_ sessions.Store         = (*Store)(nil)
	_ sessions.ProjectLister = (*Store)(nil)
	_ sessions.Summarizer    = (*Store)(nil)
)

// Options are the settings of a [Store].
type Options struct {
	// LockTimeout is how long a call waits at most while other processes write to the file: 10 seconds if it is 0, and
	// hardly at all if it is negative.
	LockTimeout time.Duration
}

const defaultLockTimeout = 10 * time.Second

// A Store keeps transcripts in a SQLite file. It is a [sessions.ProjectLister] and a [sessions.Summarizer], too. All of
// its methods may be called at once from several goroutines, and return the error of their context when that ends.
type Store struct {
	path        string
	lockTimeout time.Duration
	writer      *sql.DB // one connection: the goroutines of a process line up here, without polling for a lock
	reader      *sql.DB
}

// Open opens the store in the file at a path, and makes the file if there is none; its folder must exist. A file that
// is not a store, is one of a newer version or can't be written is an error, and is left as it is. Damage is an error
// of the call that meets it, here or later, as far as it shows. The path ":memory:", which to SQLite is no file, is an
// error, too: see [sessions.Memory]. The context is for opening only, which waits as a write does. Nil options are the
// default ones.
func Open(ctx context.Context, path string, opts *Options) (*Store, error) {
	if path == "" || path == ":memory:" {
		return nil, fmt.Errorf("sqlitestore: %q is not the path of a file", path)
	}
	if opts == nil {
		opts = &Options{}
	}
	// Connections are opened when they are needed, and the working folder may have changed by then.
	path, err := filepath.Abs(path)
	if err == nil {
		err = createFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("sqlitestore: %w", err)
	}
	reader, readerErr := sql.Open("sqlite", dataSource(path, "_query_only=1"))
	writer, writerErr := sql.Open("sqlite", dataSource(path,
		"_txlock=immediate", "_foreign_keys=1", "_synchronous=FULL", "_pragma=fullfsync(1)"))
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

// Close closes the file. It does not wait for other calls: those that run go on to their end and close what they still
// use, and later ones return an error. A second Close does nothing.
func (s *Store) Close() error {
	return errors.Join(s.reader.Close(), s.writer.Close())
}

// dataSource names the file and the settings of a connection for the driver.
func dataSource(path string, settings ...string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") { // C:/sessions.db
		path = "/" + path
	}
	// With mode=rw, SQLite makes no files: not with its own permissions, and not again after one was removed.
	settings = append(settings, "mode=rw", "_error_rc=1", fmt.Sprintf("_busy_timeout=%d", lockWait.Milliseconds()))
	file := url.URL{Scheme: "file", Path: path, RawQuery: strings.Join(settings, "&")}
	return file.String()
}

// creating is held until a new file is closed again: closing it later would release the locks that another store of
// this process has on it by then.
var creating sync.Mutex

func createFile(path string) error {
	creating.Lock()
	defer creating.Unlock()
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return file.Close()
}
