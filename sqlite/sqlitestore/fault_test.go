package sqlitestore_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/sqlite/sqlitestore"
	"github.com/clewdev/clew/wire"
)

// raw opens the file of a store with one connection, as another process would.
func raw(t *testing.T, path string) *sql.Conn {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(conn.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	})
	return conn
}

func mustExec(t *testing.T, conn *sql.Conn, statement string) {
	t.Helper()
	if _, err := conn.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func checkSame[T any](t *testing.T, before, after T) {
	t.Helper()
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}

func TestFullFile(t *testing.T) {
	t.Parallel()
	s := open(t, newPath(t), nil)
	mustAppend(t, s, session, numbered(0, 3))
	before, err := s.Sessions(t.Context(), session.Project)
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.Atoi(ask(t, s, "PRAGMA page_count"))
	if err != nil {
		t.Fatal(err)
	}
	for more := range 30 { // each time, the failure comes a bit later
		ask(t, s, fmt.Sprintf("PRAGMA max_page_count = %d", pages+more))
		err := s.Append(t.Context(), session, append(numbered(3, 20), large(200<<10)))
		if err == nil || !strings.Contains(err.Error(), "full") {
			t.Fatalf("with room for %d pages: got error %v", more, err)
		}
		checkLoad(t, s, session, numbered(0, 3))
		after, err := s.Sessions(t.Context(), session.Project)
		if err != nil {
			t.Fatal(err)
		}
		checkSame(t, before, after)
	}
	ask(t, s, fmt.Sprintf("PRAGMA max_page_count = %d", pages+100))
	mustAppend(t, s, session, numbered(2, 20))
	checkLoad(t, s, session, numbered(0, 20))
}

func large(size int) wire.JSON { return wire.JSON(`{"text":"` + strings.Repeat("x", size) + `"}`) }

func TestFailureAtTheNthEntry(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	s := open(t, path, nil)
	mustAppend(t, s, session, numbered(0, 2))
	before, err := s.Summaries(t.Context(), session.Project)
	if err != nil {
		t.Fatal(err)
	}
	other := raw(t, path)
	for _, n := range []int{2, 3, 7, 9} {
		// FAIL keeps what earlier statements did.
		mustExec(t, other, fmt.Sprintf(`CREATE TRIGGER broken BEFORE INSERT ON entries WHEN NEW.uuid = 'u-%d'
			BEGIN SELECT RAISE(FAIL, 'the disk is on fire'); END`, n))
		for _, key := range []wire.SessionKey{session, {Project: "-home-me", SessionID: "new"}} {
			err := s.Append(t.Context(), key, numbered(2, 10))
			if err == nil || !strings.Contains(err.Error(), "on fire") || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v", err)
			}
		}
		mustExec(t, other, "DROP TRIGGER broken")
		checkLoad(t, s, session, numbered(0, 2))
		after, err := s.Summaries(t.Context(), session.Project)
		if err != nil {
			t.Fatal(err)
		}
		checkSame(t, before, after)
	}
	mustAppend(t, s, session, numbered(2, 10))
	checkLoad(t, s, session, numbered(0, 10))
}

func TestLockedFile(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	waiting := open(t, path, nil)
	hasty := open(t, path, &sqlitestore.Options{LockTimeout: -1})
	mustAppend(t, waiting, session, numbered(0, 2))
	other := raw(t, path)
	mustExec(t, other, "BEGIN IMMEDIATE")

	checkLoad(t, hasty, session, numbered(0, 2)) // readers don't wait
	for name, call := range map[string]func() error{
		"Append": func() error { return hasty.Append(t.Context(), session, numbered(2, 3)) },
		"Delete": func() error { return hasty.Delete(t.Context(), session) },
		"Open": func() error {
			_, err := sqlitestore.Open(t.Context(), path, &sqlitestore.Options{LockTimeout: -1})
			return err
		},
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), "locked") || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := waiting.Append(ctx, session, numbered(2, 3)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Append with a deadline: got %v", err)
	}
	appended := make(chan error)
	go func() { appended <- waiting.Append(t.Context(), session, numbered(3, 4)) }()
	checkLoad(t, waiting, session, numbered(0, 2))

	mustExec(t, other, "COMMIT")
	if err := <-appended; err != nil {
		t.Errorf("Append that waited: %v", err)
	}
	mustAppend(t, hasty, session, numbered(4, 5))
	checkLoad(t, hasty, session, append(numbered(0, 2), numbered(3, 5)...))
}

// A process that is killed in a transaction leaves everything that was confirmed, and nothing else.
func TestKilledInATransaction(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	if got := killAfter(t, play(t, "transaction", path), 1); got != appendSize {
		t.Fatalf("%d entries are confirmed", got)
	}
	wal, err := os.Stat(path + "-wal")
	if err != nil || wal.Size() < 1<<20 {
		t.Fatalf("the transaction has not written to the disk: %v, %v", wal, err)
	}
	s := open(t, path, nil)
	checkLoad(t, s, session, numbered(0, appendSize))
	if got := ask(t, s, "PRAGMA integrity_check"); got != "ok" {
		t.Error(got)
	}
	mustAppend(t, s, session, numbered(0, appendSize+3))
	checkLoad(t, s, session, numbered(0, appendSize+3))
}

// Processes that are killed while writing leave a valid file with everything that was confirmed.
func TestKilledProcessesLoseNothing(t *testing.T) {
	t.Parallel()
	rnd := soak.Search(t)
	path := newPath(t)
	for range 20 {
		var acknowledged [2]int
		lines := [2]int{10 + rnd.IntN(30), 10 + rnd.IntN(30)}
		var wg sync.WaitGroup
		for i := range acknowledged {
			wg.Go(func() { acknowledged[i] = killAfter(t, play(t, "append", path), lines[i]) })
		}
		wg.Wait()
		s := open(t, path, nil)
		got, err := collect(s.Load(t.Context(), session))
		if err != nil {
			t.Fatal(err)
		}
		if want := slices.Max(acknowledged[:]); len(got) < want || len(got)%appendSize != 0 {
			t.Errorf("got %d entries, want at least %d, in groups of %d", len(got), want, appendSize)
		}
		if diff := cmp.Diff(numbered(0, len(got)), got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if got := ask(t, s, "PRAGMA integrity_check"); got != "ok" {
			t.Error(got)
		}
	}
}

// killAfter runs a process, kills it after a number of lines of its output, and returns the number
// on the last line.
func killAfter(t *testing.T, cmd *exec.Cmd, lines int) int {
	t.Helper()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Error(err)
		return 0
	}
	last, seen := 0, 0
	for scanner := bufio.NewScanner(stdout); scanner.Scan(); seen++ {
		if last, err = strconv.Atoi(scanner.Text()); err != nil {
			t.Error(err)
		}
		if seen == lines { // the loop continues with the rest of the pipe
			_ = cmd.Process.Kill()
		}
	}
	_ = cmd.Wait()
	if seen <= lines {
		t.Errorf("the process ended after %d lines: %s", seen, stderr.String())
	}
	return last
}
