package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/wire"
)

// A splitLog records the output of a splitter.
type splitLog struct {
	Lines  []splitLine
	Bad    []string
	Offset int64
}

type splitLine struct {
	Text string
	At   wire.Position
}

func (l *splitLog) yield(line []byte, at wire.Position) {
	l.Lines = append(l.Lines, splitLine{string(line), at})
}

func (l *splitLog) bad(line InvalidLine) {
	l.Bad = append(l.Bad, fmt.Sprintf("%v %q %v %t", line.Position, line.Head, line.Err, line.Torn))
}

// feedInPieces feeds data in pieces of the given sizes, and the rest at once.
func feedInPieces(maxLine int, data []byte, sizes ...int) splitLog {
	s := NewLineSplitter(maxLine)
	var got splitLog
	for _, n := range sizes {
		n = min(n, len(data))
		piece := bytes.Clone(data[:n])
		s.Feed(piece, got.yield, got.bad)
		clear(piece)
		data = data[n:]
	}
	s.Feed(data, got.yield, got.bad)
	got.Offset = s.Offset()
	s.Flush(got.yield, got.bad)
	return got
}

func byteByByte(n int) []int {
	sizes := make([]int, n)
	for i := range sizes {
		sizes[i] = 1
	}
	return sizes
}

func TestLines(t *testing.T) {
	t.Parallel()
	at := func(line int, offset, n int64) wire.Position {
		return wire.Position{Line: line, Offset: offset, Bytes: n}
	}
	nul := strings.Repeat("\x00", 100)
	for _, test := range []struct {
		name, data string
		want       splitLog
	}{
		{"nothing", "", splitLog{}},
		{"lines", "{}\n{\"a\":1}\n", splitLog{Lines: []splitLine{{"{}", at(1, 0, 2)}, {`{"a":1}`, at(2, 3, 7)}}, Offset: 11}},
		{"blank lines count", "\n\n \t\n{}\n\n", splitLog{Lines: []splitLine{{"{}", at(4, 5, 2)}}, Offset: 9}},
		{"carriage returns", "{}\r\n\r\n[]\r\n", splitLog{Lines: []splitLine{{"{}", at(1, 0, 2)}, {"[]", at(3, 6, 2)}}, Offset: 10}},
		{"byte-order mark", "\ufeff{}\n\ufeff{}\n", splitLog{Lines: []splitLine{{"{}", at(1, 3, 2)}, {"\ufeff{}", at(2, 6, 5)}}, Offset: 12}},
		{"byte-order mark alone", "\ufeff\r\n", splitLog{Offset: 5}},
		{"what is no entry is yielded too", "oops\n", splitLog{Lines: []splitLine{{"oops", at(1, 0, 4)}}, Offset: 5}},
		{
			"an unterminated line that is an entry is taken at the end", "{}\n{\"a\":1}",
			splitLog{Lines: []splitLine{{"{}", at(1, 0, 2)}, {`{"a":1}`, at(2, 3, 7)}}, Offset: 3},
		},
		{
			"with half a line end", "{\"a\":1}\r",
			splitLog{Lines: []splitLine{{`{"a":1}`, at(1, 0, 7)}}},
		},
		{
			"a half-written line waits", "{}\n{\"a\":",
			splitLog{
				Lines:  []splitLine{{"{}", at(1, 0, 2)}},
				Bad:    []string{`{2 3 5} "{\"a\":" transcript: unexpected end of JSON at byte 5 true`},
				Offset: 3,
			},
		},
		{
			"a number that could go on waits", "{}\n42",
			splitLog{
				Lines:  []splitLine{{"{}", at(1, 0, 2)}},
				Bad:    []string{`{2 3 2} "42" transcript: expected object, found number at byte 0 true`},
				Offset: 3,
			},
		},
		{"blanks at the end", "{}\n  ", splitLog{Lines: []splitLine{{"{}", at(1, 0, 2)}}, Offset: 3}},
		{"NUL before a line", nul + "{}\n", splitLog{Lines: []splitLine{{"{}", at(1, 100, 2)}}, Offset: 103}},
		{"NUL behind a line", "{}" + nul + "\n[]\n", splitLog{Lines: []splitLine{{"{}", at(1, 0, 2)}, {"[]", at(2, 103, 2)}}, Offset: 106}},
		{"NUL at the end", "{}\n" + nul, splitLog{Lines: []splitLine{{"{}", at(1, 0, 2)}}, Offset: 103}},
		{
			"NUL inside of a line", `{"torn":` + nul + "{}\n[]\n",
			splitLog{Lines: []splitLine{{`{"torn":`, at(1, 0, 8)}, {"{}", at(1, 108, 2)}, {"[]", at(2, 111, 2)}}, Offset: 114},
		},
		{
			"exactly at the limit", strings.Repeat("x", 120) + "\n" + strings.Repeat("y", 120) + "\r\n",
			splitLog{
				Lines:  []splitLine{{strings.Repeat("x", 120), at(1, 0, 120)}, {strings.Repeat("y", 120), at(2, 121, 120)}},
				Offset: 243,
			},
		},
		{
			"longer than the limit", "{}\n" + strings.Repeat("x", 121) + "\r\n[]\n",
			splitLog{
				Lines:  []splitLine{{"{}", at(1, 0, 2)}, {"[]", at(3, 126, 2)}},
				Bad:    []string{`{2 3 121} "` + strings.Repeat("x", 121) + `" transcript: line too long: 121 bytes, at most 120 false`},
				Offset: 129,
			},
		},
		{
			"longer than the limit and without an end", strings.Repeat("x", 130),
			splitLog{Bad: []string{`{1 0 130} "` + strings.Repeat("x", 130) + `" transcript: line too long: 130 bytes, at most 120 true`}},
		},
		{"blank and longer than the limit", "\ufeff" + strings.Repeat(" ", 3000) + "\n{}\n", splitLog{Lines: []splitLine{{"{}", at(2, 3004, 2)}}, Offset: 3007}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, feedInPieces(120, []byte(test.data))); diff != "" {
				t.Errorf("at once (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.want, feedInPieces(120, []byte(test.data), byteByByte(len(test.data))...)); diff != "" {
				t.Errorf("byte by byte (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTornLineIsCompletedLater(t *testing.T) {
	t.Parallel()
	s := NewLineSplitter(0)
	var got splitLog
	s.Feed([]byte(`{"a":`), got.yield, got.bad)
	s.Flush(got.yield, got.bad)
	s.Feed([]byte("1}\n{}"), got.yield, got.bad)
	s.Flush(got.yield, got.bad)
	s.Feed([]byte("\n[]\n"), got.yield, got.bad)
	want := []splitLine{
		{`{"a":1}`, wire.Position{Line: 1, Offset: 0, Bytes: 7}},
		{`{}`, wire.Position{Line: 2, Offset: 8, Bytes: 2}},
		{`[]`, wire.Position{Line: 3, Offset: 11, Bytes: 2}},
	}
	if diff := cmp.Diff(want, got.Lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	if len(got.Bad) != 1 {
		t.Errorf("bad lines: %q, want the torn one, once", got.Bad)
	}
}

func TestLongLinesAndHolesTakeLittleMemory(t *testing.T) {
	t.Parallel()
	s := NewLineSplitter(1 << 20)
	var lines, bad int
	piece := make([]byte, 64<<10)
	feed := func(p []byte) {
		s.Feed(p, func([]byte, wire.Position) { lines++ }, func(l InvalidLine) {
			bad++
			if !errors.Is(l.Err, ErrLineTooLong) || len(l.Head) != headBytes {
				t.Errorf("bad line %v with %d bytes", l.Err, len(l.Head))
			}
		})
		if cap(s.held) > 3<<20 {
			t.Fatalf("the splitter holds %d bytes", cap(s.held))
		}
	}
	for range 1 << 9 {
		feed(piece) // NUL bytes
	}
	for i := range piece {
		piece[i] = 'x'
	}
	for range 1 << 9 {
		feed(piece)
	}
	feed([]byte("\n{}\n"))
	for range 10 {
		feed(piece)
	}
	feed([]byte("\n{}\n"))
	if lines != 3 || bad != 1 || s.Offset() != int64(1<<26+10<<16+8) {
		t.Errorf("%d lines, %d bad, offset %d", lines, bad, s.Offset())
	}
	feed(piece[:keepBytes/64])
	if cap(s.held) > keepBytes {
		t.Errorf("the buffer of a long line is still there: %d bytes", cap(s.held))
	}
}

func TestWholeLinesAreNotCopied(t *testing.T) {
	data := bytes.Repeat([]byte("{\"a\":1}\n"), 100)
	s := NewLineSplitter(0)
	allocs := testing.AllocsPerRun(10, func() {
		s.Feed(data, func(line []byte, _ wire.Position) {
			if len(line) != 7 {
				t.Errorf("line %q", line)
			}
		}, func(InvalidLine) { t.Error("bad line") })
	})
	if allocs > 0 || s.held != nil {
		t.Errorf("%v allocations, %d bytes held", allocs, cap(s.held))
	}
}

func TestHeadEndsWithAWholeCharacter(t *testing.T) {
	t.Parallel()
	for n := range 4 {
		line := strings.Repeat("x", n) + strings.Repeat("日", headBytes)
		if head := lineHead([]byte(line)); !strings.HasPrefix(line, head) || len(head) < headBytes-3 || (len(head)-n)%3 != 0 {
			t.Errorf("head of %d bytes", len(head))
		}
	}
}

// The memory for an append that is not complete is limited, even if its lines are short.
func TestShortLinesOfAnAppend(t *testing.T) {
	t.Parallel()
	const limit, fed = 64 << 10, 1 << 20
	s := NewLineSplitter(limit)
	lines, bad, held := 0, 0, 0
	feed := func(text string) {
		s.Feed([]byte(text), func([]byte, wire.Position) { lines++ }, func(InvalidLine) { bad++ })
		if s.batch != nil {
			held = max(held, len(s.batch.text)+len(s.batch.lines)*int(unsafe.Sizeof(heldLine{})))
		}
	}
	feed(" \t {}\n")
	for range fed / 2 {
		feed("x\n")
	}
	if held > limit || held < limit/2 {
		t.Errorf("%d bytes were held, at most %d are allowed", held, limit)
	}
	if lines != 1+fed/2 || bad != 0 || s.batch != nil {
		t.Errorf("%d lines and %d bad ones, want %d and none", lines, bad, 1+fed/2)
	}
}

// FuzzLines cuts any bytes anywhere.
func FuzzLines(f *testing.F) {
	f.Add([]byte("\ufeff{}\r\n\x00\x00{\"a\":\x00\n  \n[1]"), uint64(1), uint8(3))
	f.Add([]byte(strings.Repeat("x", 2000)+"\r\n{}\r"), uint64(2), uint8(9))
	f.Add([]byte("\ufeff"+strings.Repeat(" ", 2000)+"\n\ufeff"), uint64(3), uint8(0))
	f.Add([]byte(" \t {}\n{} \t\t\n{}\t \t\n \t {}\n{x\n{}\n \t {}\n{} \t\t\n \t {}"), uint64(4), uint8(200))
	f.Add([]byte(" \t {}\n{} \t\t\n{} \t\t\n{} \t\t\n{}\t \t\n"), uint64(5), uint8(150))
	f.Fuzz(func(t *testing.T, data []byte, seed uint64, maxLine uint8) {
		rng := rand.New(rand.NewPCG(seed, 0))
		var sizes []int
		for n := 0; n < len(data); {
			size := 1 + rng.IntN(1+rng.IntN(64))
			sizes = append(sizes, size)
			n += size
		}
		want := feedInPieces(int(maxLine), data)
		if diff := cmp.Diff(want, feedInPieces(int(maxLine), data, sizes...)); diff != "" {
			t.Errorf("cut %v (-at once +in pieces):\n%s", sizes, diff)
		}
		for _, line := range want.Lines {
			at := line.At
			if string(data[at.Offset:at.Offset+at.Bytes]) != line.Text || at.Line != 1+bytes.Count(data[:at.Offset], []byte("\n")) {
				t.Errorf("line %q is not at %+v", line.Text, at)
			}
		}
	})
}

func TestSanitize(t *testing.T) {
	for text, want := range map[string]string{
		"":            "",
		" plain \n":   "plain",
		"a < b > c":   "a < b > c",
		"<b>bold</b>": "<b>bold</b>",
		"a <system-reminder>x</system-reminder> b":                                            "a <system-reminder>x</system-reminder> b",
		"a <System-Reminder>x\ny</SYSTEM-REMINDER> b":                                         "a <System-Reminder>x\ny</SYSTEM-REMINDER> b",
		"<local-command-caveat>x</local-command-caveat>a":                                     "a",
		"a<system-reminder>x</system-reminder>b<system-reminder>y</system-reminder>":          "a<system-reminder>x</system-reminder>b",
		"<system-reminder></system-reminder>":                                                 "",
		"<local-command-stdout>out</local-command-stdout>":                                    "out",
		"<local-command-stderr>err</local-command-stderr>":                                    "err",
		"<local-command-stdout>cut":                                                           "cut",
		"<local-command-stdout></local-command-stdout>":                                       "",
		"<command-name>/review</command-name><command-args>it all</command-args>":             "/review it all",
		"<command-message>review</command-message>\n<command-name>/review</command-name>":     "/review",
		"<command-args>x</command-args><command-name>/y</command-name>":                       "/y x",
		"<command-name>pdf</command-name>":                                                    "/pdf",
		"<command-name> </command-name>":                                                      "",
		"<command-message>foo</command-message> is the XML wrapper.":                          "<command-message>foo</command-message> is the XML wrapper.",
		"<command-message>review is running</command-message>":                                "",
		"run <command-name>/x</command-name> <command-args>y</command-args> now":              "run <command-name>/x</command-name> <command-args>y</command-args> now",
		"<bash-input>ls -l</bash-input>":                                                      "ls -l",
		"then <BASH-INPUT>ls</bash-input>!":                                                   "then <BASH-INPUT>ls</bash-input>!",
		"<system-reminder>cut":                                                                "<system-reminder>cut",
		"a</system-reminder>b":                                                                "a</system-reminder>b",
		"<system-reminder>a<system-reminder>b</system-reminder>c":                             "c",
		"<system-reminder>no <system-reminder> tags</system-reminder>a":                       "a",
		"<system-reminder>a<local-command-caveat>b</system-reminder>c</local-command-caveat>": "c</local-command-caveat>",
		"<system-reminder >a</system-reminder>":                                               "<system-reminder >a</system-reminder>",
		"<command-name>/x</command-name>\n<command-args>a <system-reminder>b</command-args>":  "/x a <system-reminder>b",
		"\x1b[31mred\x1b[0m <system-reminder>x</system-reminder>":                             "\x1b[31mred\x1b[0m <system-reminder>x</system-reminder>",
		"<system-reminder>ſ</syſtem-reminder>x</system-reminder>":                             "",
		"<":                               "<",
		"<system-reminder":                "<system-reminder",
		"<command-name>/x<command-args>y": "<command-name>/x<command-args>y",
	} {
		if got := Sanitize(text); got != want {
			t.Errorf("Sanitize(%q) = %q, want %q", text, got, want)
		}
	}
}

// Work grows with the text, not with its square: each of these took minutes where every tag looked
// for its end.
func TestSanitizeIsLinear(t *testing.T) {
	longest, most := soak.Size(1<<17, 1<<20), soak.Size(1<<13, 1<<16)
	for _, part := range []string{
		"<system-reminder>", "</system-reminder>", "<", "<>", "</", "<a", "<bash-input>", "<command-name>", "<1",
		"<system-reminder><local-command-caveat>", "<system-reminder><system-reminder></system-reminder>",
		"<task-notification>", "<task-notification><summary></task-notification>", "<task-notification><1",
		`<teammate-message teammate_id="a">`, `<teammate-message teammate_id="a">x</teammate-message>`,
		`<teammate-message teammate_id="a" `, "<teammate-message ", "<local-command-stdout>", "<bash-stdout></bash-stdout>",
		"<local-command-caveat></local-command-caveat>", "<tick>", "<ide_x></ide_x>", "[Request interrupted by user",
		"[Request interrupted by user]", caveatStart,
	} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			text := strings.Repeat(part, min(longest/len(part), most))
			Sanitize(text)
			Sanitize("a" + text)
			withoutTags(text)
			e := &Entry{Type: "user", Message: &Message{Content: []byte(quoteText(text))}}
			if msg, noise := new(classifier).classify(e); msg == nil && noise == "" {
				t.Error("neither a message nor noise")
			}
		})
	}
}
