package wire_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

func TestReaderPosition(t *testing.T) {
	stream := "\uFEFF" + alive + "\r\n\n  " + strange + alive + " text \n{bad }\n{\"type\":\r\n \"keep_alive\"} \x00" + alive + "\n{\"cut\n"
	want := []string{
		`1@3 ` + alive,
		`3@29 ` + strange,
		`3@53 ` + alive,
		`3@75 text`,
		`4@81 {bad }`,
		"5@88 {\"type\":\r\n \"keep_alive\"}",
		`6@114 ` + alive,
		"7@136 {\"cut",
	}
	for _, size := range []int{1, 7, 4096} {
		var got []string
		r := wire.NewReader(&cutReader{src: strings.NewReader(stream), size: size}, nil)
		for _, err := range r.Messages() {
			if err != nil {
				t.Fatal(err)
			}
			p := r.Position()
			got = append(got, fmt.Sprintf("%d@%d %s", p.Line, p.Offset, strings.TrimSpace(stream[p.Offset:p.Offset+p.Bytes])))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("in pieces of %d (-want +got):\n%s", size, diff)
		}
	}
}

// In a file of many lines, some of them spread, positions stay exact.
func TestReaderPositionFarIntoAStream(t *testing.T) {
	var stream strings.Builder
	for range 5000 {
		stream.WriteString(alive + "\r\n{\"type\":\n\"strange\",\"t\":\"é\"}\n\noops\n")
	}
	all := stream.String()
	r := wire.NewReader(strings.NewReader(all), nil)
	n, lastLine := 0, 0
	for msg, err := range r.Messages() {
		if err != nil {
			t.Fatal(err)
		}
		p := r.Position()
		raw := strings.ReplaceAll(all[p.Offset:p.Offset+p.Bytes], "\n", "")
		if raw != msg.Raw() || p.Line <= lastLine {
			t.Fatalf("message %d at %+v is %q, want %q", n, p, raw, msg.Raw())
		}
		n, lastLine = n+1, p.Line
	}
	if n != 3*5000 || lastLine != 5*5000 {
		t.Errorf("%d messages, the last on line %d", n, lastLine)
	}
}

