package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// A longTranscript is a reader of turns without end: a prompt, a call, a queued prompt, and the result of the call.
func longTranscript(turns, size int) io.Reader {
	var readers []io.Reader
	for turn := range turns {
		readers = append(readers, &turnReader{turn: turn, size: size})
	}
	return io.MultiReader(readers...)
}

// A turnReader makes the text of a turn when it is read.
type turnReader struct {
	turn, size int
	text       *strings.Reader
}

func (r *turnReader) Read(p []byte) (int, error) {
	if r.text == nil {
		r.text = strings.NewReader(turnText(r.turn, r.size))
	}
	return r.text.Read(p)
}

func turnText(turn, size int) string {
	parent := "null"
	if turn > 0 {
		parent = fmt.Sprintf(`"r%d"`, turn-1)
	}
	return fmt.Sprintf(`{"type":"user","uuid":"u%[1]d","parentUuid":%[2]s,"message":{"role":"user","content":"prompt %[1]d"}}
{"type":"assistant","uuid":"a%[1]d","parentUuid":"u%[1]d","message":{"id":"m%[1]d","content":[{"type":"tool_use","id":"c%[1]d","name":"Bash","input":{}}]}}
{"type":"attachment","uuid":"q%[1]d","parentUuid":"a%[1]d","attachment":{"type":"queued_command","prompt":"and"}}
{"type":"user","uuid":"r%[1]d","parentUuid":"q%[1]d","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c%[1]d","content":"%[3]s"}]}}
`, turn, parent, strings.Repeat("x", size))
}

func TestStreamEqualsRead(t *testing.T) {
	t.Parallel()
	for _, turns := range []int{0, 1, 20, 21, 22, 300} {
		want, err := Read(longTranscript(turns, 10), nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []Chunk
		for chunk, err := range Stream(iotest.HalfReader(longTranscript(turns, 10)), nil) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, *chunk)
		}
		if diff := cmp.Diff(want.Chunks, got); diff != "" {
			t.Errorf("%d turns (-read +stream):\n%s", turns, diff)
		}
	}
}

// So do the recorded transcripts in which nothing was left behind or taken back.
func TestStreamEqualsReadOfRecorded(t *testing.T) {
	t.Parallel()
	compared := 0
	for _, path := range recordedTranscripts(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := readFile(t, path, nil)
		if len(want.Branches) > 0 || want.Noise["superseded"]+want.Noise["duplicate"] > 0 {
			continue
		}
		compared++
		var got []Chunk
		for chunk := range Stream(bytes.NewReader(text), nil) {
			got = append(got, *chunk)
		}
		if diff := cmp.Diff(want.Chunks, got); diff != "" {
			t.Errorf("%s (-read +stream):\n%s", path, diff)
		}
	}
	if compared < 10 {
		t.Errorf("only %d transcripts were compared", compared)
	}
}

// 40 MB of conversation take the memory of some dozen turns.
func TestStreamHoldsLittle(t *testing.T) {
	var most uint64
	chunks := 0
	for _, err := range Stream(longTranscript(800, 50_000), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if chunks++; chunks%500 == 0 {
			var stats runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&stats)
			most = max(most, stats.HeapAlloc)
		}
	}
	if chunks != 2400 {
		t.Errorf("%d chunks", chunks)
	}
	if most > 20<<20 {
		t.Errorf("%d MB are in use", most>>20)
	}
}

func TestStreamEnds(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	text := []byte(turnText(0, 10))
	var got []string
	for chunk, err := range Stream(io.MultiReader(bytes.NewReader(text), iotest.ErrReader(broken)), nil) {
		if chunk != nil {
			got = append(got, chunk.Type.String())
		}
		if err != nil {
			got = append(got, err.Error())
		}
	}
	if diff := cmp.Diff([]string{"user", "ai", "user", "broken"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for range Stream(longTranscript(300, 10), nil) {
		break
	}
	cut := fmt.Errorf("line is dead: %w", io.EOF)
	got = nil
	for _, err := range Stream(iotest.ErrReader(cut), nil) {
		got = append(got, err.Error())
	}
	if diff := cmp.Diff([]string{cut.Error()}, got); diff != "" {
		t.Errorf("an end that is an error (-want +got):\n%s", diff)
	}
}
