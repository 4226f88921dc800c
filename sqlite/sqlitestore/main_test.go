package sqlitestore_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/sqlite/sqlitestore"
)

// roleVariable makes the test binary run a role instead of tests. Its only argument is the file to
// use.
const roleVariable = "CLEW_TEST_ROLE"

// roles maps names to the tasks of such a process. Files for one system add to them.
var roles = map[string]func(ctx context.Context, path string) error{
	"append":      appendForever,
	"transaction": beginOnly,
}

func TestMain(m *testing.M) {
	role := os.Getenv(roleVariable)
	if role == "" {
		os.Exit(m.Run())
	}
	if err := roles[role](context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// play returns a command for that role, which is not started yet.
func play(t *testing.T, role, path string) *exec.Cmd {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), binary, path)
	cmd.Env = append(os.Environ(), roleVariable+"="+role, "GORACE=atexit_sleep_ms=0")
	return cmd
}

// mustPlay runs a role to its end.
func mustPlay(t *testing.T, role, path string) {
	t.Helper()
	if out, err := play(t, role, path).CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", role, err, strings.TrimSpace(string(out)))
	}
}

// beginOnly appends to the session, prints a line, and starts to append more in a transaction that
// wrote to the disk when it prints the same line again. It never ends.
func beginOnly(ctx context.Context, path string) error {
	s, err := sqlitestore.Open(ctx, path, &patient)
	if err != nil {
		return err
	}
	if err := s.Append(ctx, session, numbered(0, appendSize)); err != nil {
		return err
	}
	fmt.Println(appendSize)
	conn, err := s.Writer(ctx)
	if err != nil {
		return err
	}
	for _, statement := range []string{
		"PRAGMA cache_size = 10", // so that changes don't wait in memory
		"BEGIN IMMEDIATE",
		"UPDATE transcripts SET appended = 1",
		"INSERT INTO entries (transcript, uuid, body, sum) SELECT id, 'u-7', zeroblob(2000000) || '', 1 FROM transcripts",
	} {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	fmt.Println(appendSize)
	polltest.Forever()
	return nil
}

// appendSize is the number of entries appendForever appends at a time.
const appendSize = 7

// appendForever appends to the session without end, and prints a line after each append.
func appendForever(ctx context.Context, path string) error {
	s, err := sqlitestore.Open(ctx, path, &patient)
	if err != nil {
		return err
	}
	had, err := collect(s.Load(ctx, session))
	if err != nil {
		return err
	}
	for n := len(had); ; n += appendSize {
		if err := s.Append(ctx, session, numbered(n, n+appendSize)); err != nil {
			return err
		}
		fmt.Println(n + appendSize)
	}
}
