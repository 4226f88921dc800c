package sqlitestore_test

import (
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/sessions/storetest"
	"github.com/clewdev/clew/sqlite/sqlitestore"
	"github.com/clewdev/clew/wire"
)

var _ clew.Store = (*sqlitestore.Store)(nil)

var (
	session  = wire.SessionKey{Project: "-home-me", SessionID: "s1"}
	subagent = wire.SessionKey{Project: "-home-me", SessionID: "s1", Subpath: "subagents/agent-1"}
)

// patient options wait for other writers as long as a busy machine may take.
var patient = sqlitestore.Options{LockTimeout: 10 * time.Minute}

func open(t *testing.T, path string, opts *sqlitestore.Options) *sqlitestore.Store {
	t.Helper()
	if opts == nil {
		opts = &patient
	}
	s, err := sqlitestore.Open(t.Context(), path, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// newPath returns the path of a file that does not exist yet.
func newPath(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "sessions.db")
}

// numbered returns entries with the numbers from a up to, but not including, b, and UUIDs made of
// them.
func numbered(a, b int) []wire.JSON {
	var entries []wire.JSON
	for i := a; i < b; i++ {
		entries = append(entries, wire.JSON(fmt.Sprintf(`{"type":"user","uuid":"u-%d"}`, i)))
	}
	return entries
}

func mustAppend(t *testing.T, s *sqlitestore.Store, key wire.SessionKey, entries []wire.JSON) {
	t.Helper()
	if err := s.Append(t.Context(), key, entries); err != nil {
		t.Fatal(err)
	}
}

func collect(entries iter.Seq2[wire.JSON, error]) ([]wire.JSON, error) {
	var all []wire.JSON
	for entry, err := range entries {
		if err != nil {
			return all, err
		}
		all = append(all, entry)
	}
	return all, nil
}

func checkLoad(t *testing.T, s *sqlitestore.Store, key wire.SessionKey, want []wire.JSON) {
	t.Helper()
	got, err := collect(s.Load(t.Context(), key))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", key, diff)
	}
}

// ask returns a query's result on the connection that the store writes with.
func ask(t *testing.T, s *sqlitestore.Store, query string) string {
	t.Helper()
	conn, err := s.Writer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var answer string
	if err := conn.QueryRowContext(t.Context(), query).Scan(&answer); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return answer
}

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.RunDurable(t, func(t *testing.T, dir string) sessions.Store {
		return open(t, filepath.Join(dir, "sessions.db"), nil)
	})
}

func TestLoadReturnsTheSameText(t *testing.T) {
	t.Parallel()
	s := open(t, newPath(t), nil)
	want := []wire.JSON{
		` { "b" : 1.50 , "a" : [ ] } `, `{"half":"\ud800","null":"a\u0000b"}`, `{"a":1,"a":2}`,
		"{\"line\":\n1}", `{"ü":"\u00fc"}`,
	}
	mustAppend(t, s, session, want)
	checkLoad(t, s, session, want)
}

func TestWhatIsWrittenIsOnDisk(t *testing.T) {
	t.Parallel()
	s := open(t, newPath(t), nil)
	for pragma, want := range map[string]string{
		"synchronous": "2", "fullfsync": "1", "journal_mode": "wal", "foreign_keys": "1",
	} {
		if got := ask(t, s, "PRAGMA "+pragma); got != want {
			t.Errorf("%s: got %s, want %s", pragma, got, want)
		}
	}
}

func TestLoadIsASnapshot(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	s, other := open(t, path, nil), open(t, path, nil)
	mustAppend(t, s, session, numbered(0, 5))
	var got []wire.JSON
	for entry, err := range s.Load(t.Context(), session) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, entry)
		mustAppend(t, other, session, numbered(len(got)+4, len(got)+5))
		if len(got) == 3 {
			if err := other.Delete(t.Context(), session); err != nil {
				t.Fatal(err)
			}
		}
	}
	if diff := cmp.Diff(numbered(0, 5), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	checkLoad(t, s, session, numbered(8, 10))
}

