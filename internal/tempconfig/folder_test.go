package tempconfig

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// newFolder makes a directory that is removed at the end of the test, and returns it with its
// parent.
func newFolder(t *testing.T) (f *Folder, parent string) {
	t.Helper()
	parent = t.TempDir()
	f, err := newIn(parent)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Remove(); err != nil {
			t.Error(err)
		}
	})
	return f, parent
}

func TestRemove(t *testing.T) {
	t.Parallel()
	f, parent := newFolder(t)
	if err := os.MkdirAll(filepath.Join(f.Path(), "a", "b"), 0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := f.Remove(); err != nil {
			t.Error(err)
		}
	}
	wantIn(t, parent)
	var none *Folder
	if err := none.Remove(); err != nil {
		t.Error(err)
	}
}

// wantIn checks the names in a directory.
func wantIn(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

// holderVariable makes the test binary a process that holds a directory in the one it names, and
// waits to be killed.
const holderVariable = "CLEW_TEST_HOLDER"

func TestMain(m *testing.M) {
	parent := os.Getenv(holderVariable)
	if parent == "" {
		os.Exit(m.Run())
	}
	held, err := newIn(parent)
	if err != nil {
		os.Exit(1)
	}
	os.Stdout.WriteString("ready\n")     //nolint:errcheck // there is nobody to report it to
	_, _ = io.Copy(io.Discard, os.Stdin) // the test never closes it
	runtime.KeepAlive(held)              // its lock is released when it is collected
}

// A directory is swept after the process that held it was killed, and not before.
func TestSweep(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), holderVariable+"="+parent)
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		_, err = out.Read(make([]byte, 1))
	}
	if err != nil {
		t.Fatal(err)
	}
	folders, err := os.ReadDir(parent)
	if err != nil || len(folders) != 1 {
		t.Fatalf("directories %v, error %v", folders, err)
	}
	held := folders[0].Name()
	age(t, filepath.Join(parent, held))
	sweep(parent)
	wantIn(t, parent, held)

	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	sweep(parent)
	wantIn(t, parent)
}

// age makes a directory look an hour old.
func age(t *testing.T, path string) {
	t.Helper()
	then := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, then, then); err != nil {
		t.Fatal(err)
	}
}

// New directories, and directories of other programs, are not swept.
func TestSweepSpares(t *testing.T) {
	t.Parallel()
	parent, elsewhere := t.TempDir(), t.TempDir()
	for _, name := range []string{prefix + "old", prefix + "young", "another"} {
		if err := os.Mkdir(filepath.Join(parent, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(elsewhere, filepath.Join(parent, prefix+"link")); err != nil {
		t.Skip(err) // some systems don't let everybody make links
	}
	if err := os.WriteFile(filepath.Join(parent, prefix+"file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{prefix + "old", prefix + "file", "another"} {
		age(t, filepath.Join(parent, name))
	}
	age(t, elsewhere)
	f, err := newIn(parent)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Remove(); err != nil {
		t.Error(err)
	}
	wantIn(t, parent, "another", prefix+"file", prefix+"link", prefix+"young")
	if _, err := os.Stat(elsewhere); err != nil {
		t.Error(err)
	}
}
