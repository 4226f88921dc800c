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
