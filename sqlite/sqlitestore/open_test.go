package sqlitestore_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/sqlite/sqlitestore"
	"github.com/clewdev/clew/wire"
)

func checkRefused(t *testing.T, path, reason string) {
	t.Helper()
	_, err := sqlitestore.Open(t.Context(), path, nil)
	if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), reason) {
		t.Errorf("got %v, want an error with %q and %q", err, path, reason)
	}
}

func TestOpenNeedsAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	checkRefused(t, dir, "unable to open")
	checkRefused(t, ":memory:", "invalid path")
	checkRefused(t, "", "invalid path")
	missing := filepath.Join(dir, "missing", "sessions.db")
	if _, err := sqlitestore.Open(t.Context(), missing, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want %v", err, fs.ErrNotExist)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sqlitestore.Open(ended, filepath.Join(dir, "new.db"), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	open(t, filepath.Join(dir, "new.db"), nil)
}

func TestPathOfAnyCharacters(t *testing.T) {
	t.Parallel()
	names := []string{"a b", "100%41", "50%", "a#b", "a&b=c;d", "ü😀", "'a'"}
	if runtime.GOOS != "windows" { // where these are not valid names
		names = append(names, "file:x", "a?mode=memory", `a\b`, "a\nb", "a\xffb")
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), name)
			s := open(t, path, nil)
			mustAppend(t, s, session, numbered(0, 1))
			checkLoad(t, s, session, numbered(0, 1))
			if _, err := os.Stat(path); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRelativePathStaysWhereItWas(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	s := open(t, "sessions.db", nil)
	mustAppend(t, s, session, numbered(0, 1))
	t.Chdir(t.TempDir())
	checkLoad(t, s, session, numbered(0, 1))
}

func TestOpenRefusesOtherFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("not a database\n", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, "other.db")
	mustExec(t, raw(t, other), "CREATE TABLE bookmarks (url TEXT)")
	newer := filepath.Join(dir, "newer.db")
	if err := open(t, newer, nil).Close(); err != nil {
		t.Fatal(err)
	}
	mustExec(t, raw(t, newer), "PRAGMA user_version = 1000")
	for path, reason := range map[string]string{
		text: "not a database", other: "not a session store", newer: "version 1000",
	} {
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		checkRefused(t, path, reason)
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
			t.Errorf("%s was changed: %v", path, err)
		}
	}
}

// filled returns the bytes of a store with some sessions.
func filled(t *testing.T) []byte {
	t.Helper()
	path := newPath(t)
	s := open(t, path, nil)
	for range 10 {
		mustAppend(t, s, session, []wire.JSON{large(500), large(9000), `{"uuid":"u"}`})
		mustAppend(t, s, subagent, numbered(0, 50))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestTruncatedFile(t *testing.T) {
	t.Parallel()
	content := filled(t)
	for _, size := range []int{99, 100, 4095, 4096, len(content) / 2, len(content) - 4096} {
		path := newPath(t)
		if err := os.WriteFile(path, content[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		checkRefused(t, path, "database")
	}
}

func TestDamagedPages(t *testing.T) {
	t.Parallel()
	const size = 4096
	content := filled(t)
	refused, pages := 0, len(content)/size
	for page := range pages {
		damaged := bytes.Clone(content)
		copy(damaged[page*size:], bytes.Repeat([]byte{0xa5}, size))
		if useAll(t, damaged) != nil {
			refused++
		}
	}
	if refused < pages/2 { // damage can't be seen in pages that have only text
		t.Errorf("%d damaged pages of %d were noticed", refused, pages)
	}
}

// No damage makes a store panic or hang.
func TestDamagedBytes(t *testing.T) {
	t.Parallel()
	content := filled(t)
	random := rand.New(rand.NewPCG(1, 2))
	refused := 0
	for range soak.Size(15, 300) {
		damaged := bytes.Clone(content)
		for i := random.IntN(len(damaged)); i < len(damaged); i += 1 + random.IntN(500) {
			damaged[i] ^= byte(1 + random.IntN(255))
		}
		if useAll(t, damaged) != nil {
			refused++
		}
	}
	soak.Figure(t, "%d files with much damage were refused, none ended the program", refused)
	if refused == 0 {
		t.Error("no damage was noticed")
	}
}

// useAll calls every method of a store with these bytes, and returns the errors.
func useAll(t *testing.T, content []byte) error {
	t.Helper()
	path := newPath(t)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := sqlitestore.Open(t.Context(), path, nil)
	if err != nil {
		return err
	}
	_, loadErr := collect(s.Load(t.Context(), session))
	_, sessionsErr := s.Sessions(t.Context(), session.Project)
	_, summariesErr := s.Summaries(t.Context(), session.Project)
	_, subpathsErr := s.Subpaths(t.Context(), session)
	_, projectsErr := s.Projects(t.Context())
	return errors.Join(loadErr, sessionsErr, summariesErr, subpathsErr, projectsErr,
		s.Append(t.Context(), subagent, numbered(40, 60)), s.Delete(t.Context(), session), s.Close())
}
