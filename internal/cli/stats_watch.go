package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// A statsScreen is the part of a terminal that --watch draws on.
type statsScreen struct {
	w     io.Writer
	size  func() (columns, rows int)
	drawn int // lines of the last drawing
}

// draw replaces the last drawing, line by line. Of a text that is too long, it shows the first line
// and the end.
func (s *statsScreen) draw(text string) error {
	_, rows := s.size()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if most := max(rows-1, 2); len(lines) > most {
		lines = append(lines[:1:1], lines[len(lines)-most+1:]...)
	}
	var b strings.Builder
	if s.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", s.drawn)
	}
	for _, line := range lines {
		b.WriteString(clearLine + line + "\n")
	}
	for range s.drawn - len(lines) {
		b.WriteString(clearLine + "\n")
	}
	s.drawn = max(s.drawn, len(lines))
	_, err := io.WriteString(s.w, b.String())
	return err
}

// screenSize returns the columns and rows of a terminal.
func screenSize(stream any) (columns, rows int) {
	if f, ok := stream.(*os.File); ok {
		return terminalSize(f)
	}
	return defaultColumns, defaultRows
}

const (
	watchInterval = 2 * time.Second
	// watchShare is how many times as long as reading takes --watch waits at least.
	watchShare = 10
)

// watch calls show again and again until the context ends, and waits in between.
func (o *statsOptions) watch(ctx context.Context, show func() (string, error), s *statsScreen) error {
	for {
		started := o.now()
		text, err := show()
		if err != nil {
			return err
		}
		if err := s.draw(text); err != nil {
			return outputError(err)
		}
		select {
		case <-ctx.Done():
			return errStopped()
		case <-o.after(max(watchInterval, watchShare*o.now().Sub(started))):
		}
	}
}
