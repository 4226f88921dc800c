package sessions_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/sessions"
)

// tree returns the files in a directory with their contents. Only the user may have permissions for
// them.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
			t.Errorf("%s: others may use it: %v", path, info.Mode())
		}
		if rel, _ := filepath.Rel(dir, path); !entry.IsDir() {
			files[filepath.ToSlash(rel)] = read(t, dir, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// trashScene makes a session with all files that the agent keeps.
func trashScene(t *testing.T) (dir string, opts *sessions.Options) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "projects")
	write(t, dir, "p/"+idA+".jsonl", string(prompt(`"Mine"`))+"\n")
	write(t, dir, "p/"+idA+"/subagents/agent-1.jsonl", "{}\n")
	write(t, dir, "p/"+idA+"/tool-results/x.txt", "long")
	write(t, dir, "p/"+idB+".jsonl", string(prompt(`"Other"`))+"\n")
	return dir, &sessions.Options{Store: sessions.NewFolder(dir)}
}

func TestDeleteAndRestore(t *testing.T) {
	t.Parallel()
	dir, opts := trashScene(t)
	before := tree(t, dir)
	if err := sessions.Delete(t.Context(), idA, opts); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"p/" + idB + ".jsonl"}, keys(tree(t, dir))); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	trashed, err := sessions.Trash(t.Context(), opts)
	if err != nil || len(trashed) != 1 {
		t.Fatalf("got %+v, %v", trashed, err)
	}
	got := trashed[0]
	if got.ID != idA || got.Project != "p" || got.Title != "Mine" || time.Since(got.Deleted) > time.Hour {
		t.Errorf("got %+v", got)
	}
	if kept := tree(t, got.Path); len(kept) != 4 || kept[idA+".jsonl"] != before["p/"+idA+".jsonl"] {
		t.Errorf("in the trash are %v", kept)
	}
	if err := sessions.Restore(t.Context(), idA, opts); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
		t.Errorf("restored (-want +got):\n%s", diff)
	}
	if err := sessions.Restore(t.Context(), idA, opts); !errors.Is(err, sessions.ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
	if err := sessions.Restore(t.Context(), "../"+idA, opts); err == nil || errors.Is(err, sessions.ErrNotFound) {
		t.Errorf("got %v, want an error that the ID is none", err)
	}
	if left := tree(t, dir+"-trash"); len(left) != 0 {
		t.Errorf("in the trash are still %v", left)
	}
}

func keys(files map[string]string) []string {
	var names []string
	for name := range files {
		names = append(names, name)
	}
	return names
}

// An existing session is never overwritten, nor are the files in its directory.
func TestRestoreOverwritesNothing(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]string{"its file": idA + ".jsonl", "its folder": idA + "/subagents/agent-9.jsonl"} {
		dir, opts := trashScene(t)
		if err := sessions.Delete(t.Context(), idA, opts); err != nil {
			t.Fatal(err)
		}
		write(t, dir, "p/"+file, "{\"new\":1}\n")
		before, trash := tree(t, dir), tree(t, dir+"-trash")
		if err := sessions.Restore(t.Context(), idA, opts); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: got %v, want that it exists", name, err)
		}
		if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(trash, tree(t, dir+"-trash")); diff != "" {
			t.Errorf("%s: the trash (-want +got):\n%s", name, diff)
		}
	}
}

// An empty file does not count as a session.
func TestRestoreOverEmptyFile(t *testing.T) {
	t.Parallel()
	dir, opts := trashScene(t)
	if err := sessions.Delete(t.Context(), idA, opts); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "p/"+idA+".jsonl", "")
	if err := sessions.Restore(t.Context(), idA, opts); err != nil {
		t.Fatal(err)
	}
	if got := read(t, dir, "p/"+idA+".jsonl"); got == "" {
		t.Error("nothing was restored")
	}
}

