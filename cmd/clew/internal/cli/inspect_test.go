package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/internal/golden"
	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/wire"
)

// inspectText runs "clew inspect ARGS" over a text.
func inspectText(t *testing.T, in io.Reader, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = execute(t.Context(), append([]string{"inspect"}, args...), Streams{In: in, Out: &out, Err: &errs})
	return out.String(), errs.String(), code
}

func TestInspectRecorded(t *testing.T) {
	files, err := filepath.Glob("../../../../testdata/recorded/*/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			frames := fromAgent(string(text))
			stdout, stderr, code := inspectText(t, strings.NewReader(frames))
			if code != clikit.ExitDone || stderr != "" || strings.Contains(stdout, "known") || strings.Contains(stdout, "valid") {
				t.Errorf("exit code %d, stderr %q, stdout:\n%s", code, stderr, stdout)
			}
			want := wording.Number(strings.Count(frames, "\n"))
			if total := strings.Fields(stdout[strings.LastIndex(stdout, "\ntotal "):]); total[1] != want {
				t.Errorf("%s frames counted, want %s:\n%s", total[1], want, stdout)
			}
		})
	}
}

// fromAgent returns the lines of a recording that the agent wrote.
func fromAgent(recording string) string {
	var frames strings.Builder
	for line := range strings.Lines(recording) {
		if frame, ok := strings.CutPrefix(line, "< "); ok {
			frames.WriteString(frame)
		}
	}
	return frames.String()
}

func TestInspectKeepsOrder(t *testing.T) {
	var stream, want strings.Builder
	offset := 0
	for i := range 20_000 {
		frame := fmt.Sprintf(`{"type":"keep_alive","pad":%q}`, strings.Repeat("x", i*31%500))
		fmt.Fprintf(&want, `{"line":%d,"offset":%d,"bytes":%d,"type":"keep_alive","subtype":"","known":true,"problem":"","unknown_fields":["pad"]}`+"\n",
			i+1, offset, len(frame))
		fmt.Fprintln(&stream, frame)
		offset += len(frame) + 1
	}
	stdout, _, _ := inspectText(t, strings.NewReader(stream.String()), "--json")
	if stdout != want.String() {
		t.Error("the frames are not listed in order, each with its place")
	}
}

func TestInspectManyNames(t *testing.T) {
	var stream strings.Builder
	for i := range maxNames + 3 {
		fmt.Fprintf(&stream, `{"type":"t%d"}`+"\n", i)
	}
	for range maxNotes + 2 {
		fmt.Fprintln(&stream, "text")
	}
	stdout, _, _ := inspectText(t, strings.NewReader(stream.String()))
	stdout = strings.Join(strings.Fields(stdout), " ")
	for _, want := range []string{
		" (other kinds) 3 ",
		" total 1,025 ",
		" and 3 more, with names that are not listed",
		" and 2 more",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in the summary", want)
		}
	}
}

