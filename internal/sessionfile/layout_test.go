package sessionfile_test

import (
	"strings"
	"testing"

	"github.com/clewdev/clew/internal/sessionfile"
	"github.com/clewdev/clew/wire"
)

func TestProjectName(t *testing.T) {
	t.Parallel()
	tests := []struct{ dir, want string }{
		{"/Users/foo/my-project", "-Users-foo-my-project"},
		{"/home/user/my.project_v2", "-home-user-my-project-v2"},
		{`C:\Users\me\proj`, "C--Users-me-proj"},
		{"/tmp/caf\u00e9", "-tmp-caf-"},
		{"/tmp/cafe\u0301", "-tmp-caf-"},
		{"/" + strings.Repeat("e\u0301", 199), strings.Repeat("-", 200)},
		{"/tmp/😀x", "-tmp---x"},
		{"", ""},
		{"/tmp/" + strings.Repeat("a", 250), "-tmp-" + strings.Repeat("a", 195) + "-bxbzwn"},
		{strings.Repeat("/x", 150), strings.Repeat("-x", 100) + "-4y6yx2"},
	}
	for _, tt := range tests {
		if got := sessionfile.ProjectName(tt.dir); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.dir, got, tt.want)
		}
	}
}

func TestKey(t *testing.T) {
	t.Parallel()
	good := map[string]wire.SessionKey{
		"p/1.jsonl":                     {Project: "p", SessionID: "1"},
		"p/1/subagents/agent-2.jsonl":   {Project: "p", SessionID: "1", Subpath: "subagents/agent-2"},
		"p/1/subagents/w/r/agent.jsonl": {Project: "p", SessionID: "1", Subpath: "subagents/w/r/agent"},
	}
	for rel, want := range good {
		got, err := sessionfile.Key(rel)
		if err != nil || got != want {
			t.Errorf("%q: got %+v, %v", rel, got, err)
		}
		if back := sessionfile.Path(got); back != rel {
			t.Errorf("%q: the path of its key is %q", rel, back)
		}
	}
	for _, rel := range []string{"", "p", "p.jsonl", "p/1", "p/1.json", "p/1/x.jsonl", "../1.jsonl", "p/../x.jsonl",
		"p/1/subagents/../../x.jsonl", "/p/1.jsonl", "p//1.jsonl"} {
		if got, err := sessionfile.Key(rel); err == nil {
			t.Errorf("%q: got %+v", rel, got)
		}
	}
}

func TestSubpath(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"subagents/agent-1.jsonl": "subagents/agent-1", "subagents/agent-1.meta.json": "subagents/agent-1",
		"x.jsonl": "x", "": "", ".jsonl": "", "subagents/.meta.json": "", "tool-results/x.txt": "", "custom-title.json": "",
		"../x.jsonl": "",
	}
	for rel, want := range tests {
		if got, ok := sessionfile.Subpath(rel); ok != (want != "") || ok && got != want {
			t.Errorf("%q: got %q, %v, want %q", rel, got, ok, want)
		}
	}
}

func TestSameCut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 200)
	tests := []struct {
		a, b string
		want bool
	}{
		{long + "-x", long + "-y", true}, {long + "-x", long, false}, {long + "-x", long[1:] + "b-x", false}, {"a", "a", false},
	}
	for _, tt := range tests {
		if got := sessionfile.SameCut(tt.a, tt.b); got != tt.want {
			t.Errorf("%.10s, %.10s: got %v", tt.a, tt.b, got)
		}
	}
}

func TestGivenName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "a_b", "-lead", "_x", "A1", strings.Repeat("a", 64)} {
		if !sessionfile.GivenName(name) {
			t.Errorf("%q is not taken", name)
		}
	}
	for _, name := range []string{"", "a.b", "a b", "é", ".", "..", "a/b", `a\b`, "a@b", " a", strings.Repeat("a", 65)} {
		if sessionfile.GivenName(name) {
			t.Errorf("%q is taken", name)
		}
	}
}

func TestSidecar(t *testing.T) {
	t.Parallel()
	entry, ok := sessionfile.SidecarEntry([]byte(`{"toolUseId":"t","spawnDepth":1}` + "\n"))
	if want := wire.JSON(`{"spawnDepth":1,"toolUseId":"t","type":"agent_metadata"}`); !ok || entry != want {
		t.Fatalf("got %s, %v", entry, ok)
	}
	content, ok := sessionfile.Sidecar(entry)
	if want := `{"spawnDepth":1,"toolUseId":"t"}`; !ok || string(content) != want {
		t.Errorf("got %s, %v", content, ok)
	}
	for _, other := range []wire.JSON{"", "null", "1", `{"type":"user"}`, `{"toolUseId":"t"}`} {
		if content, ok := sessionfile.Sidecar(other); ok {
			t.Errorf("%s: got %s", other, content)
		}
	}
	for _, other := range []string{"", "null", "[]", "{"} {
		if entry, ok := sessionfile.SidecarEntry([]byte(other)); ok {
			t.Errorf("%s: got %s", other, entry)
		}
	}
}
