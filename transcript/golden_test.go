package transcript

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// The chunks of the recorded transcripts. CLEW_UPDATE=1 writes them anew: read them.
func TestRecordedChunks(t *testing.T) {
	t.Parallel()
	for _, path := range recordedTranscripts(t) {
		name, err := filepath.Rel(filepath.Join("testdata", "recorded"), path)
		if err != nil {
			t.Fatal(err)
		}
		name = strings.ReplaceAll(filepath.ToSlash(filepath.Dir(name)), "/", "_")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := listing(readFile(t, path, nil))
			golden := filepath.Join("testdata", "chunks", name+".txt")
			if os.Getenv("CLEW_UPDATE") != "" {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// listing lists what is in a transcript.
func listing(tr *Transcript) string {
	var to strings.Builder
	fmt.Fprintf(&to, "session %s, %s, in %s on %s, version %s\n", tr.SessionID, tr.Model, tr.CWD, tr.GitBranch, tr.Version)
	for i := range tr.Chunks {
		describeChunk(&to, &tr.Chunks[i])
	}
	for _, branch := range tr.Branches {
		fmt.Fprintf(&to, "branch from line %d\n", branch.FromLine)
		for i := range branch.Chunks {
			describeChunk(&to, &branch.Chunks[i])
		}
	}
	fmt.Fprintf(&to, "ongoing %v, %d invalid, %d unknown\n", Ongoing(tr.Chunks), len(tr.Invalid), len(tr.Drift.Findings()))
	for _, name := range slices.Sorted(maps.Keys(tr.Noise)) {
		fmt.Fprintf(&to, "noise %d %s\n", tr.Noise[name], name)
	}
	return to.String()
}

func describeChunk(to *strings.Builder, c *Chunk) {
	fmt.Fprintf(to, "%s %s lines %v", c.Type, c.Timestamp.Format("15:04:05.000"), c.Lines)
	if c.Type == AIChunk {
		fmt.Fprintf(to, " %s stop %q %d ms, context %d", c.Model, c.StopReason, c.DurationMs, c.Usage.ContextTokens())
	}
	if c.Compaction != nil {
		fmt.Fprintf(to, " %+v", *c.Compaction)
	}
	fmt.Fprintf(to, " error %v interrupted %v\n  %q\n", c.IsError, c.Interrupted, c.Text)
	for _, item := range c.Items {
		fmt.Fprintf(to, "  - %s %q", item.Type, item.Text)
		if item.ToolID != "" {
			fmt.Fprintf(to, " %s(%s) = %q error %v %d ms %s", item.ToolName, item.ToolSummary, item.ToolResult, item.ToolError,
				item.DurationMs, item.AgentID)
		}
		to.WriteString("\n")
	}
}

// The steps one by one give what Read gives at once, where nothing was left behind or interrupted.
func TestSteps(t *testing.T) {
	t.Parallel()
	for _, path := range recordedTranscripts(t) {
		if strings.HasPrefix(filepath.Base(path), "agent-") || strings.Contains(path, "interrupt") {
			continue
		}
		want := readFile(t, path, &ReadOptions{MaxResultBytes: -1})
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var msgs []ClassifiedMsg
		for line := range bytes.Lines(text) {
			if e, ok := ParseEntry(line); ok {
				if msg, ok := Classify(e); ok {
					msgs = append(msgs, msg)
				}
			}
		}
		if diff := cmp.Diff(want.Chunks, BuildChunks(msgs), withoutPlaces); diff != "" || len(msgs) < 2 {
			t.Errorf("%s, %d messages (-at once +in steps):\n%s", path, len(msgs), diff)
		}
	}
}

var withoutPlaces = cmp.Options{
	cmpopts.IgnoreFields(Chunk{}, "Lines"), cmpopts.IgnoreFields(DisplayItem{}, "CallAt", "ResultAt"),
}
