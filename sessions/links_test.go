//go:build unix

package sessions_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// found returns what each function finds in a directory of projects.
func found(t *testing.T, dir string) map[string][]string {
	t.Helper()
	store := sessions.NewFolder(dir)
	all := map[string][]string{}
	note := func(kind, project, id string) { all[kind] = append(all[kind], project+" "+id[:1]) }
	infos, err := sessions.List(t.Context(), &sessions.ListOptions{Store: store})
	if err != nil {
		t.Error(err)
	}
	for _, info := range infos {
		note("List", info.Project, info.ID)
	}
	for file, err := range sessions.Files(t.Context(), &sessions.Options{Store: store}) {
		if err != nil {
			t.Error(err)
			break
		}
		note("Files", file.Project, file.SessionID)
	}
	for _, call := range readUsage(t, &sessions.UsageOptions{Store: store}).Tally.Calls() {
		note("Usage", call.Project, call.SessionID)
	}
	for _, list := range all {
		slices.Sort(list)
	}
	return all
}

// The agent follows a project that is a symbolic link, so we do. A directory with several names
// comes once.
func TestLinkedProjects(t *testing.T) {
	t.Parallel()
	outside, dir := t.TempDir(), t.TempDir()
	text := said("user", "1", "", `"Asked"`, "") + answered("2", "1")
	write(t, outside, "a/"+idA+".jsonl", text)
	write(t, outside, "a/"+idA+"/subagents/agent-1.jsonl", strings.ReplaceAll(text, `"2"`, `"3"`))
	write(t, dir, "real/"+idB+".jsonl", strings.ReplaceAll(text, `"2"`, `"4"`))
	linkIn(t, filepath.Join(outside, "a"), dir, "linked")
	linkIn(t, filepath.Join(outside, "a"), dir, "twice")
	linkIn(t, "real", dir, "alias")
	linkIn(t, dir, dir, "all")
	linkIn(t, "/", dir, "everything")
	linkIn(t, "loop", dir, "loop")
	linkIn(t, "nowhere", dir, "dangling")
	linkIn(t, "/dev/null", dir, "device")
	a, b := "linked "+idA[:1], "real "+idB[:1]
	want := map[string][]string{"List": {a, b}, "Files": {a, a, b}, "Usage": {a, a, b}}
	if diff := cmp.Diff(want, found(t, dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	opts := &sessions.Options{Store: sessions.NewFolder(dir), ProjectName: "twice"}
	if got, err := sessions.Read(t.Context(), idA, &sessions.ReadOptions{Store: opts.Store, ProjectName: "twice"}); err != nil || len(got.Chunks) != 2 {
		t.Errorf("got %+v, %v", got, err)
	}
	if s, err := sessions.Open(t.Context(), idA, opts); err != nil {
		t.Error(err)
	} else if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := sessions.Rename(t.Context(), idA, "New", opts); err != nil {
		t.Error(err)
	}
	if info, err := sessions.Get(t.Context(), idA, opts); err != nil || info.Title() != "New" {
		t.Errorf("got %+v, %v", info, err)
	}
	if err := sessions.Delete(t.Context(), idA, opts); err == nil {
		t.Error("moved to a trash on what may be another disk")
	}
	if got := read(t, outside, "a/"+idA+".jsonl"); !strings.HasPrefix(got, text) {
		t.Errorf("the file outside is now %q", got)
	}
}

// Symbolic links inside a project do not lead out of it, whether the project is one or not.
func TestLinksInsideProjects(t *testing.T) {
	t.Parallel()
	outside, dir, elsewhere := t.TempDir(), t.TempDir(), t.TempDir()
	text := said("user", "1", "", `"Secret"`, "") + answered("2", "1")
	write(t, outside, "agent-9.jsonl", text)
	write(t, outside, "x.txt", "secret")
	write(t, outside, idB+".jsonl", text)
	for project, id := range map[string]string{filepath.Join(dir, "p"): idA, elsewhere: id(3)} {
		write(t, project, id+".jsonl", said("user", "1", "", `"Asked"`, ""))
		linkIn(t, outside, project, id+"/subagents")
		linkIn(t, outside, project, id+"/tool-results")
		linkIn(t, filepath.Join(outside, idB+".jsonl"), project, idB+".jsonl")
		linkIn(t, outside, project, idB)
	}
	linkIn(t, elsewhere, dir, "q")
	ours := []string{"p " + idA[:1], "q " + id(3)[:1]}
	if diff := cmp.Diff(map[string][]string{"List": ours, "Files": ours}, found(t, dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	store := sessions.NewFolder(dir)
	for _, project := range []string{"p", "q"} {
		key := wire.SessionKey{Project: project, SessionID: idB}
		if err := store.Append(t.Context(), key, []wire.JSON{`{}`}); err == nil {
			t.Errorf("%s: appended", key)
		}
		for entry, err := range store.Load(t.Context(), key) {
			if err == nil {
				t.Errorf("%s: got %s", key, entry)
			}
		}
		if found, err := store.Subpaths(t.Context(), key); err == nil || len(found) != 0 {
			t.Errorf("%s: got %q, %v", key, found, err)
		}
	}
	if read(t, outside, idB+".jsonl") != text || read(t, outside, "x.txt") != "secret" {
		t.Error("a file outside has changed")
	}
}
