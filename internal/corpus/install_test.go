package corpus

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestInstall(t *testing.T) {
	t.Parallel()
	from, to := t.TempDir(), t.TempDir()
	files := map[string]string{
		"transcript.jsonl": "t", "agent.jsonl": "a", "subagents/agent-x.jsonl": "x", "subagents/agent-x.meta.json": "m", "other.txt": "o",
	}
	for name, text := range files {
		path := filepath.Join(from, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path, err := Install(to, filepath.Join(from, "transcript.jsonl"))
	if err != nil || path != filepath.Join(to, "transcript.jsonl") {
		t.Fatalf("installed at %s, %v", path, err)
	}
	got := map[string]string{}
	for _, pattern := range []string{"*.jsonl", "transcript/subagents/*"} {
		found, _ := filepath.Glob(filepath.Join(to, pattern))
		for _, file := range found {
			data, _ := os.ReadFile(file)
			name, _ := filepath.Rel(to, file)
			got[filepath.ToSlash(name)] = string(data)
		}
	}
	want := map[string]string{
		"transcript.jsonl": "t", "transcript/subagents/agent-1.jsonl": "a", "transcript/subagents/agent-x.jsonl": "x",
		"transcript/subagents/agent-x.meta.json": "m",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if path, err := Install(to, filepath.Join(from, "none.jsonl")); err == nil {
		t.Errorf("a session that is not there is installed at %s", path)
	}
}
