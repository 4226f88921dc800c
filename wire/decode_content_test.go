package wire_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

var contents = []string{
	``,
	`null`,
	`"plain"`,
	`"with \"escapes\" and \u00e4"`,
	`[]`,
	` [ {"type":"text","text":"a"} ] `,
	`[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"ls"}}]`,
	`[{"tool_use_id":"toolu_1","type":"tool_result","content":[{"type":"text","text":"a"}],"is_error":true}]`,
	`["bare",{"type":"text","text":"a"},{"type":"text"},7]`,
	`[{"type":"of_tomorrow","x":[1,2]}]`,
	`{"type":"text","text":"no list"}`,
	`17`,
	`[{"type":"text","text":"cut`,
	`"a" "b"`,
}

func TestDecoderContent(t *testing.T) {
	for name, opts := range map[string]*wire.ReaderOptions{
		"with raw":    nil,
		"without raw": {DiscardRaw: true},
	} {
		d := wire.NewDecoder(opts)
		for _, text := range contents {
			want, wantErr := wire.DecodeContent(wire.JSON(text))
			got, err := d.Content([]byte(text))
			if diff := cmp.Diff(want, got, exported); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", name, text, diff)
			}
			if diff := cmp.Diff(fmt.Sprint(wantErr), fmt.Sprint(err)); diff != "" {
				t.Errorf("%s, error of %s (-want +got):\n%s", name, text, diff)
			}
		}
	}
}

func TestDecoderContentRaw(t *testing.T) {
	const text = `[{"type":"text","text":"a"},{"type":"of_tomorrow"},{"type":"tool_use"}]`
	want := []string{`{"type":"text","text":"a"}`, `{"type":"of_tomorrow"}`, `{"type":"tool_use"}`}
	for _, discard := range []bool{false, true} {
		content, err := wire.NewDecoder(&wire.ReaderOptions{DiscardRaw: discard}).Content([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, b := range content {
			got = append(got, b.Raw())
		}
		if discard {
			want[0] = ""
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("DiscardRaw %v (-want +got):\n%s", discard, diff)
		}
		var field *wire.FieldError
		if bad, ok := content[2].(*wire.InvalidBlock); !ok || !errors.As(bad.Err(), &field) || !field.Missing {
			t.Errorf("DiscardRaw %v: %#v", discard, content[2])
		}
	}
}

// The bytes may be written over once they are decoded, and the decoder used again.
func TestDecoderContentOwnsItsMemory(t *testing.T) {
	d := wire.NewDecoder(&wire.ReaderOptions{DiscardRaw: true})
	data := []byte(`[{"type":"text","text":"first"},` +
		`{"tool_use_id":"toolu_1","type":"tool_result","content":"result"},{"type":"of_tomorrow","x":1}]`)
	content, err := d.Content(data)
	if err != nil {
		t.Fatal(err)
	}
	for i := range data {
		data[i] = 'x'
	}
	if _, err := d.Content([]byte(`"next"`)); err != nil {
		t.Fatal(err)
	}
	want := wire.Content{&wire.TextBlock{Text: "first"}, &wire.ToolResultBlock{ToolUseID: "toolu_1", Content: `"result"`}}
	if diff := cmp.Diff(want, content[:2], exported); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if raw := content[2].Raw(); raw != `{"type":"of_tomorrow","x":1}` {
		t.Errorf("unknown block %s", raw)
	}
}
