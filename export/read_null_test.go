package export

import (
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
