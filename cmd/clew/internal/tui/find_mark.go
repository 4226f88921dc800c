package tui

import (
	"slices"
	"sort"
	"strings"

	"github.com/clewdev/clew/internal/tty"
)

// A span is a match, or a part of it, in the text of a painted line.
type span struct {
	from, to int
	goesOn   bool // it started in an earlier line
}

// begins returns the number of matches that start in a line.
func begins(spans []span) (n int) {
	for _, s := range spans {
		if !s.goesOn {
			n++
		}
	}
	return n
}

// find returns the matches in painted lines that were laid out for a width, by line. Lines that
// were broken there belong together.
func (f *finder) find(lines []string, width int) [][]span {
	found := make([][]span, len(lines))
	plain := make([]string, len(lines))
	for i, line := range lines {
		plain[i], _ = unpaint(line)
	}
	for from := 0; from < len(lines); {
		to, full := from+1, false
		for to < len(lines) && isBroken(plain[to-1], plain[to], width) {
			full = full || tty.Width(plain[to-1]) >= width
			to++
		}
		f.findIn(plain[from:to], found[from:to], width, "")
		if full { // whether a space was there is not known
			f.findIn(plain[from:to], found[from:to], width, " ")
		}
		from = to
	}
	return found
}

// isBroken reports whether a line may continue in the next one, because the next word did not fit.
// Lines with text at the right edge, or with columns, don't continue.
func isBroken(line, next string, width int) bool {
	text := strings.TrimLeft(line, " ")
	if text == "" || strings.Contains(text, "  ") {
		return false
	}
	word, _, _ := strings.Cut(strings.TrimLeft(next, " "), " ")
	return word != "" && tty.Width(line)+1+tty.Width(word) > width
}

// findIn adds the matches in the lines of a text that are not found yet. joint is the text between
// a line of the whole width and the next one. Between others there is a space.
func (f *finder) findIn(plain []string, found [][]span, width int, joint string) {
	if len(plain) == 1 {
		if joint == "" {
			for _, m := range f.matcher.FindAllStringIndex(plain[0], -1) {
				found[0] = append(found[0], span{from: m[0], to: m[1]})
			}
		}
		return
	}
	var text strings.Builder
	starts, skipped := make([]int, len(plain)), make([]int, len(plain)) // of the lines in the text, without their indentations
	for i, line := range plain {
		if i > 0 {
			line = strings.TrimLeft(line, " ")
			skipped[i] = len(plain[i]) - len(line)
		}
		starts[i] = text.Len()
		text.WriteString(line)
		switch {
		case i == len(plain)-1:
		case tty.Width(plain[i]) >= width:
			text.WriteString(joint)
		default:
			text.WriteString(" ")
		}
	}
	for _, m := range f.matcher.FindAllStringIndex(text.String(), -1) {
		addSpans(plain, found, starts, skipped, m[0], m[1])
	}
}

// addSpans adds a match in the text of lines to those lines that have a part of it, unless another
// one is there.
func addSpans(plain []string, found [][]span, starts, skipped []int, from, to int) {
	first := sort.Search(len(starts), func(i int) bool { return starts[i] > from }) - 1
	part := func(i int) span {
		return span{max(from-starts[i], 0) + skipped[i], min(to-starts[i]+skipped[i], len(plain[i])), i > first}
	}
	end := first
	for ; end < len(plain) && starts[end] < to; end++ {
		if s := part(end); slices.ContainsFunc(found[end], func(o span) bool { return s.from < o.to && o.from < s.to }) {
			return
		}
	}
	for i := first; i < end; i++ {
		if s := part(i); s.from < s.to || i == first {
			found[i] = append(found[i], s)
			slices.SortFunc(found[i], func(a, b span) int { return a.from - b.from })
		}
	}
}

// findContext is the number of lines above and below the screen that are searched for broken
// matches.
const findContext = 4

// marked returns painted lines of a width with their matches painted.
func (f *finder) marked(lines []string, width int, color bool) []string {
	if f.matcher == nil || !color {
		return lines
	}
	marked := make([]string, len(lines))
	for i, spans := range f.find(lines, width) {
		marked[i] = markMatches(lines[i], spans)
	}
	return marked
}

// mark paints the matches in a painted line.
func (f *finder) mark(line string, color bool) string { return f.marked([]string{line}, 0, color)[0] }

// matchesIn counts the matches in a painted line.
func (f *finder) matchesIn(line string) int {
	plain, _ := unpaint(line)
	return len(f.matcher.FindAllStringIndex(plain, -1))
}

// An inkStart is the start of a style at an offset of a line.
type inkStart struct {
	at       int
	sequence string
}

// unpaint returns the text of a painted line, and the sequences that were in it.
func unpaint(line string) (string, []inkStart) {
	if !strings.Contains(line, "\x1b") {
		return line, nil
	}
	var plain strings.Builder
	var inks []inkStart
	for line != "" {
		n := strings.IndexByte(line, '\x1b')
		if n < 0 {
			plain.WriteString(line)
			break
		}
		plain.WriteString(line[:n])
		line = line[n:]
		end := tty.EscapeLength(line)
		inks = append(inks, inkStart{plain.Len(), line[:end]})
		line = line[end:]
	}
	return plain.String(), inks
}

// markMatches paints matches over a painted line.
func markMatches(line string, found []span) string {
	if len(found) == 0 {
		return line
	}
	plain, inks := unpaint(line)
	var b strings.Builder
	style := "" // the style outside of the matches
	write := func(from, to int) {
		for from < to {
			for len(found) > 0 && found[0].to <= from {
				found = found[1:]
			}
			switch {
			case len(found) == 0 || found[0].from >= to:
				b.WriteString(plain[from:to])
				return
			case found[0].from > from:
				b.WriteString(plain[from:found[0].from])
				from = found[0].from
			default:
				end := min(found[0].to, to)
				b.WriteString(endOfStyle + tty.Match.Paint(plain[from:end], true) + style)
				from = end
			}
		}
	}
	at := 0
	for _, ink := range inks {
		write(at, ink.at)
		at = ink.at
		b.WriteString(ink.sequence)
		switch {
		case ink.sequence == endOfStyle:
			style = ""
		case strings.HasPrefix(ink.sequence, "\x1b["):
			style = ink.sequence
		}
	}
	write(at, len(plain))
	return b.String()
}

// endOfStyle is the sequence that ends a style.
const endOfStyle = "\x1b[0m"
