package render

import (
	"path/filepath"
	"testing"

	"github.com/clewdev/clew/internal/corpus"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
)

// recorded returns the recorded transcripts and the hostile one, by a short name.
func recorded(t *testing.T) map[string]*transcript.Transcript {
	t.Helper()
	found := map[string]*transcript.Transcript{}
	for _, pattern := range []string{
		"../../transcript/testdata/recorded/*/transcript.jsonl", "../../cmd/clew/internal/demo/recording/*/transcript.jsonl",
		"../../cmd/clew/internal/cli/testdata/hostile/transcript.jsonl", "testdata/*/transcript.jsonl",
	} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatalf("no transcripts match %s: %v", pattern, err)
		}
		for _, path := range paths {
			found[filepath.Base(filepath.Dir(path))] = readWithAgents(t, path)
		}
	}
	return found
}

// readWithAgents reads a recorded transcript and its subagents.
func readWithAgents(t *testing.T, path string) *transcript.Transcript {
	t.Helper()
	path, err := corpus.Install(t.TempDir(), path)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := sessions.ReadFile(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}
