package archive_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
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

// TestRestoreDamagedSide restores a transcript although files beside it are damaged.
func TestRestoreDamagedSide(t *testing.T) {
	t.Parallel()
	d := newAgentDir(t)
	a, dir := newArchive(t)
	side := "projects/" + project + "/" + id(1) + "/tool-results/"
	d.write(mainOf(1), line("one"))
	d.write(side+"a.txt", "whole")
	d.save(a)
	before := files(t, dir.Path())
	d.write(side+"b.txt", "damaged later")
	d.save(a)
	for path := range files(t, dir.Path()) {
		if _, old := before[path]; !old && strings.HasSuffix(path, ".zst") {
			if err := os.Remove(filepath.Join(dir.Path(), path)); err != nil {
				t.Fatal(err)
			}
		}
	}
	d.remove("projects")
	report, err := a.Restore(t.Context(), find(t, a, id(1)), &archive.RestoreOptions{Root: d.root})
	if err != nil || report.Written != 2 || len(report.Problems) != 1 || report.Problems[0].Where != side+"b.txt" {
		t.Fatalf("got %+v, %v", report, err)
	}
	if diff := cmp.Diff(map[string]string{mainOf(1): line("one"), side + "a.txt": "whole"}, files(t, d.root)); diff != "" {
		t.Error("(-want +got)\n", diff)
	}
}

// TestRestoreFailsLate fails while files get their names. The report names the renamed ones.
func TestRestoreFailsLate(t *testing.T) {
	t.Parallel()
	d := newAgentDir(t)
	a, _ := newArchive(t)
	side := "projects/" + project + "/" + id(1) + "/tool-results/a.txt"
	d.write(mainOf(1), line("one"))
	d.write(side, "first")
	d.save(a)
	d.write(side, "other")
	d.remove(mainOf(1))
	opts := &archive.RestoreOptions{Root: d.root, Force: true}
	named := 0
	opts.SetStep(func(step string) {
		if step != "name" {
			return
		}
		if named++; named == 2 { // the transcript comes last
			d.write(mainOf(1), line("of another process"))
		}
	})
	report, err := a.Restore(t.Context(), find(t, a, id(1)), opts)
	if err == nil || report == nil || report.Written != 1 || len(report.Aside) != 1 {
		t.Fatalf("got %+v, %v", report, err)
	}
	if data, err := os.ReadFile(report.Aside[0]); err != nil || string(data) != "other" {
		t.Errorf("the file that was there became %q, %v", data, err)
	}
	if got := d.read(mainOf(1)); got != line("of another process") {
		t.Errorf("the transcript of another process became %q", got)
	}
	for path := range files(t, d.root) {
		if strings.Contains(path, "/.clew-") {
			t.Errorf("it left %s", path)
		}
	}
}

// TestRestoreSteps writes files before each step of a restore. Nothing that was written is lost.
func TestRestoreSteps(t *testing.T) {
	t.Parallel()
	side := "projects/" + project + "/" + id(1) + "/tool-results/a.txt"
	for name, action := range map[string]func(d *agentDir, a *archive.Archive, s *archive.Session) (lines []string){
		"agent appends": func(d *agentDir, _ *archive.Archive, _ *archive.Session) []string {
			return []string{d.appendLine(mainOf(1)), d.appendLine(side)}
		},
		"restore": func(d *agentDir, a *archive.Archive, s *archive.Session) []string {
			_, _ = a.Restore(t.Context(), s, &archive.RestoreOptions{Root: d.root, Force: true}) // one of the two may fail
			return nil
		},
	} {
		for before, text := range map[string]string{"another content": line("other"), "an empty file": "", "no file": "none"} {
			for step, steps := 0, 1; step < steps; step++ {
				d := newAgentDir(t)
				a, _ := newArchive(t)
				d.write(mainOf(1), line("archived"))
				d.write(side, "archived too")
				d.save(a)
				d.remove(mainOf(1))
				var lines []string
				if text != "none" {
					d.write(mainOf(1), text)
					d.write(side, "changed")
					lines = append(lines, text, "changed")
				}
				s, opts, at := find(t, a, id(1)), &archive.RestoreOptions{Root: d.root, Force: true}, 0
				opts.SetStep(func(string) {
					if at == step {
						lines = append(lines, action(d, a, s)...)
					}
					at++
				})
				_, err := a.Restore(t.Context(), s, opts)
				steps = max(steps, at)
				var all strings.Builder
				for path, text := range files(t, d.root) {
					all.WriteString(text)
					if strings.Contains(path, "/.clew-") {
						t.Errorf("%s before step %d, with %s: it left %s", name, step, before, path)
					}
				}
				for _, line := range lines {
					if !strings.Contains(all.String(), line) {
						t.Errorf("%s before step %d, with %s: %q is lost", name, step, before, line)
					}
				}
				if got := d.read(mainOf(1)); err == nil && !strings.HasPrefix(got, line("archived")) {
					t.Errorf("%s before step %d, with %s: it succeeds, and the transcript is %q", name, step, before, got)
				}
			}
		}
	}
}

// appendLine appends a line as an agent does, and returns it.
func (d *agentDir) appendLine(rel string) string {
	d.t.Helper()
	d.tick++
	text := line(fmt.Sprint("appended ", d.tick))
	file, err := os.OpenFile(filepath.Join(d.root, filepath.FromSlash(rel)), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		d.t.Fatal(err)
	}
	_, err = file.WriteString(text)
	if err = errors.Join(err, file.Close()); err != nil {
		d.t.Fatal(err)
	}
	return text
}

