package agentcli

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"sync"

	"github.com/clewdev/clew/cmd/clew/internal/termio"
)

// A lineSource reads lines only on demand: input that is typed ahead stays in the terminal, which
// can discard it.
type lineSource struct {
	in  *bufio.Reader
	tty *os.File // nil if in is not a terminal

	mu      sync.Mutex
	reading bool
	to      chan<- string // the receiver of the line that is being read
	err     error         // why there are no more lines
}

func newLineSource(in io.Reader, tty *os.File) *lineSource {
	return &lineSource{in: bufio.NewReader(in), tty: tty}
}

func (s *lineSource) want() <-chan string {
	to := make(chan string, 1)
	s.wantFor(to)
	return to
}

// wantFor is like want, for a channel with room for a line. It returns the channel that waited for
// the line until now, or nil.
func (s *lineSource) wantFor(to chan<- string) (instead chan<- string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tty != nil {
		termio.Discard(s.tty)
	}
	if !s.reading && s.tty != nil {
		_, _ = s.in.Discard(s.in.Buffered()) // it can't fail
	}
	return s.sendLocked(to)
}

// send sends the next line, which may be typed already, to a channel with room for it.
func (s *lineSource) send(to chan<- string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sendLocked(to)
}

func (s *lineSource) sendLocked(to chan<- string) (instead chan<- string) {
	if s.err != nil {
		close(to)
		return nil
	}
	if s.reading {
		instead = s.to
	} else {
		go s.read()
	}
	s.reading, s.to = true, to
	return instead
}

func (s *lineSource) awaited() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reading
}

// read reads a line. Nothing can end a read from a terminal, so it may still run when the program
// ends.
func (s *lineSource) read() {
	line, err := s.line()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reading = false
	if err != nil {
		s.err = err
		close(s.to)
		return
	}
	s.to <- line
}

func (s *lineSource) line() (string, error) {
	var line []byte
	for {
		part, err := s.in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxPrompt:
			return "", bufio.ErrTooLong
		case err == nil, errors.Is(err, io.EOF) && len(line) > 0:
			return string(bytes.TrimSuffix(line, []byte("\n"))), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return "", err
		}
	}
}

// failure returns the error that ended the input, or nil for a normal end.
func (s *lineSource) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.Is(s.err, io.EOF) {
		return nil
	}
	return s.err
}
