package render

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdev/clew/transcript"
)

// recorded returns the recorded transcripts and the hostile one, by a short name.
func recorded(t *testing.T) map[string]*transcript.Transcript {
	t.Helper()
	found := map[string]*transcript.Transcript{}
	for _, pattern := range []string{
		"../../transcript/testdata/recorded/*/transcript.jsonl", "../demo/recording/*/transcript.jsonl",
		"../cli/testdata/hostile/transcript.jsonl", "testdata/*/transcript.jsonl",
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

// readWithAgents reads a transcript and the subagents beside it.
func readWithAgents(t *testing.T, path string) *transcript.Transcript {
	t.Helper()
	tr := readTranscript(t, path)
	var agents []*transcript.Agent
	files, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "subagents", "agent-*.jsonl"))
	if hostile := filepath.Join(filepath.Dir(path), "agent.jsonl"); strings.Contains(path, "hostile") {
		files = append(files, hostile)
	}
	for _, file := range files {
		id := strings.TrimPrefix(strings.TrimSuffix(filepath.Base(file), ".jsonl"), "agent-")
		a := &transcript.Agent{ID: id, Transcript: readTranscript(t, file)}
		if meta, err := os.ReadFile(strings.TrimSuffix(file, ".jsonl") + ".meta.json"); err == nil {
			a.Meta, _ = transcript.DecodeAgentMeta(meta)
		}
		agents = append(agents, a)
	}
	tr.Unlinked = transcript.Link(tr, agents)
	return tr
}

func readTranscript(t *testing.T, path string) *transcript.Transcript {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	tr, err := transcript.Read(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}
