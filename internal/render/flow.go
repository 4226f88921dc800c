package render

import (
	"strings"

	"github.com/clewdev/clew/internal/tty"
)

// A flow wraps a text that comes in pieces, with the same result as for the complete text. It holds
// back the last word, which may still become too long for its line, and white space, since the end
// of the text is trimmed.
type flow struct {
	Options
	column int  // the width of the current line so far
	begun  bool // something was written
	breaks int  // line breaks that are held back
	spaces int  // spaces after them
	word   []rune
	width  int // of the word
	out    strings.Builder
	before strings.Builder // what was added
}

// open returns nothing: everything but a last word is final.
func (f *flow) open() []string { return nil }

// add adds a piece, and returns the text that can be written now.
func (f *flow) add(piece string) string {
	clean := tty.CleanPiece(f.before.String(), piece)
	f.before.WriteString(piece)
	for _, r := range clean {
		switch r {
		case '\n':
			f.put()
			f.breaks, f.spaces = f.breaks+1, 0
		case ' ':
			f.put()
			f.spaces++
		default:
			f.grow(r)
		}
	}
	if f.Width <= 0 {
		f.put()
	}
	return f.take()
}

// grow adds to the word. A word that fills a whole line is not held back.
func (f *flow) grow(r rune) {
	w := tty.RuneWidth(r)
	if f.Width > 0 && f.width+w > f.columns() {
		f.put()
	}
	f.word, f.width = append(f.word, r), f.width+w
}

// put writes the word, on the next line if it does not fit.
func (f *flow) put() {
	if len(f.word) == 0 {
		return
	}
	if f.begun && f.breaks > 0 {
		f.out.WriteString(strings.Repeat("\n", f.breaks))
		f.column = 0
	}
	limit := f.columns()
	if f.column > 0 && limit > 0 && f.column+f.spaces+f.width > limit {
		f.out.WriteByte('\n')
		f.column, f.spaces = 0, 0
	}
	if f.column == 0 {
		f.out.WriteString(strings.Repeat(" ", f.indent))
	}
	f.out.WriteString(strings.Repeat(" ", f.spaces) + string(f.word))
	f.column += f.spaces + f.width
	f.begun, f.breaks, f.spaces, f.word, f.width = true, 0, 0, f.word[:0], 0
}

// end writes the rest, and ends the line. The next piece starts a new one.
func (f *flow) end() string {
	f.put()
	if f.column > 0 {
		f.out.WriteByte('\n')
	}
	f.column, f.breaks, f.spaces = 0, 0, 0
	return f.take()
}

func (f *flow) take() string {
	text := f.out.String()
	f.out.Reset()
	return text
}
