package tui

import (
	"io"
	"os"
	"runtime"
	"unicode/utf8"
)

// inputOf returns a terminal's input for the key decoder.
func inputOf(in io.Reader) io.Reader {
	if f, ok := in.(*os.File); ok && runtime.GOOS != "windows" { // where keys come as records
		return &runeInput{File: f}
	}
	return in
}

// A runeInput is a terminal whose reads don't end within a character. Over a slow line, a character
// may arrive in pieces. The key decoder drops a character whose end is 50 ms late.
type runeInput struct {
	*os.File
	rest []byte // the start of a character
}

// Read returns 0 bytes and no error if there is only the start of a character.
func (r *runeInput) Read(p []byte) (int, error) {
	if len(p) < 2*utf8.UTFMax {
		return 0, io.ErrShortBuffer
	}
	n := copy(p, r.rest)
	more, err := r.File.Read(p[n:])
	n += more
	r.rest = r.rest[:0]
	if err == nil {
		end := n - len(incompleteRune(p[:n]))
		r.rest = append(r.rest, p[end:n]...)
		n = end
	}
	return n, err
}

// incompleteRune returns the start of a character at the end of a text.
func incompleteRune(text []byte) []byte {
	for i := len(text) - 1; i >= 0 && i > len(text)-utf8.UTFMax; i-- {
		if utf8.RuneStart(text[i]) {
			if utf8.FullRune(text[i:]) {
				return nil
			}
			return text[i:]
		}
	}
	return nil
}
