package sqlitearchive_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdev/clew/archive"
	"github.com/clewdev/clew/archive/archivetest"
	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/sqlite/internal/sqlitefile"
	"github.com/clewdev/clew/sqlite/sqlitearchive"
)

func open(t *testing.T, path string) *sqlitearchive.Target {
	t.Helper()
	target, err := sqlitearchive.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := target.Close(); err != nil {
			t.Error(err)
		}
	})
	return target
}

func TestTarget(t *testing.T) {
	t.Parallel()
	archivetest.Run(t, func(t *testing.T) func() archive.Target {
		path := filepath.Join(t.TempDir(), "a ü%20?.db")
		return func() archive.Target { return open(t, path) }
	})
}

// TestSessions saves with one target and reads with another.
func TestSessions(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	const id = "00000000-0000-4000-8000-000000000001"
	dir := filepath.Join(root, "projects", "-p")
	path := filepath.Join(dir, id+".jsonl")
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(path, []byte("{}\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "archive.db")
	if _, err := archive.New(open(t, file)).Save(t.Context(), &archive.SaveOptions{Roots: []string{root}, Machine: "box"}); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	a := archive.New(open(t, file))
	s, err := a.Find(t.Context(), id[:8], nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Restore(t.Context(), s, &archive.RestoreOptions{Root: root}); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "{}\n" {
		t.Errorf("got %q, %v", data, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v", info, err)
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := sqlitearchive.OpenExisting(t.Context(), filepath.Join(dir, "none.db")); !errors.Is(err, archive.ErrNotFound) {
		t.Errorf("no file: got %v", err)
	}
	other := filepath.Join(dir, "other.db")
	db, err := sql.Open("sqlite", other)
	if err == nil {
		_, err = db.ExecContext(t.Context(), "CREATE TABLE mine (x)")
	}
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(dir, "text.db")
	if err := os.WriteFile(text, []byte("a text that is not a database, and quite long"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{other, text, filepath.Join(dir, "missing", "x.db"), dir} {
		if _, err := sqlitearchive.Open(t.Context(), path); err == nil {
			t.Errorf("%s became an archive", path)
		}
	}
}

// TestOpenWhileWritten opens an archive while another process is in a transaction.
func TestOpenWhileWritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	open(t, path)
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(path)+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback() //nolint:errcheck // nothing was written
	target, err := sqlitearchive.OpenExisting(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	for _, err := range target.Manifests(t.Context(), "") {
		t.Error(err)
	}
}

// Processes that create an archive at the same time get the same one.
func TestOpenAtOnce(t *testing.T) {
	t.Parallel()
	for range soak.Size(1, 50) {
		path := filepath.Join(t.TempDir(), "a.db")
		errs := make(chan error)
		for range 8 {
			go func() {
				target, err := sqlitearchive.Open(t.Context(), path)
				if err == nil {
					err = target.Close()
				}
				errs <- err
			}()
		}
		for range 8 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
	}
}

// TestReadOnly reads an archive that can't be written to.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a.db")
	data := []byte("x")
	const name = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
	if err := open(t, path).Put(t.Context(), name, data); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chmod(path, 0o400), os.Chmod(dir, 0o500)); err != nil { //nolint:gosec // a directory needs the bit
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) }) //nolint:gosec // so that it can be removed
	target, err := sqlitearchive.OpenExisting(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	if got, err := target.Get(t.Context(), name); err != nil || string(got) != "x" {
		t.Errorf("got %q, %v", got, err)
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		_ = file.Close()
		return // the superuser can write to it
	}
	if err := target.Put(t.Context(), strings.Repeat("0", 64), data); err == nil {
		t.Error("it was written to")
	}
}

// lockVariable makes the test binary another process, which tries to write to the archive that it names.
const lockVariable = "CLEW_TEST_LOCK"

func TestMain(m *testing.M) {
	path := os.Getenv(lockVariable)
	if path == "" {
		os.Exit(m.Run())
	}
	_, err := begin(context.Background(), path)
	if err != nil {
		fmt.Println(err)
	}
}

// begin starts to write to an archive.
func begin(ctx context.Context, path string) (*sql.DB, error) {
	db, err := sqlitefile.Open(path, sqlitefile.ReadWrite)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	_, err = db.ExecContext(ctx, "BEGIN IMMEDIATE")
	return db, err
}

// TestOpenKeepsLocks opens an archive that another connection of this process writes to: that one keeps its lock.
func TestOpenKeepsLocks(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	open(t, path)
	db, err := begin(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, open := range []func(context.Context, string) (*sqlitearchive.Target, error){sqlitearchive.Open, sqlitearchive.OpenExisting} {
		target, err := open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = target.Close() }) // it was only opened
		other := exec.CommandContext(t.Context(), os.Args[0])
		other.Env = append(os.Environ(), lockVariable+"="+path)
		if out, err := other.CombinedOutput(); err != nil || !strings.Contains(string(out), "locked") {
			t.Errorf("another process started to write as well: %v\n%s", err, out)
		}
	}
}

// TestEmptyFile completes the creation of an archive that a crash interrupted.
func TestEmptyFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlitearchive.OpenExisting(t.Context(), path); !errors.Is(err, archive.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	open(t, path)
	target, err := sqlitearchive.OpenExisting(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := target.Close(); err != nil {
		t.Error(err)
	}
}
