package cli

import (
	"bytes"
	"io"
	"os"

	"golang.org/x/term"
)

// raw makes the screen fit for a terminal in raw mode, which takes the end of a line
// literally.
func (s *screen) raw(streams Streams) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = rawWriter{s.err}
	if isTerminal(streams.Out) {
		s.out = rawWriter{s.out}
	}
}

// resize has lines cut at another width.
func (s *screen) resize(columns, _ int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.width = columns
}

// A rawWriter goes to the start of a line at its end.
type rawWriter struct{ w io.Writer }

func (r rawWriter) Write(p []byte) (int, error) {
	if _, err := r.w.Write(bytes.ReplaceAll(p, []byte("\n"), []byte("\r\n"))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// terminalSize returns how many columns and rows a terminal has.
func terminalSize(f *os.File) (columns, rows int) {
	columns, rows, err := term.GetSize(int(f.Fd()))
	if err != nil || columns <= 0 || rows <= 0 {
		return 80, 24
	}
	return columns, rows
}
