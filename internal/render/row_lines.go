package render

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/clewdev/clew/internal/clip"
	"github.com/clewdev/clew/internal/highlight"
	"github.com/clewdev/clew/internal/markdown"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/transcript"
)

// A sink takes the parts of the text below the line of a row.
type sink interface {
	// text takes an untrusted text, wrapped to the width.
	text(o Options, style tty.Style, text string)
	// code is like text for code of a language, which may be nil.
	code(o Options, language *highlight.Language, text string)
	// prose is like text for Markdown.
	prose(o Options, text string)
	// diffs takes changes of files. Several files are named.
	diffs(o Options, diffs []transcript.FileDiff)
}

// A collector is a sink that lays out lines up to a limit, and counts the others.
type collector struct {
	limit int // 0 or less means none
	skip  int // lines that are dropped before the first one
	lines []string
	more  int
}

// room returns how many lines are still taken.
func (c *collector) room() int {
	if c.limit <= 0 {
		return math.MaxInt
	}
	return c.limit + c.skip - len(c.lines)
}

// add takes painted lines, which are indented.
func (c *collector) add(o Options, lines ...string) {
	n := min(c.skip, len(lines))
	c.skip -= n
	lines = lines[n:]
	taken := min(len(lines), c.room())
	for _, line := range lines[:taken] {
		c.lines = append(c.lines, o.inset(line))
	}
	c.more += len(lines) - taken
}

// inset returns a painted line with its indentation.
func (o Options) inset(line string) string {
	if line == "" || o.indent == 0 {
		return line
	}
	return strings.Repeat(" ", o.indent) + line
}

func (c *collector) text(o Options, style tty.Style, text string) {
	c.pieces(o, text, func(piece string) []string { return o.wrapped(style, piece) })
}

func (c *collector) code(o Options, language *highlight.Language, text string) {
	scanner := highlight.NewScanner(language)
	c.pieces(o, text, func(piece string) []string { return o.breakPainted(o.painted(scanner, piece)) })
}

// pieces takes the lines that layOut makes of the pieces of a text. It does not look at what does not
// fit, except to count its lines.
func (c *collector) pieces(o Options, text string, layOut func(piece string) []string) {
	text = trimBlank(text)
	for at := 0; at < len(text); {
		if c.room() == 0 {
			c.more += o.estimate(text[at:])
			return
		}
		end := pieceEnd(text, at, maxPiece)
		c.add(o, layOut(strings.TrimSuffix(text[at:end], "\n"))...)
		at = end
	}
}

// blanks are the usual white space. All other is escaped.
const blanks = " \t\r\n"

// trimBlank returns a text without line breaks at its ends, and "" for a blank one. It does not look
// for the ends of long blanks.
func trimBlank(text string) string {
	const most = 64 << 10
	start, end := text[:min(len(text), most)], text[max(len(text)-most, 0):]
	blank := strings.TrimLeft(start, blanks) == ""
	if blank && len(text) <= most {
		return ""
	}
	trailing := len(end) - len(strings.TrimRight(end, "\n"))
	leading := len(start) - len(strings.TrimLeft(start, "\n"))
	return text[leading:max(len(text)-trailing, leading)]
}

func (c *collector) prose(o Options, text string) {
	if len(text) > markdown.MaxText {
		c.text(o, tty.Plain, text)
		return
	}
	if strings.TrimSpace(text) != "" {
		c.add(o, o.proseLines(text)...)
	}
}

// proseLines returns the lines of a Markdown text. Those of code are broken if they don't fit.
func (o Options) proseLines(text string) []string {
	var lines []string
	for _, line := range markdown.Render(text, o.markdown()) {
		lines = append(lines, o.breakPainted(line)...)
	}
	return lines
}

func (c *collector) diffs(o Options, diffs []transcript.FileDiff) {
	for i := range diffs {
		if len(diffs) > 1 {
			c.add(o, o.fitPainted(o.DiffHead(&diffs[i])))
		}
		most := math.MaxInt
		if room := c.room(); room < math.MaxInt/3 {
			most = 3 * room // more than are shown: see Options.most
		}
		lines, more := diffLines(&diffs[i], most)
		for k := range lines {
			if c.room() == 0 {
				more += len(lines) - k
				break
			}
			c.add(o, o.diffRows(&lines[k])...)
		}
		c.more += more
	}
}