func TestInspectReadError(t *testing.T) {
	in := io.MultiReader(strings.NewReader(`{"type":"keep_alive"}`+"\n"), iotest.ErrReader(errors.New("the disk is gone")))
	stdout, stderr, code := inspectText(t, in)
	if want := "clew inspect: cannot read stdin: the disk is gone\n"; code != clikit.ExitInput || stderr != want {
		t.Errorf("exit code %d, stderr %q; want %d, %q", code, stderr, clikit.ExitInput, want)
	}
	if !strings.Contains(stdout, "keep_alive") {
		t.Errorf("what was read is not in the summary:\n%s", stdout)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

func TestInspectWriteError(t *testing.T) {
	for _, args := range [][]string{{"inspect"}, {"inspect", "--json"}} {
		var errs strings.Builder
		in := strings.NewReader(`{"type":"keep_alive"}` + "\n")
		code := execute(t.Context(), args, Streams{In: in, Out: fullDisk{}, Err: &errs})
		if want := "clew inspect: cannot write the output: the disk is full\n"; code != clikit.ExitFailed || errs.String() != want {
			t.Errorf("%v: exit code %d, stderr %q; want %d, %q", args, code, errs.String(), clikit.ExitFailed, want)
		}
	}
}

// live runs "clew inspect --json" over pipes.
type live struct {
	in     *io.PipeWriter
	out    *bufio.Scanner
	code   chan int
	cancel context.CancelFunc
}

func startLive(t *testing.T) *live {
	ctx, cancel := context.WithCancel(t.Context())
	stdin, in := io.Pipe()
	out, stdout := io.Pipe()
	l := &live{in: in, out: bufio.NewScanner(out), code: make(chan int, 1), cancel: cancel}
	go func() {
		l.code <- execute(ctx, []string{"inspect", "--json"}, Streams{In: stdin, Out: stdout, Err: io.Discard})
		_ = stdout.Close() // never fails
	}()
	return l
}

func TestInspectLive(t *testing.T) {
	l := startLive(t)
	for range 3 {
		// The next frame is not written before the last one is listed.
		if _, err := io.WriteString(l.in, `{"type":"keep_alive"}`+"\n"); err != nil {
			t.Fatal(err)
		}
		if !l.out.Scan() || !strings.Contains(l.out.Text(), `"keep_alive"`) {
			t.Fatalf("listed %q", l.out.Text())
		}
	}
	l.cancel()
	if l.out.Scan() {
		t.Errorf("listed %q after the interrupt", l.out.Text())
	}
	if code := <-l.code; code != clikit.ExitInterrupted {
		t.Errorf("exit code %d, want %d", code, clikit.ExitInterrupted)
	}
}

func TestInspectInterruptedMidFrame(t *testing.T) {
	l := startLive(t)
	if _, err := io.WriteString(l.in, `{"type":"keep_alive"}`+"\n"+`{"type":"keep_`); err != nil {
		t.Fatal(err)
	}
	if !l.out.Scan() {
		t.Fatal("the first frame is not listed")
	}
	l.cancel()
	if l.out.Scan() {
		t.Errorf("a frame that the interrupt cut is listed: %q", l.out.Text())
	}
	<-l.code
}

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
			got := examine(wire.Decode([]byte(tt.frame)), wire.Position{}, 1).frameRecord
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
		})
	}
}

// Explaining an invalid block takes a walk through the frame, so only a few of them are explained.
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
	s.add(f)
	if text := s.text(); !strings.Contains(text, "  and 199,980 more\n") {
		t.Errorf("the summary does not count the other blocks:\n%s", text)
	}
}

// A countingReader counts the bytes that are read from it.
type countingReader struct {
	r io.Reader
	n int
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += n
	return n, err
}

// A firstWrite runs a function before the first write.
type firstWrite struct {
	bytes.Buffer
	before func()
}

func (w *firstWrite) Write(p []byte) (int, error) {
	if w.Len() == 0 {
		w.before()
	}
	return w.Buffer.Write(p)
}

// The number of bytes that are read ahead of the listing is bounded. After a long frame, nothing is
// read ahead but the rest of the buffer.
func TestInspectReadsAheadLittle(t *testing.T) {
	tests := []struct {
		name  string
		bytes int // of a frame
		ahead int // bytes that may be read before the first frame is listed
	}{
		{"ordinary frames", 1000, 1 << 20},
		{"long frames", 3 << 20, 8 << 20},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			frame := fmt.Sprintf(`{"type":"keep_alive","pad":%q}`+"\n", strings.Repeat("x", tt.bytes))
			frames := 24 << 20 / len(frame)
			src := &countingReader{r: strings.NewReader(strings.Repeat(frame, frames))}
			ahead := 0
			out := &firstWrite{before: func() { ahead = src.n }}
			code := execute(t.Context(), []string{"inspect", "--json"}, Streams{In: src, Out: out, Err: io.Discard})
			if ahead == 0 || ahead > tt.ahead {
				t.Errorf("%d bytes were read before the first frame was listed, want 1 to %d", ahead, tt.ahead)
			}
			if got := strings.Count(out.String(), "\n"); code != clikit.ExitDone || got != frames {
				t.Errorf("exit code %d, %d of %d frames listed", code, got, frames)
			}
		})
	}
}

