package sqlitestore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// Load returns the entries that the transcript has when the loop begins, with the same text as they
// were appended. It reads them from the file during the loop. That does not block writers, but
// while the loop runs, the file that ends in "-wal" grows with everything that is written. See
// [sessions.Store].
func (s *Store) Load(ctx context.Context, key wire.SessionKey) iter.Seq2[wire.JSON, error] {
	return func(yield func(wire.JSON, error) bool) {
		if err := key.Check(); err != nil {
			yield("", err)
			return
		}
		var body string
		for err := range s.rows(ctx, []any{&body}, `SELECT body FROM entries WHERE transcript =
			(SELECT id FROM transcripts WHERE project = ? AND session = ? AND subpath = ?) ORDER BY id`,
			key.Project, key.SessionID, key.Subpath) {
			if err != nil {
				yield("", err)
				return
			}
			if !yield(wire.JSON(body), nil) {
				return
			}
		}
	}
}

// Sessions returns the sessions of a project with the times of their last appends. See
// [sessions.Store].
func (s *Store) Sessions(ctx context.Context, project string) (map[string]time.Time, error) {
	if err := checkProject(project); err != nil {
		return nil, err
	}
	var id string
	var appended int64
	found := map[string]time.Time{}
	for err := range s.rows(ctx, []any{&id, &appended},
		"SELECT session, appended FROM transcripts WHERE project = ? AND subpath = ''", project) {
		if err != nil {
			return nil, err
		}
		found[id] = time.Unix(0, appended)
	}
	return found, nil
}

// Summaries returns the summaries of the sessions of a project. See [sessions.Summarizer].
func (s *Store) Summaries(ctx context.Context, project string) (map[string]sessions.Summary, error) {
	if err := checkProject(project); err != nil {
		return nil, err
	}
	var id string
	var text []byte
	found := map[string]sessions.Summary{}
	for err := range s.rows(ctx, []any{&id, &text},
		"SELECT session, summary FROM transcripts WHERE project = ? AND subpath = ''", project) {
		if err != nil {
			return nil, err
		}
		var summary sessions.Summary
		if err := json.Unmarshal(text, &summary); err != nil {
			return nil, s.wrapError(ctx, fmt.Errorf("summary of session %s: %w", id, err))
		}
		found[id] = summary
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
	return func(yield func(error) bool) {
		rows, err := retryLocked(s, func() (*sql.Rows, error) { return s.reader.QueryContext(ctx, query, args...) })
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
