package wire_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

// describe returns a message's kind, its place and its bytes.
func describe(msg wire.Message) string {
	switch msg := msg.(type) {
	case *wire.TextLine:
		return fmt.Sprintf("%d@%d text %q", msg.Line, msg.Offset, msg.Text)
	case *wire.InvalidFrame:
		return fmt.Sprintf("%d@%d %s %q", msg.Line, msg.Offset, problem(msg.Err), msg.Raw())
	case *wire.UnknownMessage:
		return fmt.Sprintf("unknown %s", msg.Raw())
	default:
		return msg.Raw()
	}
}

// problem names the kind of an invalid frame's error.
func problem(err error) string {
	var syntax *wire.SyntaxError
	var field *wire.FieldError
	var large *wire.TooLargeError
	switch {
	case errors.As(err, &large) && errors.Is(err, wire.ErrFrameTooLarge):
		return fmt.Sprintf("too large (%d of %d)", large.Size, large.Limit)
	case errors.As(err, &field):
		return fmt.Sprintf("field %s", field.Error())
	case errors.As(err, &syntax) && syntax.Truncated:
		return "truncated"
	case errors.As(err, &syntax):
		return fmt.Sprintf("broken at %d", syntax.Offset)
	}
	return fmt.Sprintf("%T", err)
}

func describeAll(all []wire.Message) []string {
	var list []string
	for _, msg := range all {
		list = append(list, describe(msg))
	}
	return list
}

// feed gives a stream to a feeder in pieces of a size.
func feed(f *wire.Feeder, stream string, size int) []wire.Message {
	var all []wire.Message
	for piece := range slices.Chunk([]byte(stream), size) {
		all = append(all, f.Feed(piece)...)
		clear(piece) // the feeder keeps no reference
	}
	return append(all, f.Drain()...)
}

// feedFrom gives what src returns to a feeder, read by read.
func feedFrom(t testing.TB, f *wire.Feeder, src io.Reader) []wire.Message {
	t.Helper()
	var all []wire.Message
	for {
		batch, err := f.FeedFrom(src)
		all = append(all, batch...)
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.Errorf("after %d messages: %v", len(all), err)
			}
			return all
		}
	}
}

// A cutReader reads at most size bytes at a time, and nothing now and then.
type cutReader struct {
	src  io.Reader
	size int
	n    int
}

func (r *cutReader) Read(b []byte) (int, error) {
	if r.n++; r.n%5 == 0 {
		return 0, nil
	}
	return r.src.Read(b[:min(len(b), r.size)])
}

func readAll(t testing.TB, r *wire.Reader) []wire.Message {
	t.Helper()
	var all []wire.Message
	for msg, err := range r.Messages() {
		if err != nil {
			t.Errorf("after %d messages: %v", len(all), err)
			break
		}
		all = append(all, msg)
	}
	return all
}

// framed checks the messages of a stream that is cut in every way.
func framed(t *testing.T, stream string, opts *wire.ReaderOptions, want []string) {
	t.Helper()
	for _, size := range []int{1, 2, 3, 7, 64, 4096, len(stream) + 1} {
		got := describeAll(feed(wire.NewFeeder(opts), stream, size))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("fed in pieces of %d (-want +got):\n%s", size, diff)
		}
		got = describeAll(readAll(t, wire.NewReader(&cutReader{src: strings.NewReader(stream), size: size}, opts)))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("read in pieces of %d (-want +got):\n%s", size, diff)
		}
		f := wire.NewFeeder(opts)
		for range 2 { // the end of a stream leaves the feeder as new
			got = describeAll(feedFrom(t, f, &cutReader{src: strings.NewReader(stream), size: size}))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("fed from a reader in pieces of %d (-want +got):\n%s", size, diff)
			}
		}
	}
}

const (
	alive   = `{"type":"keep_alive"}`
	strange = `{"type":"strange","n":1}`
	unknown = `unknown ` + strange
)

// greeting is an assistant frame with a text, which is JSON already.
func greeting(text string) string {
	return `{"type":"assistant","message":{"content":[{"type":"text","text":"` + text + `"}]}}`
}

