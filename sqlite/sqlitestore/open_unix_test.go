//go:build linux || darwin

package sqlitestore_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/clewdev/clew/sqlite/sqlitestore"
)

func init() {
	roles["read-only"] = openReadOnly
	roles["full disk"] = fillDisk
}

func TestOnlyTheOwnerMayRead(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	s := open(t, path, nil)
	mustAppend(t, s, session, numbered(0, 1))
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != 0o600 {
			t.Errorf("%s: got %v", info.Name(), info.Mode())
		}
	}
}

func TestDanglingLink(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	if err := os.Symlink(path+"-target", path); err != nil {
		t.Fatal(err)
	}
	checkRefused(t, path, "unable to open")
}

// A process of another user does this, so that the test also works for root, who may write
// everything.
func TestReadOnlyFile(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	if err := open(t, path, nil).Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o444); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	mustPlay(t, "read-only", path)
}

func openReadOnly(ctx context.Context, path string) error {
	const nobody = 65534
	if os.Geteuid() == 0 {
		// Others may not be allowed to reach the directory for temporary files, so it becomes the
		// root.
		if err := syscall.Chroot(filepath.Dir(path)); err != nil {
			return err
		}
		if err := errors.Join(os.Chdir("/"), syscall.Setuid(nobody)); err != nil {
			return err
		}
		path = "/" + filepath.Base(path)
	}
	_, err := sqlitestore.Open(ctx, path, nil)
	if err == nil || !strings.Contains(err.Error(), "readonly") || !strings.Contains(err.Error(), path) {
		return fmt.Errorf("opening a file that can't be written: %w", cmp.Or(err, errors.New("no error")))
	}
	return nil
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	mustPlay(t, "full disk", newPath(t))
}

// fillDisk appends while files have a size limit, which is a bit higher each time, so that each
// write fails once.
func fillDisk(ctx context.Context, path string) error {
	signal.Ignore(syscall.SIGXFSZ)
	s, err := sqlitestore.Open(ctx, path, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	kept, failures := 0, 0
	for limit := uint64(0); failures == 0 || kept < 100; limit += 3000 {
		err := limited(limit, func() error { return s.Append(ctx, session, append(numbered(kept, kept+10), large(20000))) })
		if err != nil {
			failures++
		} else {
			kept += 11
		}
		got, err := collect(s.Load(ctx, session))
		if err != nil || len(got) != kept {
			return fmt.Errorf("got %d entries, want %d, after %d failures: %w", len(got), kept, failures, err)
		}
	}
	if failures < 5 {
		return fmt.Errorf("%d appends failed", failures)
	}
	return s.Append(ctx, session, numbered(kept, kept+1))
}

func limited(size uint64, f func() error) error {
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		return err
	}
	limit := before
	limit.Cur = size
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	err := f()
	return errors.Join(err, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before))
}
