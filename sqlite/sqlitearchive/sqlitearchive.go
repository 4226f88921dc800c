// Package sqlitearchive keeps an archive in a SQLite file. It needs no server, and any number of
// processes on one machine may use the file.
//
//	target, err := sqlitearchive.Open(ctx, "archive.db")
//	if err != nil {
//		return err
//	}
//	defer target.Close()
//	saved, err := archive.New(target).Save(ctx, nil)
//
// Only the user can read a file that Open creates. Blobs and manifests are on disk when a call
// returns.
package sqlitearchive

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"strconv"

	"github.com/clewdev/clew/archive"
	"github.com/clewdev/clew/sqlite/internal/sqlitefile"
)

// A Target is an [archive.Target] in a SQLite file.
type Target struct {
	db *sql.DB
}

var _ archive.Target = (*Target)(nil)

// applicationID marks a file as an archive, in the header of the file.
const applicationID = 0x636c6172

const schema = `
CREATE TABLE blobs (name TEXT PRIMARY KEY, data BLOB NOT NULL) STRICT;
CREATE TABLE manifests (
  machine TEXT NOT NULL, project TEXT NOT NULL, session TEXT NOT NULL, revision INTEGER NOT NULL, data BLOB NOT NULL,
  PRIMARY KEY (machine, project, session)
) STRICT, WITHOUT ROWID;
PRAGMA user_version = 1;
`

// Open opens the archive in a file, and creates the file if it does not exist. Its directory must
// exist. It returns an error if the file is another database, or of a newer version.
func Open(ctx context.Context, path string) (*Target, error) { return open(ctx, path, true) }

// OpenExisting is like [Open], but creates nothing: if there is no file, the error wraps
// [archive.ErrNotFound]. A file that can't be written to is opened for reading.
func OpenExisting(ctx context.Context, path string) (*Target, error) { return open(ctx, path, false) }

func open(ctx context.Context, path string, create bool) (*Target, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("sqlitearchive: %w", err)
	}
	mode := sqlitefile.ReadWrite
	if create {
		err = sqlitefile.Create(path)
	}
	if err == nil {
		err = sqlitefile.Access(path, mode)
	}
	if errors.Is(err, fs.ErrNotExist) && !create {
		return nil, fmt.Errorf("there is no archive in %s: %w", path, archive.ErrNotFound)
	}
	if err != nil && !create && sqlitefile.Access(path, sqlitefile.ReadOnly) == nil {
		mode, err = sqlitefile.ReadOnly, nil
	}
	if err != nil {
		return nil, fmt.Errorf("sqlitearchive: %w", err)
	}
	db, err := sqlitefile.Open(path, mode, "_txlock=immediate", "_synchronous=FULL", "_busy_timeout=60000", "_pragma=fullfsync(1)")
	if err != nil {
		return nil, fmt.Errorf("sqlitearchive: %w", err)
	}
	db.SetMaxOpenConns(1) // the goroutines of a process wait here instead of polling for a lock
	t := &Target{db}
	ready, err := isArchive(ctx, db)
	if err == nil && !ready && !create { // a process that crashed may have created it
		return nil, errors.Join(fmt.Errorf("there is no archive in %s: %w", path, archive.ErrNotFound), db.Close())
	}
	if err == nil && !ready {
		err = t.setUp(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("sqlitearchive: %s: %w", path, errors.Join(err, db.Close()))
	}
	return t, nil
}

// A rower is a database, or a transaction in one.
type rower interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// isArchive reports whether the file is an archive. One that is empty is none, and others are an error.
func isArchive(ctx context.Context, db rower) (bool, error) {
	var id, version, tables int
	// One statement sees one state of the file, which another process may be creating.
	err := db.QueryRowContext(ctx, `SELECT (SELECT application_id FROM pragma_application_id),
		(SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)`).Scan(&id, &version, &tables)
	switch {
	case err != nil:
		return false, err
	case id == applicationID && version == 1:
		return true, nil
	case id == applicationID:
		return false, fmt.Errorf("its version is %d: use a newer clew", version)
	case tables > 0 || id != 0:
		return false, errors.New("it is another database, not an archive")
	}
	return false, nil
}

// setUp creates the tables of an empty file.
func (t *Target) setUp(ctx context.Context) error {
	tx, err := t.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()                                        //nolint:errcheck // after a commit there is nothing to roll back
	if ready, err := isArchive(ctx, tx); err != nil || ready { // another process was faster
		return err
	}
	if _, err := tx.ExecContext(ctx, schema+fmt.Sprintf("PRAGMA application_id = %d;", applicationID)); err != nil {
		return err
	}
	return tx.Commit()
}

