package render

import (
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/clewdev/clew/internal/highlight"
	"github.com/clewdev/clew/internal/markdown"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/transcript"
)

// A DiffLine is a clean line of a diff. It is a line of the file, or a remark between such lines.
type DiffLine struct {
	// Gutter has the number of the line and its mark: " ", "-" or "+". The number is the old one for
	// a line that was removed. It is left out if it is not known.
	Gutter string
	// Text is the line itself.
	Text string
	// Changed are the parts of Text that differ from the line that it replaces or is replaced by, as
	// offsets of their beginnings and ends.
	Changed [][2]int

	mark           string
	style, changed tty.Style
	code           []codePart // the colored parts of Text
}

// A codePart is a part of a line that is worth a color, such as a keyword.
type codePart struct {
	begin, end int
	style      tty.Style
}

// FileDiff returns the lines of a diff, with a line for the omitted text before each hunk.
func (o Options) FileDiff(d *transcript.FileDiff) []DiffLine {
	lines, _ := diffLines(d, math.MaxInt)
	return lines
}

// diffLines returns at most so many lines of a diff, and how many more there are.
func diffLines(d *transcript.FileDiff, most int) (lines []DiffLine, more int) {
	b := diffBuilder{digits: digits(d), language: highlight.OfFile(d.Path)}
	for i := range d.Hunks {
		h := &d.Hunks[i]
		b.scanner = highlight.NewScanner(b.language)
		if i > 0 && len(b.lines) < most {
			b.remark("…")
		} else if i > 0 {
			more++
		}
		b.before, b.after = h.OldStart, h.NewStart
		n := min(len(h.Lines), most-len(b.lines))
		b.hunk(h.Lines[:n])
		more += len(h.Lines) - n
	}
	return b.lines, more
}

// digits returns the number of columns for the numbers of lines, or 0 if they are not known.
func digits(d *transcript.FileDiff) int {
	if d.Relative {
		return 0
	}
	most := 1
	for i := range d.Hunks {
		h := &d.Hunks[i]
		last := max(h.OldStart+max(h.OldLines-1, 0), h.NewStart+max(h.NewLines-1, 0))
		most = max(most, len(strconv.Itoa(last)))
	}
	return most
}

// A diffBuilder makes lines of the hunks of a diff.
type diffBuilder struct {
	digits        int
	language      *highlight.Language
	scanner       *highlight.Scanner // of the lines that the file has after the change
	before, after int                // the next numbers of lines
	lines         []DiffLine
}

// hunk adds the lines of a hunk, with marks at words that differ.
func (b *diffBuilder) hunk(lines []string) {
	first := len(b.lines)
	cleaned := make([]string, len(lines))
	for i, line := range lines {
		b.add(line)
		if cleaned[i] = line; line != "" {
			cleaned[i] = line[:1] + b.lines[first+i].Text
		}
	}
	for i, parts := range highlight.Changes(cleaned) {
		b.lines[first+i].Changed = parts
	}
}

