package sqlitestore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// Load returns the entries that the transcript has when the loop starts, with the same text as they
// were appended. It reads them from the file during the loop. That does not block writers, but
// while the loop runs, the file that ends in "-wal" grows with everything that is written. If an
// entry was changed or is missing, the error comes after the last entry. See [sessions.Store].
func (s *Store) Load(ctx context.Context, key wire.SessionKey) iter.Seq2[wire.JSON, error] {
	return func(yield func(wire.JSON, error) bool) {
		if err := key.Check(); err != nil {
			yield("", err)
			return
		}
		tx, err := retryLocked(s, func() (*sql.Tx, error) { return s.reader.BeginTx(ctx, nil) })
		if err != nil {
			yield("", s.wrapError(ctx, err))
			return
		}
		defer func() { _ = tx.Rollback() }() // nothing was changed
		s.load(ctx, tx, key, yield)
	}
}

// load is Load in a transaction, which sees the row of the transcript and its entries at the same
// time.
func (s *Store) load(ctx context.Context, tx *sql.Tx, key wire.SessionKey, yield func(wire.JSON, error) bool) {
	var id int64
	var unverified int
	var last sql.NullInt64
	for err := range s.rowsIn(ctx, tx, []any{&id, &unverified, &last},
		"SELECT id, unverified, last FROM transcripts WHERE project = ? AND session = ? AND subpath = ?",
		key.Project, key.SessionID, key.Subpath) {
		if err != nil {
			yield("", err)
			return
		}
	}
	var body string
	c := newChain(key, unverified)
	for err := range s.rowsIn(ctx, tx, []any{&body}, "SELECT body FROM entries WHERE transcript = ? ORDER BY id", id) {
		if err != nil {
			yield("", err)
			return
		}
		c.next(body)
		if !yield(wire.JSON(body), nil) {
			return
		}
	}
	if err := c.end(last); err != nil {
		yield("", s.wrapError(ctx, cmp.Or(s.damaged(ctx, tx, id, newChain(key, unverified)), err)))
	}
}

// damaged returns the error of the first entry that does not match its checksum, or nil. Reading
// the checksums of all entries takes longer than the entries alone, so load compares only the last
// one first.
func (s *Store) damaged(ctx context.Context, tx *sql.Tx, id int64, c *chain) error {
	var body string
	var sum sql.NullInt64
	for err := range s.rowsIn(ctx, tx, []any{&body, &sum}, "SELECT body, sum FROM entries WHERE transcript = ? ORDER BY id", id) {
		if err == nil {
			err = c.check(body, sum)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Sessions returns the sessions of a project with the times of their last appends. See
// [sessions.Store].
func (s *Store) Sessions(ctx context.Context, project string) (map[string]time.Time, error) {
	if err := checkProject(project); err != nil {
		return nil, err
	}
	found := map[string]time.Time{}
	for r, err := range s.sessionRows(ctx, project) {
		if err != nil {
			return nil, err
		}
		found[r.key.SessionID] = time.Unix(0, r.appended)
	}
	return found, nil
}

// sessionRows returns the rows of the sessions of a project. An error is the last pair.
func (s *Store) sessionRows(ctx context.Context, project string) iter.Seq2[*row, error] {
	return func(yield func(*row, error) bool) {
		r := new(row)
		for err := range s.rows(ctx, r.fields(), "SELECT "+columns+" FROM transcripts WHERE project = ? AND subpath = ''", project) {
			if err == nil {
				err = s.wrapError(ctx, r.check())
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// Summaries returns the summaries of the sessions of a project. See [sessions.Summarizer].
func (s *Store) Summaries(ctx context.Context, project string) (map[string]sessions.Summary, error) {
	if err := checkProject(project); err != nil {
		return nil, err
	}
	found := map[string]sessions.Summary{}
	for r, err := range s.sessionRows(ctx, project) {
		if err != nil {
			return nil, err
		}
		var summary sessions.Summary
		if err := json.Unmarshal([]byte(r.summary), &summary); err != nil {
			return nil, s.wrapError(ctx, fmt.Errorf("summary of session %s: %w", r.key.SessionID, err))
		}
		found[r.key.SessionID] = summary
	}
	return found, nil
}

// Subpaths returns the subpaths of a session's other transcripts, sorted. See [sessions.Store].
func (s *Store) Subpaths(ctx context.Context, key wire.SessionKey) ([]string, error) {
	key.Subpath = ""
	if err := key.Check(); err != nil {
		return nil, err
	}
	return s.names(ctx, "SELECT subpath FROM transcripts WHERE project = ? AND session = ? AND subpath <> '' ORDER BY 1",
		key.Project, key.SessionID)
}

// Projects returns the projects that have sessions, sorted. See [sessions.ProjectLister].
func (s *Store) Projects(ctx context.Context) ([]string, error) {
	return s.names(ctx, "SELECT DISTINCT project FROM transcripts WHERE subpath = '' ORDER BY 1")
}

func checkProject(project string) error {
	return wire.SessionKey{Project: project, SessionID: "any"}.Check()
}

// names returns the values of a query's only column.
func (s *Store) names(ctx context.Context, query string, args ...any) ([]string, error) {
	var name string
	var names []string
	for err := range s.rows(ctx, []any{&name}, query, args...) {
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

// rows scans each row of a query into the variables that to points to, and yields nil for it. An
// error is the last value.
func (s *Store) rows(ctx context.Context, to []any, query string, args ...any) iter.Seq[error] {
	return s.rowsIn(ctx, s.reader, to, query, args...)
}

// A queryer is a database or a transaction.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// rowsIn is rows for a query in a transaction.
func (s *Store) rowsIn(ctx context.Context, in queryer, to []any, query string, args ...any) iter.Seq[error] {
	return func(yield func(error) bool) {
		rows, err := retryLocked(s, func() (*sql.Rows, error) { return in.QueryContext(ctx, query, args...) })
		if err != nil {
			yield(s.wrapError(ctx, err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			err := rows.Scan(to...)
			if !yield(s.wrapError(ctx, err)) || err != nil {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(s.wrapError(ctx, err))
		}
	}
}
