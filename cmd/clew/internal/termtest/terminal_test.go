package termtest

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// screenOf returns what a terminal of 10 columns and 4 rows shows after a text.
func screenOf(text string) *Terminal {
	t := New(10, 4)
	_, _ = t.WriteString(text)
	return t
}

func TestText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"lines", "one\r\ntwo", "one|two||"},
		{"a line feed keeps the column", "one\ntwo", "one|   two||"},
		{"wrapping", "0123456789ab", "0123456789|ab||"},
		{"the last column waits", "0123456789\r\nab", "0123456789|ab||"},
		{"no wrapping", "\x1b[?7l0123456789ab", "012345678b|||"},
		{"scrolling", "1\r\n2\r\n3\r\n4\r\n5", "2|3|4|5"},
		{"wide characters", "日本\r\x1b[2Cx", "日x|||"},
		{"half of a wide character", "日本\r\x1b[1Cx", " x本|||"},
		{"marks", "e\u0301e", "e\u0301e|||"},
		{"moving", "\x1b[3;4Ha\x1b[Ab\x1b[2Dc\x1b[Bd", "|   cb|   ad|"},
		{"tabs and backspace", "a\tb\b\bc", "a      cb|||"},
		{"erase the rest of a line", "abcdef\x1b[3D\x1b[K", "abc|||"},
		{"erase the start of a line", "abcdef\x1b[3D\x1b[1K", "    ef|||"},
		{"erase below", "1\r\n2\r\n3\x1b[2;1H\x1b[J", "1|||"},
		{"erase above", "1\r\n2\r\n3\x1b[2;1H\x1b[1J", "||3|"},
		{"erase all", "1\r\n2\x1b[2J3", "| 3||"},
		{"scroll a region up", "1\r\n2\r\n3\r\n4\x1b[2;3r\x1b[S\x1b[r", "1|3||4"},
		{"scroll a region down", "1\r\n2\r\n3\r\n4\x1b[2;3r\x1b[T\x1b[r", "1||2|4"},
		{"line feeds in a region", "1\r\n2\r\n3\r\n4\x1b[2;3r\x1b[3;1H\nx", "1|3|x|4"},
		{"insert lines", "1\r\n2\r\n3\x1b[2;1H\x1b[L", "1||2|3"},
		{"delete lines", "1\r\n2\r\n3\x1b[1;1H\x1b[2M", "3|||"},
		{"delete characters", "abcdef\r\x1b[2P", "cdef|||"},
		{"insert characters", "abc\r\x1b[2@", "  abc|||"},
		{"the other screen", "main\x1b[?1049h\x1b[Hother", "other|||"},
		{"back on the main screen", "main\x1b[?1049hother\x1b[?1049l!", "main!|||"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			term := screenOf(tt.text)
			got := strings.ReplaceAll(strings.TrimSuffix(term.Text(), "\n"), "\n", "|")
			if got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
			if unknown := term.Unknown(); unknown != nil {
				t.Errorf("unknown: %q", unknown)
			}
		})
	}
}

// It makes no difference how the bytes are cut.
func TestWriteInPieces(t *testing.T) {
	t.Parallel()
	const text = "日\x1b[1;31mred\x1b[0m\x1b]2;title\x1b\\\x1b]52;c;aGVsbG8=\a\x1b[?1049h\x1b[2;2H\x1b[>1uü"
	whole := screenOf(text)
	pieces := New(10, 4)
	for i := range len(text) {
		_, _ = pieces.Write([]byte{text[i]})
	}
	if diff := cmp.Diff(whole.Cells(), pieces.Cells()); diff != "" {
		t.Errorf("(-whole +pieces):\n%s", diff)
	}
	if whole.Modes() != pieces.Modes() || pieces.Title() != "title" || cmp.Diff(pieces.Clipboard(), []string{"hello"}) != "" {
		t.Errorf("%+v, %+v, %q, %q", whole.Modes(), pieces.Modes(), pieces.Title(), pieces.Clipboard())
	}
}

func TestModes(t *testing.T) {
	t.Parallel()
	before := Modes{Cursor: true, Wrap: true}
	const on = "\x1b[?25l\x1b[?7l\x1b[?2004h\x1b[?1002h\x1b[?1006h\x1b[?1004h\x1b[?2026h\x1b[>1u\x1b[?1049h"
	term := screenOf(on)
	want := Modes{
		AltScreen: true, Paste: true, Mouse: true, MouseMotion: true, MouseSGR: true, Focus: true, Synchronized: true,
		Keyboard: 1, KeyboardDepth: 1,
	}
	if diff := cmp.Diff(want, term.Modes()); diff != "" {
		t.Errorf("on (-want +got):\n%s", diff)
	}
	const off = "\x1b[?1049l\x1b[<u\x1b[?2026l\x1b[?1004l\x1b[?1006l\x1b[?1002l\x1b[?2004l\x1b[?7h\x1b[?25h"
	_, _ = term.WriteString(off)
	if diff := cmp.Diff(before, term.Modes()); diff != "" {
		t.Errorf("off (-want +got):\n%s", diff)
	}
}

