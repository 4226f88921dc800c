// Package lineedit reads what a person types at a terminal: lines with a cursor in
// them, of one line or many, with history and completion.
package lineedit

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// A Code says what a key does.
type Code int

// What keys do. Keys that do nothing here have no code.
const (
	Rune  Code = iota // Key.Rune is typed
	Paste             // Key.Text comes from elsewhere, as a whole
	Enter
	Newline // a line break within the text: Alt-Enter, Ctrl-J
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
	KillEnd   // to the end of the line: Ctrl-K
	KillStart // to its start: Ctrl-U
	KillWord  // the word before: Ctrl-W
	Redraw
	Interrupt
	EOF // Ctrl-D
)

// A Key is what was typed.
type Key struct {
	Code Code
	Rune rune
	Text string
}

// A Decoder makes keys of the bytes that a terminal sends. The zero value is ready.
type Decoder struct {
	pending []byte // the start of a character or a sequence
	pasting bool
	pasted  []byte
}

const (
	escape     = 0x1b
	pasteBegin = "200~"
	pasteEnd   = "\x1b[201~"

	// maxSequence is how long a sequence can be before it is none.
	maxSequence = 64
)

// Decode returns the keys that are complete with p. A lone Escape waits for what
// follows: it is a part of that then.
func (d *Decoder) Decode(p []byte) []Key {
	d.pending = append(d.pending, p...)
	var keys []Key
	for len(d.pending) > 0 {
		if d.pasting {
			text, over := d.paste()
			if !over {
				break
			}
			keys = append(keys, Key{Code: Paste, Text: text})
			continue
		}
		key, n := d.next()
		if n == 0 {
			break
		}
		d.pending = d.pending[n:]
		if key != nil {
			keys = append(keys, *key)
		}
	}
	return keys
}

// paste collects what is pasted, and returns it once it is over.
func (d *Decoder) paste() (text string, over bool) {
	before, after, over := bytes.Cut(d.pending, []byte(pasteEnd))
	if !over {
		// What may be the start of the end stays.
		keep := min(len(d.pending), len(pasteEnd)-1)
		d.pasted = append(d.pasted, d.pending[:len(d.pending)-keep]...)
		d.pending = d.pending[len(d.pending)-keep:]
		return "", false
	}
	d.pasted = append(d.pasted, before...)
	text = strings.ToValidUTF8(string(d.pasted), string(utf8.RuneError))
	d.pending, d.pasted, d.pasting = after, nil, false
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), true
}

// next returns the first key and how many bytes it takes: 0 if it is not complete,
// and a nil key if it means nothing.
func (d *Decoder) next() (*Key, int) {
	first := d.pending[0]
	switch {
	case first == escape:
		return d.sequence()
	case first < ' ' || first == 0x7f:
		return controlKey(first), 1
	case !utf8.FullRune(d.pending):
		return nil, 0
	}
	r, size := utf8.DecodeRune(d.pending)
	return &Key{Rune: r}, size
}

func controlKey(c byte) *Key {
	code, ok := map[byte]Code{
		'\r': Enter, '\n': Newline, '\t': Tab, 0x7f: Backspace,
		ctrl('A'): Home, ctrl('B'): Left, ctrl('C'): Interrupt, ctrl('D'): EOF, ctrl('E'): End, ctrl('F'): Right,
		ctrl('H'): Backspace, ctrl('K'): KillEnd, ctrl('L'): Redraw, ctrl('N'): Down, ctrl('P'): Up,
		ctrl('U'): KillStart, ctrl('W'): KillWord,
	}[c]
	return keyOf(code, ok)
}

func ctrl(letter byte) byte { return letter - '@' }

func keyOf(code Code, ok bool) *Key {
	if !ok {
		return nil
	}
	return &Key{Code: code}
}

// sequence reads what begins with Escape.
func (d *Decoder) sequence() (*Key, int) {
	if len(d.pending) < 2 {
		return nil, 0
	}
	switch d.pending[1] {
	case '[', 'O':
		return d.parameters()
	case escape:
		return nil, 1
	}
	code, ok := map[byte]Code{
		'\r': Newline, '\n': Newline, 'b': WordLeft, 'f': WordRight, 0x7f: KillWord, ctrl('H'): KillWord,
	}[d.pending[1]]
	if !ok && d.pending[1] >= utf8.RuneSelf {
		return nil, 1 // a character follows
	}
	return keyOf(code, ok), 2
}

// parameters reads a sequence with parameters, up to the letter that ends it.
func (d *Decoder) parameters() (*Key, int) {
	for i, c := range d.pending[2:] {
		switch {
		case c >= 0x40 && c <= 0x7e:
			body := string(d.pending[2 : i+3])
			d.pasting = body == pasteBegin
			code, ok := sequences[body]
			return keyOf(code, ok), i + 3
		case c < ' ' || c > 0x7e || i > maxSequence:
			return nil, i + 2 // it is none
		}
	}
	return nil, 0
}

var sequences = map[string]Code{
	"A": Up, "B": Down, "C": Right, "D": Left, "H": Home, "F": End, "M": Enter,
	"1~": Home, "7~": Home, "4~": End, "8~": End, "3~": Delete,
	"1;5C": WordRight, "1;3C": WordRight, "1;5D": WordLeft, "1;3D": WordLeft,
	// Enter with Shift, Alt or Ctrl, from terminals that tell them apart.
	"13;2u": Newline, "13;3u": Newline, "13;5u": Newline, "27;2;13~": Newline, "27;3;13~": Newline, "27;5;13~": Newline,
}
