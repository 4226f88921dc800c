package sqlitestore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// Append adds entries to a transcript in one transaction. It returns when they are on disk. After
// an error, none of them is there. See [sessions.Store].
func (s *Store) Append(ctx context.Context, key wire.SessionKey, entries []wire.JSON) error {
	if err := key.Check(); err != nil {
		return err
	}
	uuids := make([]string, len(entries))
	for i, entry := range entries {
		uuid, err := sessions.EntryUUID(entry)
		if err != nil {
			return fmt.Errorf("sqlitestore: entry %d for %s: %w", i, key, err)
		}
		uuids[i] = uuid
	}
	if len(entries) == 0 {
		return ctx.Err()
	}
	return s.write(ctx, func(tx *sql.Tx) error {
		t, err := openTranscript(ctx, tx, key)
		if err != nil {
			return err
		}
		if err := t.insert(ctx, tx, entries, uuids); err != nil {
			return err
		}
		return t.update(ctx, tx)
	})
}

// A transcript is the transcript that a transaction appends to.
type transcript struct {
	row
	id      int64
	chain   *chain
	isMain  bool             // the main transcript of a session, which has a summary
	summary sessions.Summary // of all entries
}

// openTranscript finds or creates the transcript.
func openTranscript(ctx context.Context, tx *sql.Tx, key wire.SessionKey) (*transcript, error) {
	t := &transcript{isMain: key.Subpath == ""}
	find := func() error {
		return tx.QueryRowContext(ctx, "SELECT id, "+columns+" FROM transcripts WHERE project = ? AND session = ? AND subpath = ?",
			key.Project, key.SessionID, key.Subpath).Scan(append([]any{&t.id}, t.fields()...)...)
	}
	err := find()
	if errors.Is(err, sql.ErrNoRows) {
		_, err = tx.ExecContext(ctx, "INSERT INTO transcripts (project, session, subpath, appended) VALUES (?, ?, ?, 0)",
			key.Project, key.SessionID, key.Subpath)
		if err == nil {
			err = find()
		}
	}
	if err == nil {
		err = t.check()
	}
	if err == nil {
		err = json.Unmarshal([]byte(t.row.summary), &t.summary)
	}
	t.chain = newChain(key, t.unverified)
	if t.last.Valid {
		t.chain.sum = uint32(t.last.Int64) //nolint:gosec // the row was checked
	}
	return t, err
}

// insert adds the entries whose UUIDs are new.
func (t *transcript) insert(ctx context.Context, tx *sql.Tx, entries []wire.JSON, uuids []string) error {
	insert, err := tx.PrepareContext(ctx, `INSERT INTO entries (transcript, uuid, body, sum) VALUES (?, nullif(?, ''), ?, ?)
		ON CONFLICT DO NOTHING`)
	if err != nil {
		return err
	}
	for i, entry := range entries {
		sum := t.chain.sumWith(string(entry))
		result, err := insert.ExecContext(ctx, t.id, uuids[i], string(entry), int64(sum))
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		if err != nil {
			return err
		}
		if n == 0 { // it is already there
			continue
		}
		t.chain.sum, t.last = sum, sql.NullInt64{Int64: int64(sum), Valid: true}
		if t.isMain {
			t.summary.Add(entry)
		}
	}
	return nil
}

// update stores the time, the summary and the checksums.
func (t *transcript) update(ctx context.Context, tx *sql.Tx) error {
	if t.isMain {
		summary, err := json.Marshal(t.summary)
		if err != nil {
			return err
		}
		t.row.summary = string(summary)
	}
	t.appended = time.Now().UnixNano()
	_, err := tx.ExecContext(ctx, "UPDATE transcripts SET appended = ?, summary = ?, last = ?, sum = ? WHERE id = ?",
		t.appended, t.row.summary, t.last, t.checksum(), t.id)
	return err
}

// Delete removes a transcript, or the whole session if the key has no subpath. See
// [sessions.Store].
func (s *Store) Delete(ctx context.Context, key wire.SessionKey) error {
	if err := key.Check(); err != nil {
		return err
	}
	return s.write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx,
			"DELETE FROM transcripts WHERE project = ?1 AND session = ?2 AND (subpath = ?3 OR ?3 = '')",
			key.Project, key.SessionID, key.Subpath)
		return err
	})
}

// write calls f in a transaction. The transaction has the write lock from its start, so it can't
// fail later because another process has it. It commits if f returns nil.
func (s *Store) write(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := retryLocked(s, func() (*sql.Tx, error) { return s.writer.BeginTx(ctx, nil) })
	if err != nil {
		return s.wrapError(ctx, err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	if err := f(tx); err != nil {
		return s.wrapError(ctx, err)
	}
	return s.wrapError(ctx, tx.Commit())
}
