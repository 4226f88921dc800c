package tty

import (
	"strings"
	"testing"
)

func TestPaint(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		style Style
		text  string
		color bool
		want  string
	}{
		{Failure, "no", true, "\x1b[31mno\x1b[0m"},
		{Failure, "no", false, "no"},
		{Plain, "text", true, "text"},
		{Dim, "", true, ""},
		{Dim, "a\nb", true, "\x1b[2ma\x1b[0m\n\x1b[2mb\x1b[0m"},
	} {
		if got := test.style.Paint(test.text, test.color); got != test.want {
			t.Errorf("Paint(%d, %q, %v) = %q, want %q", test.style, test.text, test.color, got, test.want)
		}
	}
}

// Each style but the plain one has a look.
func TestStylesHaveLooks(t *testing.T) {
	t.Parallel()
	for s := Plain + 1; s <= RemovedWord; s++ {
		if s.Paint("x", true) == "x" {
			t.Errorf("style %d has no look", s)
		}
	}
}

func TestPaintSet(t *testing.T) {
	t.Parallel()
	var none StyleSet
	set := none.With(Emphasis).With(Strong).With(Plain)
	if !set.Has(Strong) || set.Has(Dim) {
		t.Errorf("%b has the wrong styles", set)
	}
	for got, want := range map[string]string{
		set.Paint("a", true):  "\x1b[1;3ma\x1b[0m",
		set.Paint("b", false): "b",
		set.Paint("", true):   "",
		none.Paint("c", true): "c",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestHyperlink(t *testing.T) {
	t.Parallel()
	if got, want := Hyperlink("a", "https://b.example"), "\x1b]8;;https://b.example\x1b\\a\x1b]8;;\x1b\\"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, target := range []string{"https://a.example/\x1b\\", "https://a.example/\x07", "https://a.example/ b", "https://ä.example"} {
		if got := Hyperlink("a", target); got != "a" {
			t.Errorf("a link to %q: %q", target, got)
		}
	}
}

func TestCutPainted(t *testing.T) {
	t.Parallel()
	const link = "\x1b]8;;https://go.dev\x1b\\the docs\x1b]8;;\x1b\\"
	for _, test := range []struct {
		line    string
		columns int
		want    string
		width   int
	}{
		{"plain", 3, "pla", 5},
		{Failure.Paint("wrong", true) + " text", 2, "\x1b[31mwr\x1b[0m", 10},
		{"a " + link + " b", 5, "a \x1b]8;;https://go.dev\x1b\\the\x1b]8;;\x1b\\", 12},
		{"你好", 3, "你", 4},
		{"", 3, "", 0},
		{"x\x1b[", 9, "x\x1b[", 1},
		{"x\x1b]8", 9, "x\x1b]8", 1},
	} {
		if got := CutPainted(test.line, test.columns); got != test.want {
			t.Errorf("CutPainted(%q, %d) = %q, want %q", test.line, test.columns, got, test.want)
		}
		if got := PaintedWidth(test.line); got != test.width {
			t.Errorf("PaintedWidth(%q) = %d, want %d", test.line, got, test.width)
		}
	}
}

func TestNotification(t *testing.T) {
	t.Parallel()
	const short, long = "\x1b]9;clew repo: it ended\x1b\\", "\x1b]777;notify;clew repo;it ended\x1b\\"
	for _, tt := range []struct{ terminal, program, title, want string }{
		{"xterm", "", "clew repo", "\a" + short + long},
		{"foot-extra", "", "clew repo", "\a" + short},
		{"xterm-ghostty", "", "clew repo", "\a" + short},
		{"xterm-256color", "WezTerm", "clew repo", "\a" + short},
		{"linux", "", "clew repo", "\a"},
		{"xterm", "WezTerm", "clew a;b\x1b\\\a\u009c\nc Ü", "\a\x1b]9;clew a,b\\x1b\\\\a\\u009c c ?: it ended\x1b\\"},
	} {
		if got := Notification(tt.terminal, tt.program, tt.title, "it ended"); got != tt.want {
			t.Errorf("%+v:\n%q, want\n%q", tt, got, tt.want)
		}
	}
	if got := Notification("xterm", "WezTerm", strings.Repeat("x", 1000), ""); len(got) > 120 {
		t.Errorf("it has %d bytes", len(got))
	}
}

func TestBrokenRows(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		line            string
		columns, column int
		rows, row       int
	}{
		{"", 5, 0, 1, 0},
		{"hello", 5, 4, 1, 0},
		{"\x1b[1mhello!\x1b[0m", 5, 5, 2, 1},
		{"hello, world", 5, 7, 3, 1},
		{"hello", 5, 9, 1, 0},
		{"日本語日本語", 5, 4, 3, 1}, // a wide character is not broken
		{"日本", 1, 2, 2, 1},
	} {
		if rows, row := BrokenRows(test.line, test.columns, test.column); rows != test.rows || row != test.row {
			t.Errorf("BrokenRows(%q, %d, %d) = %d, %d, want %d, %d",
				test.line, test.columns, test.column, rows, row, test.rows, test.row)
		}
	}
}
