// Package sqlite stores a full-text index in a SQLite file, with the words of each passage and no
// text. Only package search uses it, which defines passages.
//
// Passages are stored in segments of one file each. In the database, segments are the table parts,
// and their encoded locations the column places.
package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/clewdev/clew/sqlite/internal/sqlitefile"
)

// version is the version of the schema and of the way in which transcripts are split into passages
// and words. A file of another version must be rebuilt.
const version = 11

// segmentBits is the number of bits of a passage's number that are its number in its segment.
const segmentBits = 16

// SegmentSize is the most passages of a segment.
const SegmentSize = 1 << segmentBits

// Errors that callers handle. They are returned wrapped.
var (
	// ErrDamaged means that the file must be deleted: see [Remove].
	ErrDamaged = errors.New("damaged")
	// ErrVersion is an ErrDamaged for a file of another version, or a file whose build was
	// interrupted.
	ErrVersion = fmt.Errorf("%w: it has another version", ErrDamaged)
	// ErrBusy means that another process is writing.
	ErrBusy = errors.New("in use by another process")
)

// A DB is an open index. It must not be used by several goroutines at once.
type DB struct {
	path string
	// file is the same file, to read it for its checksum. Closing it would release the locks that
	// this process has on the index, so it is closed last.
	file *os.File
	db   *sql.DB
	conn *sql.Conn
	// filters is the statement of Filters, which is called often, or nil.
	filters *sql.Stmt
	// New reports whether the index is new and empty.
	New bool
	// summed reports whether the file was read for its checksum.
	summed bool
}

const schema = `
CREATE TABLE files (
	id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL UNIQUE,
	inode INTEGER NOT NULL, size INTEGER NOT NULL, modified INTEGER NOT NULL, state BLOB NOT NULL,
	spills BLOB
);
CREATE TABLE parts (
	id INTEGER PRIMARY KEY AUTOINCREMENT, file INTEGER NOT NULL, newest INTEGER NOT NULL,
	places BLOB NOT NULL, filters BLOB NOT NULL
);
CREATE INDEX parts_file ON parts (file);
CREATE TABLE vocabulary (key TEXT PRIMARY KEY, words TEXT NOT NULL) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5(
	text, content='', contentless_delete=1, detail=none, tokenize='ascii'
);
INSERT INTO words (words, rank) VALUES ('hashsize', 33554432);
CREATE VIRTUAL TABLE said USING fts5(
	text, content='', contentless_delete=1, detail=none, tokenize='ascii'
);
`

// A Table is a table of words.
type Table string

// The tables. Passages of the second are in the first as well. They are few, so that a search in
// them does not read the words of all others.
const (
	Words Table = "words"
	Said  Table = "said"
)

// Open opens the index in a file, and creates the file if it does not exist. Only its owner may
// read it.
func Open(ctx context.Context, path string) (*DB, error) {
	file, err := openFirst(path)
	if err != nil {
		return nil, err
	}
	db, err := sqlitefile.Open(path, sqlitefile.ReadWrite,
		"_pragma=busy_timeout(1000)", "_pragma=synchronous(off)", "_pragma=cache_size(-65536)", "_pragma=temp_store(memory)")
	if err != nil {
		return nil, errors.Join(classify(err), closeLast(path, file))
	}
	d := &DB{path: path, file: file, db: db}
	if d.conn, err = db.Conn(ctx); err == nil {
		err = d.check(ctx)
	}
	if err == nil && !d.New {
		err = d.verify(ctx)
	}
	if err != nil {
		return nil, errors.Join(classify(err), d.Close())
	}
	return d, nil
}

