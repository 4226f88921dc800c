package compose

import "unicode"

// move moves the cursor. It reports whether the key does so.
func (e *Editor) move(code Code) bool {
	switch code {
	case Left:
		e.at = e.before(e.at)
	case Right:
		e.at = e.after(e.at)
	case WordLeft:
		e.at = e.wordStart()
	case WordRight:
		e.at = e.wordEnd()
	case Home:
		e.at = e.lineStart(e.at)
	case End:
		e.at = e.lineEnd(e.at)
	case Start:
		e.at = 0
	case Finish:
		e.at = len(e.text)
	default:
		return false
	}
	return true
}

// before returns the start of the character before i, including its combining marks.
func (e *Editor) before(i int) int {
	for i > 0 {
		i--
		if !e.joined(i) {
			break
		}
	}
	return i
}

// after returns the end of the character at i.
func (e *Editor) after(i int) int {
	for i < len(e.text) {
		i++
		if !e.joined(i) {
			break
		}
	}
	return i
}

const joiner = '\u200d'

// joined reports whether the rune at i belongs to the character before it.
func (e *Editor) joined(i int) bool {
	if i == 0 || i >= len(e.text) || e.text[i-1] == '\n' || isPaste(e.text[i-1]) {
		return false
	}
	return e.text[i] == joiner || e.text[i-1] == joiner || unicode.In(e.text[i], unicode.Mn, unicode.Me)
}

func (e *Editor) lineStart(i int) int {
	for i > 0 && e.text[i-1] != '\n' {
		i--
	}
	return i
}

func (e *Editor) lineEnd(i int) int {
	for i < len(e.text) && e.text[i] != '\n' {
		i++
	}
	return i
}

// isWord reports whether a rune is part of a word, as the keys for words see it.
func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || isPaste(r) }

func (e *Editor) wordStart() int {
	i := e.at
	for i > 0 && !isWord(e.text[i-1]) {
		i--
	}
	for i > 0 && isWord(e.text[i-1]) {
		i--
	}
	return i
}

func (e *Editor) wordEnd() int {
	i := e.at
	for i < len(e.text) && !isWord(e.text[i]) {
		i++
	}
	for i < len(e.text) && isWord(e.text[i]) {
		i++
	}
	return i
}

// spaceBefore returns the start of the text between the last space and the cursor.
func (e *Editor) spaceBefore() int {
	i := e.at
	for i > 0 && unicode.IsSpace(e.text[i-1]) {
		i--
	}
	for i > 0 && !unicode.IsSpace(e.text[i-1]) {
		i--
	}
	return i
}

// moveRow moves up or down by a screen row. Before the first and after the last row is the history.
func (e *Editor) moveRow(up bool) Event {
	e.undo.stop()
	rows := e.rows()
	row, column := rows.place(e.at)
	if e.goal > 0 {
		column = e.goal - 1
	}
	to := row + 1
	if up {
		to = row - 1
	}
	if to < 0 || to >= len(rows.rows) {
		return e.remember(up)
	}
	e.goal = column + 1
	e.at = rows.at(to, column)
	for e.joined(e.at) {
		e.at--
	}
	return Edited
}
