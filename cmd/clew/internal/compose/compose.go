// Package compose is an editor for prompts. It has several lines with a cursor that moves by the
// wrapped rows, undo, pastes of any length as one element, a history, and a menu of completions. It
// is pure: keys go in, and lines for a terminal come out.
package compose

import (
	"slices"
	"strings"
)

// A Code is the function of a key.
type Code int

// The functions of keys.
const (
	Insert Code = iota // Key.Text is typed
	Paste              // Key.Text is pasted
	Enter
	Newline // a line break within the text
	Tab
	Backspace
	Delete
	Left
	Right
	WordLeft
	WordRight
	Up
	Down
	Home
	End
	Start         // of the whole text
	Finish        // its end
	KillEnd       // to the end of the line
	KillStart     // to its start
	KillWord      // back to the last space
	KillWordLeft  // the word before the cursor
	KillWordRight // the word after it
	Yank          // the text killed last
	Transpose     // swaps the characters around the cursor
	Undo
	Redo
	Search // earlier texts
	Escape // closes the menu or the search
)

// A Key is a key press, or a pasted text.
type Key struct {
	Code Code
	Text string // for Insert and Paste
}

// An Event is the effect of a key.
type Event int

// The events.
const (
	Unused    Event = iota // the key has no function here
	Edited                 // the text, the cursor or the menu may have changed
	Submitted              // the text is complete
)

// An Editor holds a text that is being written. Its zero value is empty and has no history. It is not
// for concurrent use.
type Editor struct {
	// History has earlier texts. Nil means none.
	History *History

	text   []rune   // runes above unicode.MaxRune are pastes: see element
	at     int      // the position of the cursor
	pastes []string // long texts, each of which is one character of the text

	killed []rune
	goal   int // the column that the cursor keeps while it moves up and down, plus 1, or 0
	undo   undoLog
	recall recall
	search *search
	menu   menu

	layout layout // the text as it was last drawn
	top    int    // the first row that was drawn
}

// Text returns the text, with everything that was pasted.
func (e *Editor) Text() string { return e.expand(e.text) }

// IsEmpty reports whether the text is empty.
func (e *Editor) IsEmpty() bool { return len(e.text) == 0 }

// SetText replaces the text, which can be undone, and moves the cursor to its end.
func (e *Editor) SetText(text string) {
	e.change(replacing)
	if e.text = []rune(strings.ToValidUTF8(text, "\uFFFD")); len(e.text) > maxEdited {
		e.text = e.packed(text)
	}
	e.at = len(e.text)
	e.search = nil
	e.menu.close()
}

// Reset empties the editor, for another text.
func (e *Editor) Reset() {
	*e = Editor{History: e.History, killed: e.killed, layout: layout{width: e.layout.width}}
}

// Press handles a key.
func (e *Editor) Press(k Key) Event {
	if e.search != nil {
		if event, done := e.pressInSearch(k); done {
			return event
		}
	}
	if e.hasMenu() {
		if event, done := e.pressInMenu(k); done {
			return event
		}
	}
	if k.Code != Up && k.Code != Down {
		e.goal = 0
	}
	switch k.Code {
	case Enter:
		return e.enter()
	case Search:
		return e.beginSearch()
	case Undo, Redo:
		return e.restore(k.Code == Undo)
	case Up, Down:
		return e.moveRow(k.Code == Up)
	case Tab, Escape:
		return Unused
	}
	if e.move(k.Code) {
		e.undo.stop()
		return Edited
	}
	return e.edit(k)
}

// enter submits the text. A backslash before the cursor becomes a line break instead.
func (e *Editor) enter() Event {
	if e.at > 0 && e.text[e.at-1] == '\\' {
		e.change(replacing)
		e.text = slices.Clone(e.text)
		e.text[e.at-1] = '\n'
		return Edited
	}
	if strings.TrimSpace(e.Text()) == "" {
		e.change(replacing)
		e.text, e.at = nil, 0
		return Edited
	}
	return Submitted
}

// edit changes the text.
func (e *Editor) edit(k Key) Event {
	switch k.Code {
	case Insert:
		e.insert(k.Text, typing)
	case Paste:
		e.paste(k.Text)
	case Newline:
		e.insert("\n", replacing)
	case Backspace:
		e.cut(e.before(e.at), e.at, erasing)
	case Delete:
		e.cut(e.at, e.after(e.at), erasing)
	case KillEnd:
		e.kill(e.at, max(e.lineEnd(e.at), min(e.at+1, len(e.text)))) // at the end of a line, its break
	case KillStart:
		e.kill(e.lineStart(e.at), e.at)
	case KillWord:
		e.kill(e.spaceBefore(), e.at)
	case KillWordLeft:
		e.kill(e.wordStart(), e.at)
	case KillWordRight:
		e.kill(e.at, e.wordEnd())
	case Yank:
		e.put(e.killed, replacing)
	case Transpose:
		e.transpose()
	default:
		return Unused
	}
	return Edited
}

// insert adds a text at the cursor.
func (e *Editor) insert(text string, kind changeKind) {
	if text != "" {
		e.put([]rune(strings.ToValidUTF8(text, "\uFFFD")), kind)
	}
}

func (e *Editor) put(text []rune, kind changeKind) {
	if len(text) == 0 {
		return
	}
	if kind == typing && text[0] == ' ' {
		e.undo.stop() // undo goes back word by word
	}
	e.change(kind)
	e.text = slices.Concat(e.text[:e.at], text, e.text[e.at:])
	e.at += len(text)
}

func (e *Editor) cut(from, to int, kind changeKind) {
	if from >= to {
		return
	}
	e.change(kind)
	e.text = slices.Concat(e.text[:from], e.text[to:])
	e.at = from
}

// kill cuts a part of the text, which can be put back elsewhere.
func (e *Editor) kill(from, to int) {
	if from < to {
		e.killed = slices.Clone(e.text[from:to])
		e.cut(from, to, replacing)
	}
}

// transpose swaps the characters before and after the cursor, or the last two of a line.
func (e *Editor) transpose() {
	middle := e.at
	if middle == e.lineEnd(middle) {
		middle = e.before(middle)
	}
	from, to := e.before(middle), e.after(middle)
	if from == middle || to == middle || from < e.lineStart(e.at) {
		return
	}
	e.change(replacing)
	e.text = slices.Concat(e.text[:from], e.text[middle:to], e.text[from:middle], e.text[to:])
	e.at = to
}
