package archive_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/archive"
)

func find(t *testing.T, a *archive.Archive, prefix string) *archive.Session {
	t.Helper()
	s, err := a.Find(t.Context(), prefix, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRestore(t *testing.T) {
	t.Parallel()
	d := newAgentDir(t)
	a, _ := newArchive(t)
	d.fill(1)
	want := files(t, d.root)
	d.save(a)
	for _, dir := range []string{"projects", "file-history", "tasks", "todos"} {
		d.remove(dir)
	}
	begun := time.Now().Add(-time.Second)
	report, err := a.Restore(t.Context(), find(t, a, id(1)), &archive.RestoreOptions{Root: d.root})
	if err != nil || report.Written != len(want) {
		t.Fatalf("got %+v, %v", report, err)
	}
	if diff := cmp.Diff(want, files(t, d.root)); diff != "" {
		t.Error("(-want +got)\n", diff)
	}
	for path := range want {
		info, err := os.Stat(filepath.Join(d.root, path))
		if err != nil || info.ModTime().Before(begun) || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: the agent would delete it: %v, %v", path, info, err)
		}
	}
	report, err = a.Restore(t.Context(), find(t, a, id(1)), &archive.RestoreOptions{Root: d.root})
	if err != nil || report.Written != 0 || report.Same != len(want) {
		t.Errorf("a second time: got %+v, %v", report, err)
	}
}

func TestRestoreConflict(t *testing.T) {
	t.Parallel()
	d := newAgentDir(t)
	a, _ := newArchive(t)
	d.write(mainOf(1), line("one"))
	d.save(a)
	s := find(t, a, id(1))
	for name, text := range map[string]string{"longer": line("one") + line("two"), "other": line("xyz"), "shorter": "{"} {
		d.write(mainOf(1), text)
		_, err := a.Restore(t.Context(), s, &archive.RestoreOptions{Root: d.root})
		conflict, ok := errors.AsType[*archive.ConflictError](err)
		if !ok || conflict.Longer != (name == "longer") || d.read(mainOf(1)) != text {
			t.Errorf("%s: got %v", name, err)
		}
	}
	d.write(mainOf(1), line("xyz"))
	report, err := a.Restore(t.Context(), s, &archive.RestoreOptions{Root: d.root, Force: true})
	if err != nil || len(report.Aside) != 1 || d.read(mainOf(1)) != line("one") {
		t.Fatalf("got %+v, %v", report, err)
	}
	if data, err := os.ReadFile(report.Aside[0]); err != nil || string(data) != line("xyz") {
		t.Errorf("the file that was there became %q, %v", data, err)
	}
	d.write(mainOf(1), "")
	if _, err := a.Restore(t.Context(), s, &archive.RestoreOptions{Root: d.root}); err != nil {
		t.Errorf("an empty transcript is none: %v", err)
	}
}

// TestRestoreDamaged writes no part of a damaged transcript.
func TestRestoreDamaged(t *testing.T) {
	t.Parallel()
	d := newAgentDir(t)
	a, dir := newArchive(t)
	d.write(mainOf(1), line("one"))
	d.save(a)
	d.remove("projects")
	blobs, _ := filepath.Glob(filepath.Join(dir.Path(), "blobs", "*", "*"))
	if err := os.Remove(blobs[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Restore(t.Context(), find(t, a, id(1)), &archive.RestoreOptions{Root: d.root}); err == nil {
		t.Error("it was restored")
	}
	if left := files(t, d.root); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
}

// TestForeignPaths gives manifests that name files elsewhere. Nothing of them is used.
func TestForeignPaths(t *testing.T) {
	t.Parallel()
	for _, path := range []string{
		"../../etc/passwd", "/etc/passwd", "settings.json", ".credentials.json", "projects/" + project + "/../../settings.json",
		"projects/other/" + id(1) + ".jsonl", "projects/" + project + "/" + id(2) + ".jsonl", "projects/" + project + "/x",
		"file-history/" + id(2) + "/x", "todos/x.json", "tasks/" + id(1), `projects/` + project + `/` + id(1) + `/..\..\x`,
		"projects/" + project + "/" + id(1) + "/" + strings.Repeat("d/", 40) + "x", "hooks/x", "projects", "",
		"projects/" + project + "/" + id(1) + "/c:x",
	} {
		d := newAgentDir(t)
		a, dir := newArchive(t)
		d.write(mainOf(1), line("one"))
		d.save(a)
		file := filepath.Join(dir.Path(), "sessions", "box", project, id(1)+".json")
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		quoted := strings.ReplaceAll(path, `\`, `\\`)
		text := strings.Replace(string(data), `"path":"`+mainOf(1), `"path":"`+quoted, 1)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if all, problems, err := a.Sessions(t.Context()); err != nil || len(all) != 0 || len(problems) != 1 {
			t.Errorf("%q: got %v, %v, %v", path, all, problems, err)
		}
	}
}

func TestUnpack(t *testing.T) {
	t.Parallel()
	d := newAgentDir(t)
	a, _ := newArchive(t)
	d.fill(1)
	d.fill(2)
	d.write(mainOf(3), line("three")+line("four"))
	d.save(a)
	want := map[string]string{}
	for path, text := range files(t, d.root) {
		if strings.Contains(path, id(1)) || strings.Contains(path, "old1") {
			want["box/"+path] = text
		}
	}
	times, err := os.Stat(filepath.Join(d.root, mainOf(1)))
	if err != nil {
		t.Fatal(err)
	}
	d.remove(mainOf(1))
	dir := filepath.Join(t.TempDir(), "cache")
	opts := &archive.UnpackOptions{Live: []string{d.root}}
	unpack := func(sessions, written int) {
		t.Helper()
		u, err := a.Unpack(t.Context(), dir, opts)
		if err != nil || u.Sessions != sessions || u.Written != written || len(u.Problems) > 0 {
			t.Fatalf("got %+v, %v", u, err)
		}
	}
	unpack(1, 1)
	got := files(t, dir)
	delete(got, "unpacked.json")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("only what is gone (-want +got)\n", diff)
	}
	if info, err := os.Stat(filepath.Join(dir, "box", mainOf(1))); err != nil || !info.ModTime().Equal(times.ModTime()) {
		t.Errorf("it has another time: %v", err)
	}
	unpack(1, 0)
	if err := os.Remove(filepath.Join(dir, "box", mainOf(1))); err != nil {
		t.Fatal(err)
	}
	unpack(1, 1) // somebody has cleaned the cache
	d.write(mainOf(3), line("three"))
	unpack(2, 1) // the archive has more
	d.write(mainOf(3), line("three")+line("four"))
	if _, err := a.Restore(t.Context(), find(t, a, id(1)), &archive.RestoreOptions{Root: d.root}); err != nil {
		t.Fatal(err)
	}
	unpack(0, 0)
	if got := files(t, dir); len(got) != 1 {
		t.Errorf("sessions that are live again stayed: %v", got)
	}
}

// TestUnpackLooksNewer: package sessions takes the newest copy of a session, and the longer one has to
// be that.
func TestUnpackLooksNewer(t *testing.T) {
	t.Parallel()
	d := newAgentDir(t)
	a, _ := newArchive(t)
	d.write(mainOf(1), line("one")+line("two"))
	d.save(a)
	d.write(mainOf(1), line("one"))
	dir := t.TempDir()
	if _, err := a.Unpack(t.Context(), dir, &archive.UnpackOptions{Live: []string{d.root}}); err != nil {
		t.Fatal(err)
	}
	live, err1 := os.Stat(filepath.Join(d.root, mainOf(1)))
	copied, err2 := os.Stat(filepath.Join(dir, "box", mainOf(1)))
	if err1 != nil || err2 != nil || !copied.ModTime().After(live.ModTime()) {
		t.Errorf("got %v and %v", copied, live)
	}
}
