package clikit

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
)

// FitLine cuts a line so that it does not wrap. A width of 0 means no limit.
func FitLine(line string, width int) string {
	if width <= 0 {
		return line
	}
	return tty.Cut(line, width-1)
}

// A Progress is a line on a terminal that shows the progress of reading. A nil progress draws
// nothing.
type Progress struct {
	w     io.Writer
	width int
	Total int64 // bytes to read, or -1
	now   func() time.Time

	read    int64
	started time.Time
	drawn   time.Time // when the line was last drawn, or could have been
	visible bool
}

const (
	// RedrawInterval is the time between two drawings of a line that changes.
	RedrawInterval = 100 * time.Millisecond
	// ClearLine clears the line of the cursor.
	ClearLine = tty.ClearLine

	barCells = 20
)

// atOnce makes lines of progress appear without a delay.
var atOnce bool

// ShowProgressAtOnce makes lines of progress appear without a delay and with each change, for tests,
// or as usual.
func ShowProgressAtOnce(on bool) { atOnce = on }

// NewProgress starts a progress line for a total number of bytes, or -1 if it is not known. The
// function now is time.Now outside of tests.
func NewProgress(w io.Writer, total int64, now func() time.Time) *Progress {
	started := now()
	return &Progress{w: w, width: TerminalWidth(w), Total: total, now: now, started: started, drawn: started}
}

// ProgressOn is like [NewProgress] on a terminal that can redraw a line. Elsewhere it returns nil, which
// draws nothing.
func ProgressOn(w io.Writer, total int64, now func() time.Time) *Progress {
	if !Redraws(w) {
		return nil
	}
	return NewProgress(w, total, now)
}

// Func returns a function that sets the number of bytes and the total, or nil if nothing is drawn.
func (p *Progress) Func() func(done, total int64) {
	if p == nil {
		return nil
	}
	return func(done, total int64) {
		p.Total = total
		p.Set(done)
	}
}

// Set sets the number of bytes read so far, and redraws the line if it is time.
func (p *Progress) Set(read int64) {
	if p == nil {
		return
	}
	p.read = read
	now := p.now()
	if now.Sub(p.drawn) < RedrawInterval && !atOnce {
		return
	}
	p.drawn = now
	p.visible = true
	p.print(ClearLine + p.fit(p.line(now.Sub(p.started))))
}

// Clear removes the line from the screen.
func (p *Progress) Clear() {
	if p == nil || !p.visible {
		return
	}
	p.visible = false
	p.print(ClearLine)
}

// print ignores errors: the work continues even if nobody can watch it.
func (p *Progress) print(text string) { _, _ = io.WriteString(p.w, text) }

// fit cuts the line so that it does not wrap: a wrapped line could not be cleared.
func (p *Progress) fit(line string) string { return line[:max(0, min(len(line), p.width-1))] }

func (p *Progress) line(elapsed time.Duration) string {
	rate := float64(p.read) / max(elapsed, 1).Seconds()
	speed := wording.Size(int64(rate)) + "/s"
	if p.Total <= 0 {
		return fmt.Sprintf("%s  %s", wording.Size(p.read), speed)
	}
	done := min(1, float64(p.read)/float64(p.Total))
	cells := int(done * barCells)
	bar := strings.Repeat("#", cells) + strings.Repeat("-", barCells-cells)
	line := fmt.Sprintf("[%s] %5s", bar, wording.Percent(done*100))
	parts := []string{wording.Size(p.read) + " of " + wording.Size(p.Total), speed}
	if left := p.Total - p.read; left > 0 && rate > 0 {
		parts = append(parts, wording.ShortDuration(time.Duration(float64(left)/rate*1e9))+" left")
	}
	for _, part := range parts {
		if len(line)+2+len(part) >= p.width {
			break
		}
		line += "  " + part
	}
	return line
}

// An Activity is a line on a terminal that names a slow operation. It appears after a second. A nil
// activity draws nothing.
type Activity struct {
	w     io.Writer
	begun time.Time
	done  chan struct{}
	drawn sync.WaitGroup

	mu      sync.Mutex
	doing   string
	visible bool
}

// StartActivity starts an activity, or returns nil if w is not a terminal that can clear a line.
func StartActivity(w io.Writer, doing string) *Activity {
	if !Redraws(w) {
		return nil
	}
	return newActivity(w, doing)
}

func newActivity(w io.Writer, doing string) *Activity {
	a := &Activity{w: w, doing: doing, begun: time.Now(), done: make(chan struct{})}
	if atOnce {
		a.draw()
	}
	tick := time.NewTicker(time.Second)
	a.drawn.Go(func() {
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				a.draw()
			case <-a.done:
				return
			}
		}
	})
	return a
}

func (a *Activity) draw() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.visible = true
	line := a.doing + ", " + wording.Seconds(time.Since(a.begun))
	_, _ = io.WriteString(a.w, ClearLine+FitLine(line, TerminalWidth(a.w))) // nobody may be watching
}

// Now sets the current operation.
func (a *Activity) Now(doing string) {
	if a == nil {
		return
	}
	a.mu.Lock()
	a.doing = doing
	visible := a.visible
	a.mu.Unlock()
	if visible {
		a.draw()
	}
}

// Hide removes the line until it is drawn again.
func (a *Activity) Hide() {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.visible {
		a.visible = false
		_, _ = io.WriteString(a.w, ClearLine)
	}
}

// End removes the line. It may be called again.
func (a *Activity) End() {
	if a == nil {
		return
	}
	select {
	case <-a.done:
		return
	default:
	}
	close(a.done)
	a.drawn.Wait()
	a.Hide()
}