// TestRestoreWithoutHardLinks restores over a file with another content, which is renamed.
func TestRestoreWithoutHardLinks(t *testing.T) {
	t.Parallel()
	d := newAgentDir(t)
	a, _ := newArchive(t)
	d.write(mainOf(1), line("archived"))
	d.save(a)
	d.write(mainOf(1), line("other"))
	opts := &archive.RestoreOptions{Root: d.root, Force: true}
	opts.SetLink(func(*os.Root, string, string) error { return syscall.EPERM })
	report, err := a.Restore(t.Context(), find(t, a, id(1)), opts)
	if err != nil || report.Written != 1 || len(report.Aside) != 1 {
		t.Fatalf("got %+v, %v", report, err)
	}
	if got := files(t, d.root); len(got) != 2 || got[mainOf(1)] != line("archived") {
		t.Errorf("got %q", got)
	}
}

// TestRestoreLinks restores to directories that are symbolic links, as Save reads them.
func TestRestoreLinks(t *testing.T) {
	t.Parallel()
	d := newAgentDir(t)
	a, _ := newArchive(t)
	elsewhere := t.TempDir()
	for name, link := range map[string]string{"code": "projects/" + project, "history": "file-history"} {
		path := filepath.Join(d.root, filepath.FromSlash(link))
		target := filepath.Join(elsewhere, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.Mkdir(target, 0o700)); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, path); err != nil {
			t.Skip("no symbolic links: ", err)
		}
	}
	d.fill(1)
	d.save(a)
	want := files(t, elsewhere)
	if len(want) < 3 || len(saved(t, a)) < len(want) {
		t.Fatalf("links were not followed: %d files", len(want))
	}
	for path := range want {
		if err := os.Remove(filepath.Join(elsewhere, path)); err != nil {
			t.Fatal(err)
		}
	}
	report, err := a.Restore(t.Context(), find(t, a, id(1)), &archive.RestoreOptions{Root: d.root})
	if err != nil || report.Written != len(want) {
		t.Fatalf("got %+v, %v", report, err)
	}
	if diff := cmp.Diff(want, files(t, elsewhere)); diff != "" {
		t.Error("(-want +got)\n", diff)
	}
	// Links below these directories are not followed.
	dir := filepath.Join(elsewhere, "code", id(1))
	if err := errors.Join(os.RemoveAll(dir), os.Symlink(t.TempDir(), dir)); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Restore(t.Context(), find(t, a, id(1)), &archive.RestoreOptions{Root: d.root, Force: true}); err == nil {
		t.Error("a link of a session was followed")
	}
}

// TestRestoreElsewhere restores a session in another project, and refuses an invented one.
func TestRestoreElsewhere(t *testing.T) {
	t.Parallel()
	d := newAgentDir(t)
	a, _ := newArchive(t)
	d.fill(1)
	d.save(a)
	want := map[string]string{}
	for path, text := range files(t, d.root) {
		want[strings.Replace(path, "projects/"+project, "projects/-other", 1)] = text
	}
	s := find(t, a, id(1))
	root := t.TempDir()
	report, err := a.Restore(t.Context(), s, &archive.RestoreOptions{Root: root, Project: "-other"})
	if err != nil || report.Path != filepath.Join(root, "projects", "-other", id(1)+".jsonl") {
		t.Fatalf("got %+v, %v", report, err)
	}
	if diff := cmp.Diff(want, files(t, root)); diff != "" {
		t.Error("(-want +got)\n", diff)
	}
	for _, name := range []string{"..", "a/b", "../x"} {
		if _, err := a.Restore(t.Context(), s, &archive.RestoreOptions{Root: root, Project: name}); err == nil {
			t.Errorf("it was restored in project %q", name)
		}
	}
	s.Files[0].Path = "x"
	if _, err := a.Restore(t.Context(), s, &archive.RestoreOptions{Root: root}); err == nil {
		t.Error("a file of no session was restored")
	}
}

// TestConflictNames names the transcript, and leaves an empty one as it is.
func TestConflictNames(t *testing.T) {
	t.Parallel()
	d := newAgentDir(t)
	a, _ := newArchive(t)
	side := "file-history/" + id(1) + "/x@v1" // its path is before that of the transcript
	d.write(mainOf(1), line("one"))
	d.write(side, "one")
	d.save(a)
	d.write(side, "two")
	d.append(mainOf(1), line("two"))
	_, err := a.Restore(t.Context(), find(t, a, id(1)), &archive.RestoreOptions{Root: d.root})
	conflict, ok := errors.AsType[*archive.ConflictError](err)
	if !ok || !conflict.Longer || len(conflict.Paths) != 2 || !strings.Contains(err.Error(), id(1)+".jsonl already has all") {
		t.Errorf("got %v", err)
	}
	d.write(mainOf(1), "")
	_, err = a.Restore(t.Context(), find(t, a, id(1)), &archive.RestoreOptions{Root: d.root})
	if _, ok := errors.AsType[*archive.ConflictError](err); !ok || !strings.Contains(err.Error(), "x@v1 differs") {
		t.Errorf("got %v", err)
	}
	if d.read(mainOf(1)) != "" {
		t.Error("it was replaced")
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
		if i := strings.LastIndex(text, `,"sha256":"`); i > 0 { // with it, the path would not matter
			text = text[:i] + "}"
		}
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