func TestReaderErrors(t *testing.T) {
	broken := errors.New("broken")
	tests := []struct {
		name string
		src  io.Reader
		want []string
		err  error
	}{
		{"at once", iotest.ErrReader(broken), nil, broken},
		{"between frames", io.MultiReader(strings.NewReader(alive+"\n"), iotest.ErrReader(broken)), []string{alive}, broken},
		{"in the middle of a frame", io.MultiReader(strings.NewReader(alive+"\n{\"type\":\"as"), iotest.ErrReader(io.ErrUnexpectedEOF)),
			[]string{alive, `2@22 truncated "{\"type\":\"as"`}, io.ErrUnexpectedEOF},
		{"together with bytes", iotest.DataErrReader(io.MultiReader(strings.NewReader(alive), iotest.ErrReader(broken))), []string{alive}, broken},
		{"a reader that brings nothing", stuckReader{}, nil, io.ErrNoProgress},
		{"no error: the end together with bytes", iotest.DataErrReader(strings.NewReader(alive)), []string{alive}, nil},
		{"no error: an empty stream", strings.NewReader(""), nil, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := wire.NewReader(test.src, nil)
			var got []string
			var last error
			for msg, err := range r.Messages() {
				if last != nil {
					t.Fatal("something follows the error")
				}
				if last = err; err == nil {
					got = append(got, describe(msg))
				} else if msg != nil {
					t.Errorf("%v comes with the error", msg)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !errors.Is(last, test.err) {
				t.Errorf("the error is %v, want %v", last, test.err)
			}
			for msg, err := range r.Messages() {
				t.Errorf("after the end: %v, %v", msg, err)
			}
		})
	}
}

type stuckReader struct{}

func (stuckReader) Read([]byte) (int, error) { return 0, nil }

func TestReaderGoesOnAfterBreak(t *testing.T) {
	r := wire.NewReader(strings.NewReader(alive+strange+"\n{\"cut\n"+alive+"\n"+alive), nil)
	var got []string
	for {
		n := len(got)
		for msg, err := range r.Messages() {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, describe(msg))
			break
		}
		if len(got) == n {
			break
		}
	}
	want := []string{alive, unknown, `2@46 truncated "{\"cut"`, alive, alive}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReaderReset(t *testing.T) {
	r := wire.NewReader(io.MultiReader(strings.NewReader("\n{\"cut\n"+alive+alive+"\n{\"cut"), iotest.ErrReader(io.ErrClosedPipe)), &wire.ReaderOptions{HideText: true})
	for range r.Messages() {
		break
	}
	for range 2 {
		r.Reset(strings.NewReader("text\n{bad\n" + alive))
		got := describeAll(readAll(t, r))
		if diff := cmp.Diff([]string{`2@5 broken at 1 "{bad"`, alive}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// A message does not change when the reader continues.
func TestReaderMessagesStay(t *testing.T) {
	var stream strings.Builder
	var want []string
	for i := range 3000 {
		frame := greeting(fmt.Sprint("text ", i))
		want = append(want, frame)
		stream.WriteString(frame + "\n")
	}
	got := describeAll(readAll(t, wire.NewReader(strings.NewReader(stream.String()), nil)))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMaxFrameBytes(t *testing.T) {
	const head = `"{\"type\":\"strange\",\"n\""`
	tests := []struct {
		name string
		in   string
		want []string
	}{
		{"a line at the limit", lines(alive, alive), []string{alive, alive}},
		{"a line at the limit with a carriage return", alive + "\r\n" + alive + "\r\n", []string{alive, alive}},
		{"a line at the limit behind padding", strings.Repeat(" \x00\t", 20) + "\uFEFF" + alive + "\n", []string{alive}},
		{"the last line at the limit", alive, []string{alive}},
		{"a line past the limit", lines(alive, strange, alive), []string{alive, "2@22 too large (24 of 21) " + head, alive}},
		{"one byte past the limit", lines(alive[:20]+" }", alive), []string{`1@0 too large (22 of 21) "{\"type\":\"keep_alive\" "`, alive}},
		{"the first line past the limit behind padding", "  " + strange + "\n" + alive, []string{"1@2 too large (24 of 21) " + head, alive}},
		{"two in a row", lines(strange, strange, alive), []string{"1@0 too large (24 of 21) " + head, "2@25 too large (24 of 21) " + head, alive}},
		{"the last line past the limit", alive + "\n" + strange, []string{alive, "2@22 too large (24 of 21) " + head}},
		{"text past the limit", "0123456789012345678901234567890\n" + alive, []string{`1@0 too large (31 of 21) "012345678901234567890"`, alive}},
		{"a long line that ends on a carriage return", strange + "\r\n" + alive, []string{"1@0 too large (25 of 21) " + head, alive}},
		{"joined lines at the limit", "{\"type\":\n\"keep_alive\"}\n" + alive, []string{alive, alive}},
		{"joined lines past the limit", lines(`{"type":"strange",`, `"n":`, `1}`, alive), []string{`1@0 too large (24 of 21) "{\"type\":\"strange\","`, alive}},
		{"many joined lines past the limit", lines(`{"type":"strange",`, `"n":"`, "0123456789", "0123456789", "0123456789", `"}`, alive),
			[]string{`1@0 too large (55 of 21) "{\"type\":\"strange\","`, alive}},
		{"joined lines past the limit that never end", lines(`{"type":"strange",`, `"n":"`, "0123456789", alive), []string{`1@0 too large (33 of 21) "{\"type\":\"strange\","`, alive}},
		{"a cut frame and a line past the limit", lines(`{"type":"x`, strange, alive), []string{`1@0 truncated "{\"type\":\"x"`, "2@11 too large (24 of 21) " + head, alive}},
		{"a cut frame and a long hole", "{\"type\":\"x\n" + strings.Repeat("\x00", 30) + alive + "\n", []string{`1@0 truncated "{\"type\":\"x"`, alive}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			framed(t, test.in, &wire.ReaderOptions{MaxFrameBytes: len(alive)}, test.want)
		})
	}
}

func TestMaxFrameBytesDefault(t *testing.T) {
	frame := greeting(strings.Repeat("0123456789", 1<<20))
	got := feed(wire.NewFeeder(nil), frame+"\n"+alive, 4096)
	if len(got) != 2 || got[0].Raw() != frame || describe(got[1]) != alive {
		t.Errorf("a frame of 10 MiB gives %d messages, the first of %d bytes", len(got), len(got[0].Raw()))
	}
	got = readAll(t, wire.NewReader(&endless{text: "x", size: wire.DefaultMaxFrameBytes + 1, tail: "\n" + alive}, nil))
	if len(got) != 2 || !errors.Is(got[0].(*wire.InvalidFrame), wire.ErrFrameTooLarge) || describe(got[1]) != alive {
		t.Errorf("a line past the limit gives %d messages", len(got))
	}
}

// An endless reader returns one character, size times, and then tail.
type endless struct {
	text string
	size int
	tail string
}

func (r *endless) Read(b []byte) (int, error) {
	if r.size == 0 {
		n := copy(b, r.tail)
		r.tail = r.tail[n:]
		if n == 0 {
			return 0, io.EOF
		}
		return n, nil
	}
	b = b[:min(len(b), r.size)]
	for n := copy(b, r.text); n > 0 && n < len(b); n *= 2 {
		copy(b[n:], b[:n])
	}
	r.size -= len(b)
	return len(b), nil
}

// Skipped text must not be kept. The test counts every allocation, kept or not, so that it does not
// depend on the garbage collector.
func TestReaderMemoryIsBounded(t *testing.T) {
	const limit = 1 << 20
	tests := []struct {
		name string
		src  *endless
		want string
	}{
		{"a line past the limit", &endless{"x", 32 << 20, "\n" + alive}, fmt.Sprintf("1@0 too large (%d of %d)", 32<<20, limit)},
		{"NUL bytes", &endless{"\x00", 32 << 20, alive}, alive},
		{"blank lines", &endless{"\n", 2 << 20, alive}, alive},
		{"spaces", &endless{" ", 32 << 20, "\n" + alive}, alive},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			all := readAll(t, wire.NewReader(test.src, &wire.ReaderOptions{MaxFrameBytes: limit}))
			runtime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; used > 8*limit {
				t.Errorf("%d MiB allocated", used>>20)
			}
			if len(all) == 0 || !strings.HasPrefix(describe(all[0]), test.want) || describe(all[len(all)-1]) != alive {
				t.Errorf("%d messages", len(all))
			}
		})
	}
}

// A frame spread over very many lines is joined in one pass. A reader that started again with each
// line would not finish this test.
func TestReaderJoinsManyLines(t *testing.T) {
	const n = 200_000
	stream := "{\"type\":\"strange\",\"list\":[\n" + strings.Repeat("\"x\",\n", n) + "\"x\"]}\n" + alive
	all := readAll(t, wire.NewReader(strings.NewReader(stream), nil))
	if len(all) != 2 || len(all[0].Raw()) != 4*n+31 || describe(all[1]) != alive {
		t.Errorf("%d messages, the first of %d bytes", len(all), len(all[0].Raw()))
	}
}

// flow returns the kinds of a stream's messages, with the types of their blocks; a call that failed
// has a mark. Notices and control frames are left out.
func flow(t *testing.T, stream []byte) []string {
	t.Helper()
	var steps []string
	for _, msg := range readAll(t, wire.NewReader(bytes.NewReader(stream), nil)) {
		switch msg := msg.(type) {
		case *wire.InitMessage:
			steps = append(steps, "init")
		case *wire.ResultMessage:
			steps = append(steps, "result")
		case *wire.AssistantMessage:
			steps = append(steps, "assistant"+blockTypes(msg.Content))
		case *wire.UserMessage:
			steps = append(steps, "user"+blockTypes(msg.Content))
		}
	}
	return steps
}

func blockTypes(content wire.Content) string {
	types := ""
	for _, b := range content {
		types += " " + b.BlockType()
		if result, ok := b.(*wire.ToolResultBlock); ok && result.Failed() {
			types += "!"
		}
	}
	return types
}

func TestReaderFlows(t *testing.T) {
	dialogues := map[string][][]byte{}
	for path, frames := range recorded(t) {
		dialogues[dialogueName(path)] = frames
	}
	tests := []struct {
		name, dialogue string
		want           []string
	}{
		{"no tools", "two_turns", []string{
			"user text", "init", "assistant text", "result",
			"user text", "init", "assistant text", "result",
		}},
		{"a tool", "tool_bash", []string{
			"user text", "init", "assistant text", "assistant tool_use", "user tool_result", "assistant text", "result",
		}},
		{"a tool that is denied", "tool_denied", []string{
			"user text", "init", "assistant tool_use", "user tool_result!", "assistant text", "result",
		}},
		{"a chain of tools", "tool_allowed_edit", []string{
			"user text", "init", "assistant tool_use", "user tool_result",
			"assistant tool_use", "user tool_result", "assistant text", "result",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := flow(t, bytes.Join(dialogues[test.dialogue], []byte("\n")))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A waitingReader is a stream that signals when it is asked for more than it has.
type waitingReader struct {
	data    io.Reader
	waiting chan struct{} // closed when there is no more
	release chan struct{}
}

func (r *waitingReader) Read(p []byte) (int, error) {
	n, err := r.data.Read(p)
	if n == 0 && err != nil {
		close(r.waiting)
		<-r.release
	}
	return n, err
}

// A reader that waits for the next frame keeps no memory of the last one.
func TestReaderLetsGoWhileItWaits(t *testing.T) {
	const size = 8 << 20
	frame := `{"type":"assistant","message":{"content":[{"type":"text","text":"` + strings.Repeat("x", size) + `"}]}}` + "\n"
	src := &waitingReader{strings.NewReader(frame), make(chan struct{}), make(chan struct{})}
	before := heapInUse()
	read := make(chan int)
	go func() {
		n := 0
		for range wire.NewReader(src, nil).Messages() {
			n++
		}
		read <- n
	}()
	<-src.waiting
	if grown := heapInUse() - before; grown > size/4 {
		t.Errorf("it holds %d bytes", grown)
	}
	close(src.release)
	if n := <-read; n != 1 {
		t.Errorf("%d messages", n)
	}
	runtime.KeepAlive(frame)
}

func heapInUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
