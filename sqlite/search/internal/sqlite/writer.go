package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Writer changes an index, in one transaction. It must not be used by several goroutines at once.
type Writer struct {
	ctx   context.Context
	db    *DB
	words *sql.Stmt
	said  *sql.Stmt
	done  bool
}

// Write starts a transaction. It returns an [ErrBusy] while another process is writing.
func (d *DB) Write(ctx context.Context) (*Writer, error) {
	w := &Writer{ctx: context.WithoutCancel(ctx), db: d}
	begin := []string{"BEGIN IMMEDIATE"}
	if d.New {
		// A journal would have nothing to restore. The lock is kept until the version is written.
		begin = []string{"PRAGMA journal_mode = off", "PRAGMA locking_mode = exclusive", "BEGIN EXCLUSIVE"}
	}
	if err := w.exec(begin...); err != nil {
		return nil, err
	}
	if err := w.prepare(); err != nil {
		w.Abandon()
		return nil, classify(err)
	}
	return w, nil
}

func (w *Writer) prepare() error {
	if w.db.New {
		var tables int
		if err := w.db.conn.QueryRowContext(w.ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
			return err
		}
		if tables > 0 { // another process was faster
			return fmt.Errorf("%w: it has just been built", ErrBusy)
		}
		if err := w.exec(schema); err != nil {
			return err
		}
		// Segments are merged once, at the end.
		if err := w.exec("INSERT INTO words (words, rank) VALUES ('automerge', 0)"); err != nil {
			return err
		}
	}
	var err error
	if w.words, err = w.db.conn.PrepareContext(w.ctx, "INSERT INTO words (rowid, text) VALUES (?, ?)"); err == nil {
		w.said, err = w.db.conn.PrepareContext(w.ctx, "INSERT INTO said (rowid, text) VALUES (?, ?)")
	}
	return err
}

// closeStatements closes what prepare made.
func (w *Writer) closeStatements() (err error) {
	for _, s := range []*sql.Stmt{w.words, w.said} {
		if s != nil {
			err = errors.Join(err, s.Close())
		}
	}
	return err
}

func (w *Writer) exec(statements ...string) error {
	for _, s := range statements {
		if _, err := w.db.conn.ExecContext(w.ctx, s); err != nil {
			return classify(err)
		}
	}
	return nil
}

// Put stores a file, and returns its ID. An ID of 0 means that the file is new.
func (w *Writer) Put(f *File) (int64, error) {
	if f.ID != 0 {
		_, err := w.db.conn.ExecContext(w.ctx, "UPDATE files SET inode = ?, size = ?, modified = ?, state = ?, spills = ? WHERE id = ?",
			f.Inode, f.Size, f.Modified, f.State, f.Spills, f.ID)
		return f.ID, classify(err)
	}
	result, err := w.db.conn.ExecContext(w.ctx, "INSERT INTO files (path, inode, size, modified, state, spills) VALUES (?, ?, ?, ?, ?, ?)",
		f.Path, f.Inode, f.Size, f.Modified, f.State, f.Spills)
	if err != nil {
		return 0, classify(err)
	}
	return result.LastInsertId()
}

// A Content has the data of the passages of a segment: encoded locations and filters, for
// [DB.Locations] and [DB.Filters], and the words of each passage.
type Content struct {
	Locations, Filters []byte
	Words              [][]byte
	Said               []bool // which of them are also in the table of that name
}

// Add adds a segment of a file.
func (w *Writer) Add(p Segment, c *Content) error {
	result, err := w.db.conn.ExecContext(w.ctx, "INSERT INTO parts (file, newest, places, filters) VALUES (?, ?, ?, ?)",
		p.File, p.Newest, c.Locations, c.Filters)
	if err != nil {
		return classify(err)
	}
	id, err := result.LastInsertId()
	if err != nil {
		return err
	}
	for i, text := range c.Words {
		row := id<<segmentBits | int64(i)
		if _, err := w.words.ExecContext(w.ctx, row, text); err != nil {
			return classify(err)
		}
		if c.Said[i] {
			if _, err := w.said.ExecContext(w.ctx, row, text); err != nil {
				return classify(err)
			}
		}
	}
	return nil
}

// AddVocabulary adds words with a key, unless they are there.
func (w *Writer) AddVocabulary(key string, words []string) error {
	var there string
	err := w.db.conn.QueryRowContext(w.ctx, "SELECT words FROM vocabulary WHERE key = ?", key).Scan(&there)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return classify(err)
	}
	known := map[string]bool{}
	for word := range strings.FieldsSeq(there) {
		known[word] = true
	}
	fresh := slices.DeleteFunc(words, func(word string) bool { return known[word] })
	if len(fresh) == 0 {
		return nil
	}
	slices.Sort(fresh)
	there = strings.TrimSpace(there + " " + strings.Join(slices.Compact(fresh), " "))
	_, err = w.db.conn.ExecContext(w.ctx, "INSERT OR REPLACE INTO vocabulary (key, words) VALUES (?, ?)", key, there)
	return classify(err)
}

// Drop removes a file.
func (w *Writer) Drop(file int64) error {
	if err := w.Empty(file); err != nil {
		return err
	}
	_, err := w.db.conn.ExecContext(w.ctx, "DELETE FROM files WHERE id = ?", file)
	return classify(err)
}

// Empty removes the segments of a file.
func (w *Writer) Empty(file int64) error {
	const rows = "DELETE FROM %s WHERE rowid IN (SELECT d.id FROM parts p JOIN %[1]s_docsize d " +
		"ON d.id BETWEEN p.id << 16 AND (p.id << 16) + 65535 WHERE p.file = ?)"
	for _, s := range []string{
		fmt.Sprintf(rows, Words),
		fmt.Sprintf(rows, Said),
		"DELETE FROM parts WHERE file = ?",
	} {
		if _, err := w.db.conn.ExecContext(w.ctx, s, file); err != nil {
			return classify(err)
		}
	}
	return nil
}

// Commit commits the changes. In a new file, the version is written last: a file whose build was
// interrupted has none, and is deleted.
func (w *Writer) Commit() error {
	w.done = true
	err := w.closeStatements()
	if w.db.New {
		err = errors.Join(err, w.exec("INSERT INTO words (words, rank) VALUES ('automerge', 4)"))
	}
	// The lock is kept until the checksum is written.
	if err = errors.Join(err, w.exec("PRAGMA locking_mode = exclusive", "COMMIT")); err != nil {
		return errors.Join(err, w.exec("PRAGMA locking_mode = normal"))
	}
	if w.db.New {
		w.db.New = false
		err = w.exec("PRAGMA synchronous = normal", fmt.Sprintf("PRAGMA user_version = %d", version),
			"PRAGMA journal_mode = delete", "PRAGMA synchronous = off")
	}
	if err == nil {
		err = w.db.writeSum()
	}
	return errors.Join(err, w.exec("PRAGMA locking_mode = normal", "PRAGMA user_version")) // the second releases the lock
}

// Abandon rolls the changes back, unless they were committed.
func (w *Writer) Abandon() {
	if w.done {
		return
	}
	w.done = true
	_ = w.closeStatements()
	_ = w.exec("ROLLBACK")
}
