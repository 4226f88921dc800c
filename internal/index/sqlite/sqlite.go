// Package sqlite keeps a full-text index in a SQLite file: which words a passage
// has, and no text. It is for package index alone, which says what passages are.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// version is that of the layout, and of what the index makes of transcripts. A
// file of another version is of no use.
const version = 2

// partBits is how many bits of the number of a passage are its number in a part.
const partBits = 16

// PartSize is how many passages a part has at most.
const PartSize = 1 << partBits

// The errors that say what to do about a file. They come wrapped.
var (
	// ErrDamaged says that the file has to be thrown away: see [Remove].
	ErrDamaged = errors.New("damaged")
	// ErrVersion is an ErrDamaged for a file of another version, or of a build that
	// was killed.
	ErrVersion = fmt.Errorf("%w: of another version", ErrDamaged)
	// ErrBusy says that another process writes.
	ErrBusy = errors.New("in use by another process")
)

// A DB is an open index. It is for one goroutine at a time.
type DB struct {
	db   *sql.DB
	conn *sql.Conn
	// New says that the index is empty and was not there before.
	New bool
}

const schema = `
CREATE TABLE files (
	id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL UNIQUE,
	inode INTEGER NOT NULL, size INTEGER NOT NULL, modified INTEGER NOT NULL, state BLOB NOT NULL
);
CREATE TABLE parts (
	id INTEGER PRIMARY KEY AUTOINCREMENT, file INTEGER NOT NULL, newest INTEGER NOT NULL,
	places BLOB NOT NULL, filters BLOB NOT NULL
);
CREATE INDEX parts_file ON parts (file);
CREATE VIRTUAL TABLE words USING fts5(
	text, content='', contentless_delete=1, detail=none, tokenize='ascii'
);
INSERT INTO words (words, rank) VALUES ('hashsize', 33554432);
`

// Open opens the index in a file, which it makes if there is none. Only its owner
// may read it.
func Open(ctx context.Context, path string) (*DB, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := file.Close(); err != nil {
		return nil, err
	}
	name := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}
	name.RawQuery = "_pragma=busy_timeout(1000)&_pragma=synchronous(off)&_pragma=cache_size(-65536)&_pragma=temp_store(memory)"
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, fault(err)
	}
	d := &DB{db: db}
	if d.conn, err = db.Conn(ctx); err == nil {
		err = d.check(ctx)
	}
	if err != nil {
		return nil, errors.Join(fault(err), d.Close())
	}
	return d, nil
}

// Remove throws an index away.
func Remove(path string) error {
	err := os.Remove(path)
	for _, suffix := range []string{"-journal", "-wal", "-shm"} {
		if more := os.Remove(path + suffix); more != nil && !errors.Is(more, os.ErrNotExist) {
			err = errors.Join(err, more)
		}
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// Close closes the index. What was not committed is lost.
func (d *DB) Close() error {
	var err error
	if d.conn != nil {
		err = d.conn.Close()
	}
	return errors.Join(err, d.db.Close())
}

// check looks whether the file is an index of this version, or empty.
func (d *DB) check(ctx context.Context) error {
	var found, tables int
	// One statement: another process may build the index between two.
	err := d.conn.QueryRowContext(ctx,
		"SELECT user_version, (SELECT count(*) FROM sqlite_schema) FROM pragma_user_version").Scan(&found, &tables)
	if err != nil {
		return err
	}
	switch {
	case found == version:
		return nil
	case found == 0 && tables == 0:
		d.New = true
		return nil
	}
	return ErrVersion
}

// fault says what an error means for the file.
func fault(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code() & 0xFF {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return fmt.Errorf("%w: %w", ErrBusy, err)
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB, lib.SQLITE_SCHEMA, lib.SQLITE_ERROR, lib.SQLITE_FORMAT:
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return err
}

// Read makes what follows, up to Close, see the index as it is now. Without it, each
// call takes a lock of its own.
func (d *DB) Read(ctx context.Context) error {
	_, err := d.conn.ExecContext(ctx, "BEGIN")
	return fault(err)
}

// A File is what the index knows of a file.
type File struct {
	ID                    int64
	Path                  string
	Inode, Size, Modified int64
	State                 []byte // only in what Put takes, and State returns
}

// Files returns all files of the index, by path.
func (d *DB) Files(ctx context.Context) (map[string]File, error) {
	rows, err := d.conn.QueryContext(ctx, "SELECT id, path, inode, size, modified FROM files")
	if err != nil {
		return nil, fault(err)
	}
	defer rows.Close()
	files := map[string]File{}
	for rows.Next() {
		var f File
		if err := rows.Scan(&f.ID, &f.Path, &f.Inode, &f.Size, &f.Modified); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		files[f.Path] = f
	}
	return files, fault(rows.Err())
}

// State returns what was put down as the state of a file.
func (d *DB) State(ctx context.Context, file int64) ([]byte, error) {
	var state []byte
	err := d.conn.QueryRowContext(ctx, "SELECT state FROM files WHERE id = ?", file).Scan(&state)
	return state, fault(err)
}

// A Part is some of the passages of a file.
type Part struct {
	ID, File int64
	Newest   int64 // the time of the newest one
}

// Parts returns all parts, by ID.
func (d *DB) Parts(ctx context.Context) (map[int64]Part, error) {
	rows, err := d.conn.QueryContext(ctx, "SELECT id, file, newest FROM parts")
	if err != nil {
		return nil, fault(err)
	}
	defer rows.Close()
	parts := map[int64]Part{}
	for rows.Next() {
		var p Part
		if err := rows.Scan(&p.ID, &p.File, &p.Newest); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		parts[p.ID] = p
	}
	return parts, fault(rows.Err())
}

// Places returns what was put down as the places of a part.
func (d *DB) Places(ctx context.Context, part int64) ([]byte, error) {
	return d.ofPart(ctx, "SELECT places FROM parts WHERE id = ?", part)
}

// Filters returns what was put down as the filters of a part.
func (d *DB) Filters(ctx context.Context, part int64) ([]byte, error) {
	return d.ofPart(ctx, "SELECT filters FROM parts WHERE id = ?", part)
}

func (d *DB) ofPart(ctx context.Context, query string, part int64) (data []byte, err error) {
	err = d.conn.QueryRowContext(ctx, query, part).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("%w: there is no part %d", ErrDamaged, part)
	}
	return data, fault(err)
}

// Match returns the numbers, inside of their parts, of the passages that an
// expression of FTS5 matches.
func (d *DB) Match(ctx context.Context, expression string) (map[int64][]int, error) {
	var list sql.NullString
	// One row is much faster than one for each passage.
	err := d.conn.QueryRowContext(ctx, "SELECT group_concat(rowid) FROM words WHERE words MATCH ?", expression).Scan(&list)
	if err != nil {
		return nil, fault(err)
	}
	found := map[int64][]int{}
	var part int64
	var numbers []int
	for text := range strings.SplitSeq(list.String, ",") {
		if text == "" {
			break
		}
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		if id>>partBits != part {
			if part != 0 {
				found[part] = append(found[part], numbers...)
			}
			part, numbers = id>>partBits, nil
		}
		numbers = append(numbers, int(id&(PartSize-1)))
	}
	if part != 0 {
		found[part] = append(found[part], numbers...)
	}
	return found, nil
}
