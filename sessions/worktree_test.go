package sessions_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/clewdev/clew/sessions"
	"github.com/google/go-cmp/cmp"
)

// A repo is a git repository with two linked working trees, made of the files that git would make.
type repo struct{ main, linked, relative, store string }

func makeRepo(t *testing.T) repo {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := repo{
		main: mkdir(t, top, "main"), linked: mkdir(t, top, "linked"), relative: mkdir(t, top, "relative"),
		store: filepath.Join(top, "store"),
	}
	mkdir(t, r.main, "sub")
	write(t, r.main, ".git/HEAD", "ref: refs/heads/main\n")
	write(t, r.main, ".git/worktrees/linked/gitdir", filepath.Join(r.linked, ".git")+"\n")
	write(t, r.main, ".git/worktrees/linked/commondir", "../..\n")
	write(t, r.linked, ".git", "gitdir: "+filepath.Join(r.main, ".git", "worktrees", "linked")+"\n")
	write(t, r.main, ".git/worktrees/relative/gitdir", "../../../../relative/.git\n")
	write(t, r.main, ".git/worktrees/relative/commondir", "../..\n")
	write(t, r.relative, ".git", "gitdir: ../main/.git/worktrees/relative\n")
	write(t, r.main, ".git/worktrees/broken/HEAD", "")
	return r
}

// record makes a session in a working folder, with its base as the title.
func (r repo) record(t *testing.T, n int, dir string) {
	t.Helper()
	name, err := sessions.ProjectName(dir)
	if err != nil {
		t.Fatal(err)
	}
	write(t, r.store, name+"/"+id(n)+".jsonl", string(prompt(`"`+filepath.Base(dir)+`"`)))
}

func TestListWorktrees(t *testing.T) {
	t.Parallel()
	r := makeRepo(t)
	outside := t.TempDir()
	for i, dir := range []string{r.main, r.linked, r.relative, filepath.Join(r.main, "sub"), filepath.Dir(r.main), outside} {
		r.record(t, i, dir)
	}
	tests := map[string]struct {
		opts sessions.ListOptions
		want []string
	}{
		"of the main tree":    {sessions.ListOptions{Project: r.main}, []string{"linked", "main", "relative"}},
		"of a linked tree":    {sessions.ListOptions{Project: r.linked}, []string{"linked", "main", "relative"}},
		"of a relative tree":  {sessions.ListOptions{Project: r.relative}, []string{"linked", "main", "relative"}},
		"of a folder in one":  {sessions.ListOptions{Project: filepath.Join(r.main, "sub")}, []string{"linked", "main", "relative", "sub"}},
		"of the other's":      {sessions.ListOptions{Project: filepath.Join(r.linked, "sub")}, []string{"linked", "main", "relative", "sub"}},
		"only the folder":     {sessions.ListOptions{Project: r.linked, OnlyFolder: true}, []string{"linked"}},
		"outside of any tree": {sessions.ListOptions{Project: outside}, []string{filepath.Base(outside)}},
	}
	for name, tt := range tests {
		tt.opts.Store = sessions.NewFolder(r.store)
		infos, err := sessions.List(t.Context(), &tt.opts)
		if diff := cmp.Diff(tt.want, slices.Sorted(slices.Values(titles(infos)))); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	info, err := sessions.Get(t.Context(), id(0), &sessions.Options{Store: sessions.NewFolder(r.store), Project: r.linked})
	if err != nil || info.Title() != "main" {
		t.Errorf("got %q, %v", info.Title(), err)
	}
}

// What git's files say may be anything.
func TestWorktreesBroken(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"empty": "", "no path": "gitdir:", "itself": "gitdir: .git", "away": "gitdir: /none/.git/worktrees/x", "other": "x",
	} {
		r := repo{main: t.TempDir(), store: t.TempDir()}
		write(t, r.main, ".git", content)
		r.record(t, 1, r.main)
		infos, err := sessions.List(t.Context(), &sessions.ListOptions{Store: sessions.NewFolder(r.store), Project: r.main})
		if err != nil || len(infos) != 1 {
			t.Errorf("%s: got %q, %v", name, titles(infos), err)
		}
	}
}
