// Package sqlitefile opens SQLite files, for the packages that keep something in one.
package sqlitefile

import (
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// A Mode is the access of a connection to its file. In both modes the file must exist: SQLite creates
// none, neither with its own permissions, nor again after the file was removed.
type Mode string

// The modes.
const (
	ReadWrite Mode = "rw"
	ReadOnly  Mode = "ro"
)

// Open returns the database in a file. The settings apply to each connection, such as
// "_busy_timeout=50". Connections are opened when they are needed, in the same file even if the working
// directory is another one by then.
func Open(path string, mode Mode, settings ...string) (*sql.DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") { // C:/sessions.db
		path = "/" + path
	}
	// Without _error_rc, some errors say "out of memory" and nothing of the reason.
	settings = append([]string{"mode=" + string(mode), "_error_rc=1"}, settings...)
	source := url.URL{Scheme: "file", Path: path, RawQuery: strings.Join(settings, "&")}
	return sql.Open("sqlite", source.String())
}

// Access returns an error unless this process may open the file in that mode. It does not open the file: to
// close it would release the locks that another database of this process has on it.
func Access(path string, mode Mode) error { return access(path, mode) }

// creating is locked until a new file is closed again. Closing it later would release the locks
// that another database of this process has on it by then.
var creating sync.Mutex

// Create creates an empty file that only its owner can read, unless the file exists.
func Create(path string) error {
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
