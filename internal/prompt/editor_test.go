package prompt

import (
	"strings"
	"testing"

	"github.com/clewdev/clew/internal/render"
	"github.com/google/go-cmp/cmp"
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
				if render.Width(line) >= columns {
					t.Errorf("%d x %d: %q is too long", columns, rows, line)
				}
			}
		}
	}
}
