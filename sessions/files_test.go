package sessions_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/sessions"
)

func TestFiles(t *testing.T) {
	const id = "11111111-2222-4333-8444-555555555555"
	root := usageRoot(t, map[string][]string{
		"-one/" + id + ".jsonl":                                {"{}"},
		"-one/" + id + "/subagents/agent-a.jsonl":              {"{}"},
		"-one/" + id + "/subagents/agent-a.meta.json":          {"{}"},
		"-one/" + id + "/subagents/agent-acompact-9.jsonl":     {"{}"},
		"-one/" + id + "/subagents/workflows/w/agent-b.jsonl":  {"{}"},
		"-one/" + id + "/tool-results/b1.txt":                  {"result"},
		"-one/agent-old.jsonl":                                 {"{}"},
		"-one/notes.txt":                                       {"no transcript"},
		"-one/memory/other.jsonl":                              {"no session"},
		"-two/22222222-2222-4333-8444-555555555555.jsonl":      {"{}"},
		"22222222-2222-4333-8444-555555555555.jsonl":           {"no project"},
		"-one/33333333-2222-4333-8444-555555555555.jsonl/x.md": {"a folder"},
	})
	t.Setenv("CLAUDE_CONFIG_DIR", root)
	list := func(opts *sessions.Options) []string {
		var got []string
		for f, err := range sessions.Files(t.Context(), opts) {
			if err != nil {
				t.Fatal(err)
			}
			if f.Info.Size() == 0 || filepath.Base(f.Path) != f.Info.Name() {
				t.Errorf("%s: %+v", f.Path, f.Info)
			}
			kind := "transcript"
			if f.Spill {
				kind = "spill"
			}
			got = append(got, strings.TrimRight(strings.Join([]string{f.Project, f.Info.Name(), kind, f.SessionID, f.AgentID}, " "), " "))
		}
		slices.Sort(got)
		return got
	}
	one := []string{
		"-one " + id + ".jsonl transcript " + id,
		"-one agent-a.jsonl transcript " + id + " a",
		"-one agent-b.jsonl transcript " + id + " b",
		"-one agent-old.jsonl transcript  old",
		"-one b1.txt spill " + id,
	}
	two := "-two 22222222-2222-4333-8444-555555555555.jsonl transcript 22222222-2222-4333-8444-555555555555"
	if diff := cmp.Diff(append(slices.Clone(one), two), list(nil)); diff != "" {
		t.Errorf("all (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(one, list(&sessions.Options{ProjectName: "-one"})); diff != "" {
		t.Errorf("one project (-want +got):\n%s", diff)
	}
	for range sessions.Files(t.Context(), nil) {
		break // must end the loop without an error
	}
	var last error
	for _, last = range sessions.Files(t.Context(), &sessions.Options{Store: new(sessions.Memory)}) {
	}
	if last == nil {
		t.Error("a store without files has some")
	}
	if err := os.RemoveAll(filepath.Join(root, "projects")); err != nil {
		t.Fatal(err)
	}
	if got := list(nil); len(got) > 0 {
		t.Errorf("no projects have %q", got)
	}
}

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
