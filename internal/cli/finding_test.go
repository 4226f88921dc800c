package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/clewdev/clew/wire"
	"github.com/google/go-cmp/cmp"
)

func TestExamine(t *testing.T) {
	tests := []struct {
		name, frame string
		want        frameRecord // without the place
	}{
		{
			"a control request", `{"type":"control_request","request_id":"r","request":{"subtype":"interrupt"}}`,
			frameRecord{Type: "control_request", Subtype: "interrupt", Known: true},
		},
		{
			"a control response", `{"type":"control_response","response":{"subtype":"error","request_id":"r"}}`,
			frameRecord{Type: "control_response", Subtype: "error", Known: true},
		},
		{
			"a result", `{"type":"result","subtype":"error_max_turns"}`,
			frameRecord{Type: "result", Subtype: "error_max_turns", Known: true},
		},
		{
			"an unknown result", `{"type":"result","subtype":"error_of_tomorrow"}`,
			frameRecord{Type: "result", Subtype: "error_of_tomorrow"},
		},
		{
			"an unknown type with a subtype", `{"type":"new","subtype":"s"}`,
			frameRecord{Type: "new", Subtype: "s"},
		},
		{
			"an unknown type with an odd subtype", `{"type":"new","subtype":["s"]}`,
			frameRecord{Type: "new"},
		},
		{
			"an unknown block in a tool result",
			`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"hologram"}]}]}}`,
			frameRecord{Type: "user", Known: true, UnknownBlocks: []string{"hologram"}},
		},
		{
			"an invalid block in a tool result",
			`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text"}]}]}}`,
			frameRecord{Type: "user", Known: true, Problem: "invalid block: in a tool result: /0/text: required field is missing"},
		},
		{
			"a tool result that is a text",
			`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"[1]"}]}}`,
			frameRecord{Type: "user", Known: true},
		},
		{
			"a tool result without content",
			`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t"}]}}`,
			frameRecord{Type: "user", Known: true},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := newRecord(examine(wire.Decode([]byte(tt.frame)), wire.Position{}, 1))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
		})
	}
}

// To say what is wrong with a block takes a walk through the frame, so that is
// done for a few of them and not for all.
func TestInvalidBlockIsExplainedOnce(t *testing.T) {
	f := finding{maxErrors: 1}
	calls := 0
	for range 3 {
		f.invalidBlock(func() error { calls++; return errors.New("bad") })
	}
	if calls != 1 || f.invalidBlocks != 3 {
		t.Errorf("%d errors made of %d invalid blocks, want 1 of 3", calls, f.invalidBlocks)
	}
}

func TestExamineManyInvalidBlocks(t *testing.T) {
	const blocks = 200_000
	msg := wire.Decode([]byte(`{"type":"assistant","message":{"content":[1` + strings.Repeat(",1", blocks-1) + `]}}`))
	f := examine(msg, wire.Position{}, maxNotes)
	if f.invalidBlocks != blocks || len(f.blockErrors) != maxNotes {
		t.Errorf("%d invalid blocks, %d with an error; want %d, %d", f.invalidBlocks, len(f.blockErrors), blocks, maxNotes)
	}
	var s summary
	if err := s.add(f); err != nil {
		t.Fatal(err)
	}
	if text := s.text(); !strings.Contains(text, "  and 199,980 more\n") {
		t.Errorf("the summary does not count the other blocks:\n%s", text)
	}
}