// The session that was deleted last is restored first.
func TestDeleteTwice(t *testing.T) {
	t.Parallel()
	dir, opts := trashScene(t)
	if err := sessions.Delete(t.Context(), idA, opts); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "q/"+idA+".jsonl", string(prompt(`"Second"`))+"\n")
	if err := sessions.Delete(t.Context(), idA, opts); err != nil {
		t.Fatal(err)
	}
	trashed, err := sessions.Trash(t.Context(), opts)
	if err != nil || len(trashed) != 2 || trashed[0].Title != "Second" {
		t.Fatalf("got %+v, %v", trashed, err)
	}
	of := &sessions.Options{Store: opts.Store, ProjectName: "p"}
	if trashed, err = sessions.Trash(t.Context(), of); err != nil || len(trashed) != 1 || trashed[0].Title != "Mine" {
		t.Errorf("of a project: got %+v, %v", trashed, err)
	}
	if err := sessions.Restore(t.Context(), idA, opts); err != nil {
		t.Fatal(err)
	}
	if info, err := sessions.Get(t.Context(), idA, opts); err != nil || info.Title() != "Second" {
		t.Errorf("got %q, %v", info.Title(), err)
	}
	if err := sessions.Restore(t.Context(), idA, opts); err != nil {
		t.Errorf("into another project: %v", err)
	}
}

func TestEraseAndEmptyTrash(t *testing.T) {
	t.Parallel()
	dir, opts := trashScene(t)
	if err := sessions.Erase(t.Context(), idA, opts); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir + "-trash"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a trash: %v", err)
	}
	if err := sessions.Delete(t.Context(), idB, opts); err != nil {
		t.Fatal(err)
	}
	write(t, dir+"-trash", "other/file", "x") // not written by this package
	if err := sessions.EmptyTrash(t.Context(), time.Now().Add(-time.Hour), opts); err != nil {
		t.Fatal(err)
	}
	if trashed, err := sessions.Trash(t.Context(), opts); err != nil || len(trashed) != 1 {
		t.Errorf("got %+v, %v", trashed, err)
	}
	if err := sessions.EmptyTrash(t.Context(), time.Time{}, opts); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"other/file": "x"}, tree(t, dir+"-trash")); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

// A record in the trash may have any content.
func TestTrashNotes(t *testing.T) {
	t.Parallel()
	dir, opts := trashScene(t)
	for i, note := range []string{
		"", "{", `{"project":"..","session_id":"` + idA + `"}`, `{"project":"p","session_id":"../../x"}`,
		`{"project":"a/b","session_id":"` + idA + `"}`, `{"project":"p","session_id":"` + idB + `"}`,
	} {
		write(t, dir+"-trash", id(i)+"/deleted.json", note)
		write(t, dir+"-trash", id(i)+"/"+idA+".jsonl", "{}\n")
	}
	if trashed, err := sessions.Trash(t.Context(), opts); err != nil || len(trashed) != 0 {
		t.Errorf("got %+v, %v", trashed, err)
	}
}

// If a directory can't be moved, nothing changes.
func TestDeleteFails(t *testing.T) {
	t.Parallel()
	dir, opts := trashScene(t)
	write(t, filepath.Dir(dir), "projects-trash", "a file")
	before := tree(t, dir)
	if err := sessions.Delete(t.Context(), idA, opts); err == nil {
		t.Error("deleted")
	}
	if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// Other stores have no trash.
func TestTrashOfOtherStores(t *testing.T) {
	t.Parallel()
	s := sessions.NewMemory()
	mustAppend(t, s, keyA, user("1", ""))
	opts := &sessions.Options{Store: s}
	if err := sessions.Delete(t.Context(), idA, opts); err != nil {
		t.Fatal(err)
	}
	if trashed, err := sessions.Trash(t.Context(), opts); err != nil || len(trashed) != 0 {
		t.Errorf("got %+v, %v", trashed, err)
	}
	mustAppend(t, s, keyA, user("1", ""))
	if err := sessions.Erase(t.Context(), idA, opts); err != nil {
		t.Fatal(err)
	}
	checkLoad(t, s, keyA)
	none := &sessions.Options{Store: sessions.NewFolder(filepath.Join(t.TempDir(), "none", "projects"))}
	if trashed, err := sessions.Trash(t.Context(), none); err != nil || len(trashed) != 0 {
		t.Errorf("of no folder: got %+v, %v", trashed, err)
	}
}

// folderWithoutLinks returns a store on a file system that has no hard links.
func folderWithoutLinks(dir string) *sessions.Folder {
	folder := sessions.NewFolder(dir)
	folder.SetLink(func(from, to string) error {
		return &os.LinkError{Op: "linkat", Old: from, New: to, Err: syscall.EPERM}
	})
	return folder
}

// deleted moves a session into the trash, and returns its directory there.
func deleted(t *testing.T, opts *sessions.Options) string {
	t.Helper()
	if err := sessions.Delete(t.Context(), idA, opts); err != nil {
		t.Fatal(err)
	}
	trashed, err := sessions.Trash(t.Context(), opts)
	if err != nil || len(trashed) != 1 {
		t.Fatalf("got %+v, %v", trashed, err)
	}
	return trashed[0].Path
}

// A restore that was interrupted after the file had its name again can be repeated.
func TestRestoreAfterInterruption(t *testing.T) {
	t.Parallel()
	dir, opts := trashScene(t)
	before := tree(t, dir)
	trashed := deleted(t, opts)
	name := idA + ".jsonl"
	if err := os.Link(filepath.Join(trashed, name), filepath.Join(dir, "p", name)); err != nil {
		t.Fatal(err)
	}
	if err := sessions.Restore(t.Context(), idA, opts); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
		t.Errorf("restored (-want +got):\n%s", diff)
	}
	if left := tree(t, dir+"-trash"); len(left) != 0 {
		t.Errorf("in the trash are still %v", left)
	}
}

