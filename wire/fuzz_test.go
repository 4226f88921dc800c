package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/wire"
)

// seedFrames returns the first recorded frame of each kind, with its event's type, that is short.
func seedFrames(f *testing.F) [][]byte {
	f.Helper()
	seen := map[string]bool{}
	var frames [][]byte
	for _, dialogue := range recorded(f) {
		for _, frame := range dialogue {
			msg := wire.Decode(frame)
			kind := msg.Kind().String()
			if e, ok := msg.(*wire.StreamEventMessage); ok {
				kind += " " + e.Event.EventType()
			}
			if !seen[kind] && len(frame) < 600 {
				seen[kind] = true
				frames = append(frames, frame)
			}
		}
	}
	return frames
}

// FuzzDecode checks that decoding agrees with encoding/json on what is JSON, and on the texts of a
// message.
func FuzzDecode(f *testing.F) {
	for _, frame := range seedFrames(f) {
		f.Add(frame)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		msg := wire.Decode(data)
		var syntax *wire.SyntaxError
		invalid, _ := msg.(*wire.InvalidFrame)
		bad := invalid != nil && errors.As(invalid, &syntax)
		if bad == json.Valid(data) {
			t.Fatalf("json.Valid says %v, Decode %v", bad, msg)
		}
		if invalid != nil {
			if invalid.Raw() != string(data) {
				t.Errorf("Raw() = %q", invalid.Raw())
			}
			return
		}
		if want := string(bytes.Trim(data, " \t\r\n")); msg.Raw() != want {
			t.Errorf("Raw() = %q, want %q", msg.Raw(), want)
		}
		if m, ok := msg.(*wire.AssistantMessage); ok && !hasRepeatedKeys(data) {
			checkTexts(t, m, value(t, data).(map[string]any))
		}
	})
}

// checkTexts compares the text blocks of a message with its JSON.
func checkTexts(t *testing.T, m *wire.AssistantMessage, frame map[string]any) {
	t.Helper()
	if message, ok := frame["message"].(map[string]any); ok {
		frame = message
	}
	content, ok := frame["content"].([]any)
	if !ok {
		content = []any{map[string]any{"text": frame["content"]}}
	}
	for i, block := range m.Content {
		if b, ok := block.(*wire.TextBlock); ok && b.Text != content[i].(map[string]any)["text"] {
			t.Errorf("block %d is %q, want %q", i, b.Text, content[i])
		}
	}
}

// hasRepeatedKeys reports whether an object in valid JSON has a key twice.
func hasRepeatedKeys(data []byte) bool {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	repeated := false
	for walkValue(d, &repeated) {
	}
	return repeated
}

// walkValue skips one value. It returns false after the last one.
func walkValue(d *json.Decoder, repeated *bool) bool {
	token, err := d.Token()
	if err != nil {
		return false
	}
	delim, ok := token.(json.Delim)
	if !ok {
		return true
	}
	keys := map[any]bool{}
	for d.More() {
		if delim == '{' {
			key, _ := d.Token()
			*repeated = *repeated || keys[key]
			keys[key] = true
		}
		walkValue(d, repeated)
	}
	_, err = d.Token()
	return err == nil
}

