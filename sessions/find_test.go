package sessions_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/sessions"
)

// setHome gives the test its own home directory, without settings of the agent.
func setHome(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	for name, value := range map[string]string{
		"HOME": home, "USERPROFILE": home, "XDG_CONFIG_HOME": "", "CLAUDE_CONFIG_DIR": "", "CLAUDE_CODE_PROJECT_DIR_NAME": "",
	} {
		t.Setenv(name, value)
	}
	return home
}

func mkdir(t *testing.T, parts ...string) string {
	t.Helper()
	dir := filepath.Join(parts...)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func checkRoots(t *testing.T, want ...string) {
	t.Helper()
	got, err := sessions.Roots()
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, roots (-want +got):\n%s", err, diff)
	}
}

func TestRoots(t *testing.T) {
	home := setHome(t)
	checkRoots(t)
	shared := mkdir(t, home, ".config", "claude")
	checkRoots(t, shared)
	own := mkdir(t, home, ".claude")
	checkRoots(t, own, shared)
	other := mkdir(t, home, "other", "claude")
	t.Setenv("XDG_CONFIG_HOME", filepath.Dir(other))
	checkRoots(t, own, other)
	t.Setenv("XDG_CONFIG_HOME", "relative")
	checkRoots(t, own, shared)
}

func TestRootsConfigured(t *testing.T) {
	home := setHome(t)
	mkdir(t, home, ".claude")
	a, b := mkdir(t, home, "a"), mkdir(t, home, "b")
	within, named := mkdir(t, home, "c", "projects"), mkdir(t, home, "projects")
	mkdir(t, named, "projects")
	comma := mkdir(t, home, "x,y")
	tests := map[string]struct {
		value string
		want  []string
	}{
		"one":                  {a, []string{a}},
		"several":              {" " + a + ", ," + b + ",", []string{a, b}},
		"twice":                {a + "," + a + string(filepath.Separator) + "," + filepath.Join(b, "..", "a"), []string{a}},
		"one is missing":       {filepath.Join(home, "none") + "," + b, []string{b}},
		"none is there":        {filepath.Join(home, "none"), nil},
		"the home":             {"~/a,~", []string{a, home}},
		"another's home":       {"~a", nil},
		"the projects":         {within, []string{filepath.Dir(within)}},
		"named as projects":    {named, []string{named}},
		"a comma in its name":  {comma, []string{comma}},
		"nothing but a comma ": {",", []string{filepath.Join(home, ".claude")}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv("CLAUDE_CONFIG_DIR", tt.value)
			checkRoots(t, tt.want...)
		})
	}
}

func TestRootsComposed(t *testing.T) {
	home := setHome(t)
	dir := mkdir(t, home, "caf\u00e9")
	t.Setenv("CLAUDE_CONFIG_DIR", filepath.Join(home, "cafe\u0301"))
	roots, err := sessions.Roots()
	if err != nil || len(roots) != 1 {
		t.Fatalf("got %q, %v", roots, err)
	}
	if got, err := os.Stat(roots[0]); err != nil || !same(t, got, dir) {
		t.Errorf("got %q, %v", roots, err)
	}
}

func same(t *testing.T, info os.FileInfo, path string) bool {
	t.Helper()
	other, err := os.Stat(path)
	return err == nil && os.SameFile(info, other)
}

func TestRootsLinked(t *testing.T) {
	home := setHome(t)
	own := mkdir(t, home, ".claude")
	mkdir(t, home, ".config")
	if err := os.Symlink(own, filepath.Join(home, ".config", "claude")); err != nil {
		t.Skip("no symbolic links here: " + err.Error())
	}
	checkRoots(t, own)
}

func TestAgentFolderOfSeveral(t *testing.T) {
	home := setHome(t)
	there := mkdir(t, home, "there")
	for value, want := range map[string]string{
		filepath.Join(home, "none") + "," + there: there,
		filepath.Join(home, "none"):               filepath.Join(home, "none"),
	} {
		t.Setenv("CLAUDE_CONFIG_DIR", value)
		folder, err := sessions.AgentFolder()
		if want := filepath.Join(want, "projects"); err != nil || folder.String() != want {
			t.Errorf("%q: got %v, %v, want %s", value, folder, err, want)
		}
	}
}

