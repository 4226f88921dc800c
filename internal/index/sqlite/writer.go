package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// A Writer changes an index, in one transaction. It is for one goroutine at a
// time.
type Writer struct {
	ctx   context.Context
	db    *DB
	words *sql.Stmt
	done  bool
}

// Write begins to change the index. No other process can do so at the same time:
// the error is an [ErrBusy] then.
func (d *DB) Write(ctx context.Context) (*Writer, error) {
	w := &Writer{ctx: context.WithoutCancel(ctx), db: d}
	begin := []string{"BEGIN IMMEDIATE"}
	if d.New {
		// There is nothing yet that a journal could bring back. The lock is kept
		// until the version is there.
		begin = []string{"PRAGMA journal_mode = off", "PRAGMA locking_mode = exclusive", "BEGIN EXCLUSIVE"}
	}
	if err := w.exec(begin...); err != nil {
		return nil, err
	}
	if err := w.prepare(); err != nil {
		w.Abandon()
		return nil, fault(err)
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
	w.words, err = w.db.conn.PrepareContext(w.ctx, "INSERT INTO words (rowid, text) VALUES (?, ?)")
	return err
}

func (w *Writer) exec(statements ...string) error {
	for _, s := range statements {
		if _, err := w.db.conn.ExecContext(w.ctx, s); err != nil {
			return fault(err)
		}
	}
	return nil
}

// Put puts down what is known of a file. An ID of 0 means that the file is new. It
// returns the ID.
func (w *Writer) Put(f *File) (int64, error) {
	if f.ID != 0 {
		_, err := w.db.conn.ExecContext(w.ctx, "UPDATE files SET inode = ?, size = ?, modified = ?, state = ? WHERE id = ?",
			f.Inode, f.Size, f.Modified, f.State, f.ID)
		return f.ID, fault(err)
	}
	result, err := w.db.conn.ExecContext(w.ctx, "INSERT INTO files (path, inode, size, modified, state) VALUES (?, ?, ?, ?, ?)",
		f.Path, f.Inode, f.Size, f.Modified, f.State)
	if err != nil {
		return 0, fault(err)
	}
	return result.LastInsertId()
}

// A Content is what the index has of the passages of a part: what [DB.Places] and
// [DB.Filters] return, and the words of each passage.
type Content struct {
	Places, Filters []byte
	Words           [][]byte
}

// Add adds a part of a file.
func (w *Writer) Add(p Part, c *Content) error {
	result, err := w.db.conn.ExecContext(w.ctx, "INSERT INTO parts (file, newest, places, filters) VALUES (?, ?, ?, ?)",
		p.File, p.Newest, c.Places, c.Filters)
	if err != nil {
		return fault(err)
	}
	id, err := result.LastInsertId()
	if err != nil {
		return err
	}
	for i, text := range c.Words {
		if _, err := w.words.ExecContext(w.ctx, id<<partBits|int64(i), text); err != nil {
			return fault(err)
		}
	}
	return nil
}

// Drop removes a file.
func (w *Writer) Drop(file int64) error {
	if err := w.Empty(file); err != nil {
		return err
	}
	_, err := w.db.conn.ExecContext(w.ctx, "DELETE FROM files WHERE id = ?", file)
	return fault(err)
}

// Empty removes the parts of a file.
func (w *Writer) Empty(file int64) error {
	for _, s := range []string{
		`DELETE FROM words WHERE rowid IN (
			SELECT d.id FROM parts p JOIN words_docsize d ON d.id BETWEEN p.id << 16 AND (p.id << 16) + 65535 WHERE p.file = ?)`,
		"DELETE FROM parts WHERE file = ?",
	} {
		if _, err := w.db.conn.ExecContext(w.ctx, s, file); err != nil {
			return fault(err)
		}
	}
	return nil
}

// Commit keeps the changes. The version comes last into a new file: one that was
// left before has none, and is thrown away.
func (w *Writer) Commit() error {
	w.done = true
	err := w.words.Close()
	if w.db.New {
		err = errors.Join(err, w.exec("INSERT INTO words (words, rank) VALUES ('automerge', 4)"))
	}
	if err = errors.Join(err, w.exec("COMMIT")); err != nil {
		return err
	}
	if !w.db.New {
		return nil
	}
	w.db.New = false
	return w.exec("PRAGMA synchronous = normal", fmt.Sprintf("PRAGMA user_version = %d", version),
		"PRAGMA locking_mode = normal", "PRAGMA user_version", "PRAGMA journal_mode = delete", "PRAGMA synchronous = off")
}

// Abandon gives the changes up, unless they were committed. A new file is of no
// use then.
func (w *Writer) Abandon() {
	if w.done {
		return
	}
	w.done = true
	if w.words != nil {
		_ = w.words.Close()
	}
	_ = w.exec("ROLLBACK")
}
