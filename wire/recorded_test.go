package wire_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

// recorded returns the frames of the recorded dialogues, both directions, by
// dialogue.
func recorded(t testing.TB) map[string][][]byte {
	t.Helper()
	paths, err := filepath.Glob("../testdata/recorded/*/*.txt")
	if err != nil || len(paths) < 14 {
		t.Fatalf("%d recorded dialogues, %v", len(paths), err)
	}
	dialogues := map[string][][]byte{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(bytes.NewReader(text))
		lines.Buffer(nil, 1<<24)
		for lines.Scan() {
			if line := lines.Bytes(); bytes.HasPrefix(line, []byte("< ")) || bytes.HasPrefix(line, []byte("> ")) {
				dialogues[path] = append(dialogues[path], bytes.Clone(line[2:]))
			}
		}
	}
	return dialogues
}

func TestRecordedFramesAreKnownAndRoundTrip(t *testing.T) {
	for path, frames := range recorded(t) {
		for _, frame := range frames {
			msg := wire.Decode(frame)
			switch msg := msg.(type) {
			case *wire.InvalidFrame, *wire.UnknownMessage, *wire.SystemMessage, *wire.TextLine:
				t.Errorf("%s: %T: %v for %.200s", path, msg, msg, frame)
				continue
			}
			if fields := wire.UnknownFields(msg); fields != nil {
				t.Errorf("%s: %s has unknown fields %q", path, msg.Kind(), fields)
			}
			again, err := wire.Append(nil, msg)
			if err != nil {
				t.Errorf("%s: %s: %v", path, msg.Kind(), err)
				continue
			}
			if diff := cmp.Diff(value(t, frame), value(t, again)); diff != "" {
				t.Errorf("%s: %s does not round-trip (-want +got):\n%s", path, msg.Kind(), diff)
			}
		}
	}
}

// value decodes JSON into the general form that tests compare.
func value(t testing.TB, data []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %.200s", err, data)
	}
	return v
}
