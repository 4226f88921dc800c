package sqlitestore_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/sqlite/sqlitestore"
)

// readAll returns everything that can be read from a store with these bytes, except for the times.
func readAll(t *testing.T, path string, content []byte) (string, error) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := sqlitestore.Open(t.Context(), path, nil)
	if err != nil {
		return "", err
	}
	entries, loadErr := collect(s.Load(t.Context(), session))
	others, othersErr := collect(s.Load(t.Context(), subagent))
	times, timesErr := s.Sessions(t.Context(), session.Project)
	summaries, summariesErr := s.Summaries(t.Context(), session.Project)
	subpaths, subpathsErr := s.Subpaths(t.Context(), session)
	projects, projectsErr := s.Projects(t.Context())
	return fmt.Sprint(entries, others, times, summaries, subpaths, projects),
		errors.Join(loadErr, othersErr, timesErr, summariesErr, subpathsErr, projectsErr, s.Close())
}

// Whatever byte of a file is damaged: what is read is right, or there is an error.
func TestDamageIsNoticed(t *testing.T) {
	t.Parallel()
	content := filled(t)
	path := newPath(t)
	want, err := readAll(t, path, content)
	if err != nil {
		t.Fatal(err)
	}
	noticed, tries := 0, soak.Size(200, 5000)
	for i := range tries {
		damaged := bytes.Clone(content)
		at := i * len(content) / tries
		damaged[at] ^= byte(1 + i*37%255)
		got, err := readAll(t, path, damaged)
		switch {
		case err != nil:
			noticed++
		case got != want:
			t.Errorf("the byte at %d is %#x instead of %#x, and nobody says so", at, damaged[at], content[at])
		}
	}
	soak.Figure(t, "%d of %d damages were noticed, the others changed nothing", noticed, tries)
	if noticed < tries/4 { // the rest is not used, or does not matter
		t.Errorf("%d damages of %d were noticed", noticed, tries)
	}
}

// An error names the session and the entry.
func TestDamagedEntryIsNamed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ change, want string }{
		"changed": {"UPDATE entries SET body = replace(body, 'user', 'uses') WHERE uuid = 'u-1'", "entry 2 of "},
		"missing": {"DELETE FROM entries WHERE uuid = 'u-1'", "entry 2 of "},
		"last":    {"DELETE FROM entries WHERE uuid = 'u-2'", "missing after entry 2 of "},
		"all":     {"DELETE FROM entries", "missing after entry 0 of "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := newPath(t)
			s := open(t, path, nil)
			mustAppend(t, s, session, numbered(0, 3))
			mustExec(t, raw(t, path), tt.change)
			_, err := collect(s.Load(t.Context(), session))
			if err == nil || !strings.Contains(err.Error(), tt.want+session.String()) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// versionOne is a store of version 1, which had no checksums.
const versionOne = `
CREATE TABLE transcripts (
	id INTEGER PRIMARY KEY, project TEXT NOT NULL, session TEXT NOT NULL, subpath TEXT NOT NULL,
	appended INTEGER NOT NULL, summary TEXT NOT NULL DEFAULT '{}', UNIQUE (project, session, subpath)
) STRICT;
CREATE TABLE entries (
	id INTEGER PRIMARY KEY, transcript INTEGER NOT NULL REFERENCES transcripts (id) ON DELETE CASCADE,
	uuid TEXT, body TEXT NOT NULL
) STRICT;
CREATE INDEX entries_transcript ON entries (transcript);
CREATE UNIQUE INDEX entries_uuid ON entries (transcript, uuid) WHERE uuid IS NOT NULL;
PRAGMA application_id = 0x636c6577; PRAGMA user_version = 1;
`

// Entries from before there were checksums are read, and entries appended after them are checked.
func TestOlderVersion(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	db := raw(t, path)
	mustExec(t, db, versionOne)
	mustExec(t, db, fmt.Sprintf("INSERT INTO transcripts VALUES (1, '%s', '%s', '', 1, '{}')", session.Project, session.SessionID))
	for i, entry := range numbered(0, 3) {
		mustExec(t, db, fmt.Sprintf("INSERT INTO entries VALUES (%d, 1, 'u-%d', '%s')", i+1, i, entry))
	}
	s := open(t, path, nil)
	checkLoad(t, s, session, numbered(0, 3))
	mustAppend(t, s, session, numbered(1, 6))
	checkLoad(t, s, session, numbered(0, 6))
	again := open(t, path, nil)
	checkLoad(t, again, session, numbered(0, 6))
	mustExec(t, db, "DELETE FROM entries WHERE id = 2")
	if got, err := collect(again.Load(t.Context(), session)); err == nil {
		t.Errorf("an entry is missing, and got %d without an error", len(got))
	}
}
