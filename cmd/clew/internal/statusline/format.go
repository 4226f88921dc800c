package statusline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clewdev/clew/internal/tty"
)

// DefaultFormat is the format of a line unless the user has another.
const DefaultFormat = "{model} {effort} · {context} · {5h} · {7d} · {spend} · {session} · {today} · {branch} · {block} · {cache}"

// A Format describes the contents of a line: words between spaces, with the names of values in
// braces.
type Format struct{ words []word }

// A word is a part of a format without spaces.
type word struct {
	pieces []piece
	values int // number of pieces that are values
}

// A piece is a text, or the name of a value.
type piece struct {
	text  string
	value bool
}

// ParseFormat reads a format. If it has unknown names, it returns an error that lists the known
// ones, and a format that shows the unknown ones as they are.
func ParseFormat(text string) (*Format, error) {
	f := new(Format)
	var unknown []string
	for _, field := range strings.Fields(text) {
		var w word
		for field != "" {
			before, rest, ok := strings.Cut(field, "{")
			name, after, closed := strings.Cut(rest, "}")
			switch {
			case !ok || !closed:
				before, after = field, ""
			case values[name].text == nil:
				unknown = append(unknown, "{"+name+"}")
				before += "{" + name + "}"
			default:
				w.add(before)
				w.pieces, w.values = append(w.pieces, piece{name, true}), w.values+1
				before = ""
			}
			w.add(before)
			field = after
		}
		f.words = append(f.words, w)
	}
	if len(unknown) > 0 {
		return f, fmt.Errorf("unknown value %s: must be one of {%s}",
			strings.Join(unknown, ", "), strings.Join(Names(), "}, {"))
	}
	if len(f.words) == 0 {
		return f, fmt.Errorf("the format is empty: give at least one of {%s}", strings.Join(Names(), "}, {"))
	}
	return f, nil
}

// add adds a text, unless it is empty.
func (w *word) add(text string) {
	if text != "" {
		w.pieces = append(w.pieces, piece{text: tty.CleanLine(text)})
	}
}

// importance returns how important the word is: as its most important value.
func (w *word) importance() int {
	most := 0
	for _, p := range w.pieces {
		if p.value {
			most = max(most, values[p.text].importance)
		}
	}
	return most
}

// nothing is the line if no value has a text: the agent shows no line for an empty one.
const nothing = "Claude Code"

// Line returns the line for a view. It has at most columns columns: the least important values are
// left out if it is too long. It is never empty.
func (f *Format) Line(v *View, columns int, color bool) string {
	var words []shownWord
	if v.Problem != "" {
		words = append(words, shownWord{shown: newShown(v.Problem, tty.Failure), importance: 100},
			shownWord{shown: newShown("·", tty.Dim), label: true})
	}
	for i := range f.words {
		words = append(words, f.words[i].show(v))
	}
	for {
		line := join(words)
		if line.empty() {
			line = newShown(tty.Fit(nothing, max(columns, 1)), tty.Dim)
		}
		if tty.Width(line.plain) <= columns {
			return line.in(color)
		}
		least := leastImportant(words)
		if least < 0 {
			return tty.Fit(line.plain, max(columns, 1))
		}
		words[least].shown = shown{}
	}
}

// leastImportant returns the index of the value to leave out, or -1 if there is only one.
func leastImportant(words []shownWord) int {
	least, there := -1, 0
	for i := range words {
		if words[i].label || words[i].empty() {
			continue
		}
		there++
		if least < 0 || words[i].importance <= words[least].importance {
			least = i
		}
	}
	if there < 2 {
		return -1
	}
	return least
}

// A shown is a text with and without colors.
type shown struct{ plain, painted string }

func newShown(text string, style tty.Style) (s shown) {
	s.add(text, style)
	return s
}

func (s *shown) empty() bool { return s.plain == "" }

func (s *shown) in(color bool) string {
	if color {
		return s.painted
	}
	return s.plain
}

func (s *shown) add(text string, style tty.Style) {
	s.plain += text
	s.painted += style.Paint(text, true)
}

// A shownWord is a word with its values filled in.
type shownWord struct {
	shown
	importance int
	label      bool // it has no values
}

// show fills in the values. A word is empty if one of its values is.
func (w *word) show(v *View) shownWord {
	s := shownWord{importance: w.importance(), label: w.values == 0}
	for _, p := range w.pieces {
		if !p.value {
			s.add(p.text, tty.Dim)
			continue
		}
		parts := values[p.text].text(v)
		if len(parts) == 0 {
			return shownWord{importance: s.importance}
		}
		for _, part := range parts {
			s.add(part.text, part.style)
		}
	}
	return s
}

// join joins the words that have a text. Words without values, such as a separator, are shown only
// between two values, or at the ends of the format. If omitted values leave several of them side by
// side, the last ones are shown.
func join(words []shownWord) shown {
	var kept []shown
	labels := []shown{} // since the last value that was shown
	fresh := true       // no value was left out since the last one that was shown
	for i := range words {
		w := &words[i]
		switch {
		case w.label && !fresh:
			labels, fresh = []shown{w.shown}, true
		case w.label:
			labels = append(labels, w.shown)
		case w.empty():
			fresh = false
		default:
			if len(kept) == 0 && leftOut(words[:i]) {
				labels = nil
			}
			kept = append(append(kept, labels...), w.shown)
			labels, fresh = nil, true
		}
	}
	if fresh && !leftOut(trailing(words)) {
		kept = append(kept, labels...)
	}
	var line shown
	for i, s := range kept {
		if i > 0 {
			line.add(" ", tty.Plain)
		}
		line.plain += s.plain
		line.painted += s.painted
	}
	return line
}

// leftOut reports whether one of the words is a value that is not shown.
func leftOut(words []shownWord) bool {
	return slices.ContainsFunc(words, func(w shownWord) bool { return !w.label && w.empty() })
}

// trailing returns the words after the last value that is shown.
func trailing(words []shownWord) []shownWord {
	for i, w := range slices.Backward(words) {
		if !w.label && !w.empty() {
			return words[i+1:]
		}
	}
	return words
}
