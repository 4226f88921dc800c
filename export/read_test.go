package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/transcript"
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
	// The input and the result of a tool are not decoded, whatever the agent wrote there.
	for _, key := range []string{"input", "structured", "patch"} {
		deep := `{"format":"clew-session/1","chunks":[{"type":"ai","items":[{"type":"tool","` + key + `":` +
			strings.Repeat(`{"input":{},"agents":[`, 100) + strings.Repeat(`]}`, 100) + `}`
		if _, err := Read(strings.NewReader(deep + `]}]}`)); err != nil {
			t.Errorf("lists in the %s of a tool: %v", key, err)
		}
		deep += `,` + strings.Repeat(`{"agents":[{"id":"a","chunks":[{"type":"ai","items":[`, 100) + strings.Repeat(`]}]}]}`, 100) + `]}]}`
		if _, err := Read(strings.NewReader(deep)); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "more than 32 deep") {
			t.Errorf("subagents after the %s of a tool: %v", key, err)
		}
	}
}

// A conversation that was made by hand has numbered turns in a document, and so has a document without
// numbers that is read.
func TestNumbers(t *testing.T) {
	t.Parallel()
	made := func() []transcript.Chunk {
		return []transcript.Chunk{
			{Type: transcript.SystemChunk, Text: "Hello."},
			{Type: transcript.UserChunk, Text: "One?"}, {Type: transcript.AIChunk, Text: "One."},
			{Type: transcript.UserChunk, Text: "Two?"},
		}
	}
	numbers := func(chunks []transcript.Chunk) (turns []int) {
		for i := range chunks {
			turns = append(turns, chunks[i].Turn)
		}
		return turns
	}
	source := &transcript.Transcript{
		Chunks: made(), Branches: []transcript.Branch{{Chunks: made()}},
		Unlinked: []*transcript.Agent{{ID: "a", Transcript: &transcript.Transcript{Chunks: made(), Branches: []transcript.Branch{{Chunks: made()}}}}},
	}
	unnumbered, err := json.Marshal(Document{Format: Format, Chunks: source.Chunks, Branches: source.Branches, Unlinked: source.Unlinked})
	if err != nil {
		t.Fatal(err)
	}
	read, err := Read(bytes.NewReader(unnumbered))
	if err != nil {
		t.Fatal(err)
	}
	for name, doc := range map[string]*Document{"made": New(source, &Options{Branches: true}), "read": read} {
		agent := doc.Unlinked[0].Transcript
		for i, chunks := range [][]transcript.Chunk{doc.Chunks, doc.Branches[0].Chunks, agent.Chunks, agent.Branches[0].Chunks} {
			if diff := cmp.Diff([]int{0, 1, 1, 2}, numbers(chunks)); diff != "" {
				t.Errorf("%s, %d: turns (-want +got):\n%s", name, i, diff)
			}
		}
		var page strings.Builder
		if err := Write(t.Context(), &page, doc, HTML, nil); err != nil {
			t.Fatal(err)
		}
		if text := page.String(); strings.Count(text, `id="t1"`) != 1 || strings.Count(text, `id="t2"`) != 1 {
			t.Errorf("%s: the prompts of the page have other anchors", name)
		}
	}
	if diff := cmp.Diff([]int{0, 0, 0, 0}, numbers(source.Chunks)); diff != "" {
		t.Errorf("the source changed (-want +got):\n%s", diff)
	}
}
