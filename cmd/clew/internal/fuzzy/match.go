package fuzzy

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Text is a candidate for queries. It is prepared once, so that each query is fast. If it has several
// lines, a word has to be in one of them.
type Text struct {
	raw string
	low string // folded, with the same number of bytes
}

// Prepare returns a text for queries.
func Prepare(text string) Text { return Text{raw: text, low: fold(text)} }

// String returns the text as it was given to Prepare.
func (t Text) String() string { return t.raw }

// in returns the form of the text in which a term is looked for.
func (t Text) in(w *term) string {
	if w.cased {
		return t.raw
	}
	return t.low
}

// A Span is a part of a text, in bytes.
type Span struct{ Start, End int }

// Points of a match. Letters that begin a word count more than others, and letters that follow each
// other more than scattered ones.
const (
	letterPoints = 16
	startPoints  = 12 // at the beginning of the text
	spacePoints  = 10 // after a space
	wordPoints   = 9  // after a sign, such as a slash or a hyphen
	humpPoints   = 7  // an upper-case letter after a lower-case one, or the first digit
	nextPoints   = 8  // after the letter before, or what the first of these letters got
	runPoints    = 2  // after the letter before, as well
	gapPoints    = 6  // lost for a gap
	gapByte      = 1  // lost for each byte of a gap
	maxGapPoints = 40 // lost for a long gap
	firstPoints  = 20 // in the first line of the text
)

// A Matcher compares queries with texts. It keeps its memory from one to the next, so that it is not
// safe for concurrent use. The zero value is ready to use.
type Matcher struct {
	cells []cell
	marks []int // for each letter, the first of its cells
	spans []Span
}

// A cell is a place where a letter of a word occurs.
type cell struct {
	start, end int
	points     int // of the best match of the letters up to here
	run        int // points of the letter that began the run of neighbors
	before     int // the cell of the letter before, or -1
}

// Match reports whether a text matches a query, and how well: more points are better.
func (m *Matcher) Match(q Query, t Text) (points int, ok bool) {
	for _, any := range q.all {
		best, found := 0, false
		for i := range any {
			if p, ok := m.term(&any[i], t, false); ok && (!found || p > best) {
				best, found = p, true
			}
		}
		if !found {
			return 0, false
		}
		points += best
	}
	return points, true
}

// Spans returns the parts of a text that match a query, in order and without overlaps. There are none
// if the text does not match.
func (m *Matcher) Spans(q Query, t Text) []Span {
	var all []Span
	for _, any := range q.all {
		best, found := -1, []Span(nil)
		matched := false
		for i := range any {
			m.spans = m.spans[:0]
			if p, ok := m.term(&any[i], t, true); ok {
				matched = true
				if p > best {
					best, found = p, slices.Clone(m.spans)
				}
			}
		}
		if !matched {
			return nil
		}
		all = append(all, found...)
	}
	return merged(all)
}

// merged sorts spans, and joins spans that touch.
func merged(spans []Span) []Span {
	slices.SortFunc(spans, func(a, b Span) int { return a.Start - b.Start })
	var out []Span
	for _, s := range spans {
		if n := len(out); n > 0 && s.Start <= out[n-1].End {
			out[n-1].End = max(out[n-1].End, s.End)
			continue
		}
		out = append(out, s)
	}
	return out
}

// term compares one word. With mark set, it appends the spans of the match to m.spans.
func (m *Matcher) term(w *term, t Text, mark bool) (points int, ok bool) {
	spans := len(m.spans)
	in := t.in(w)
	// A word that is there as it is gets more points than its letters elsewhere, and is found faster.
	scatter := w.kind == scattered && len(w.letters) > 1 && !strings.Contains(in, w.text)
	for from := 0; from <= len(in); {
		to := len(in)
		if i := strings.IndexByte(in[from:], '\n'); i >= 0 {
			to = from + i
		}
		before := len(m.spans)
		p, found := m.inLine(w, t.raw[:to], in[:to], from, scatter, mark && !w.not)
		if found && from == 0 {
			p += firstPoints
		}
		switch {
		case found && (!ok || p > points):
			m.spans = append(m.spans[:spans], m.spans[before:]...)
			points, ok = p, true
		default:
			m.spans = m.spans[:before]
		}
		if ok && points >= pointsOf(w, startPoints) && !scatter {
			break // other lines are no better
		}
		from = to + 1
	}
	if w.not {
		return 0, !ok
	}
	return points, ok
}

// inLine compares a word with the line that begins at from and is the last one. If scatter is set, its letters
// need not be neighbors.
func (m *Matcher) inLine(w *term, raw, in string, from int, scatter, mark bool) (points int, ok bool) {
	if scatter {
		return m.scattered(w, raw, in, from, mark)
	}
	s, points, ok := whereExact(w, raw, in, from)
	if ok && mark {
		m.spans = append(m.spans, s)
	}
	return points, ok
}

