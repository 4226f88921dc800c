package render

import (
	"fmt"
	"strings"

	"github.com/clewdev/clew/internal/highlight"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/transcript"
)

// minSplit is the least width of a diff side by side.
const minSplit = 100

// hunkLines returns the painted lines of a hunk: unified, or side by side.
func (o Options) hunkLines(d *transcript.FileDiff, hunk int, split bool) []string {
	h := &d.Hunks[hunk]
	b := diffBuilder{digits: digits(d), language: highlight.OfFile(d.Path), before: h.OldStart, after: h.NewStart}
	b.scanner = highlight.NewScanner(b.language)
	b.hunk(h.Lines)
	if split {
		s := splitter{Options: o, digits: b.digits, before: h.OldStart}
		return s.lines(b.lines)
	}
	var lines []string
	for i := range b.lines {
		lines = append(lines, o.insetAll(o.diffRows(&b.lines[i]))...)
	}
	return lines
}

// A splitter puts the lines of a hunk side by side: those before the change at the left, and those
// after it at the right.
type splitter struct {
	Options
	digits int
	before int // the number of the next line at the left
}

// lines pairs removed lines with the lines added in their place.
func (s *splitter) lines(lines []DiffLine) (painted []string) {
	for len(lines) > 0 {
		removed := leading(lines, "-")
		added := leading(lines[removed:], "+")
		if removed+added == 0 {
			painted = append(painted, s.same(&lines[0])...)
			lines = lines[1:]
			continue
		}
		for i := range max(removed, added) {
			var left, right *DiffLine
			if i < removed {
				left = &lines[i]
			}
			if i < added {
				right = &lines[removed+i]
			}
			painted = append(painted, s.pair(left, right)...)
		}
		s.before += removed
		lines = lines[removed+added:]
	}
	return painted
}

// leading counts the lines at the beginning that have a mark.
func leading(lines []DiffLine, mark string) (n int) {
	for n < len(lines) && lines[n].mark == mark {
		n++
	}
	return n
}

// same returns an unchanged line, or a remark, on both sides.
func (s *splitter) same(line *DiffLine) []string {
	left := *line
	if line.style == tty.Plain && s.digits > 0 {
		left.Gutter = fmt.Sprintf("%*d     ", s.digits, s.before)
	}
	if line.style == tty.Plain {
		s.before++
	}
	return s.pair(&left, line)
}

// pair returns two lines side by side. Each may be nil.
func (s *splitter) pair(left, right *DiffLine) []string {
	bar := " │ "
	if s.ASCII {
		bar = " | "
	}
	columns := (s.columns() - tty.Width(bar)) / 2
	rows := func(line *DiffLine) []string {
		if line == nil {
			return nil
		}
		return line.Rows(columns, s.Color)
	}
	a, b := rows(left), rows(right)
	lines := make([]string, max(len(a), len(b)))
	for i := range lines {
		var l, r string
		if i < len(a) {
			l = a[i]
		}
		if i < len(b) {
			r = b[i]
		}
		space := strings.Repeat(" ", max(columns-tty.PaintedWidth(l), 0))
		lines[i] = s.inset(strings.TrimRight(l+space+tty.Dim.Paint(bar, s.Color)+r, " "))
	}
	return lines
}