// A restore that can't open the transcript leaves the session in the trash, and can be repeated.
func TestRestoreWithoutLinksAgain(t *testing.T) {
	t.Parallel()
	dir, opts := trashScene(t)
	before := tree(t, dir)
	trashed := deleted(t, opts)
	name := filepath.Join(trashed, idA+".jsonl")
	trash := tree(t, dir+"-trash")
	folder := sessions.NewFolder(dir)
	folder.SetLink(func(string, string) error {
		return errors.Join(syscall.EPERM, os.Rename(name, name+".aside"))
	})
	opts.Store = folder
	if err := sessions.Restore(t.Context(), idA, opts); err == nil {
		t.Fatal("no error for a transcript that can't be opened")
	}
	if err := os.Rename(name+".aside", name); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(trash, tree(t, dir+"-trash")); diff != "" {
		t.Errorf("the trash (-want +got):\n%s", diff)
	}
	opts.Store = folderWithoutLinks(dir)
	if err := sessions.Restore(t.Context(), idA, opts); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
		t.Errorf("restored (-want +got):\n%s", diff)
	}
}

// Where there are no hard links, a session is restored as a whole, or stays in the trash.
func TestRestoreWithoutLinks(t *testing.T) {
	t.Parallel()
	live := func(dir string) string { return filepath.Join(dir, "p", idA) }
	for name, c := range map[string]struct {
		before func(t *testing.T, dir, trash string) // is called after the session was deleted
		within func(dir string)                      // is called when a link is tried
		fails  bool
	}{
		"nothing else": {},
		"its name was reserved before": {before: func(t *testing.T, dir, _ string) {
			write(t, dir, "p/"+idA+".jsonl", "")
		}},
		"its other files were moved before": {before: func(t *testing.T, dir, trash string) {
			write(t, dir, "p/"+idA+".jsonl", "")
			if err := os.Rename(filepath.Join(trash, idA), live(dir)); err != nil {
				t.Fatal(err)
			}
		}},
		"another process creates a file": {fails: true, within: func(dir string) {
			_ = os.WriteFile(live(dir)+".jsonl", []byte("{}\n"), 0o600)
		}},
		"another process creates a directory": {fails: true, within: func(dir string) {
			_ = os.MkdirAll(filepath.Join(live(dir), "subagents"), 0o700)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, opts := trashScene(t)
			folder := folderWithoutLinks(dir)
			folder.SetLink(func(string, string) error {
				if c.within != nil {
					c.within(dir)
				}
				return syscall.EPERM
			})
			opts.Store = folder
			whole := tree(t, dir)
			trashed := deleted(t, opts)
			if c.before != nil {
				c.before(t, dir, trashed)
			}
			trash := tree(t, dir+"-trash")
			if err := sessions.Restore(t.Context(), idA, opts); (err != nil) != c.fails {
				t.Fatalf("error %v", err)
			}
			if c.fails {
				if diff := cmp.Diff(trash, tree(t, dir+"-trash")); diff != "" {
					t.Errorf("the trash (-want +got):\n%s", diff)
				}
				return
			}
			if diff := cmp.Diff(whole, tree(t, dir)); diff != "" {
				t.Errorf("restored (-want +got):\n%s", diff)
			}
			if left := tree(t, dir+"-trash"); len(left) != 0 {
				t.Errorf("in the trash are still %v", left)
			}
		})
	}
}
