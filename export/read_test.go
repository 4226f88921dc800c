package export

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// A document from elsewhere can have null among its subagents.
func TestReadNullAgents(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"format":"clew-session/1","chunks":[],"unlinked_agents":[null]}`,
		`{"format":"clew-session/1","chunks":[{"type":"ai","items":[{"type":"tool","agents":[null]}]}]}`,
	} {
		doc, err := Read(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := Write(t.Context(), io.Discard, doc, "html", nil); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Read refuses subagents that are nested too deep, however their key is written.
func TestReadDeepAgents(t *testing.T) {
	t.Parallel()
	for _, key := range []string{`"agents":[`, "\"AGENTS\" : \n[", `"\u0061gent\u0073":[`} {
		for depth, want := range map[int]error{maxNested: nil, maxNested + 1: ErrFormat, 2000: ErrFormat} {
			text := `{"format":"clew-session/1","chunks":[` +
				strings.Repeat(`{"type":"ai","items":[{"type":"tool","text":"[\"agents\":[\\",`+key+`null,{"id":"a","chunks":[`, depth) +
				strings.Repeat(`]}]}]}`, depth) + `]}`
			doc, err := Read(strings.NewReader(text))
			if !errors.Is(err, want) || want != nil && !strings.Contains(err.Error(), "more than 32 deep") {
				t.Errorf("%s, %d deep: %v", key, depth, err)
			}
			if err != nil {
				continue
			}
			found := 0
			for chunks := doc.Chunks; len(chunks) > 0; found++ {
				chunks = chunks[0].Items[0].Agents[0].Transcript.Chunks
			}
			if found != depth {
				t.Errorf("%s: %d of %d levels", key, found, depth)
			}
		}
	}
	wide := `{"format":"clew-session/1","chunks":[{"type":"ai","items":[` +
		strings.Repeat(`{"type":"tool","agents":[{"id":"a"}]},`, 100) + `{"type":"tool"}]}]}`
	if _, err := Read(strings.NewReader(wide)); err != nil {
		t.Errorf("many subagents beside each other: %v", err)
	}
}