// Remove deletes an index. It is not an error if there is none.
func Remove(path string) error {
	err := os.Remove(path)
	for _, suffix := range []string{"-journal", "-wal", "-shm", sumSuffix} {
		if more := os.Remove(path + suffix); more != nil && !errors.Is(more, os.ErrNotExist) {
			err = errors.Join(err, more)
		}
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// Close closes the index. Changes that were not committed are lost.
func (d *DB) Close() error {
	var err error
	if d.filters != nil {
		err = d.filters.Close()
	}
	if d.conn != nil {
		err = errors.Join(err, d.conn.Close())
	}
	return errors.Join(err, d.db.Close(), closeLast(d.path, d.file))
}

// handles are the files of indexes that are open in this process, by path. Closing one releases all
// locks that the process has on the index, including the locks of another DB: so files that are
// closed while there is another DB wait for its end.
var handles = struct {
	sync.Mutex
	open map[string]int
	done map[string][]*os.File
}{open: map[string]int{}, done: map[string][]*os.File{}}

// openFirst opens the file of an index. Only its owner may read it.
func openFirst(path string) (*os.File, error) {
	handles.Lock()
	defer handles.Unlock()
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		handles.open[path]++
	}
	return file, err
}

// closeLast closes the file of an index, and the files that waited for it.
func closeLast(path string, file *os.File) error {
	handles.Lock()
	defer handles.Unlock()
	handles.done[path] = append(handles.done[path], file)
	if handles.open[path]--; handles.open[path] > 0 {
		return nil
	}
	var err error
	for _, file := range handles.done[path] {
		err = errors.Join(err, file.Close())
	}
	delete(handles.open, path)
	delete(handles.done, path)
	return err
}

// check returns an error unless the file is an index of this version, or empty.
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

// classify wraps an error of SQLite in ErrBusy or ErrDamaged, if it is one of these.
func classify(err error) error {
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

// Read starts a transaction: until Close, all calls see the index as it is now. Without it, each
// call takes a separate lock.
func (d *DB) Read(ctx context.Context) error {
	_, err := d.conn.ExecContext(ctx, "BEGIN")
	return classify(err)
}

// A File is a file in the index.
type File struct {
	ID                    int64
	Path                  string
	Inode, Size, Modified int64
	State                 []byte // set for Writer.Put; DB.State returns it
	Spills                []byte // the calls whose results are in spills, or nil; like State
}

// Files returns all files of the index, by path.
func (d *DB) Files(ctx context.Context) (map[string]File, error) {
	rows, err := d.conn.QueryContext(ctx, "SELECT id, path, inode, size, modified FROM files")
	if err != nil {
		return nil, classify(err)
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
	return files, classify(rows.Err())
}

// State returns the state of a file, and the calls whose results are in spills.
func (d *DB) State(ctx context.Context, file int64) (state, spills []byte, err error) {
	err = d.conn.QueryRowContext(ctx, "SELECT state, spills FROM files WHERE id = ?", file).Scan(&state, &spills)
	return state, spills, classify(err)
}

// Spills returns the calls whose results are in spills, by the ID of the transcript.
func (d *DB) Spills(ctx context.Context) (map[int64][]byte, error) {
	rows, err := d.conn.QueryContext(ctx, "SELECT id, spills FROM files WHERE spills IS NOT NULL")
	if err != nil {
		return nil, classify(err)
	}
	defer rows.Close()
	found := map[int64][]byte{}
	for rows.Next() {
		var id int64
		var spills []byte
		if err := rows.Scan(&id, &spills); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		found[id] = spills
	}
	return found, classify(rows.Err())
}

// A Segment is a group of passages of a file.
type Segment struct {
	ID, File int64
	Newest   int64 // the time of its newest passage
}

// Segments returns all segments, by ID.
func (d *DB) Segments(ctx context.Context) (map[int64]Segment, error) {
	rows, err := d.conn.QueryContext(ctx, "SELECT id, file, newest FROM parts")
	if err != nil {
		return nil, classify(err)
	}
	defer rows.Close()
	segments := map[int64]Segment{}
	for rows.Next() {
		var p Segment
		if err := rows.Scan(&p.ID, &p.File, &p.Newest); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		segments[p.ID] = p
	}
	return segments, classify(rows.Err())
}

// Locations returns the encoded locations of the passages of a segment.
func (d *DB) Locations(ctx context.Context, segment int64) ([]byte, error) {
	return d.ofSegment(ctx, "SELECT places FROM parts WHERE id = ?", segment)
}

// Filters returns the encoded filters of the passages of a segment.
func (d *DB) Filters(ctx context.Context, segment int64) (data []byte, err error) {
	if d.filters == nil {
		if d.filters, err = d.conn.PrepareContext(ctx, "SELECT filters FROM parts WHERE id = ?"); err != nil {
			return nil, classify(err)
		}
	}
	return oneOf(d.filters.QueryRowContext(ctx, segment), segment)
}

// A Column is a column of segments.
type Column string

// The columns.
const (
	Locations Column = "places"
	Filters   Column = "filters"
)

// Contents calls visit with the encoded locations or filters of segments. They are valid until visit
// returns.
func (d *DB) Contents(ctx context.Context, column Column, segments []int64, visit func(id int64, data []byte) error) error {
	ids, err := json.Marshal(segments)
	if err != nil {
		return err
	}
	rows, err := d.conn.QueryContext(ctx, fmt.Sprintf("SELECT id, %s FROM parts WHERE id IN (SELECT value FROM json_each(?))", column), string(ids))
	if err != nil {
		return classify(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var data sql.RawBytes
		if err := rows.Scan(&id, &data); err != nil {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		if err := visit(id, data); err != nil {
			return err
		}
	}
	return classify(rows.Err())
}

func (d *DB) ofSegment(ctx context.Context, query string, segment int64) ([]byte, error) {
	return oneOf(d.conn.QueryRowContext(ctx, query, segment), segment)
}

// oneOf returns the column of a segment.
func oneOf(row *sql.Row, segment int64) (data []byte, err error) {
	err = row.Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("%w: segment %d is missing", ErrDamaged, segment)
	}
	return data, classify(err)
}

// Vocabulary calls visit with the words that passages have, with spaces between them, by a key.
func (d *DB) Vocabulary(ctx context.Context, visit func(key, words string)) error {
	rows, err := d.conn.QueryContext(ctx, "SELECT key, words FROM vocabulary")
	if err != nil {
		return classify(err)
	}
	defer rows.Close()
	for rows.Next() {
		var key, words string
		if err := rows.Scan(&key, &words); err != nil {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		visit(key, words)
	}
	return classify(rows.Err())
}

// Match calls visit for each segment with the numbers of the passages of a table that match an FTS5
// expression, in their order. They are valid until visit returns.
func (d *DB) Match(ctx context.Context, table Table, expression string, visit func(segment int64, numbers []int)) error {
	var list sql.NullString
	// One row is much faster than one for each passage.
	query := fmt.Sprintf("SELECT group_concat(rowid) FROM %s WHERE %[1]s MATCH ?", table)
	err := d.conn.QueryRowContext(ctx, query, expression).Scan(&list)
	if err != nil || list.String == "" {
		return classify(err)
	}
	var segment, id int64
	var numbers []int
	for i := range len(list.String) + 1 {
		if i < len(list.String) && list.String[i] != ',' {
			digit := list.String[i] - '0'
			if digit > 9 {
				return fmt.Errorf("%w: a passage has a bad number", ErrDamaged)
			}
			id = 10*id + int64(digit)
			continue
		}
		if id>>segmentBits != segment && len(numbers) > 0 {
			visit(segment, numbers)
			numbers = numbers[:0]
		}
		segment, numbers = id>>segmentBits, append(numbers, int(id&(SegmentSize-1)))
		id = 0
	}
	visit(segment, numbers)
	return nil
}
