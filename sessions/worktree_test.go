package sessions_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/sessions"
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

// record makes a session in a working directory. Its title is the base name of the directory.
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
		"only the folder":     {sessions.ListOptions{Project: r.linked, OnlyProject: true}, []string{"linked"}},
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

// The files of git may have any content.
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

// A directory that someone else made lists no sessions of another project, whatever its git files
// name.
func TestWorktreesHostile(t *testing.T) {
	t.Parallel()
	for name, forge := range map[string]func(t *testing.T, evil string, r repo){
		"a tree that is a project": func(t *testing.T, evil string, r repo) {
			write(t, evil, ".git/worktrees/x/gitdir", filepath.Join(r.main, ".git")+"\n")
			write(t, evil, ".git/worktrees/x/commondir", "../..\n")
		},
		"a tree of another repository": func(t *testing.T, evil string, r repo) {
			write(t, evil, ".git/worktrees/linked/gitdir", filepath.Join(r.linked, ".git")+"\n")
		},
		"a tree without a .git file": func(t *testing.T, evil string, r repo) {
			write(t, evil, ".git/worktrees/x/gitdir", filepath.Join(r.main, "sub", ".git")+"\n")
		},
		"a claim to be a linked tree": func(t *testing.T, evil string, r repo) {
			write(t, evil, ".git", "gitdir: "+filepath.Join(r.main, ".git", "worktrees", "linked")+"\n")
		},
		"a claim to be the main tree": func(t *testing.T, evil string, r repo) {
			write(t, evil, ".git", "gitdir: "+filepath.Join(r.main, ".git")+"\n")
		},
		"a shared directory elsewhere": func(t *testing.T, evil string, r repo) {
			write(t, evil, ".git", "gitdir: own/worktrees/x\n")
			write(t, evil, "own/worktrees/x/gitdir", filepath.Join(evil, ".git")+"\n")
			write(t, evil, "own/worktrees/x/commondir", filepath.Join(r.main, ".git")+"\n")
		},
		"a link to the git directory": func(t *testing.T, evil string, r repo) {
			link(t, filepath.Join(r.main, ".git"), filepath.Join(evil, ".git"))
		},
		"a link to the list of trees": func(t *testing.T, evil string, r repo) {
			write(t, evil, ".git/HEAD", "")
			link(t, filepath.Join(r.main, ".git", "worktrees"), filepath.Join(evil, ".git", "worktrees"))
		},
		"a link to an element of the list": func(t *testing.T, evil string, r repo) {
			write(t, evil, ".git/worktrees/x/HEAD", "")
			link(t, filepath.Join(r.main, ".git", "worktrees", "linked"), filepath.Join(evil, ".git", "worktrees", "linked"))
		},
		"a link to the file of a tree": func(t *testing.T, evil string, r repo) {
			link(t, filepath.Join(r.linked, ".git"), filepath.Join(evil, ".git"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := makeRepo(t)
			evil := mkdir(t, filepath.Dir(r.main), "evil")
			forge(t, evil, r)
			for i, dir := range []string{r.main, r.linked, r.relative, filepath.Join(r.main, "sub"), evil} {
				r.record(t, i, dir)
			}
			infos, err := sessions.List(t.Context(), &sessions.ListOptions{Store: sessions.NewFolder(r.store), Project: evil})
			if diff := cmp.Diff([]string{"evil"}, titles(infos)); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}
