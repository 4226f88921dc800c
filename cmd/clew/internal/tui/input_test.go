package tui

import (
	"errors"
	"io"
	"os"
	"runtime"
	"testing"
)

// Characters that come in pieces are read whole, however late their ends are.
func TestRunesInPieces(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("keys come as records")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	in := inputOf(r)
	buf := make([]byte, 64)
	for _, step := range []struct{ write, want string }{
		{"a", "a"},
		{"\xe4", ""},
		{"\xb8", ""},
		{"\x96", "世"},
		{"b\xf0\x9f", "b"},
		{"\x99\x82c\xc3", "🙂c"},
		{"x", "\xc3x"}, // not a character
		{"\xff", "\xff"},
		{"\x80\x80\x80\x80", "\x80\x80\x80\x80"},
		{"\x1b[D\xe7", "\x1b[D"},
	} {
		if _, err := w.WriteString(step.write); err != nil {
			t.Fatal(err)
		}
		n, err := in.Read(buf)
		if err != nil || string(buf[:n]) != step.want {
			t.Errorf("%q: read %q, %v, want %q", step.write, buf[:n], err, step.want)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := in.Read(buf); !errors.Is(err, io.EOF) || string(buf[:n]) != "\xe7" {
		t.Errorf("at the end: %q, %v", buf[:n], err)
	}
}