func TestTwoStoresOfOneFile(t *testing.T) {
	t.Parallel()
	const goroutines, appends = 3, 20
	path := newPath(t)
	var wg sync.WaitGroup
	for i := range 2 * goroutines {
		wg.Go(func() {
			s, err := sqlitestore.Open(t.Context(), path, &patient) // several at once create the file
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			for a := range appends {
				n := i/2*appends + a // two goroutines make each append, which counts once
				if err := s.Append(t.Context(), session, numbered(3*n, 3*n+3)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	s := open(t, path, nil)
	got, err := collect(s.Load(t.Context(), session))
	if err != nil || len(got) != 3*goroutines*appends {
		t.Errorf("got %d entries, error %v", len(got), err)
	}
	if got := ask(t, s, "PRAGMA integrity_check"); got != "ok" {
		t.Error(got)
	}
}

func TestDeleteMakesRoom(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	s := open(t, path, nil)
	big := []wire.JSON{wire.JSON(`{"text":"` + strings.Repeat("x", 1<<20) + `"}`)}
	for range 10 {
		mustAppend(t, s, session, big)
		mustAppend(t, s, subagent, numbered(0, 3))
		if err := s.Delete(t.Context(), session); err != nil {
			t.Fatal(err)
		}
	}
	if got := ask(t, s, "SELECT (SELECT count(*) FROM entries) + (SELECT count(*) FROM transcripts)"); got != "0" {
		t.Errorf("%s rows are left", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() > 2<<20 {
		t.Errorf("the file has %d bytes, error %v", info.Size(), err)
	}
}

func TestCloseLeavesOneFile(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	s := open(t, path, nil)
	mustAppend(t, s, session, numbered(0, 3))
	for _, err := range s.Load(t.Context(), session) { // leaving the loop has to close the rows
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(files) != 1 {
		t.Errorf("left: %v, %v", files, err)
	}
	if err := s.Append(t.Context(), session, numbered(3, 4)); err == nil {
		t.Error("Append after Close: no error")
	}
	if _, err := collect(s.Load(t.Context(), session)); err == nil {
		t.Error("Load after Close: no error")
	}
}

func TestCloseInALoop(t *testing.T) {
	t.Parallel()
	s := open(t, newPath(t), nil)
	mustAppend(t, s, session, numbered(0, 300))
	var got []wire.JSON
	for entry, err := range s.Load(t.Context(), session) {
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		got = append(got, entry)
	}
	if diff := cmp.Diff(numbered(0, 300), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSessionsTellTheTimeOfTheLastAppend(t *testing.T) {
	t.Parallel()
	s := open(t, newPath(t), nil)
	var last time.Time
	for i := range 3 {
		before := time.Now()
		mustAppend(t, s, session, numbered(i, i+1))
		after := time.Now()
		mustAppend(t, s, subagent, numbered(i, i+1))
		got, err := s.Sessions(t.Context(), session.Project)
		if err != nil {
			t.Fatal(err)
		}
		if at := got[session.SessionID]; at.Before(before.Round(0)) || at.After(after.Round(0)) || !at.After(last) {
			t.Errorf("got %v, want one from %v to %v, after %v", at, before, after, last)
		}
		last = got[session.SessionID]
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{1, 500} {
		b.Run(fmt.Sprintf("entries=%d", n), func(b *testing.B) {
			s, err := sqlitestore.Open(b.Context(), filepath.Join(b.TempDir(), "sessions.db"), nil)
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			batch := make([]wire.JSON, n)
			b.SetBytes(int64(n) << 10)
			for i := 0; b.Loop(); i++ {
				fill(batch, i*n)
				if err := s.Append(b.Context(), session, batch); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	s, err := sqlitestore.Open(b.Context(), filepath.Join(b.TempDir(), "sessions.db"), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	batch := make([]wire.JSON, 5000)
	fill(batch, 0)
	if err := s.Append(b.Context(), session, batch); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(batch)) << 10)
	for b.Loop() {
		for _, err := range s.Load(b.Context(), session) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

var padding = strings.Repeat("lorem ipsum ", 1<<10/12-6)

// fill makes entries of about 1 KB, with UUIDs in random order.
func fill(batch []wire.JSON, first int) {
	for i := range batch {
		uuid := uint64(first+i) * 0x9e3779b97f4a7c15
		batch[i] = wire.JSON(fmt.Sprintf(`{"type":"user","uuid":"%016x-%016x","message":"%s"}`, uuid, uuid, padding))
	}
}