// Close closes the file.
func (t *Target) Close() error { return t.db.Close() }

// Put implements [archive.Target].
func (t *Target) Put(ctx context.Context, name string, data []byte) error {
	if err := errors.Join(archive.CheckBlob(name), ctx.Err()); err != nil {
		return err
	}
	_, err := t.db.ExecContext(ctx, "INSERT INTO blobs (name, data) VALUES (?, ?) ON CONFLICT DO NOTHING", name, data)
	return wrapped(err)
}

// Get implements [archive.Target].
func (t *Target) Get(ctx context.Context, name string) ([]byte, error) {
	if err := errors.Join(archive.CheckBlob(name), ctx.Err()); err != nil {
		return nil, err
	}
	var data []byte
	err := t.db.QueryRowContext(ctx, "SELECT data FROM blobs WHERE name = ?", name).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("blob %s: %w", name, archive.ErrNotFound)
	}
	return data, wrapped(err)
}

func wrapped(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("sqlitearchive: %w", err)
}

// Manifest implements [archive.Target].
func (t *Target) Manifest(ctx context.Context, key archive.Key) (archive.Manifest, error) {
	m := archive.Manifest{Key: key}
	if err := errors.Join(key.Check(), ctx.Err()); err != nil {
		return m, err
	}
	var revision int64
	err := t.db.QueryRowContext(ctx, "SELECT revision, data FROM manifests WHERE machine = ? AND project = ? AND session = ?",
		key.Machine, key.Project, key.Session).Scan(&revision, &m.Data)
	if errors.Is(err, sql.ErrNoRows) {
		return archive.Manifest{}, fmt.Errorf("manifest of %s: %w", key, archive.ErrNotFound)
	}
	m.Revision = strconv.FormatInt(revision, 10)
	return m, wrapped(err)
}

// Manifests implements [archive.Target]. It reads all of them before it yields the first, so that
// the loop may use the target.
func (t *Target) Manifests(ctx context.Context, machine string) iter.Seq2[archive.Manifest, error] {
	return func(yield func(archive.Manifest, error) bool) {
		all, err := t.manifests(ctx, machine)
		if err != nil {
			yield(archive.Manifest{}, wrapped(err))
			return
		}
		for _, m := range all {
			if !yield(m, nil) {
				return
			}
		}
	}
}

func (t *Target) manifests(ctx context.Context, machine string) ([]archive.Manifest, error) {
	rows, err := t.db.QueryContext(ctx,
		"SELECT machine, project, session, revision, data FROM manifests WHERE ? IN ('', machine)", machine)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []archive.Manifest
	for rows.Next() {
		var m archive.Manifest
		var revision int64
		if err := rows.Scan(&m.Key.Machine, &m.Key.Project, &m.Key.Session, &revision, &m.Data); err != nil {
			return nil, err
		}
		m.Revision = strconv.FormatInt(revision, 10)
		if m.Err = m.Key.Check(); m.Err != nil {
			m.Data = nil
		}
		all = append(all, m)
	}
	return all, rows.Err()
}

// Swap implements [archive.Target].
func (t *Target) Swap(ctx context.Context, key archive.Key, data []byte, old string) error {
	if err := errors.Join(key.Check(), ctx.Err()); err != nil {
		return err
	}
	var result sql.Result
	var err error
	if old == "" {
		result, err = t.db.ExecContext(ctx, `INSERT INTO manifests (machine, project, session, revision, data)
			VALUES (?, ?, ?, 1, ?) ON CONFLICT DO NOTHING`, key.Machine, key.Project, key.Session, nonNil(data))
	} else {
		result, err = t.db.ExecContext(ctx, `UPDATE manifests SET revision = revision + 1, data = ?
			WHERE machine = ? AND project = ? AND session = ? AND CAST(revision AS TEXT) = ?`,
			nonNil(data), key.Machine, key.Project, key.Session, old)
	}
	if err != nil {
		return wrapped(err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return errors.Join(wrapped(err), fmt.Errorf("%s: %w", key, archive.ErrChanged))
	}
	return nil
}

// nonNil returns data, which the driver would store as NULL if it were nil.
func nonNil(data []byte) []byte {
	if data == nil {
		return []byte{}
	}
	return data
}
