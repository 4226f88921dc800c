package lineedit

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/tty"
)

// press types what a terminal would send, and returns what the last key led to.
func press(e *Editor, typed string) Event {
	var event Event
	for _, key := range new(Decoder).Decode([]byte(typed)) {
		event = e.Press(key)
	}
	return event
}

// cursor returns the text with a bar where the cursor is.
func cursor(e *Editor) string { return string(e.text[:e.at]) + "|" + string(e.text[e.at:]) }

func TestEdit(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"abc\x1b[D\x1b[DX":              "aX|bc",
		"abc\x01X\x05Y":                 "XabcY|",
		"one two\x17x":                  "one x|",
		"one two\x1bb\x0b":              "one |",
		"one two\x1bb\x15":              "|two",
		"a\nb\x01\x7fc":                 "ac|b",
		"one\ntwo\x1b[A!":               "one!|\ntwo",
		"one\nx\x1b[A\x1b[B!":           "one\nx!|",
		"a\\\rb":                        "a\nb|",
		"a\x1b\rb\nc":                   "a\nb\nc|",
		"e\u0301x\x1b[D\x1b[D\x04":      "|x",
		"👩\u200d💻!\x1b[D\x7f":           "|!",
		"\x1b[200~a\rb\x1b[201~c":       "a\nbc|",
		"abc\x03":                       "|",
		"ab\ncd\x1b[A\x0b":              "ab|cd",
		" \r":                           "|",
		"a b\x01\x1bf\x1b[3~":           "a|b",
		"\x7f\x1b[3~\x1b[D\x1b[C\x17\n": "\n|",
	} {
		e := new(Editor)
		press(e, typed)
		if got := cursor(e); got != want {
			t.Errorf("%q gives %q, want %q", typed, got, want)
		}
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		typed string
		want  Event
	}{
		{"a\r", Submitted}, {"\r", Edited}, {"a\\\r", Edited}, {"\x04", Ended}, {"a\x04", Edited},
		{"\x03", Edited}, {"\x03\x03", Ended}, {"a\x03\x03", Edited}, {"a\x03\x03\x03", Ended}, {"\x03a\x7f\x03", Edited},
	} {
		if got := press(new(Editor), tt.typed); got != tt.want {
			t.Errorf("%q leads to %d, want %d", tt.typed, got, tt.want)
		}
	}
}

func TestRecall(t *testing.T) {
	t.Parallel()
	h := new(History)
	for _, entry := range []string{"first", "second\nline"} {
		if err := h.Add(entry); err != nil {
			t.Fatal(err)
		}
	}
	for typed, want := range map[string]string{
		"dra\x1b[A":                   "second\nline|",
		"dra\x1b[A\x1b[A\x1b[A":       "first|",
		"dra\x1b[A\x1b[A\x1b[A\x1b[A": "first|",
		"dra\x1b[A\x1b[B":             "dra|",
		"dra\x1b[B":                   "dra|",
		"\x1b[A\x03\x1b[A":            "second\nline|",
	} {
		e := &Editor{History: h}
		press(e, typed)
		if got := cursor(e); got != want {
			t.Errorf("%q gives %q, want %q", typed, got, want)
		}
	}
}

func TestComplete(t *testing.T) {
	t.Parallel()
	e := &Editor{Complete: func(before string) (int, []Choice) {
		var fit []Choice
		for _, c := range []Choice{{"/mode", "\x1b[2Jmode"}, {"/model", "model"}, {"/help", "help"}} {
			if strings.HasPrefix(c.Text, before) {
				fit = append(fit, c)
			}
		}
		return 0, fit
	}}
	for _, step := range []struct {
		typed, want string
		hints       []string
	}{
		{"/m\t", "/mode|", []string{`/mode   \x1b[2Jmode`, "/model  model"}},
		{"l\t", "/model |", nil},
		{"\t", "/model |", nil},
		{"\x15/h\t", "/help |", nil},
	} {
		press(e, step.typed)
		if got := cursor(e); got != step.want {
			t.Errorf("%q gives %q, want %q", step.typed, got, step.want)
		}
		if diff := cmp.Diff(step.hints, e.hints); diff != "" {
			t.Errorf("%q hints (-want +got):\n%s", step.typed, diff)
		}
	}
}

// lines returns the rows of a view.
func lines(v view) []string {
	var all []string
	for _, r := range v.rows {
		all = append(all, r.text)
	}
	return all
}

