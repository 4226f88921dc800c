package files_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/clewdev/clew/internal/files"
)

// holderVariable makes the test binary a process that locks the file it names, and waits to be
// killed.
const holderVariable = "CLEW_TEST_HOLDER"

func TestMain(m *testing.M) {
	path := os.Getenv(holderVariable)
	if path == "" {
		os.Exit(m.Run())
	}
	lock, err := files.TryLock(path)
	if err != nil {
		os.Exit(1)
	}
	os.Stdout.WriteString("ready\n")     //nolint:errcheck // there is nobody to report it to
	_, _ = io.Copy(io.Discard, os.Stdin) // the test never closes it
	runtime.KeepAlive(lock)
}

// startHolder starts another process that holds the lock of a file. The function that it returns
// kills the process.
func startHolder(t *testing.T, path string) (kill func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), holderVariable+"="+path)
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	return func() {
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // it was killed
	}
}

// A process has a lock until it is killed.
func TestLockOfOtherProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	kill := startHolder(t, path)
	if _, err := files.TryLock(path); !errors.Is(err, files.ErrLocked) {
		t.Errorf("TryLock: %v", err)
	}
	if files.RemoveUnlocked(path) {
		t.Error("removed while it is locked")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := files.Lock(ctx, path); !errors.Is(err, context.Canceled) {
		t.Errorf("Lock: %v", err)
	}
	// The other ways to lock wait.
	locked := make(chan error)
	await := func(open func() (*os.File, error)) {
		f, err := open()
		if err == nil {
			err = files.Unlock(f)
		}
		locked <- err
	}
	go await(func() (*os.File, error) { return files.Lock(t.Context(), path) })
	go await(func() (*os.File, error) { return files.LockShared(path) })
	go await(func() (*os.File, error) { return files.Open(path, os.O_RDWR, 0) })
	select {
	case err := <-locked:
		t.Errorf("locked twice: %v", err)
	default:
	}
	kill()
	for range 3 {
		if err := <-locked; err != nil {
			t.Error(err)
		}
	}
	if !files.RemoveUnlocked(path) {
		t.Error("not removed though its owner was killed")
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is there: %v", err)
	}
	if !files.RemoveUnlocked(path) {
		t.Error("a missing file is locked")
	}
}

func TestLockInProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	first, err := files.TryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	second, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if err := files.TryLockFile(second); !errors.Is(err, files.ErrLocked) {
		t.Errorf("two have the lock: %v", err)
	}
	if _, err := second.WriteString("x"); err != nil {
		t.Errorf("a locked file can't be written: %v", err)
	}
	if err := files.Unlock(first); err != nil {
		t.Error(err)
	}
	if err := files.TryLockFile(second); err != nil {
		t.Error(err)
	}
	if _, err := files.TryLock(path); !errors.Is(err, files.ErrLocked) {
		t.Errorf("two have the lock: %v", err)
	}
}

func TestLockShared(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	var shared []*os.File
	for range 2 {
		f, err := files.LockShared(path)
		if err != nil {
			t.Fatal(err)
		}
		shared = append(shared, f)
	}
	for _, f := range shared {
		if _, err := files.TryLock(path); !errors.Is(err, files.ErrLocked) {
			t.Errorf("a shared file can be locked: %v", err)
		}
		if files.RemoveUnlocked(path) {
			t.Error("a shared file was removed")
		}
		if err := files.Unlock(f); err != nil {
			t.Error(err)
		}
	}
	if !files.RemoveUnlocked(path) {
		t.Error("nobody shares the file any more, and it stays")
	}
}

// A program has a copy of the open file, as each one has for a moment when it is started.
func TestUnlockCopy(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("programs get no other files")
	}
	path := filepath.Join(t.TempDir(), "lock")
	lock, err := files.TryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sleep", "600")
	cmd.ExtraFiles = []*os.File{lock}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = cmd.Process.Kill(), cmd.Wait() }()
	if err := files.Unlock(lock); err != nil {
		t.Error(err)
	}
	again, err := files.TryLock(path)
	if err != nil {
		t.Fatalf("when it was unlocked: %v", err)
	}
	if err := files.RemoveLocked(again); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is there: %v", err)
	}
}

// A link at the place of a lock file is not followed.
func TestLockLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	target, path := filepath.Join(dir, "target"), filepath.Join(dir, "lock")
	if err := os.Symlink(target, path); err != nil || runtime.GOOS == "windows" {
		t.Skip("links:", err)
	}
	if _, err := files.TryLock(path); err == nil || errors.Is(err, files.ErrLocked) {
		t.Errorf("TryLock: %v", err)
	}
	if files.RemoveUnlocked(path) {
		t.Error("a link counts as a file that nobody has locked")
	}
	if _, err := os.Lstat(target); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the target was made: %v", err)
	}
}

// A file that is replaced or removed after it was opened, and before it is locked, is opened again.
func TestOpenReplacedFile(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("an open file can't be replaced")
	}
	path := filepath.Join(t.TempDir(), "file")
	attempts := 0
	f, err := files.OpenWith(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600, func(f *os.File) error {
		attempts++
		switch attempts {
		case 1:
			if err := errors.Join(os.WriteFile(path+".new", []byte("new"), 0o600), os.Rename(path+".new", path)); err != nil {
				t.Fatal(err)
			}
		case 2:
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
		return files.TryLockFile(f)
	})
	if err != nil {
		t.Fatal(err)
	}
	if attempts != 3 {
		t.Errorf("%d attempts", attempts)
	}
	if _, err := f.WriteString("newer"); err != nil {
		t.Error(err)
	}
	if err := files.Unlock(f); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(path); string(text) != "newer" || err != nil {
		t.Errorf("got %q, %v", text, err)
	}
}
