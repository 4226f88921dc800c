package cli

import (
	"fmt"
	"io"
	"strings"
	"time"
)

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

// add counts n bytes as read, and redraws the line if it is time to.
func (p *progress) add(n int) {
	if p == nil {
		return
	}
	p.read += int64(n)
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