// Sessions of all roots are listed, and a change is made where the session is.
func TestSeveralRoots(t *testing.T) {
	home := setHome(t)
	own, shared := mkdir(t, home, ".claude"), mkdir(t, home, ".config", "claude")
	write(t, own, "projects/p/"+id(1)+".jsonl", string(prompt(`"One"`))+"\n")
	write(t, shared, "projects/p/"+id(2)+".jsonl", string(prompt(`"Two"`))+"\n")
	write(t, own, "projects/p/"+id(3)+".jsonl", string(prompt(`"Old copy"`))+"\n")
	write(t, shared, "projects/q/"+id(3)+".jsonl", string(prompt(`"Three"`))+"\n")
	for i, name := range []string{
		".claude/projects/p/" + id(3), ".claude/projects/p/" + id(1), ".config/claude/projects/p/" + id(2),
		".config/claude/projects/q/" + id(3),
	} {
		touch(t, home, name+".jsonl", i)
	}
	infos, err := sessions.List(t.Context(), nil)
	if diff := cmp.Diff([]string{"Three", "Two", "One"}, titles(infos)); diff != "" || err != nil {
		t.Fatalf("%v, sessions (-want +got):\n%s", err, diff)
	}
	if want := filepath.Join(shared, "projects", "p", id(2)+".jsonl"); infos[1].Path != want {
		t.Errorf("got path %q, want %q", infos[1].Path, want)
	}
	if infos, err = sessions.List(t.Context(), &sessions.ListOptions{ProjectName: "q"}); err != nil || len(infos) != 1 {
		t.Errorf("of a project: got %q, %v", titles(infos), err)
	}
	if err := sessions.Rename(t.Context(), id(2), "Renamed", nil); err != nil {
		t.Fatal(err)
	}
	if got := read(t, shared, "projects/p/"+id(2)+".jsonl"); !strings.Contains(got, "Renamed") {
		t.Errorf("got %q", got)
	}
	fork, err := sessions.Fork(t.Context(), id(2), nil)
	if err == nil {
		t.Errorf("a session without UUIDs was forked as %s", fork)
	}
	if err := sessions.Delete(t.Context(), id(3), nil); err != nil {
		t.Fatal(err)
	}
	info, err := sessions.Get(t.Context(), id(3), nil)
	if err != nil || info.Title() != "Old copy" {
		t.Errorf("got %q, %v", info.Title(), err)
	}
	if err := sessions.Rename(t.Context(), idA, "x", nil); err == nil || !strings.Contains(err.Error(), shared) {
		t.Errorf("got %v, want an error that names all folders", err)
	}
}

// A project may have the name that the agent uses for all projects.
func TestGivenProjectName(t *testing.T) {
	home := setHome(t)
	project := mkdir(t, home, "code")
	write(t, home, ".claude/projects/given/"+id(1)+".jsonl", string(prompt(`"Given"`)))
	write(t, home, ".claude/projects/other/"+id(2)+".jsonl", string(prompt(`"Other"`)))
	for name, want := range map[string]int{"given": 1, "": 0, "no/name": 0} {
		t.Setenv("CLAUDE_CODE_PROJECT_DIR_NAME", name)
		infos, err := sessions.List(t.Context(), &sessions.ListOptions{Project: project})
		if err != nil || len(infos) != want {
			t.Errorf("%q: got %q, %v, want %d", name, titles(infos), err, want)
		}
		if r := readUsage(t, &sessions.UsageOptions{Project: project}); r.Files != want {
			t.Errorf("%q: the usage of %d files, want %d", name, r.Files, want)
		}
	}
}

func TestDecomposedProject(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a path has no slashes at its start here")
	}
	want, err := sessions.ProjectName("/none/caf\u00e9")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := sessions.ProjectName("/none/cafe\u0301"); err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// GetAll returns the session of each project, the newest first.
func TestGetAll(t *testing.T) {
	t.Parallel()
	const id = "aaaa1111-0000-4000-8000-000000000001"
	dir := t.TempDir()
	for i, project := range []string{"-old", "-new", "-other"} {
		path := filepath.Join(dir, project, id+".jsonl")
		if project == "-other" {
			path = filepath.Join(dir, project, "bbbb1111-0000-4000-8000-000000000001.jsonl")
		}
		at := time.Date(2026, 11, 16, 8, i, 0, 0, time.UTC)
		line := `{"type":"user","uuid":"u","message":{"role":"user","content":"In ` + project + `"}}` + "\n"
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(line), 0o600), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	opts := &sessions.Options{Store: sessions.NewFolder(dir)}
	found, err := sessions.GetAll(t.Context(), id, opts)
	if err != nil || len(found) != 2 || found[0].Title() != "In -new" || found[1].Title() != "In -old" || found[1].Project != "-old" {
		t.Errorf("got %+v, %v", found, err)
	}
	if _, err := sessions.GetAll(t.Context(), "cccc1111-0000-4000-8000-000000000001", opts); !errors.Is(err, sessions.ErrNotFound) {
		t.Errorf("a session that is not there: %v", err)
	}
	if _, err := sessions.GetAll(t.Context(), "x", opts); err == nil || errors.Is(err, sessions.ErrNotFound) {
		t.Errorf("no ID: %v", err)
	}
}
