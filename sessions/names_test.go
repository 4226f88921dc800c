package sessions_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clewdev/clew/sessions"
)

// mixedFolder has sessions that are listed, sessions that are not, and files that are not sessions.
func mixedFolder(t *testing.T) *sessions.Folder {
	t.Helper()
	dir := t.TempDir()
	for i, file := range []struct{ name, content string }{
		{"p/" + id(1), `{"type":"user","message":{"content":"One, the longest"},"cwd":"/one"}`},
		{"q/" + id(2), `{"type":"user","message":{"content":"Two"}}`},
		{"p/" + id(3), `{"type":"user","isSidechain":true,"message":{"content":"A subagent"}}`},
		{"p/agent-4", `{"type":"user","message":{"content":"No UUID"}}`},
		{"p/" + id(5), `{"type":"mode"}`},
		{"p/" + id(6), ""},
		{"q/" + id(1), `{"type":"user","message":{"content":"A copy that is newer"}}`},
		{"r/" + id(8), `{"type":"user","message":{"content":"<command-name>/clear</command-name>"}}`},
		{"r/" + id(7), "{broken\n" + `{"type":"user","message":{"content":"Seven"}}`},
	} {
		write(t, dir, file.name+".jsonl", file.content)
		touch(t, dir, file.name+".jsonl", i)
	}
	write(t, dir, "p/"+id(9)+".jsonl/inside.txt", "a directory with the name of a session")
	write(t, dir, "p/"+id(1)+"/subagents/agent-1.jsonl", `{"type":"user"}`)
	write(t, dir, "stray.jsonl", "{}")
	linkIn(t, filepath.Join(dir, "r"), dir, "linked")
	linkIn(t, filepath.Join(dir, "nowhere"), dir, "p/"+id(10)+".jsonl")
	return sessions.NewFolder(dir)
}

// Names and Summarize together are List.
func TestNamesAndSummarize(t *testing.T) {
	t.Parallel()
	folder := mixedFolder(t)
	for name, opts := range map[string]sessions.ListOptions{
		"all":         {},
		"one project": {ProjectName: "p"},
		"by ID":       {ID: id(2)[:35]},
		"since":       {Since: minute(1), Until: minute(8)},
		"reversed":    {Reverse: true},
		"by size":     {Sort: sessions.BySize},
		"from small":  {Sort: sessions.BySize, Reverse: true},
	} {
		opts.Store = folder
		names, err := sessions.Names(t.Context(), &opts)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want, err := sessions.List(t.Context(), &opts)
		if err != nil || len(want) == 0 {
			t.Fatalf("%s: %v, %v", name, want, err)
		}
		got := slices.DeleteFunc(sessions.Summarize(t.Context(), names),
			func(i sessions.SessionInfo) bool { return !i.Listed() })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-listed +summarized):\n%s", name, diff)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	folder := mixedFolder(t)
	counted := 0
	names, err := sessions.Names(t.Context(), &sessions.ListOptions{
		Store: folder, Offset: 1, Limit: 2, Found: func(n int) { counted = n },
	})
	want := []sessions.SessionInfo{
		{ID: id(8), Project: "r", Path: filepath.Join(folder.String(), "r", id(8)+".jsonl"), Modified: minute(7), Size: 75},
		{ID: id(1), Project: "q", Path: filepath.Join(folder.String(), "q", id(1)+".jsonl"), Modified: minute(6), Size: 60},
	}
	if diff := cmp.Diff(want, names); diff != "" || err != nil || counted != 6 {
		t.Errorf("%v, %d found (-want +got):\n%s", err, counted, diff)
	}
	yes := true
	for option, opts := range map[string]sessions.ListOptions{
		"Branch": {Branch: "x"}, "Tag": {Tag: "x"}, "Model": {Model: "x"}, "Text": {Text: "x"},
		"Ongoing": {Ongoing: &yes}, "Done": {Done: &yes}, "OnlyInteractive": {OnlyInteractive: true},
		"Sort": {Sort: sessions.ByTitle}, "does not keep files": {Store: sessions.NewMemory()},
	} {
		if names, err := sessions.Names(t.Context(), &opts); err == nil || !strings.Contains(err.Error(), option) {
			t.Errorf("%s: got %v, %v", option, names, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sessions.Names(ctx, &sessions.ListOptions{Store: folder}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: got %v", err)
	}
}

func TestNamesForbiddenProject(t *testing.T) {
	t.Parallel()
	folder := mixedFolder(t)
	forbid(t, filepath.Join(folder.String(), "q"))
	names, err := sessions.Names(t.Context(), &sessions.ListOptions{Store: folder})
	if len(names) != 5 || !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %d sessions, %v", len(names), err)
	}
}

// Sessions that can't be read stay in their places, with errors.
func TestSummarizeErrors(t *testing.T) {
	t.Parallel()
	folder := mixedFolder(t)
	names, err := sessions.Names(t.Context(), &sessions.ListOptions{Store: folder})
	if err != nil {
		t.Fatal(err)
	}
	before := slices.Clone(names)
	must(t, os.Remove(names[1].Path))
	names = append(names, sessions.SessionInfo{ID: idA, Project: "p"})
	read := sessions.Summarize(t.Context(), names)
	for i := range read {
		if failed := i == 1 || i == len(read)-1; failed != (read[i].Err != nil) || read[i].ID != names[i].ID {
			t.Errorf("%d: got %s, %v", i, read[i].ID, read[i].Err)
		}
	}
	if !errors.Is(read[1].Err, fs.ErrNotExist) || read[1].Listed() {
		t.Errorf("deleted: got %+v", read[1])
	}
	if diff := cmp.Diff(before, names[:len(before)]); diff != "" {
		t.Errorf("the argument has changed:\n%s", diff)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	read = sessions.Summarize(ctx, before)
	if len(read) != len(before) || !errors.Is(read[0].Err, context.Canceled) {
		t.Errorf("canceled: got %+v", read)
	}
	if diff := cmp.Diff([]sessions.SessionInfo{}, sessions.Summarize(t.Context(), nil), cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

// linkIn makes a symbolic link in dir.
func linkIn(t *testing.T, target, dir, name string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	switch err := os.Symlink(target, path); {
	case err != nil && runtime.GOOS == "windows":
		t.Skip("this user may not make links:", err)
	case err != nil:
		t.Fatal(err)
	}
}