// FuzzRoundTrip checks that a frame that was decoded is written as the same value, and that writing
// it once more changes nothing. The value may differ where a key is repeated, since one of them
// counts, and where bytes are not UTF-8, since they are replaced.
func FuzzRoundTrip(f *testing.F) {
	for _, frame := range seedFrames(f) {
		f.Add(frame)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		msg := wire.Decode(data)
		if _, ok := msg.(*wire.InvalidFrame); ok {
			return
		}
		once, err := wire.Append(nil, msg)
		if err != nil {
			t.Fatalf("%T does not encode: %v", msg, err)
		}
		again := wire.Decode(once)
		if again.Kind() != msg.Kind() {
			t.Fatalf("%T %v became %T %v: %s", msg, msg.Kind(), again, again, once)
		}
		twice, err := wire.Append(nil, again)
		if err != nil || !bytes.Equal(once, twice) {
			t.Errorf("written again, %v (-once +twice):\n%s", err, cmp.Diff(string(once), string(twice)))
		}
		if !utf8.Valid(data) || hasRepeatedKeys(data) {
			return
		}
		if diff := cmp.Diff(value(t, data), value(t, once), cmp.Comparer(sameNumber)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func sameNumber(a, b json.Number) bool {
	x, err1 := strconv.ParseFloat(string(a), 64)
	y, err2 := strconv.ParseFloat(string(b), 64)
	return a == b || err1 == nil && err2 == nil && x == y
}

// FuzzFraming checks that the messages of a stream do not depend on how it is cut, and that no byte
// is lost.
func FuzzFraming(f *testing.F) {
	for pair := range slices.Chunk(seedFrames(f), 2) {
		f.Add(bytes.Join(pair, []byte("\n")), []byte{6, 99}, uint16(0))
	}
	for _, stream := range []string{
		alive + "\r\n" + strange + alive + "\n\n" + greeting("a") + "\n",
		"\uFEFF{\"type\":\n \"keep_alive\"}" + alive + "\ntext\n{\"cut\n" + alive,
		"{\"type\":\"x\n\x00\x00" + alive + "\x00" + strange + "\n{\"a\":\"\n{}\n{}\r\n\xe2\x82\n",
		"Script started\n" + lines(strange, strange, "[1]", `{"a":1`, `2}`),
	} {
		f.Add([]byte(stream), []byte{0}, uint16(0))
		f.Add([]byte(stream), []byte{2, 0, 5}, uint16(22))
	}
	f.Fuzz(checkCuts)
}

// TestFramingOfFragments does what FuzzFraming does, on streams made of difficult fragments.
func TestFramingOfFragments(t *testing.T) {
	fragments := []string{
		alive, strange, greeting("é"), alive, "\n", "\n", "\n", "\r\n", "\r", " ", "\x00", "\x00\x00\x00", "\uFEFF", "\xef\xbb", "text", "\u00a0",
		"{", "}", "{}", "[", "]", `"`, `\`, `\u00`, "12", "tr", ",", ":", `{"type":`, `{"type":"assistant","message":{"content":"ab`, `"keep_alive"}`,
		"Script done\n", "\xff", "\xe2\x82", "7", "null",
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range soak.Size(800, 30_000) {
		var stream []byte
		for range 1 + random.IntN(14) {
			stream = append(stream, fragments[random.IntN(len(fragments))]...)
		}
		cuts := []byte{byte(random.IntN(4)), byte(random.IntN(30))}
		limit := uint16(random.IntN(2) * random.IntN(60))
		if checkCuts(t, stream, cuts, limit); t.Failed() {
			t.Fatalf("stream %q, cuts %v, limit %d", stream, cuts, limit)
		}
	}
}

// checkCuts compares the messages of a whole stream with the messages of the stream in pieces. Each
// cut is the size of a piece less one. The limit 0 means the default.
func checkCuts(t *testing.T, stream, cuts []byte, limit uint16) {
	opts := &wire.ReaderOptions{MaxFrameBytes: int(limit)}
	whole := placedAll(t, bytes.NewReader(stream), opts)
	cut := placedAll(t, &patternReader{bytes.NewReader(stream), cuts, 0}, opts)
	if diff := cmp.Diff(whole, cut); diff != "" {
		t.Errorf("read in pieces (-whole +pieces):\n%s", diff)
	}
	var want []string
	for _, p := range whole {
		want = append(want, p.Shown)
	}
	if diff := cmp.Diff(want, describeAll(feedPattern(opts, stream, cuts))); diff != "" {
		t.Errorf("fed in pieces (-whole +pieces):\n%s", diff)
	}
	checkPlaces(t, stream, whole)
}

// A place is the location of a message.
type place struct {
	Position wire.Position
	Shown    string
	Raw      string
	Whole    bool // Raw is all of it
}

func placedAll(t *testing.T, src io.Reader, opts *wire.ReaderOptions) []place {
	t.Helper()
	r := wire.NewReader(src, opts)
	var all []place
	for msg, err := range r.Messages() {
		if err != nil {
			t.Fatal(err)
		}
		invalid, _ := msg.(*wire.InvalidFrame)
		all = append(all, place{r.Position(), describe(msg), msg.Raw(), invalid == nil || !errors.Is(invalid, wire.ErrFrameTooLarge)})
	}
	return all
}

// checkPlaces checks that places are in order, that they hold what they say, and that nothing but
// padding and the lines of a terminal recorder lies between.
func checkPlaces(t *testing.T, stream []byte, all []place) {
	t.Helper()
	end := int64(0)
	for _, p := range all {
		start := p.Position.Offset
		if start < end || start+p.Position.Bytes > int64(len(stream)) {
			t.Fatalf("%+v begins before %d or ends behind the stream", p, end)
		}
		checkGap(t, stream[end:start])
		end = start + p.Position.Bytes
		if line := 1 + bytes.Count(stream[:start], []byte("\n")); line != p.Position.Line {
			t.Errorf("%+v lies on line %d", p, line)
		}
		if got := withoutLineEnds(stream[start:end]); p.Whole && got != p.Raw {
			t.Errorf("%+v is %q there", p, got)
		} else if !strings.HasPrefix(got, p.Raw) {
			t.Errorf("%+v begins with %q there", p, got)
		}
	}
	checkGap(t, stream[end:])
}

// withoutLineEnds returns a text as the reader joins it.
func withoutLineEnds(text []byte) string {
	joined := strings.ReplaceAll(string(text), "\r\n", "")
	return strings.ReplaceAll(joined, "\n", "")
}

func checkGap(t *testing.T, gap []byte) {
	t.Helper()
	for line := range strings.FieldsFuncSeq(string(gap), func(c rune) bool { return c == '\n' || c == 0 }) {
		line = strings.TrimSpace(strings.ReplaceAll(line, "\uFEFF", ""))
		if line != "" && !strings.HasPrefix(line, "Script started") && !strings.HasPrefix(line, "Script done") {
			t.Errorf("%q is lost", line)
		}
	}
}

// A patternReader reads pieces as its cuts say, one after the other and over again.
type patternReader struct {
	src  io.Reader
	cuts []byte
	n    int
}

func (r *patternReader) Read(b []byte) (int, error) {
	size := len(b)
	if len(r.cuts) > 0 {
		size = 1 + int(r.cuts[r.n%len(r.cuts)])
		r.n++
	}
	return r.src.Read(b[:min(size, len(b))])
}

func feedPattern(opts *wire.ReaderOptions, stream, cuts []byte) []wire.Message {
	f := wire.NewFeeder(opts)
	r := &patternReader{bytes.NewReader(stream), cuts, 0}
	var all []wire.Message
	piece := make([]byte, 256)
	for {
		n, err := r.Read(piece)
		all = append(all, f.Feed(piece[:n])...)
		if err != nil {
			return append(all, f.Drain()...)
		}
	}
}