// diffRows returns a diff line's rows, without their indentation.
func (o Options) diffRows(line *DiffLine) []string {
	if o.Width <= 0 {
		return []string{line.String(o.Color)}
	}
	rows := line.Rows(o.columns(), o.Color)
	for i := range rows {
		rows[i] = o.fitPainted(rows[i]) // a window may be too narrow for a mark and a character
	}
	return rows
}

// maxPiece is the maximum number of bytes of a line that are laid out at once. A longer line is
// broken there.
const maxPiece = 4096

// pieceEnd returns the end of the piece of a text that starts at an offset: after the end of its
// line, or before a character after so many bytes.
func pieceEnd(text string, at, most int) int {
	rest := text[at:]
	if i := strings.IndexByte(rest[:min(len(rest), most)], '\n'); i >= 0 {
		return at + i + 1
	}
	if len(rest) <= most {
		return len(text)
	}
	return at + max(len(clip.Bytes(rest, most)), 1)
}

// estimate returns about how many lines a text has: its own lines, or the lines that it would fill
// if it were one long line.
func (o Options) estimate(text string) int {
	lines := strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1
	if columns := o.columns(); columns > 0 {
		lines = max(lines, len(text)/columns)
	}
	return lines
}

// wrapped returns the painted lines of a piece of an untrusted text.
func (o Options) wrapped(style tty.Style, piece string) []string {
	lines := tty.Wrap(o.clean(piece), o.columns())
	for i, line := range lines {
		lines[i] = style.Paint(line, o.Color)
	}
	return lines
}

// clean makes a text safe for the terminal.
func (o Options) clean(text string) string { return tty.CleanIn(text, o.columns()) }

// painted returns a line of code in its colors.
func (o Options) painted(scanner *highlight.Scanner, line string) string {
	line = o.clean(line)
	if !o.Color {
		return line
	}
	var b strings.Builder
	for _, token := range scanner.Scan(line + "\n") {
		b.WriteString(markdown.CodeStyle(token.Class).Paint(strings.TrimSuffix(token.Text, "\n"), true))
	}
	return b.String()
}

// fitPainted cuts a painted line to the width.
func (o Options) fitPainted(line string) string {
	if o.Width <= 0 || tty.PaintedWidth(line) <= o.columns() {
		return line
	}
	return tty.CutPainted(line, o.columns()-1) + tty.Dim.Paint("…", o.Color)
}

// breakPainted breaks a painted line into lines that fit the width. Styles and links continue in
// the next line, which is indented as the first one.
func (o Options) breakPainted(line string) []string {
	columns := o.columns()
	if columns <= 0 || tty.PaintedWidth(line) <= columns {
		return []string{line}
	}
	p := paintedBreaker{columns: columns}
	if indent := len(line) - len(strings.TrimLeft(line, " ")); indent <= min(columns/2, columns-2) {
		p.indent = indent
	}
	for line != "" {
		if n := tty.EscapeLength(line); n > 0 {
			p.escape(line[:n])
			line = line[n:]
			continue
		}
		r, size := utf8.DecodeRuneInString(line)
		p.put(line[:size], tty.RuneWidth(r))
		line = line[size:]
	}
	return append(p.lines, p.line.String())
}

const (
	styleEnd = "\x1b[0m"
	linkEnd  = "\x1b]8;;\x1b\\"
)

// A paintedBreaker breaks a painted line.
type paintedBreaker struct {
	columns     int
	indent      int // of all lines but the first
	lines       []string
	line        strings.Builder
	used        int
	style, link string // the sequences that are in effect, or ""
}

func (p *paintedBreaker) escape(sequence string) {
	switch {
	case sequence == styleEnd:
		p.style = ""
	case sequence == linkEnd:
		p.link = ""
	case strings.HasPrefix(sequence, "\x1b["):
		p.style = sequence
	default:
		p.link = sequence
	}
	p.line.WriteString(sequence)
}

func (p *paintedBreaker) put(char string, width int) {
	if p.used+width > p.columns && p.used > p.indent {
		if p.style != "" {
			p.line.WriteString(styleEnd)
		}
		if p.link != "" {
			p.line.WriteString(linkEnd)
		}
		p.lines = append(p.lines, p.line.String())
		p.line.Reset()
		p.line.WriteString(strings.Repeat(" ", p.indent) + p.link + p.style)
		p.used = p.indent
	}
	p.line.WriteString(char)
	p.used += width
}
