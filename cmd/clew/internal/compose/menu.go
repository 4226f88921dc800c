package compose

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/clewdev/clew/internal/tty"
)

// A QueryKind is a kind of word that a menu can complete.
type QueryKind int

// The kinds of queries.
const (
	CommandQuery  QueryKind = iota // the name of a command, with its slash
	ArgumentQuery                  // the first argument of a command
	FileQuery                      // the path of a file after an @
)

// A Query is the word at the cursor, for which there may be completions.
type Query struct {
	Kind    QueryKind
	Word    string // as far as the cursor, without an @
	Command string // of an argument
	from    int    // the start of the word in the text
}

// A Choice is a completion.
type Choice struct {
	Text string // the replacement of the word
	Note string
	// Complete means that nothing is to be added: Enter submits the text with it.
	Complete bool
}

// Query returns the word at the cursor, if it can be completed.
func (e *Editor) Query() (q Query, ok bool) {
	if e.search != nil {
		return Query{}, false
	}
	before := e.text[:e.at]
	start := len(before)
	for start > 0 && !unicode.IsSpace(before[start-1]) && !isPaste(before[start-1]) {
		start--
	}
	word := string(before[start:])
	if strings.HasPrefix(word, "@") {
		return Query{Kind: FileQuery, Word: word[1:], from: start}, true
	}
	if len(before) == 0 || before[0] != '/' {
		return Query{}, false
	}
	if start == 0 {
		return Query{Kind: CommandQuery, Word: word}, true
	}
	command, argument, _ := strings.Cut(e.expand(before), " ")
	if strings.ContainsAny(argument, " \n") || strings.Contains(command, "\n") {
		return Query{}, false
	}
	return Query{Kind: ArgumentQuery, Word: argument, Command: command, from: start}, true
}

// A menu has the completions of a query.
type menu struct {
	query   Query
	choices []Choice
	at      int
	top     int
	moved   bool // the user made a choice
}

func (m *menu) isOpen() bool { return len(m.choices) > 0 }

// hasMenu reports whether the menu is open, for the word at the cursor as it is now.
func (e *Editor) hasMenu() bool {
	q, ok := e.Query()
	return ok && e.menu.isOpen() && q == e.menu.query
}

func (m *menu) close() { *m = menu{} }

// Offer opens the menu with the completions of a query, or closes it if there are none. It does
// nothing if the text changed since.
func (e *Editor) Offer(q Query, choices []Choice) {
	if now, ok := e.Query(); !ok || now != q {
		return
	}
	e.menu.close()
	var clean []Choice
	for _, c := range choices {
		if c.Text != "" && c.Text == tty.CleanLine(c.Text) {
			clean = append(clean, c)
		}
	}
	if len(clean) == 1 && clean[0].Text == q.Word {
		return // there is nothing to complete
	}
	e.menu = menu{query: q, choices: clean}
}

// HasMenu reports whether the menu is shown. While a word is typed, it is the menu for an earlier
// state of the word, until the next [Editor.Offer].
func (e *Editor) HasMenu() bool {
	q, ok := e.Query()
	return ok && e.menu.isOpen() && q.Kind == e.menu.query.Kind && q.from == e.menu.query.from
}

// pressInMenu handles a key while the menu is open.
func (e *Editor) pressInMenu(k Key) (event Event, done bool) {
	m := &e.menu
	switch k.Code {
	case Up:
		m.at, m.moved = (m.at+len(m.choices)-1)%len(m.choices), true
	case Down:
		m.at, m.moved = (m.at+1)%len(m.choices), true
	case Tab:
		e.accept()
	case Enter:
		choice := m.choices[m.at]
		if !m.moved && choice.Text == m.query.Word || !m.moved && m.has(m.query.Word) {
			m.close()
			return Unused, false
		}
		e.accept()
		if choice.Complete {
			return Submitted, true
		}
	case Escape:
		m.close()
	default:
		return Unused, false
	}
	return Edited, true
}

// has reports whether a word is one of the choices.
func (m *menu) has(word string) bool {
	for _, c := range m.choices {
		if c.Text == word {
			return true
		}
	}
	return false
}

// accept replaces the word by the choice.
func (e *Editor) accept() {
	q, choice := e.menu.query, e.menu.choices[e.menu.at]
	text := choice.Text
	if q.Kind == FileQuery {
		text = "@" + text
		if strings.Contains(choice.Text, " ") {
			text = `@"` + choice.Text + `"`
		}
	}
	if !choice.Complete && !strings.HasSuffix(choice.Text, "/") {
		text += " "
	}
	at := e.at
	e.change(replacing)
	e.menu.close()
	word := []rune(text)
	e.text = slices.Concat(e.text[:q.from], word, e.text[at:])
	e.at = q.from + len(word)
}

// MenuLines returns the menu in at most maxRows painted rows of that width, or nothing if it is
// closed.
func (e *Editor) MenuLines(width, maxRows int, color bool) []string {
	m := &e.menu
	if !e.HasMenu() || maxRows < 1 {
		return nil
	}
	shown := min(len(m.choices), maxRows)
	if shown < len(m.choices) && maxRows > 2 {
		shown-- // the last row counts the others
	}
	m.top = min(max(m.top, m.at-shown+1), m.at, len(m.choices)-shown)
	wide := 0
	for _, c := range m.choices[m.top : m.top+shown] {
		wide = max(wide, tty.Width(c.Text))
	}
	var lines []string
	for i, c := range m.choices[m.top : m.top+shown] {
		lines = append(lines, m.line(c, m.top+i == m.at, menuColumns{width, min(wide, max(width/2, 1)), color}))
	}
	if len(lines) < len(m.choices) && len(lines) < maxRows {
		count := fmt.Sprintf("  %d of %d", m.at+1, len(m.choices))
		lines = append(lines, tty.Dim.Paint(tty.Fit(count, width), color))
	}
	return lines
}

// menuColumns holds the widths of menu rows and of their texts.
type menuColumns struct {
	row, text int
	color     bool
}

// line returns a choice's row.
func (m *menu) line(c Choice, chosen bool, w menuColumns) string {
	mark, style := "  ", tty.Plain
	if chosen {
		mark, style = "> ", tty.Strong
	}
	text := tty.Fit(c.Text, w.text)
	head := tty.Fit(mark+text, w.row)
	line := style.Paint(head, w.color)
	pad := len(mark) + w.text + 2 - tty.Width(head)
	room := w.row - tty.Width(head) - pad
	if note := tty.Line(c.Note); note != "" && pad > 0 && room > 3 {
		line += strings.Repeat(" ", pad) + tty.Dim.Paint(tty.Fit(note, room), w.color)
	}
	return line
}
