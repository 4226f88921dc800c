//go:build unix

package sessions_test

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// fullDisk is the variable with the directory in which a child process of the test has a limit for
// files.
const fullDisk = "SESSIONS_TEST_FULL_DISK"

// TestFolderFullDisk runs in a child process where no file can grow beyond a limit, so that the
// system itself cuts the write.
func TestFolderFullDisk(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv(fullDisk); dir != "" {
		writeUntilFull(t, dir)
		return
	}
	dir := t.TempDir()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFolderFullDisk$", "-test.v")
	child.Env = append(os.Environ(), fullDisk+"="+dir)
	if out, err := child.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS") {
		t.Fatalf("%v\n%s", err, out)
	}
	checkLoad(t, sessions.NewFolder(dir), keyA, longEntry("1"), `{"uuid":"3"}`)
}

func longEntry(uuid string) wire.JSON {
	return wire.JSON(`{"uuid":"` + uuid + `","text":"` + strings.Repeat("x", 3000) + `"}`)
}

func writeUntilFull(t *testing.T, dir string) {
	signal.Ignore(syscall.SIGXFSZ)
	limit := syscall.Rlimit{Cur: 5000, Max: 5000}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	s := sessions.NewFolder(dir)
	mustAppend(t, s, keyA, longEntry("1"))
	before := read(t, dir, "p/"+idA+".jsonl")
	err := s.Append(t.Context(), keyA, []wire.JSON{longEntry("2"), `{"uuid":"4"}`})
	if !errors.Is(err, syscall.EFBIG) {
		t.Fatalf("got %v, want %v", err, syscall.EFBIG)
	}
	if got := read(t, dir, "p/"+idA+".jsonl"); got != before {
		t.Fatalf("the file has %d bytes, want %d", len(got), len(before))
	}
	mustAppend(t, s, keyA, `{"uuid":"3"}`)
}

// A named pipe among the records of running agents is skipped.
func TestRunningRefusesPipes(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, "sessions/x", "")
	if err := syscall.Mkfifo(filepath.Join(root, "sessions", "7.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := sessions.Running(t.Context(), root)
	if len(got) != 0 || err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("got %v, %v", got, err)
	}
}

// Opening a pipe would block until another process opens its other end.
func TestFolderRefusesPipes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "p/x", "")
	if err := syscall.Mkfifo(filepath.Join(dir, "p", idA+".jsonl"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := sessions.NewFolder(dir)
	if err := s.Append(t.Context(), keyA, []wire.JSON{`{}`}); err == nil {
		t.Error("appended")
	}
	for _, err := range s.Load(t.Context(), keyA) {
		if err == nil {
			t.Error("loaded")
		}
	}
	if found, err := s.Sessions(t.Context(), "p"); err != nil || len(found) != 0 {
		t.Errorf("got %v, %v", found, err)
	}
}
