package render

import (
	"regexp"
	"strings"
	"sync"

	"github.com/clewdev/clew/internal/tty"
)

// An Excerpt is a part of an untrusted text in which something was found.
type Excerpt struct {
	Text         string
	Matches      [][2]int // beginnings and ends in Text, in order
	Begins, Ends bool     // it is at the beginning or at the end of the text
	Markdown     bool     // it has marks for headings, bold text and code blocks, which Line leaves out
}

// markdownMarks matches what Markdown has only for the looks of a text.
var markdownMarks = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("(?m)\\*\\*|^#{1,6} |^```[a-z]*\n?")
})

// Plain returns the excerpt without the marks of Markdown, if it has some. A mark at the start of a line
// is one only there: the excerpt may begin within a line, and a match may end before a #.
func (e *Excerpt) Plain() *Excerpt {
	if !e.Markdown {
		return e
	}
	p := &Excerpt{Begins: e.Begins, Ends: e.Ends}
	var marks [][]int
	for _, mark := range markdownMarks().FindAllStringIndex(e.Text, -1) {
		if mark[0] == 0 && !e.Begins && e.Text[0] != '*' {
			continue
		}
		for _, m := range e.Matches { // as in ```go
			if m[0] > mark[0] {
				mark[1] = min(mark[1], m[0])
			}
		}
		marks = append(marks, mark)
	}
	removed := func(at int) (n int) { // before an offset
		for _, mark := range marks {
			n += max(min(at, mark[1])-mark[0], 0)
		}
		return n
	}
	at := 0
	for _, mark := range marks {
		p.Text += e.Text[at:mark[0]]
		at = mark[1]
	}
	p.Text += e.Text[at:]
	for _, m := range e.Matches {
		p.Matches = append(p.Matches, [2]int{m[0] - removed(m[0]), m[1] - removed(m[1])})
	}
	return p
}

// Line returns the excerpt on one line of at most so many columns, of which there are at least two.
// The matches are painted.
func (e *Excerpt) Line(columns int, color bool) string {
	e = e.Plain()
	line := excerptLine{columns: columns, color: color}
	if !e.Begins {
		line.write("…", false)
	}
	at := 0
	for _, m := range e.Matches {
		line.write(e.Text[at:m[0]], false)
		line.write(e.Text[m[0]:m[1]], true)
		at = m[1]
	}
	line.write(e.Text[at:], false)
	line.finish(!e.Ends)
	return line.out.String()
}

// colorCodes matches the color codes in the output of programs.
var colorCodes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("\x1b\\[[0-9;:]*[mK]")
})

// An excerptLine puts pieces of a text on one line.
type excerptLine struct {
	out     strings.Builder
	columns int // that are left
	color   bool
	space   bool // the last character is a space, or there is none
	full    bool
}

func (l *excerptLine) write(text string, marked bool) {
	text = l.squeeze(tty.Clean(colorCodes().ReplaceAllString(text, "")))
	if l.full || text == "" {
		return
	}
	fit := tty.Cut(text, l.columns-1)
	l.full = fit != text
	l.columns -= tty.Width(fit)
	if marked && l.color && fit != "" {
		fit = tty.Match.Paint(fit, true)
	}
	l.out.WriteString(fit)
}

// squeeze replaces white space with one space, also across pieces.
func (l *excerptLine) squeeze(text string) string {
	var b strings.Builder
	for _, r := range text {
		space := r == ' ' || r == '\n'
		if space && !l.space {
			b.WriteByte(' ')
		} else if !space {
			b.WriteRune(r)
		}
		l.space = space
	}
	return b.String()
}

func (l *excerptLine) finish(more bool) {
	if l.full || more {
		l.out.WriteString("…")
	}
}