func TestFraming(t *testing.T) {
	tests := []struct {
		name string
		in   string
		want []string
	}{
		{"nothing", "", nil},
		{"one line", alive + "\n", []string{alive}},
		{"two lines", alive + "\n" + strange + "\n", []string{alive, unknown}},
		{"a last line without line end", alive + "\n" + strange, []string{alive, unknown}},
		{"blank lines", "\n\n" + alive + "\n\n \t \n\n" + alive + "\n\n", []string{alive, alive}},
		{"carriage returns", alive + "\r\n\r\n" + strange + "\r\n", []string{alive, unknown}},
		{"white space around a frame", "  \t" + alive + " \t \n", []string{alive}},
		{"a byte-order mark", "\uFEFF" + alive + "\n" + alive, []string{alive, alive}},
		{"byte-order marks between and alone", alive + "\n\uFEFF\n\uFEFF \uFEFF" + alive + "\n", []string{alive, alive}},
		{"several frames on a line", alive + strange + " " + alive + "\n", []string{alive, unknown, alive}},
		{"several frames on the last line", alive + alive, []string{alive, alive}},
		{"text behind a frame", alive + " done\n" + alive, []string{alive, `1@22 text "done"`, alive}},

		{"multi-byte characters", greeting("aé\u2009\u3000\u00a0😀"), []string{greeting("aé\u2009\u3000\u00a0😀")}},
		{"bytes that are not UTF-8", greeting("a\xff\xe2\x82z"), []string{greeting("a\xff\xe2\x82z")}},
		{"a long run of spaces", greeting(strings.Repeat(" ", 70_000)), []string{greeting(strings.Repeat(" ", 70_000))}},

		{"lines that are not JSON", "[SandboxDebug] x\n" + alive + "\nWARNING: y\n", []string{`1@0 text "[SandboxDebug] x"`, alive, `3@39 text "WARNING: y"`}},
		{"white space around text", " \tone two\t \r\n", []string{`1@2 text "one two"`}},
		{"text that is not UTF-8", "a\xffb\n", []string{`1@0 text "a�b"`}},
		{"lines of the terminal recorder", "Script started on 2026-11-15\n" + alive + "\nScript done on 2026-11-15\n", []string{alive}},
		{"a frame behind escape sequences", "\x1b[?25h\x1b]0;title\a\x1b]9;4\x1b\\\x1b7" + alive + "\r\n" + alive, []string{alive, alive}},
		{"text behind an escape sequence", "\x1b[31mred\n\x1b[0m{cut\n\x1b[\n" + alive, []string{
			`1@0 text "\x1b[31mred"`, `2@9 text "\x1b[0m{cut"`, `3@18 text "\x1b["`, alive,
		}},
		{"prose about a script", "Script written.\n", []string{`1@0 text "Script written."`}},
		{"JSON that is no object", "[1]\n\"s\"\nnull\n7\n", []string{
			`1@0 field expected object, found array "[1]"`,
			`2@4 field expected object, found string "\"s\""`,
			`3@8 field expected object, found null "null"`,
			`4@13 field expected object, found number "7"`,
		}},
		{"an object without type", "{}\n" + alive, []string{`1@0 field /type: required field is missing "{}"`, alive}},

		{"NUL bytes before a frame", "\x00\x00\x00" + alive + "\n", []string{alive}},
		{"NUL bytes behind a frame", alive + "\x00\x00\n" + alive + "\x00", []string{alive, alive}},
		{"NUL bytes between frames on a line", alive + "\x00\x00" + strange + "\n", []string{alive, unknown}},
		{"NUL bytes alone", "\x00\x00\x00\n\x00", nil},
		{"a hole in the middle of a frame", `{"type":"assis` + "\x00\x00\x00" + alive + "\n", []string{`1@0 truncated "{\"type\":\"assis"`, alive}},
		{"a hole and the rest of a frame", `{"type":"assis` + "\x00\x00" + `tant"}` + "\n" + alive, []string{`1@0 truncated "{\"type\":\"assis"`, `1@16 text "tant\"}"`, alive}},
		{"a hole at the start of the line behind a cut", "{\"type\":\"assis\n \x00\x00" + alive + "\n", []string{`1@0 truncated "{\"type\":\"assis"`, alive}},
		{"a hole between text", "one\x00\x00two\n", []string{`1@0 text "one"`, `1@5 text "two"`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { framed(t, test.in, nil, test.want) })
	}
}

func TestFramingJoinsLines(t *testing.T) {
	tests := []struct {
		name string
		in   string
		want []string
	}{
		{"between tokens", "{\n  \"type\":\n  \"keep_alive\"\n}\n" + alive, []string{`{  "type":  "keep_alive"}`, alive}},
		{"with carriage returns", "{\r\n\"type\":\r\n\"keep_alive\"\r\n}\r\n" + alive, []string{alive, alive}},
		{"with blank lines", "{\n\n\"type\":\"keep_alive\"\n\n}\n", []string{alive}},
		{"inside of a string", `{"type":"keep_` + "\n" + `alive"}` + "\n", []string{alive}},
		{"inside of a string with carriage returns", "{\"type\":\"keep_\r\nali\r\nve\"}\r\n", []string{alive}},
		{"inside of a key", `{"ty` + "\n" + `pe":"keep_alive"}` + "\n", []string{alive}},
		{"at a space inside of a string", `{"type":"strange","t":"a  ` + "\n" + `  b"}`, []string{`unknown {"type":"strange","t":"a    b"}`}},
		{"behind a backslash", `{"type":"strange","t":"\` + "\n" + `n"}`, []string{`unknown {"type":"strange","t":"\n"}`}},
		{"inside of an escape", `{"type":"strange","t":"\u00` + "\n" + `e9"}`, []string{`unknown {"type":"strange","t":"\u00e9"}`}},
		{"inside of a number", `{"type":"strange","n":1` + "\n" + `2` + "\n" + `.5}`, []string{`unknown {"type":"strange","n":12.5}`}},
		{"inside of a word", `{"type":"strange","b":tr` + "\n" + `ue}`, []string{`unknown {"type":"strange","b":true}`}},
		{"inside of a character", `{"type":"strange","t":"` + "\xf0\x9f\n\x98\x80" + `"}`, []string{`unknown {"type":"strange","t":"😀"}`}},
		{"and another frame behind it", "{\"type\":\n\"keep_alive\"}" + strange + "\n", []string{alive, unknown}},
		{"and another that is spread, too", "{\"type\":\n\"keep_alive\"}{\"type\":\n\"strange\"\n,\"n\":1}", []string{alive, unknown}},
		{"with objects inside on lines of their own", lines(`{`, `  "type": "assistant",`, `  "message": {`, `    "content": [`,
			`      {"type": "text", "text": "a"},`, `      {"type": "text", "text": "b"}`, `    ]`, `  }`, `}`, alive),
			[]string{`{  "type": "assistant",  "message": {    "content": [      {"type": "text", "text": "a"},      {"type": "text", "text": "b"}    ]  }}`, alive}},
		{"into a frame that is invalid", "{\"type\":\n7}\n" + alive, []string{`1@0 field /type: expected string, found number "{\"type\":7}"`, alive}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { framed(t, test.in, nil, test.want) })
	}
}

func TestFramingIsNotPoisoned(t *testing.T) {
	const cut = `{"type":"assistant","message":{"content":"ab`
	const cutShown = `truncated "{\"type\":\"assistant\",\"message\":{\"content\":\"ab"`
	tests := []struct {
		name string
		in   string
		want []string
	}{
		{"a bad line", "{bad\n" + alive + "\n", []string{`1@0 broken at 1 "{bad"`, alive}},
		{"a bad line and more on it", `{"type":oops} ` + alive + "\n" + alive, []string{`1@0 broken at 8 "{\"type\":oops} {\"type\":\"keep_alive\"}"`, alive}},
		{"a cut frame at the end", alive + "\n" + cut, []string{alive, "2@22 " + cutShown}},
		{"a cut frame and a line end at the end", cut + "\n", []string{"1@0 " + cutShown}},
		{"a cut frame, a known frame", lines(cut, alive, alive), []string{"1@0 " + cutShown, alive, alive}},
		{"a cut frame, an unknown frame", lines(cut, strange, alive), []string{"1@0 " + cutShown, unknown, alive}},
		{"a frame cut where an object may follow, an unknown frame", lines(`{"type":"user","message":`, strange, alive),
			[]string{`1@0 truncated "{\"type\":\"user\",\"message\":"`, unknown, alive}},
		{"a cut frame, text, a known frame", lines(cut, "oops", alive),
			[]string{`1@0 truncated "{\"type\":\"assistant\",\"message\":{\"content\":\"aboops"`, alive}},
		{"a frame cut outside of a string, text, a known frame", lines(`{"type":"user",`, "oops", alive),
			[]string{`1@0 truncated "{\"type\":\"user\","`, `2@16 text "oops"`, alive}},
		{"three cut frames in a row", lines(cut, cut, cut, alive), []string{"1@0 " + cutShown, "2@45 " + cutShown, "3@90 " + cutShown, alive}},
		{"a frame that no line can continue", lines(`{"type":"user"`, `{"type":"user"`, alive),
			[]string{`1@0 truncated "{\"type\":\"user\""`, `2@15 truncated "{\"type\":\"user\""`, alive}},
		{"a cut frame, unknown frames, text", "{\"a\":[\r\n {\"type\":\"new\"} \r\n{\"type\":\"new\"}\r\nrest\r\n" + alive, []string{
			`1@0 truncated "{\"a\":["`, `unknown {"type":"new"}`, `unknown {"type":"new"}`, `4@42 text "rest"`, alive,
		}},
		{"a cut frame, objects without a type, text", lines(`{"a":"x`, " {} ", "{}", "rest", alive), []string{
			`1@0 truncated "{\"a\":\"x {} {}rest"`, alive,
		}},
		{"a frame of a kind that holds frames", lines(`{"type":"transcript_mirror","entries":[`, `{"type":"user","message":{"content":"hi"}}`, `]}`, alive),
			[]string{`{"type":"transcript_mirror","entries":[{"type":"user","message":{"content":"hi"}}]}`, alive}},
		{"a cut frame, a new subtype of system", lines(`{"type":"user","message":`, `{"type":"system","subtype":"new"}`),
			[]string{`1@0 truncated "{\"type\":\"user\",\"message\":"`, `{"type":"system","subtype":"new"}`}},
		{"a frame cut in the last line of a joined one", lines(`{"type":`, `"strange"}`+cut, alive), []string{`unknown {"type":"strange"}`, "2@19 " + cutShown, alive}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { framed(t, test.in, nil, test.want) })
	}
}

// A good frame after a cut one is delivered as soon as its line is complete.
func TestFeederDeliversAtOnce(t *testing.T) {
	const cut = `{"type":"assistant","message":{"content":"ab` + "\n"
	f := wire.NewFeeder(nil)
	if got := describeAll(f.Feed([]byte(cut))); got != nil {
		t.Errorf("the cut frame alone gives %q", got)
	}
	got := describeAll(f.Feed([]byte(alive + "\n")))
	want := []string{`1@0 truncated "{\"type\":\"assistant\",\"message\":{\"content\":\"ab"`, alive}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got = describeAll(f.Feed([]byte(cut + " \x00")))
	want = []string{`3@67 truncated "{\"type\":\"assistant\",\"message\":{\"content\":\"ab"`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("before a hole (-want +got):\n%s", diff)
	}
	if got := f.Drain(); got != nil {
		t.Errorf("Drain() = %q", describeAll(got))
	}
}

func TestFramingHidesText(t *testing.T) {
	in := "warning\n" + alive + " more\n[1]\n{\"cut\nno\n"
	framed(t, in, &wire.ReaderOptions{HideText: true}, []string{
		alive, `3@35 field expected object, found array "[1]"`, `4@39 truncated "{\"cutno"`,
	})
}

func TestFramingWithoutRaw(t *testing.T) {
	in := greeting("a") + "\n" + "{\"type\":\n\"keep_alive\"}" + greeting("b") + "\n{bad\n" + strange
	for _, size := range []int{1, 7, 4096} {
		var got []string
		for _, msg := range feed(wire.NewFeeder(&wire.ReaderOptions{DiscardRaw: true}), in, size) {
			if m, ok := msg.(*wire.AssistantMessage); ok {
				got = append(got, m.Content.Text())
				continue
			}
			got = append(got, msg.Kind().Type+describe(msg))
		}
		want := []string{"a", "keep_alive", "b", `4@166 broken at 1 "{bad"`, "strange" + unknown}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("in pieces of %d (-want +got):\n%s", size, diff)
		}
	}
}

func TestFeederReset(t *testing.T) {
	f := wire.NewFeeder(&wire.ReaderOptions{HideText: true})
	f.Feed([]byte("\n\n{\"type\":\"assist\n{\"more"))
	f.Reset()
	got := describeAll(append(f.Feed([]byte("text\n{bad\n")), f.Drain()...))
	if diff := cmp.Diff([]string{`2@5 broken at 1 "{bad"`}, got); diff != "" {
		t.Errorf("after Reset (-want +got):\n%s", diff)
	}
	got = describeAll(append(f.Feed([]byte("{bad")), f.Drain()...))
	if diff := cmp.Diff([]string{`1@0 broken at 1 "{bad"`}, got); diff != "" {
		t.Errorf("after Drain (-want +got):\n%s", diff)
	}
}

func TestFeederFeedFrom(t *testing.T) {
	broken := errors.New("broken")
	f := wire.NewFeeder(nil)
	f.Feed([]byte(alive[:5]))
	for _, test := range []struct {
		name string
		src  io.Reader
		want []string
		err  error
	}{
		{"one read", strings.NewReader(alive[5:] + "\n" + strange + "\n{\"ty"), []string{alive, unknown}, nil},
		{"a read without a complete frame", strings.NewReader(`pe":`), nil, nil},
		{"the end", strings.NewReader(""), []string{`3@47 truncated "{\"type\":"`}, io.EOF},
		{"a new stream", strings.NewReader("{bad\n{"), []string{`1@0 broken at 1 "{bad"`}, nil},
		{"an error", iotest.ErrReader(broken), []string{`2@5 truncated "{"`}, broken},
		{"a reader that returns nothing", emptyReader{}, nil, io.ErrNoProgress},
	} {
		got, err := f.FeedFrom(test.src)
		if diff := cmp.Diff(test.want, describeAll(got)); diff != "" || !errors.Is(err, test.err) {
			t.Errorf("%s: error %v, want %v; messages (-want +got):\n%s", test.name, err, test.err, diff)
		}
	}
}

// An emptyReader returns neither bytes nor an error.
type emptyReader struct{}

func (emptyReader) Read([]byte) (int, error) { return 0, nil }

// BenchmarkReading compares the ways to read a stream.
func BenchmarkReading(b *testing.B) {
	stream := []byte(strings.Repeat(greeting(strings.Repeat("All is well. ", 40))+"\n"+alive+"\n", 2000))
	count := func(b *testing.B, read func(src io.Reader) int) {
		b.SetBytes(int64(len(stream)))
		b.ReportAllocs()
		for b.Loop() {
			if n := read(bytes.NewReader(stream)); n != 4000 {
				b.Fatalf("%d messages", n)
			}
		}
	}
	b.Run("Reader", func(b *testing.B) {
		count(b, func(src io.Reader) (n int) {
			for range wire.NewReader(src, nil).Messages() {
				n++
			}
			return n
		})
	})
	b.Run("FeedFrom", func(b *testing.B) {
		count(b, func(src io.Reader) (n int) {
			for f := wire.NewFeeder(nil); ; {
				batch, err := f.FeedFrom(src)
				n += len(batch)
				if err != nil {
					return n
				}
			}
		})
	})
	b.Run("Feed", func(b *testing.B) {
		count(b, func(src io.Reader) (n int) {
			chunk := make([]byte, 64<<10)
			for f := wire.NewFeeder(nil); ; {
				size, err := src.Read(chunk)
				n += len(f.Feed(chunk[:size]))
				if err != nil {
					return n + len(f.Drain())
				}
			}
		})
	})
}

func TestFeederEmptyChunks(t *testing.T) {
	f := wire.NewFeeder(nil)
	for range 200 {
		if got := append(f.Feed(nil), f.Feed([]byte{})...); got != nil {
			t.Fatalf("an empty chunk gives %q", describeAll(got))
		}
	}
	f.Feed([]byte(alive[:5]))
	f.Feed(nil)
	if got := describeAll(f.Feed([]byte(alive[5:] + "\n"))); !slices.Equal(got, []string{alive}) {
		t.Errorf("got %q", got)
	}
}

func TestFeederFromSeveralGoroutines(t *testing.T) {
	const goroutines, frames = 8, 200
	f := wire.NewFeeder(nil)
	counts := make(chan int, goroutines)
	var group sync.WaitGroup
	for range goroutines {
		group.Go(func() {
			n := 0
			for range frames {
				n += len(f.Feed([]byte(alive + "\n")))
			}
			counts <- n
		})
	}
	group.Wait()
	close(counts)
	total := len(f.Drain())
	for n := range counts {
		total += n
	}
	if total != goroutines*frames {
		t.Errorf("%d messages, want %d", total, goroutines*frames)
	}
}
