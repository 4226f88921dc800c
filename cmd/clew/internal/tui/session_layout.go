package tui

import (
	"fmt"
	"strings"
	"time"

	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/rows"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
)

// A sessionLayout lays out a session's rows.
type sessionLayout struct {
	app      *app
	rows     *rows.List
	dir      string    // paths are shown relative to it
	day      time.Time // times of this day are shown without their date
	thinking bool      // whether thinking is shown
}

func newSessionLayout(a *app, dir string) *sessionLayout {
	return &sessionLayout{app: a, rows: new(rows.List), dir: dir, day: a.opts.Now(), thinking: true}
}

// options returns the options for drawing rows at a width.
func (l *sessionLayout) options(width int) render.Options {
	o := l.app.opts
	return render.Options{
		Width: width, Color: o.Color, Links: o.Links, ASCII: !o.Lines, Zone: o.Zone, Day: l.day, Dir: l.dir, Thinking: l.thinking,
	}
}

// plain returns the options for writing rows as text.
func (l *sessionLayout) plain() render.Options {
	o := l.options(0)
	o.Color, o.Links = false, false
	return o
}

func (l *sessionLayout) count() int       { return l.rows.Len() }
func (l *sessionLayout) id(i int) rows.ID { return l.rows.At(i).ID }
func (l *sessionLayout) parent(i int) int { return l.rows.At(i).Parent }
func (l *sessionLayout) below(i int) int  { return l.rows.At(i).Below }

func (l *sessionLayout) hidden(i int) bool {
	return !l.thinking && l.rows.At(i).Kind == rows.Thinking
}

// longPrompt is the estimated height from which on a prompt starts folded. Such a prompt is mostly
// something that was pasted.
const longPrompt = 40

func (l *sessionLayout) startsOpen(i int) bool {
	r := l.rows.At(i)
	switch {
	case r.Depth > 0:
		return false
	case r.Kind == rows.Prompt:
		return l.options(80).EstimateRow(r, longPrompt) < longPrompt
	}
	return r.Kind == rows.Answer
}

// bodyLimit is the number of lines that are shown of an open row. The row's own screen shows all.
const bodyLimit = 200

func (l *sessionLayout) lines(i, width int) []string {
	r, o := l.rows.At(i), l.options(width)
	var lines []string
	if l.apart(i) {
		lines = append(lines, "")
	}
	lines = append(lines, o.RowLine(r, render.Open))
	if r.Below > 0 { // they are the prompt, the work and the answer of a subagent
		return lines
	}
	body, more := o.RowBody(r, bodyLimit)
	lines = append(lines, body...)
	if more > 0 {
		text := fmt.Sprintf("… %s (enter)", wording.Count(more, "more line"))
		indent := strings.Repeat(" ", min(indentOf(body), max(width-20, 0)))
		lines = append(lines, indent+tty.Dim.Paint(tty.Fit(text, width-len(indent)), o.Color))
	}
	return lines
}

// apart reports whether an empty line precedes an open row. This applies to prompts, to separate
// the turns visually.
func (l *sessionLayout) apart(i int) bool { return i > 0 && rows.IsPrompt(l.rows.At(i)) }

// indentOf returns the number of spaces at the start of the last line.
func indentOf(lines []string) int {
	if len(lines) == 0 {
		return 0
	}
	last := lines[len(lines)-1]
	return len(last) - len(strings.TrimLeft(last, " "))
}

func (l *sessionLayout) folded(i, width int) string {
	r, o := l.rows.At(i), l.options(width)
	mark := render.NoMark
	if l.unfolds(i) {
		mark = render.Folded
	}
	return o.RowLine(r, mark)
}

// unfolds reports whether there is something to unfold in a row.
func (l *sessionLayout) unfolds(i int) bool {
	r := l.rows.At(i)
	return r.Below > 0 || l.options(80).EstimateRow(r, 1) > 0
}

func (l *sessionLayout) estimate(i, width int) int {
	r := l.rows.At(i)
	if r.Below > 0 {
		return 1
	}
	lines := 1 + min(l.options(width).EstimateRow(r, bodyLimit+1), bodyLimit+1)
	if l.apart(i) {
		lines++
	}
	return lines
}

// at returns the row at a place of the transcript, or the one before it that is nearest. It returns -1 if
// the place is in a subagent that is not shown.
func (l *sessionLayout) at(p Place) int {
	best := -1
	if p.Agent == "" && l.rows.Len() > 0 {
		best = 0
	}
	for i := range l.rows.Len() {
		r := l.rows.At(i)
		if r.Agent != p.Agent {
			continue
		}
		if r.At().Line == p.Line || r.ResultAt().Line == p.Line {
			return i
		}
		if line := r.At().Line; line > 0 && line < p.Line {
			best = i
		}
	}
	return best
}
