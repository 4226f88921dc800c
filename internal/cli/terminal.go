package cli

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"
)

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// tidier returns what makes the terminal fit for others when the program ends at once:
// it is not in raw mode then, and the cursor is on a line of its own.
func restorer(s Streams) (tidy func()) {
	restore := func() {}
	if in, ok := s.In.(*os.File); ok {
		if before, err := term.GetState(int(in.Fd())); err == nil {
			restore = func() { _ = term.Restore(int(in.Fd()), before) } // there is nothing else to try
		}
	}
	return func() {
		done := make(chan struct{})
		go func() {
			defer close(done)
			restore()
			if isTerminal(s.Err) {
				_, _ = io.WriteString(s.Err, "\n") // as above
			}
		}()
		select {
		case <-done:
		case <-time.After(tidyLimit):
		}
	}
}

// terminalWidth returns how many characters fit on a line of a terminal.
func terminalWidth(stream any) int {
	if f, ok := stream.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 80
}

// coloured reports whether a stream may get colours.
func colored(stream any) bool {
	switch os.Getenv("CLEW_COLOR") {
	case "always":
		return true
	case "never":
		return false
	}
	return isTerminal(stream) && os.Getenv("NO_COLOR") == "" && os.Getenv("CLICOLOR") != "0" && os.Getenv("TERM") != "dumb"
}

func emphasized(line string) string { return "\x1b[1m" + line + "\x1b[0m" }

// textWidth returns how many columns text may take: those of the terminal, or of
// COLUMNS where there is none, or a number for want of both.
func textWidth(stream any, otherwise int) int {
	if isTerminal(stream) {
		return terminalWidth(stream)
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	return otherwise
}

// A progress is a line on a terminal that tells how far reading has come. A nil
// progress draws nothing.
type progress struct {
	w     io.Writer
	width int
	total int64 // how much there is to read, or -1
	now   func() time.Time

	read    int64
	started time.Time
	drawn   time.Time // when the line was last drawn, or could have been
	visible bool
}

const (
	redrawInterval = 100 * time.Millisecond
	barCells       = 20
	// clearLine goes to the start of the line and wipes it.
	clearLine = "\r\x1b[K"
)

func newProgress(w io.Writer, total int64, now func() time.Time) *progress {
	started := now()
	return &progress{w: w, width: terminalWidth(w), total: total, now: now, started: started, drawn: started}
}

// set says how many bytes have been read, and redraws the line if it is time to.
func (p *progress) set(read int64) {
	if p == nil {
		return
	}
	p.read = read
	now := p.now()
	if now.Sub(p.drawn) < redrawInterval {
		return
	}
	p.drawn = now
	p.visible = true
	p.print(clearLine + p.fit(p.line(now.Sub(p.started))))
}

// clear takes the line off the screen.
func (p *progress) clear() {
	if p == nil || !p.visible {
		return
	}
	p.visible = false
	p.print(clearLine)
}

// print ignores errors: work does not stop because nobody can watch it.
func (p *progress) print(text string) { _, _ = io.WriteString(p.w, text) }

// fit keeps the line from wrapping, after which it could not be cleared.
func (p *progress) fit(line string) string { return line[:max(0, min(len(line), p.width-1))] }

func (p *progress) line(elapsed time.Duration) string {
	rate := float64(p.read) / elapsed.Seconds()
	speed := formatSize(int64(rate)) + "/s"
	if p.total <= 0 {
		return fmt.Sprintf("%s  %s", formatSize(p.read), speed)
	}
	done := min(1, float64(p.read)/float64(p.total))
	cells := int(done * barCells)
	bar := strings.Repeat("#", cells) + strings.Repeat("-", barCells-cells)
	line := fmt.Sprintf("[%s] %3.0f%%  %s of %s  %s", bar, done*100, formatSize(p.read), formatSize(p.total), speed)
	if left := p.total - p.read; left > 0 && rate > 0 {
		line += fmt.Sprintf("  %v left", time.Duration(float64(left)/rate*1e9).Round(time.Second))
	}
	return line
}
