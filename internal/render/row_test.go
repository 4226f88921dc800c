package render

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdev/clew/internal/rows"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/transcript"
)

// recorded returns the recorded transcripts and the hostile one, by a short name.
func recorded(t *testing.T) map[string]*transcript.Transcript {
	t.Helper()
	found := map[string]*transcript.Transcript{}
	for _, pattern := range []string{
		"../../transcript/testdata/recorded/*/transcript.jsonl", "../demo/recording/*/transcript.jsonl",
		"../cli/testdata/hostile/transcript.jsonl",
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

func TestRowWidths(t *testing.T) {
	t.Parallel()
	for name, tr := range recorded(t) {
		var l rows.List
		l.Update(tr, 0)
		for width := 1; width <= 200; width++ {
			for _, color := range []bool{false, true} {
				o := Options{Width: width, Color: color, Dir: tr.CWD}
				for i := range l.Len() {
					lines, _ := o.RowBody(l.At(i), 20)
					for _, mark := range []Mark{NoMark, Folded, Open} {
						lines = append(lines, o.RowLine(l.At(i), mark))
					}
					for _, line := range lines {
						if n := tty.PaintedWidth(line); n > width || strings.Contains(line, "\n") {
							t.Fatalf("%s, row %s: %d columns in a width of %d: %q", name, l.At(i).ID, n, width, line)
						}
					}
				}
			}
		}
	}
}
