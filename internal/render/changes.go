package render

import (
	"fmt"
	"math"
	"strings"

	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/transcript"
)

// changes returns the changed lines of a call: all of them, or the first ones, cut to the width. A
// call that changed several files names each.
func (o Options) changes(diffs []transcript.FileDiff) string {
	var b strings.Builder
	shown, left := 0, 0
	for i := range diffs {
		if len(diffs) > 1 {
			b.WriteString(o.indented(o.DiffHead(&diffs[i])))
		}
		lines, more := diffLines(&diffs[i], o.most(shown))
		for _, line := range lines {
			if shown == shortDiff && !o.Expand {
				left++
				continue
			}
			shown++
			b.WriteString(o.diffLine(line))
		}
		left += more
	}
	return b.String() + o.more(left)
}

// most returns the maximum number of diff lines to lay out after some were shown: more than are
// shown, since a line's words are compared with the words of the lines that replace it.
func (o Options) most(shown int) int {
	if o.Expand {
		return math.MaxInt
	}
	return 3 * (shortDiff - shown)
}

// minDiff is the least width in which the lines of a diff can be wrapped.
const minDiff = 4

// diffLine returns a line's row, cut to the width, or all of its rows.
func (o Options) diffLine(line DiffLine) string {
	if o.Width <= 0 {
		return o.indented(line.String(o.Color))
	}
	rows := line.Rows(o.columns(), o.Color)
	if o.columns() >= minDiff && (o.Expand || len(rows) == 1) {
		return o.lines(rows)
	}
	return o.indented(tty.CutPainted(line.String(o.Color), o.columns()-1) + tty.Dim.Paint("…", o.Color))
}

// indented returns a painted line.
func (o Options) indented(line string) string { return strings.Repeat(" ", o.indent) + line + "\n" }

// FileChanges returns the changes of a file for a person, call by call, with the numbers of lines.
func (o Options) FileChanges(f *transcript.FileChanges) string {
	var b strings.Builder
	for i := range f.Calls {
		b.WriteString(o.indented(o.DiffHead(&f.Calls[i].FileDiff)))
		for _, line := range o.FileDiff(&f.Calls[i].FileDiff) {
			b.WriteString(o.indented(line.String(o.Color)))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// Diff returns the changes of a file as a unified diff, call by call. Lines are not wrapped, so that
// other programs can read it.
func (o Options) Diff(f *transcript.FileChanges) string {
	o.Width = 0
	var b strings.Builder
	b.WriteString(o.line(tty.Title, fmt.Sprintf("%s +%d -%d", tty.Line(f.Path), f.Added, f.Removed)))
	for i := range f.Calls {
		for line := range strings.SplitSeq(strings.TrimRight(tty.Clean(f.Calls[i].String()), "\n"), "\n") {
			b.WriteString(o.DiffRow(line, line) + "\n")
		}
	}
	return b.String() + "\n"
}

// DiffRow returns a clean row of a line of a unified diff, in the color of the line.
func (o Options) DiffRow(line, row string) string { return o.styled(diffStyle(line), row) }

func diffStyle(line string) tty.Style {
	switch {
	case strings.HasPrefix(line, "+"):
		return tty.Addition
	case strings.HasPrefix(line, "-"):
		return tty.Removal
	case strings.HasPrefix(line, "@@"):
		return tty.Dim
	}
	return tty.Plain
}
