package clikit

import (
	"context"
	"io"
	"os"
	"strings"
	"time"

	"github.com/clewdev/clew/cmd/clew/internal/termio"
	"github.com/clewdev/clew/internal/tty"
)

// ScreenSize returns the columns and rows of a stream that may be a terminal.
func ScreenSize(stream any) (columns, rows int) {
	if f, ok := stream.(*os.File); ok {
		return termio.Size(f)
	}
	return termio.DefaultColumns, termio.DefaultRows
}

// A Watch is the part of a terminal that --watch draws on.
type Watch struct {
	w       io.Writer
	size    func() (columns, rows int)
	resized chan struct{}
	now     func() time.Time
	after   func(time.Duration) <-chan time.Time
	panel   tty.Panel
}

// NewWatch returns a watch that draws on w, which is a terminal.
func NewWatch(w io.Writer) *Watch {
	return &Watch{
		w: w, size: func() (int, int) { return ScreenSize(w) }, resized: make(chan struct{}, 1),
		now: time.Now, after: time.After,
	}
}

const (
	watchInterval = 2 * time.Second
	// watchShare is the minimum pause of --watch, as a multiple of the time that reading takes.
	watchShare = 10
)

// Run calls show repeatedly until the context ends, draws its text, and waits in between. It
// redraws the text if the terminal is resized.
func (s *Watch) Run(ctx context.Context, show func() (string, error)) error {
	defer termio.OnResize(func() {
		select {
		case s.resized <- struct{}{}:
		default: // it is known already
		}
	})()
	for {
		started := s.now()
		text, err := show()
		if err != nil {
			return err
		}
		if err := s.draw(text); err != nil {
			return OutputError(err)
		}
		select {
		case <-ctx.Done():
			return Stopped()
		case <-s.after(max(watchInterval, watchShare*s.now().Sub(started))):
		case <-s.resized:
			if err := s.fit(); err != nil {
				return OutputError(err)
			}
		}
	}
}

// draw replaces the last drawing.
func (s *Watch) draw(text string) error {
	columns, rows := s.size()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	_, err := io.WriteString(s.w, s.panel.Draw(lines, columns, rows))
	return err
}

// fit redraws the current text after the terminal was resized.
func (s *Watch) fit() error {
	_, err := io.WriteString(s.w, s.panel.Redraw(s.size()))
	return err
}
