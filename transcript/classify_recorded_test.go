package transcript

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What the recorded transcripts mean, entry by entry. CLEW_UPDATE=1 writes the listing anew: read it.
func TestClassifyRecorded(t *testing.T) {
	var got strings.Builder
	for _, path := range recordedTranscripts(t) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		c := classifier{maxResult: 8 << 10, sidechain: strings.HasPrefix(filepath.Base(path), "agent-")}
		name, _ := filepath.Rel(filepath.Join("testdata", "recorded"), path)
		fmt.Fprintf(&got, "# %s\n", filepath.ToSlash(name))
		for line := range bytes.Lines(data) {
			e, err := DecodeEntry(line)
			if err != nil {
				t.Fatal(err)
			}
			msg, noise := c.classify(&e)
			fmt.Fprintln(&got, listed(msg, noise))
		}
	}
	golden := filepath.Join("testdata", "classified.txt")
	if os.Getenv("CLEW_UPDATE") != "" {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// listed returns a line for a message or noise.
func listed(msg ClassifiedMsg, noise string) string {
	switch m := msg.(type) {
	case *UserMsg:
		return "user      " + clip(m.Text)
	case *SystemMsg:
		return fmt.Sprintf("%-9s %s", map[bool]string{false: "system", true: "error"}[m.IsError], clip(m.Output))
	case *TeammateMsg:
		return "teammate  " + m.TeammateID + " " + clip(m.Text)
	case *CompactMsg:
		return fmt.Sprintf("compact   %s %d to %d in %v %s", m.Trigger, m.PreTokens, m.PostTokens, m.Duration, clip(m.Text))
	case *AIMsg:
		return listedAI(m)
	}
	return "          " + noise
}

func listedAI(m *AIMsg) string {
	kind := "ai"
	if m.IsMeta {
		kind = "meta"
	}
	var parts []string
	for _, b := range m.Blocks {
		parts = append(parts, b.BlockType())
	}
	if m.Text != "" {
		parts = append(parts, clip(m.Text))
	}
	if m.ToolUseResult != "" {
		parts = append(parts, "result "+clip(string(m.ToolUseResult)))
	}
	for _, part := range []string{string(m.Patch), m.AgentID, m.ResultStatus} {
		if part != "" {
			parts = append(parts, clip(part))
		}
	}
	return fmt.Sprintf("%-9s %s", kind, strings.Join(parts, "; "))
}

func clip(text string) string {
	runes := []rune(strings.ReplaceAll(text, "\n", `\n`))
	return string(runes[:min(60, len(runes))])
}
