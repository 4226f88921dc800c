package tty

import "testing"

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