func TestView(t *testing.T) {
	t.Parallel()
	e := &Editor{Header: "opus · default · $0.00"}
	press(e, "one\n世界世界\x1b[200~\x1b[2J\u202e\tx\x1b[201~")
	v := e.view(size{12, 24})
	want := []string{"opus · def…", "> one", "  世界世界", `  \x1b[2J`, `  \u202e`, "      x"}
	if diff := cmp.Diff(want, lines(v)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if v.cursor != 5 || v.column != 7 {
		t.Errorf("the cursor is at %d, %d", v.cursor, v.column)
	}
}

// Lines are broken between words where there are some, and the cursor is where the next character
// would be.
func TestViewBreaksBetweenWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"one two three|":                 {"> one two", "  three|"},
		"one two three f|our":            {"> one two", "  three f|our"},
		"one two th|ree":                 {"> one two", "  th|ree"},
		"twelve-chars |":                 {"> twelve-chars|"},
		"twelve-chars  |word":            {"> twelve-chars", "  |word"},
		"a thirteen-chars|":              {"> a", "  thirteen-cha", "  rs|"},
		"世界世界世界世|":                       {"> 世界世界世界", "  世|"},
		"one|\ntwo words and more words": {"> one|", "  two words", "  and more", "  words"},
		"one\n|\nthree":                  {"> one", "  |", "  three"},
	} {
		before, after, _ := strings.Cut(text, "|")
		e := new(Editor)
		e.SetText(before + after)
		e.at = len([]rune(before))
		v := e.view(size{15, 24})
		got := lines(v)
		for i := range got {
			got[i] = strings.TrimRight(got[i], " ")
		}
		shown := v.rows[v.cursor].text
		got[v.cursor] = tty.Cut(shown, v.column) + "|" + strings.TrimRight(shown[len(tty.Cut(shown, v.column)):], " ")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// Whatever the size, no row reaches the last column, and the cursor is on the screen.
func TestViewFits(t *testing.T) {
	t.Parallel()
	e := &Editor{Header: strings.Repeat("header ", 20)}
	e.SetText(strings.Repeat("世界 and words\n", 50))
	press(e, "\x1b[A\x1b[A")
	for columns := 8; columns < 100; columns += 7 {
		for _, rows := range []int{3, 10, 24} {
			v := e.view(size{columns, rows})
			if len(v.rows) >= rows || v.cursor >= len(v.rows) || v.column >= columns {
				t.Errorf("%d x %d: %d rows, the cursor is at %d, %d", columns, rows, len(v.rows), v.cursor, v.column)
			}
			for _, line := range lines(v) {
				if tty.Width(line) >= columns {
					t.Errorf("%d x %d: %q is too long", columns, rows, line)
				}
			}
		}
	}
}

func TestDisplay(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	columns := 40
	d := &Display{Out: &out, Size: func() (int, int) { return columns, 24 }, Color: true}
	wrote := func(what, want string) {
		t.Helper()
		if got := out.String(); got != want {
			t.Errorf("%s writes %q, want %q", what, got, want)
		}
		out.Reset()
	}
	e := &Editor{Header: "head"}
	press(e, "one\ntwo\x1b[A")
	d.Draw(e)
	wrote("drawing", "\r\x1b[2mhead\x1b[0m\x1b[K\r\n> one\x1b[K\r\n  two\x1b[K\x1b[1A\r\x1b[5C")
	columns = 6
	d.Draw(e)
	wrote("a narrower screen", "\x1b[1A\r\x1b[2mhead\x1b[0m\x1b[K\r\n> one\x1b[K\r\n  two\x1b[K\x1b[1A\r\x1b[5C")
	columns = 40
	d.Finish(e)
	wrote("the end", "\x1b[1A\r> one\x1b[K\r\n  two\x1b[K\r\n\x1b[J\x1b[1A\r\r\n")
	d.Draw(new(Editor))
	wrote("another editor", "\r> \x1b[K\r\x1b[2C")
	d.Erase()
	wrote("erasing", "\r\x1b[K\r")
}

// Once the screen was cleared, the editor is at its top. A terminal multiplexer such as tmux keeps a
// copy of a screen that is cleared from there.
func TestDisplayLeavesNoCopies(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	d := &Display{Out: &out, Size: func() (int, int) { return 20, 24 }}
	e := new(Editor)
	d.Draw(e)
	d.Clear()
	for _, typed := range []string{"one two three four five", "\n", "\x7f", "\x15", "\x03"} {
		press(e, typed)
		d.Draw(e)
	}
	d.Erase()
	row, column := 0, 0
	_, screen, _ := strings.Cut(out.String(), "\x1b[H\x1b[2J")
	for _, part := range regexp.MustCompile(`\x1b\[[0-9]*[A-Za-z]|\r|\n|.`).FindAllString(screen, -1) {
		n := 1
		_, _ = fmt.Sscanf(part, "\x1b[%d", &n)
		switch {
		case part == "\r":
			column = 0
		case part == "\n":
			row++
		case strings.HasSuffix(part, "A"):
			row -= n
		case strings.HasSuffix(part, "C") || !strings.HasPrefix(part, "\x1b"):
			column += n
		case part == "\x1b[J" && row == 0 && column == 0:
			t.Fatalf("the whole screen is cleared: %q", screen)
		}
	}
}

func openHistory(t *testing.T, path string) *History {
	t.Helper()
	h, err := OpenHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestHistory(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "clew", "history")
	h := openHistory(t, path)
	for _, entry := range []string{"one", "two\nlines \x1b", "two\nlines \x1b", "", strings.Repeat("x", maxEntryBytes+1)} {
		if err := h.Add(entry); err != nil {
			t.Fatal(err)
		}
	}
	if h.Len() != 3 {
		t.Errorf("%d entries", h.Len())
	}
	if diff := cmp.Diff([]string{"one", "two\nlines \x1b"}, openHistory(t, path).entries); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, name := range []string{path, filepath.Dir(path)} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o077 != 0 {
			t.Errorf("%s has mode %v", name, mode)
		}
	}
}