// add adds a line of a hunk, with its mark.
func (b *diffBuilder) add(line string) {
	if strings.HasPrefix(line, `\`) {
		b.remark(tty.CleanLine(strings.ToLower(strings.TrimLeft(line, `\ `))))
		return
	}
	mark, text := " ", line
	if line != "" {
		mark, text = line[:1], line[1:]
	}
	l := DiffLine{Text: tty.CleanLine(text), mark: mark}
	switch mark {
	case "-":
		l.style, l.changed = tty.Removal, tty.RemovedWord
		l.Gutter = b.gutter(b.before, mark)
		b.before++
	case "+":
		b.codeOf(l.Text)
		l.style, l.changed = tty.Addition, tty.AddedWord
		l.Gutter = b.gutter(b.after, mark)
		b.after++
	default:
		l.mark, l.Gutter, l.code = " ", b.gutter(b.after, " "), b.codeOf(l.Text)
		b.before++
		b.after++
	}
	b.lines = append(b.lines, l)
}

// codeOf returns the parts of the next line of the file that are worth a color. Green and red are
// for added and removed text, so strings have none.
func (b *diffBuilder) codeOf(line string) []codePart {
	var parts []codePart
	at := 0
	for _, token := range b.scanner.Scan(line + "\n") {
		begin := at
		at += len(token.Text)
		style := markdown.CodeStyle(token.Class)
		if style != tty.Plain && style != tty.Literal && style != tty.Addition && style != tty.Removal {
			parts = append(parts, codePart{begin, min(at, len(line)), style})
		}
	}
	return parts
}

func (b *diffBuilder) gutter(number int, mark string) string {
	if b.digits == 0 {
		return mark + " "
	}
	return fmt.Sprintf("%*d  %s  ", b.digits, number, mark)
}

// remark adds a clean line that is not one of the file.
func (b *diffBuilder) remark(text string) {
	indent := 2
	if b.digits > 0 {
		indent = b.digits + len("  -  ")
	}
	b.lines = append(b.lines, DiffLine{Gutter: strings.Repeat(" ", indent), Text: text, mark: " ", style: tty.Dim})
}

// String returns the line in its colors, if color is set.
func (l DiffLine) String(color bool) string {
	return l.gutterStyle().Paint(l.Gutter, color) + l.part(0, len(l.Text), color)
}

func (l DiffLine) gutterStyle() tty.Style {
	if l.style == tty.Plain {
		return tty.Dim
	}
	return l.style
}

// Rows returns the line in rows of at most columns, painted if color is set. All of its text is in
// them, and only the first one has a mark and, if there is room for it, a number. Characters have
// the largest width that a terminal may give them: see [tty.Break].
func (l DiffLine) Rows(columns int, color bool) []string {
	const least = 10 // columns for the text
	gutter := l.Gutter
	if columns-len(gutter) < least {
		gutter = l.mark
	}
	style := l.gutterStyle()
	at := 0
	var rows []string
	for _, row := range tty.Break(l.Text, columns-len(gutter)) {
		if at > 0 {
			gutter = strings.Repeat(" ", len(gutter))
		}
		rows = append(rows, style.Paint(gutter, color)+l.part(at, at+len(row), color))
		at += len(row)
	}
	return rows
}

// part returns the text between two offsets in its colors.
func (l DiffLine) part(from, to int, color bool) string {
	parts := l.code
	for _, c := range l.Changed {
		parts = append(parts, codePart{c[0], c[1], l.changed})
	}
	var b strings.Builder
	for _, p := range parts {
		begin, end := min(max(p.begin, from), to), max(min(p.end, to), from)
		if begin >= end {
			continue
		}
		b.WriteString(l.style.Paint(l.Text[from:begin], color) + p.style.Paint(l.Text[begin:end], color))
		from = end
	}
	b.WriteString(l.style.Paint(l.Text[from:to], color))
	return b.String()
}

// DiffHead returns a line with the path of a diff, relative to the working directory, and the
// numbers of lines that were added and removed.
func (o Options) DiffHead(d *transcript.FileDiff) string {
	head := tty.Path.Paint(tty.CleanLine(RelativePath(o.Dir, d.Path)), o.Color)
	switch {
	case d.Created:
		head += tty.Dim.Paint(" (new)", o.Color)
	case d.Deleted:
		head += tty.Dim.Paint(" (deleted)", o.Color)
	}
	if d.Added > 0 {
		head += " " + tty.Addition.Paint("+"+strconv.Itoa(d.Added), o.Color)
	}
	if d.Removed > 0 {
		head += " " + tty.Removal.Paint("-"+strconv.Itoa(d.Removed), o.Color)
	}
	return head
}

// RelativePath returns a path relative to a directory, if it is below it. Otherwise it returns the
// path unchanged.
func RelativePath(dir, path string) string {
	if dir == "" || !filepath.IsAbs(dir) || !filepath.IsAbs(path) {
		return path
	}
	relative, err := filepath.Rel(dir, path)
	if err != nil || !filepath.IsLocal(relative) || filepath.Clean(path) != path {
		return path
	}
	return relative
}
