package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// restorer returns a function that restores the terminal when the program ends at once: it leaves
// raw mode and begins a new line.
func restorer(s Streams) (restoreAll func()) {
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
				_, _ = io.WriteString(s.Err, "\n") // nor here
			}
		}()
		select {
		case <-done:
		case <-time.After(tidyLimit):
		}
	}
}

// terminalWidth returns the number of columns of a terminal.
func terminalWidth(stream any) int {
	if f, ok := stream.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 80
}

// colorChoices are the values of --color and of the setting color.
var colorChoices = []string{"auto", "always", "never"}

// A colorFlag is the value of --color, or "" if it was not given.
type colorFlag string

// givenColor is the value of --color. Like the variables about color it is one of the process, so
// that an error about the other flags has its color as well.
var givenColor colorFlag

// addColorFlag adds --color to all commands.
func addColorFlag(root *cobra.Command) {
	root.PersistentFlags().Var(&givenColor, "color", "use color: auto (on a terminal), always or never")
	_ = root.RegisterFlagCompletionFunc("color", completeList(colorChoices)) // it fails only for unknown flags
}

// Type names the value in the help.
func (c *colorFlag) Type() string { return "when" }

func (c *colorFlag) String() string { return string(*c) }

// Set reads one of the choices.
func (c *colorFlag) Set(text string) error {
	if !slices.Contains(colorChoices, text) {
		return errors.New("must be auto, always or never")
	}
	*c = colorFlag(text)
	return nil
}

// colored reports whether output to a stream is colored.
func colored(stream any) bool {
	color, _ := decideColor(givenColor, os.Getenv, isTerminal(stream))
	return color
}

// decideColor reports whether output has colors, and what decided it: a flag, a setting or a
// variable, or "" for the terminal itself.
func decideColor(flag colorFlag, getenv func(string) string, terminal bool) (color bool, by string) {
	choice, by := getenv("CLEW_COLOR"), "the setting color"
	if flag != "" {
		choice, by = string(flag), "--color"
	}
	if choice == "always" || choice == "never" {
		return choice == "always", by
	}
	if getenv("NO_COLOR") != "" {
		return false, "NO_COLOR"
	}
	for _, name := range []string{"CLICOLOR_FORCE", "FORCE_COLOR"} {
		if value := getenv(name); value != "" && value != "0" {
			return true, name
		}
	}
	if getenv("CLICOLOR") == "0" {
		return false, "CLICOLOR"
	}
	return terminal && getenv("TERM") != "dumb", ""
}

// textWidth returns the width for text: that of the terminal or, without one, COLUMNS or otherwise.
func textWidth(stream any, otherwise int) int {
	if isTerminal(stream) {
		return terminalWidth(stream)
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	return otherwise
}

// A progress is a line on a terminal that shows how much has been read. A nil progress draws
// nothing.
type progress struct {
	w     io.Writer
	width int
	total int64 // bytes to read, or -1
	now   func() time.Time

	read    int64
	started time.Time
	drawn   time.Time // when the line was last drawn, or could have been
	visible bool
}

const (
	redrawInterval = 100 * time.Millisecond
	barCells       = 20
	// clearLine moves to the start of the line and clears it.
	clearLine = "\r\x1b[K"
)

func newProgress(w io.Writer, total int64, now func() time.Time) *progress {
	started := now()
	return &progress{w: w, width: terminalWidth(w), total: total, now: now, started: started, drawn: started}
}

// set sets the number of bytes that have been read, and redraws the line if it is time.
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

// clear removes the line from the screen.
func (p *progress) clear() {
	if p == nil || !p.visible {
		return
	}
	p.visible = false
	p.print(clearLine)
}

// print ignores errors: the work goes on even if nobody can watch it.
func (p *progress) print(text string) { _, _ = io.WriteString(p.w, text) }

// fit cuts the line so that it does not wrap: a wrapped line could not be cleared.
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

// An activity is a line on a terminal that says what takes so long. It appears after a second. A
// nil activity draws nothing.
type activity struct {
	w     io.Writer
	begun time.Time
	done  chan struct{}
	drawn sync.WaitGroup

	mu      sync.Mutex
	doing   string
	visible bool
}

// startActivity begins an activity, or returns nil if w is not a terminal that can clear a line.
func startActivity(w io.Writer, doing string) *activity {
	if !isTerminal(w) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return newActivity(w, doing)
}

func newActivity(w io.Writer, doing string) *activity {
	a := &activity{w: w, doing: doing, begun: time.Now(), done: make(chan struct{})}
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

func (a *activity) draw() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.visible = true
	line := fmt.Sprintf("%s, %.0f s", a.doing, time.Since(a.begun).Seconds())
	_, _ = io.WriteString(a.w, clearLine+fitLine(line, terminalWidth(a.w))) // nobody may be watching
}

// now says what is being done from now on.
func (a *activity) now(doing string) {
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

// hide removes the line until it is drawn again.
func (a *activity) hide() {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.visible {
		a.visible = false
		_, _ = io.WriteString(a.w, clearLine)
	}
}

// end removes the line. It may be called again.
func (a *activity) end() {
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
	a.hide()
}