func TestTallyKeys(t *testing.T) {
	var counts tally
	for i, text := range []string{"seldom", "often", "b", "a", "often", "heavy"} {
		size := int64(10)
		if text == "heavy" {
			size = 1000
		}
		counts.add(tallyKey{text: text}, wire.Position{Line: i + 1, Bytes: size})
	}
	var got []string
	for _, k := range counts.keys() {
		got = append(got, k.String())
	}
	if diff := cmp.Diff([]string{"often", "heavy", "a", "b", "seldom"}, got); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	if got, want := *counts.stats[tallyKey{text: "often"}], (stat{count: 2, bytes: 20, largest: 10, line: 2}); got != want {
		t.Errorf("stat = %+v, want %+v", got, want)
	}
}

func TestTallyIsBounded(t *testing.T) {
	var counts tally
	for i := range maxNames + 7 {
		counts.add(tallyKey{text: strconv.Itoa(i)}, wire.Position{Line: i + 1, Bytes: 2})
	}
	first := tallyKey{text: "0"}
	counts.add(first, wire.Position{Bytes: 2})
	if len(counts.stats) != maxNames || counts.rest.count != 7 || counts.stats[first].count != 2 {
		t.Errorf("%d names, %d beyond, %d of the first; want %d, 7, 2",
			len(counts.stats), counts.rest.count, counts.stats[first].count, maxNames)
	}
}

func TestNotesAreBounded(t *testing.T) {
	var remarks notes
	for i := range maxNotes + 5 {
		remarks.add(wire.Position{Line: i + 1}, strings.Repeat("long", clikit.MaxText))
	}
	if len(remarks.kept) != maxNotes || remarks.total.count != maxNotes+5 || len(remarks.kept[0].text) > clikit.MaxText+3 {
		t.Errorf("%d kept of %d, %d bytes each", len(remarks.kept), remarks.total.count, len(remarks.kept[0].text))
	}
}

// garbage returns a stream with something of everything that a summary has a table for.
func garbage(hostile string) string {
	name, err := json.Marshal("new" + hostile)
	if err != nil {
		panic(err)
	}
	lines := []string{
		`{"type":"assistant","message":{"role":"assistant","content":[{"type":"hologram"},{"type":"text"}],` + string(name) + `:1}}`,
		`{"type":"system","subtype":"brand_new"}`, `{"type":` + string(name) + `}`, `{"subtype":1}`, `[1]`,
		`{"type":"stream_event","event":{"type":"odd_event"},"session_id":"s","uuid":"u"}`,
		`{"type":"result","subtype":"success","num_turns":"many","session_id":"s","uuid":"u"}`,
		"npm warn deprecated" + strings.ReplaceAll(hostile, "\n", " "),
	}
	for range maxNotes {
		lines = append(lines, `{"type":7}`)
	}
	return strings.Join(lines, "\n") + "\n"
}

// summarized returns the summary of a stream.
func summarized(t *testing.T, stream string, on canvas) string {
	t.Helper()
	s := &summary{on: on}
	r := wire.NewReader(strings.NewReader(stream), nil)
	for msg, err := range r.Messages() {
		if err != nil {
			t.Fatal(err)
		}
		s.add(examine(msg, r.Position(), maxNotes))
	}
	return s.text()
}

func TestInspectScreen(t *testing.T) {
	t.Parallel()
	golden.Check(t, "screens/inspect", allScreens(t, func(on canvas) string { return summarized(t, garbage(""), on) }))
}

// Whatever the names and the width, no line is wider than the screen.
func TestInspectScreenFits(t *testing.T) {
	t.Parallel()
	for _, hostile := range hostileTexts {
		for _, width := range soak.Widths(1) {
			checkLinesFit(t, summarized(t, garbage(hostile), canvas{width: width}), width)
		}
	}
}
