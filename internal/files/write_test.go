package files_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/files"
)

// wantFiles compares the names and contents of the files in a directory.
func wantFiles(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Error(err)
		}
		got[e.Name()] = string(text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 120)
	for name, opts := range map[string]files.WriteOptions{
		"default": {}, "not synced": {NoSync: true}, "mode": {Mode: 0o640}, "new": {New: true}, long: {},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, name)
		if err := files.Write(path, []byte("first"), opts); err != nil {
			t.Fatal(err)
		}
		wantFiles(t, dir, map[string]string{name: "first"})
		err := files.Write(path, []byte("second"), opts)
		if opts.New {
			if !errors.Is(err, fs.ErrExist) {
				t.Errorf("%s: %v", name, err)
			}
			wantFiles(t, dir, map[string]string{name: "first"})
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		wantFiles(t, dir, map[string]string{name: "second"})
		wantMode := opts.Mode
		if wantMode == 0 {
			wantMode = 0o600
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != wantMode && runtime.GOOS != "windows" {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

// A link that leads out of a root is replaced, and not followed.
func TestWriteIn(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "outside")
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := os.Symlink(outside, filepath.Join(dir, "file")); err != nil {
		t.Skip(err) // some systems don't let everybody make links
	}
	if err := files.WriteIn(root, "file", []byte("text"), files.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, dir, map[string]string{"file": "text"})
	if _, err := os.Lstat(outside); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("outside: %v", err)
	}
	if err := files.WriteIn(root, "../outside", []byte("text"), files.WriteOptions{}); err == nil {
		t.Error("a file outside was written")
	}
}

// A reader sees the old content until the new one is complete.
func TestWriteWhileOthersRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := files.Write(path, []byte("old"), files.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	read := func() string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
	var got []string
	err := files.WriteFunc(path, files.WriteOptions{}, func(w io.Writer) error {
		got = append(got, read())
		for _, part := range []string{"n", "ew"} {
			if _, err := io.WriteString(w, part); err != nil {
				return err
			}
			got = append(got, read())
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"old", "old", "old", "new"}, append(got, read())); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A write that fails leaves the old file and no draft.
func TestWriteFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := files.Write(path, []byte("old"), files.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	full := errors.New("disk full")
	err := files.WriteFunc(path, files.WriteOptions{}, func(w io.Writer) error {
		_, err := io.WriteString(w, "half")
		return errors.Join(err, full)
	})
	if !errors.Is(err, full) {
		t.Errorf("a failed write: %v", err)
	}
	wantFiles(t, dir, map[string]string{"file": "old"})

	// A file can't replace a directory.
	folder := filepath.Join(t.TempDir(), "folder")
	if err := os.MkdirAll(filepath.Join(folder, "below"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, opts := range []files.WriteOptions{{}, {New: true}} {
		if err := files.Write(folder, []byte("text"), opts); err == nil {
			t.Errorf("%+v: a directory was replaced", opts)
		}
	}
	if entries, err := os.ReadDir(filepath.Dir(folder)); len(entries) != 1 || err != nil {
		t.Errorf("after a failed rename: %v, %v", entries, err)
	}
	if err := files.Write(filepath.Join(dir, "none", "file"), nil, files.WriteOptions{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing directory: %v", err)
	}
}

// A file system without links has new files as well, and no file is replaced.
func TestPublishWithoutLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, want := range []error{nil, fs.ErrExist} {
		draft := filepath.Join(dir, "draft")
		if err := os.WriteFile(draft, []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := files.PublishWithoutLinks(draft, filepath.Join(dir, "file")); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	wantFiles(t, dir, map[string]string{"file": "text", "draft": "text"})
}

// Windows refuses to replace an open file. A reader has it open for a moment.
func TestRetryRename(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		open := errors.New("it is open")
		until := time.Now().Add(files.RenameLimit / 2)
		rename := func() error {
			if time.Now().Before(until) {
				return open
			}
			return nil
		}
		if err := files.Retry(0, rename); !errors.Is(err, open) {
			t.Errorf("without a limit: %v", err)
		}
		if err := files.Retry(files.RenameLimit, rename); err != nil {
			t.Errorf("a short reader: %v", err)
		}
		until = time.Now().Add(time.Hour)
		if err := files.Retry(files.RenameLimit, rename); !errors.Is(err, open) {
			t.Errorf("a long reader: %v", err)
		}
	})
}

// Drafts of a killed process can be removed, without the drafts of other files.
func TestRemoveDrafts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "file [1].json")
	err := files.WriteFunc(path, files.WriteOptions{}, func(io.Writer) error {
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 1 {
			t.Fatal(entries, err)
		}
		left := strings.TrimRight(entries[0].Name(), "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") + "LEFT"
		for _, name := range []string{left, strings.ReplaceAll(left, "1", "2"), "other"} {
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	files.RemoveDrafts(path)
	wantFiles(t, dir, map[string]string{filepath.Base(path): "", ".new-file [2].json-LEFT": "", "other": ""})
}
