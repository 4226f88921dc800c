package markdown

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clewdev/clew/internal/tty"
)

// A look is the style of a text.
type look struct {
	styles tty.StyleSet
	link   string // the target of a link, which is safe to open
}

// A fragment is a clean text of one look.
type fragment struct {
	text string
	look look
}

// A word is a unit that is not broken if it fits on a line.
type word struct {
	first   fragment
	more    []fragment // after the first one; most words have none
	columns int
	spaces  int  // before it; 0 between characters of scripts that don't need them
	gap     look // of the spaces
	breaks  bool // it starts a line
}

// fragments returns the fragments of the word.
func (w *word) fragments() iter.Seq[fragment] {
	return func(yield func(fragment) bool) {
		if !yield(w.first) {
			return
		}
		for _, f := range w.more {
			if !yield(f) {
				return
			}
		}
	}
}

func (w *word) add(f fragment) {
	if w.first.text == "" {
		w.first = f
	} else {
		w.more = append(w.more, f)
	}
	w.columns += tty.Width(f.text)
}

// lastText returns the text of the last fragment.
func (w *word) lastText() string {
	if n := len(w.more); n > 0 {
		return w.more[n-1].text
	}
	return w.first.text
}

// A wordList makes words of texts.
type wordList struct {
	words  []word
	inWord bool // the last word continues
	spaces int
	gap    look
	breaks bool
}

// add adds a clean text. The spaces of code count, and others are all alike.
func (l *wordList) add(text string, as look, code bool) {
	for text != "" {
		n := strings.IndexAny(text, " \n")
		switch {
		case n == 0:
			if l.spaces == 0 || code {
				l.spaces++
			}
			l.inWord, l.gap = false, as
			text = text[1:]
			continue
		case n < 0:
			n = len(text)
		}
		l.addUnbroken(text[:n], as)
		text = text[n:]
	}
}

// addUnbroken adds a text without spaces.
func (l *wordList) addUnbroken(text string, as look) {
	for text != "" {
		n := unbroken(text)
		if l.inWord && l.mayBreakBefore(text) {
			l.inWord = false
		}
		if !l.inWord {
			l.words = append(l.words, word{spaces: l.spaces, gap: l.gap, breaks: l.breaks})
			l.inWord, l.spaces, l.breaks = true, 0, false
		}
		l.words[len(l.words)-1].add(fragment{text[:n], as})
		text = text[n:]
	}
}

// breakLine makes the next word start a line.
func (l *wordList) breakLine() { l.inWord, l.spaces, l.breaks = false, 0, true }

// mayBreakBefore reports whether a line may be broken between the last word and a text.
func (l *wordList) mayBreakBefore(text string) bool {
	before, _ := utf8.DecodeLastRuneInString(l.words[len(l.words)-1].lastText())
	after, _ := utf8.DecodeRuneInString(text)
	return mayBreak(before, after)
}

// unbroken returns the length of the beginning of a text in which lines are not broken.
func unbroken(text string) int {
	before := rune(0)
	for i, r := range text {
		if i > 0 && mayBreak(before, r) {
			return i
		}
		before = r
	}
	return len(text)
}

// mayBreak reports whether a line may be broken between two characters without a space: beside a
// wide one, unless it belongs to the other one.
func mayBreak(before, after rune) bool {
	if before < 0x300 && after < 0x300 || tty.RuneWidth(before) < 2 && tty.RuneWidth(after) < 2 {
		return false
	}
	return tty.RuneWidth(before) > 0 && tty.RuneWidth(after) > 0 && !unicode.Is(unicode.Sk, after) &&
		!unicode.In(after, unicode.Pe, unicode.Pf, unicode.Po) && !unicode.In(before, unicode.Ps, unicode.Pi) && after != 'ー'
}

// A row is a line of fragments.
type row struct {
	fragments []fragment
	columns   int
}

func (r *row) add(text string, as look, columns int) {
	r.columns += columns
	r.fragments = append(r.fragments, fragment{text, as})
}

func (r *row) addWord(w *word) {
	if w.spaces > 0 && r.columns > 0 {
		r.add(strings.Repeat(" ", w.spaces), w.gap, w.spaces)
	}
	for f := range w.fragments() {
		r.add(f.text, f.look, 0)
	}
	r.columns += w.columns
}

// paint returns the row as text for the terminal.
func (r *row) paint(color bool) string {
	var b strings.Builder
	b.Grow(2 * r.columns)
	for i := 0; i < len(r.fragments); {
		link, n := r.fragments[i].look.link, 1
		for i+n < len(r.fragments) && r.fragments[i+n].look.link == link {
			n++
		}
		if link == "" {
			paintLooks(&b, r.fragments[i:i+n], color)
		} else {
			var text strings.Builder
			paintLooks(&text, r.fragments[i:i+n], color)
			b.WriteString(tty.Hyperlink(text.String(), link))
		}
		i += n
	}
	return b.String()
}

// paintLooks writes fragments, with each run of equal looks painted at once.
func paintLooks(b *strings.Builder, fragments []fragment, color bool) {
	for i := 0; i < len(fragments); {
		styles := fragments[i].look.styles
		if styles == 0 {
			b.WriteString(fragments[i].text)
			i++
			continue
		}
		var run strings.Builder
		for ; i < len(fragments) && fragments[i].look.styles == styles; i++ {
			run.WriteString(fragments[i].text)
		}
		b.WriteString(styles.Paint(run.String(), color))
	}
}

// wrap fills lines of at most width columns with words. A word that is longer than a line is
// broken. A width of 0 means no limit.
func wrap(words []word, width int) []row {
	var rows []row
	var line row
	flush := func() {
		rows = append(rows, line)
		line = row{fragments: make([]fragment, 0, len(line.fragments))}
	}
	for i := range words {
		w := &words[i]
		if i > 0 && (w.breaks || width > 0 && line.columns > 0 && line.columns+w.spaces+w.columns > width) {
			flush()
		}
		if width == 0 || w.columns <= width {
			line.addWord(w)
			continue
		}
		for f := range w.fragments() {
			for text := f.text; text != ""; {
				n, columns := cluster(text, width)
				if line.columns+columns > width && line.columns > 0 {
					flush()
				}
				line.add(text[:n], f.look, columns)
				text = text[n:]
			}
		}
	}
	if len(words) > 0 {
		flush()
	}
	return rows
}

// cluster returns the length and the columns of the first character of a text, with the marks drawn
// on it, unless that is wider than width.
func cluster(text string, width int) (size, columns int) {
	joined := false
	for i, r := range text {
		w := tty.RuneWidth(r)
		if i > 0 && (w > 0 && !joined && !unicode.Is(unicode.Sk, r) || columns+w > width) {
			return i, columns
		}
		columns += w
		joined = r == '\u200d'
	}
	return len(text), columns
}

// longest returns the columns of the longest word, and of the longest line if nothing is wrapped.
func longest(words []word) (ofWord, ofLine int) {
	line := 0
	for i := range words {
		w := &words[i]
		if w.breaks || i == 0 {
			line = 0
		} else {
			line += w.spaces
		}
		line += w.columns
		ofWord, ofLine = max(ofWord, w.columns), max(ofLine, line)
	}
	return ofWord, ofLine
}