// whereExact finds the best place of a word that must be there as it is.
func whereExact(w *term, raw, in string, from int) (best Span, points int, ok bool) {
	begin := from
	for begin < len(in) && in[begin] == ' ' {
		begin++
	}
	end := len(in)
	for end > begin && in[end-1] == ' ' {
		end--
	}
	switch w.kind {
	case equal:
		return Span{begin, end}, exactPoints(w, raw, begin), in[begin:end] == w.text
	case prefix:
		return Span{begin, begin + len(w.text)}, exactPoints(w, raw, begin), strings.HasPrefix(in[begin:], w.text)
	case suffix:
		at := end - len(w.text)
		if at < from || in[at:end] != w.text {
			return Span{}, 0, false
		}
		return Span{at, end}, exactPoints(w, raw, at), true
	}
	for at := from; ; {
		i := strings.Index(in[at:], w.text)
		if i < 0 {
			return best, points, ok
		}
		start, stop := at+i, at+i+len(w.text)
		p := exactPoints(w, raw, start)
		if (w.kind != whole || isWord(in, start, stop)) && (!ok || p > points) {
			best, points, ok = Span{start, stop}, p, true
		}
		if ok && (best.Start == from || points >= pointsOf(w, spacePoints)) {
			return best, points, ok // it gets no better
		}
		at = start + len(w.letters[0])
	}
}

// exactPoints returns the points of neighboring letters.
func exactPoints(w *term, raw string, from int) int { return pointsOf(w, placePoints(raw, from)) }

// pointsOf returns the points of neighboring letters, of which the first one gets some for its place.
func pointsOf(w *term, first int) int {
	n := len(w.letters)
	return letterPoints*n + 2*first + (n-1)*(runPoints+max(first, nextPoints))
}

// isWord reports whether a part of a text is not within a word.
func isWord(text string, from, to int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:from])
	after, _ := utf8.DecodeRuneInString(text[to:])
	return (from == 0 || !inWord(before)) && (to == len(text) || !inWord(after))
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// scattered finds the letters of a word in their order, where they get the most points.
func (m *Matcher) scattered(w *term, raw, in string, from int, mark bool) (points int, ok bool) {
	if cap(m.marks) < len(w.letters)+1 {
		m.marks = make([]int, 0, 2*len(w.letters)+8)
	}
	m.cells, m.marks = m.cells[:0], m.marks[:0]
	for _, letter := range w.letters { // the earliest places, which also tell whether there is a match
		i := index(in[from:], letter)
		if i < 0 {
			return 0, false
		}
		m.marks = append(m.marks, from+i)
		from += i + len(letter)
	}
	first, end := 0, 0 // the cells of the letter before
	for k, letter := range w.letters {
		first, end = m.place(raw, in, letter, k, first, end)
	}
	best := first
	for c := first; c < end; c++ {
		if m.cells[c].points > m.cells[best].points {
			best = c
		}
	}
	points = m.cells[best].points
	for c := best; mark && c >= 0; c = m.cells[c].before {
		m.spans = append(m.spans, Span{m.cells[c].start, m.cells[c].end})
	}
	return points, true
}

// place adds a cell for each place of the letter k after the earliest one. The cells of the letter
// before are m.cells[first:end]; it returns the bounds of this letter's cells.
func (m *Matcher) place(raw, in, letter string, k, first, end int) (from, to int) {
	from = len(m.cells)
	at, next := m.marks[k], first
	far, farCell := 0, -1 // the best cell that leaves a gap: points and end in bytes
	for {
		c := cell{start: at, end: at + len(letter), run: placePoints(raw, at), before: -1}
		c.points = letterPoints + c.run
		if k == 0 {
			c.points += c.run
		}
		near := -1
		for ; next < end && m.cells[next].end <= at; next++ {
			p := &m.cells[next]
			if p.end == at {
				near = next
				break
			}
			if p.points+gapByte*p.end > far || farCell < 0 {
				far, farCell = p.points+gapByte*p.end, next
			}
		}
		if k == 0 || m.join(&c, near, farCell) {
			m.cells = append(m.cells, c)
		}
		i := index(in[c.end:], letter)
		if i < 0 {
			return from, len(m.cells)
		}
		at = c.end + i
	}
}

// join adds the points of the letters before: of the neighbor, or of the best cell that leaves a gap.
func (m *Matcher) join(c *cell, near, far int) bool {
	best, run := 0, c.run
	if far >= 0 {
		p := &m.cells[far]
		best = p.points - min(gapPoints+gapByte*(c.start-p.end), maxGapPoints)
		c.before = far
	}
	if near >= 0 {
		p := &m.cells[near]
		begun := max(p.run, c.run)
		if with := p.points + runPoints + max(begun, nextPoints) - c.run; far < 0 || with >= best {
			best, run, c.before = with, begun, near
		}
	}
	c.points, c.run = c.points+best, run
	return c.before >= 0
}

// index returns the first place of a letter, or -1.
func index(in, letter string) int {
	if len(letter) == 1 {
		return strings.IndexByte(in, letter[0])
	}
	return strings.Index(in, letter)
}

// placePoints returns what a letter gets for its place in a text.
func placePoints(text string, at int) int {
	if at == 0 || text[at-1] == '\n' {
		return startPoints
	}
	if at >= len(text) {
		return 0
	}
	before, this := classes[text[at-1]], classes[text[at]]
	switch {
	case this == sign || this == space:
		return 0
	case before == space:
		return spacePoints
	case before == sign:
		return wordPoints
	case before == lower && this == upper, before != digit && this == digit:
		return humpPoints
	}
	return 0
}

type class uint8

const (
	sign class = iota
	space
	lower // also bytes that are not ASCII
	upper
	digit
)

var classes = func() (c [256]class) {
	for b := range c {
		switch {
		case b == ' ' || b == '\t':
			c[b] = space
		case b >= 'a' && b <= 'z' || b >= utf8.RuneSelf:
			c[b] = lower
		case b >= 'A' && b <= 'Z':
			c[b] = upper
		case b >= '0' && b <= '9':
			c[b] = digit
		}
	}
	return c
}()
