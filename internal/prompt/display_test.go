package prompt

import (
	"strings"
	"testing"
)

func TestDisplay(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	columns := 40
	d := &Display{Out: &out, Size: func() (int, int) { return columns, 24 }, Colour: true}
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
	wrote("drawing", "\r\x1b[J\x1b[2mhead\x1b[0m\r\n> one\r\n  two\x1b[1A\r\x1b[5C")
	columns = 6
	d.Draw(e)
	wrote("a narrower screen", "\x1b[1A\r\x1b[J\x1b[2mhead\x1b[0m\r\n> one\r\n  two\x1b[1A\r\x1b[5C")
	columns = 40
	d.Finish(e)
	wrote("the end", "\x1b[1A\r\x1b[J> one\r\n  two\r\r\n")
	d.Draw(new(Editor))
	wrote("another editor", "\r\x1b[J> \r\x1b[2C")
	d.Erase()
	wrote("erasing", "\r\x1b[J\r")
}