func TestStyles(t *testing.T) {
	t.Parallel()
	term := screenOf("\x1b[1;31ma\x1b[mb\x1b[7;42mc\x1b[27;49md\x1b[38;5;208me\x1b[0m\x1b]8;;https://example.com\x1b\\f\x1b]8;;\x1b\\g")
	for x, want := range []Cell{
		{Text: "a", Style: Style{Bold: true, Foreground: "31"}},
		{Text: "b"},
		{Text: "c", Style: Style{Inverse: true, Background: "42"}},
		{Text: "d"},
		{Text: "e", Style: Style{Foreground: "38;5;208"}},
		{Text: "f", Link: "https://example.com"},
		{Text: "g"},
	} {
		if diff := cmp.Diff(want, term.Cell(x, 0)); diff != "" {
			t.Errorf("column %d (-want +got):\n%s", x, diff)
		}
	}
	if term.Cell(4, 0).Style.Basic() || !term.Cell(0, 0).Style.Basic() {
		t.Error("Basic does not tell the 16 colors from others")
	}
}

func TestUnknownIsRecorded(t *testing.T) {
	t.Parallel()
	term := screenOf("a\x1b[5zb\x1b]1337;x\ac\x01\x1b[?9999h")
	want := []string{"\x1b[5z", "\x1b]1337;x\a", "\x01", "\x1b[?9999h"}
	if diff := cmp.Diff(want, term.Unknown()); diff != "" || term.Line(0) != "abc" {
		t.Errorf("%q (-want +got):\n%s", term.Line(0), diff)
	}
}

func TestScrollback(t *testing.T) {
	t.Parallel()
	term := screenOf("1\r\n2\r\n3\r\n4\r\n5\r\n6\x1b[?1049h\r\n\r\n\r\n\r\n\r\n\r\n\x1b[?1049l")
	if diff := cmp.Diff([]string{"1", "2"}, term.Scrollback()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestResize(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name          string
		reflows       bool
		columns, rows int
		want          string
	}{
		{"narrower cuts", false, 4, 4, "/0123|ab|x|"},
		{"narrower breaks", true, 4, 4, "0123/4567|89|ab|x"},
		{"wider keeps", false, 20, 4, "/0123456789|ab|x|"},
		{"wider joins", true, 20, 4, "/0123456789ab|x||"},
		{"lower", false, 10, 2, "0123456789/ab|x"},
		{"higher", false, 10, 5, "/0123456789|ab|x||"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text := "0123456789ab\r\nx"
			if tt.name == "narrower breaks" {
				text = "0123456789\r\nab\r\nx"
			}
			term := screenOf(text)
			term.SetReflow(tt.reflows)
			term.Resize(tt.columns, tt.rows)
			got := strings.Join(term.Scrollback(), "|") + "/" +
				strings.ReplaceAll(strings.TrimSuffix(term.Text(), "\n"), "\n", "|")
			if got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
			if x, y := term.Cursor(); term.Line(y) != "x" || x != 1 {
				t.Errorf("the cursor is at %d, %d", x, y)
			}
		})
	}
}

func TestReplies(t *testing.T) {
	t.Parallel()
	var replies strings.Builder
	term := New(10, 4)
	_, _ = term.WriteString("\x1b[6n")
	term.SetReplies(&replies)
	_, _ = term.WriteString("ab\x1b[6n\x1b[c\x1b[?u\x1b[?2026$p")
	if got, want := replies.String(), "\x1b[1;3R\x1b[?62;22;52c\x1b[?0u\x1b[?2026;2$y"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if n := len(term.Queries()); n != 5 {
		t.Errorf("%d queries", n)
	}
}

// A half-written frame is not looked at.
func TestWait(t *testing.T) {
	t.Parallel()
	term := New(10, 4)
	done := make(chan bool)
	go func() { done <- term.Wait(t.Context(), func() bool { return strings.HasPrefix(term.Line(0), "a") }) }()
	_, _ = term.WriteString("\x1b[?2026ha")
	_, _ = term.WriteString("b\x1b[?2026l")
	if !<-done || term.Line(0) != "ab" {
		t.Errorf("%q", term.Line(0))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if term.Wait(ctx, func() bool { return false }) {
		t.Error("a condition that does not hold holds")
	}
}

func FuzzWrite(f *testing.F) {
	f.Add("\x1b[3;4H\x1b[2L\x1b[1;31m日\x1b[S\x1b[r\x1b]8;;x\x1b\\\x1bM\x1b[999P\x1b[99@\x1b[8X", 3, 2)
	f.Fuzz(func(t *testing.T, text string, columns, rows int) {
		term := New(columns%100, rows%50)
		term.SetReflow(true)
		_, _ = term.WriteString(text)
		term.Resize(rows%70, columns%60)
		_, _ = term.WriteString(text)
		if c, r := term.Size(); strings.Count(term.Text(), "\n") != r || len(term.Cells()[0]) != c {
			t.Errorf("%d rows", strings.Count(term.Text(), "\n"))
		}
	})
}