// The file does not grow without end, and what is wrong in it does no harm.
func TestHistoryBounded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "history")
	var text strings.Builder
	text.WriteString("no JSON\n7\n\"\"\n")
	for i := range 3 * maxEntries {
		fmt.Fprintf(&text, "\"%d\"\n", i)
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	h := openHistory(t, path)
	if h.Len() != maxEntries || h.Newest(1) != "2999" || h.Newest(maxEntries) != "2000" {
		t.Errorf("%d entries, the newest is %s", h.Len(), h.Newest(1))
	}
	data, err := os.ReadFile(path)
	if err != nil || strings.Count(string(data), "\n") != maxEntries {
		t.Errorf("the file has %d lines, %v", strings.Count(string(data), "\n"), err)
	}
}

// Without a file that can be read, there is still a history.
func TestHistoryUnreadable(t *testing.T) {
	t.Parallel()
	h, err := OpenHistory(t.TempDir())
	if err == nil || h.Len() != 0 {
		t.Errorf("%d entries, %v", h.Len(), err)
	}
	if err := h.Add("one"); err == nil || h.Newest(1) != "one" {
		t.Errorf("%v", err)
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		typed string
		want  []Key
	}{
		{"aé世", []Key{{Rune: 'a'}, {Rune: 'é'}, {Rune: '世'}}},
		{"\r\n\x1b\r\x1b\n\x1b[13;2u", []Key{{Code: Enter}, {Code: Newline}, {Code: Newline}, {Code: Newline}, {Code: Newline}}},
		{"\x1b[A\x1bOB\x1b[C\x1b[D", []Key{{Code: Up}, {Code: Down}, {Code: Right}, {Code: Left}}},
		{"\x1b[1;5C\x1bb\x1b[3~\x7f", []Key{{Code: WordRight}, {Code: WordLeft}, {Code: Delete}, {Code: Backspace}}},
		{"\x03\x04\t", []Key{{Code: Interrupt}, {Code: EOF}, {Code: Tab}}},
		{"\x1b[200~a\r\nb\rc\x1b[31m\x03\x1b[201~d", []Key{{Code: Paste, Text: "a\nb\nc\x1b[31m\x03"}, {Rune: 'd'}}},
		{"\x1b[99~\x1b[?1;2c\x00x", []Key{{Rune: 'x'}}},
		{"\x1b\x1b[A", []Key{{Code: Up}}},
		{"\x1b[1\x07x", []Key{{Rune: 'x'}}},
		{"\xffx", []Key{{Rune: '\uFFFD'}, {Rune: 'x'}}},
		{"\x1bé", []Key{{Rune: 'é'}}},
		{"\x1b\x03", []Key{{Code: Escape}, {Code: Interrupt}}},
		{"\x1b\x1b\x03", []Key{{Code: Escape}, {Code: Escape}, {Code: Interrupt}}},
		{"\x1b\x1b\x1b[A", []Key{{Code: Escape}, {Code: Up}}},
	} {
		var whole, bytewise Decoder
		if diff := cmp.Diff(tt.want, whole.Decode([]byte(tt.typed))); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.typed, diff)
		}
		var got []Key
		for i := range len(tt.typed) {
			got = append(got, bytewise.Decode([]byte{tt.typed[i]})...)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q byte by byte (-want +got):\n%s", tt.typed, diff)
		}
	}
}

// However the bytes are cut, the keys are the same.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("a\x1b[200~x\x1b[201~\x1b[A\r"), 3)
	f.Add([]byte("\x1b[\x1b[200~\xe4\xb8"), 1)
	f.Fuzz(func(t *testing.T, typed []byte, cut int) {
		cut = min(max(cut, 0), len(typed))
		var whole, parts Decoder
		want := whole.Decode(typed)
		got := append(parts.Decode(typed[:cut]), parts.Decode(typed[cut:])...)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		e := new(Editor)
		for _, key := range want {
			e.Press(key)
			e.view(size{10, 5})
			if e.at < 0 || e.at > len(e.text) {
				t.Fatalf("the cursor is at %d of %d", e.at, len(e.text))
			}
		}
	})
}
