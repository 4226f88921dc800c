package render

import "strings"

// A flow lays out a text that comes in pieces, as the whole of it would be. It
// keeps back the last word, which may yet grow too long for its line, and white
// space, which the end of the text has none of.
type flow struct {
	Options
	column int  // how much of the line is taken
	begun  bool // something was written
	breaks int  // line breaks that were kept back
	spaces int  // and spaces behind them
	word   []rune
	width  int // of the word
	out    strings.Builder
}

// add takes a clean piece, and returns what can be written of it.
func (f *flow) add(piece string) string {
	for _, r := range piece {
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

// grow adds to the word. One that needs a line of its own need not be kept back.
func (f *flow) grow(r rune) {
	w := runeWidth(r)
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

// end writes the rest, and ends the line. What comes next begins another one.
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
