package sessions

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/entrylex"
	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// A cutLine is a line as a reader of files cuts it.
type cutLine struct {
	Number int
	Offset int64
	Text   string
	Torn   bool
}

// cutByStore cuts a file as a Folder does.
func cutByStore(t *testing.T, text string) []cutLine {
	t.Helper()
	var lines []cutLine
	for l, err := range readLines(io.NewSectionReader(strings.NewReader(text), 0, int64(len(text)))) {
		if err != nil {
			t.Fatal(err)
		}
		if l.blank() {
			continue
		}
		line := cutLine{Number: l.number, Offset: l.offset, Text: string(bytes.TrimSuffix(l.text, []byte("\r")))}
		if l.offset == 0 && strings.HasPrefix(text, entrylex.ByteOrderMark) {
			line.Offset = int64(len(entrylex.ByteOrderMark))
		}
		_, err := l.entry()
		line.Torn = !l.ended && err != nil
		lines = append(lines, line)
	}
	return lines
}

// cutByTranscript cuts a file as a reader of transcripts does.
func cutByTranscript(text string) []cutLine {
	var lines []cutLine
	add := func(line []byte, at wire.Position) {
		lines = append(lines, cutLine{Number: at.Line, Offset: at.Offset, Text: string(line)})
	}
	bad := func(line transcript.InvalidLine) {
		lines = append(lines, cutLine{Number: line.Position.Line, Offset: line.Position.Offset, Text: line.Head, Torn: line.Torn})
	}
	s := transcript.NewLineSplitter(maxEntry)
	s.Feed([]byte(text), add, bad)
	s.Flush(add, bad)
	return lines
}

// A store and a transcript cut a file into the same lines, with the same numbers and offsets.
func TestLinesEqualThoseOfTranscripts(t *testing.T) {
	t.Parallel()
	pieces := []string{"{}", `{"a":1}`, "x", " ", "\r", "\n", "\n", "\r\n", "\x00", "\x00\x00\x00", entrylex.ByteOrderMark}
	rng := soak.Rand(t)
	for range soak.Size(4_000, 20_000) {
		var text strings.Builder
		for range rng.IntN(12) {
			text.WriteString(pieces[rng.IntN(len(pieces))])
		}
		if diff := cmp.Diff(cutByTranscript(text.String()), cutByStore(t, text.String())); diff != "" {
			t.Fatalf("%q (-transcript +store):\n%s", text.String(), diff)
		}
	}
}
