// Package lineedit is an editor for texts of one or several lines at a terminal, with history and
// completion.
package lineedit

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// A Code is the function of a key.
type Code int

// The functions of keys. Other keys have no code.
const (
	Rune  Code = iota // Key.Rune is typed
	Paste             // Key.Text is pasted
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
	Escape // by itself
	EOF    // Ctrl-D
)

// A Key is a key press, or pasted text.
type Key struct {
	Code Code
	Rune rune
	Text string
}

// A Decoder turns the bytes from a terminal into keys. The zero value is ready to use.
type Decoder struct {
	pending []byte // the start of a character or a sequence
	pasting bool
	pasted  []byte
}

const (
	escape     = 0x1b
	pasteBegin = "200~"
	pasteEnd   = "\x1b[201~"

	// maxSequence is the length of the longest sequence.
	maxSequence = 64
)

// Decode returns the keys that p completes. An Escape at the end waits for what follows: see
// [Decoder.Flush].
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

// Escaped reports whether the decoder has the start of a sequence, which may also be the key Escape.
func (d *Decoder) Escaped() bool {
	return !d.pasting && len(d.pending) > 0 && d.pending[0] == escape
}

// Flush returns the keys that wait for more bytes, if none come: an Escape is the key of that name.
// The start of a longer sequence is no key.
func (d *Decoder) Flush() []Key {
	if !d.Escaped() {
		return nil
	}
	var keys []Key
	for _, c := range d.pending {
		if c != escape {
			break
		}
		keys = append(keys, Key{Code: Escape})
	}
	if len(keys) < len(d.pending) {
		keys = keys[1:] // the last Escape begins the sequence
	}
	d.pending = nil
	return keys
}

// paste collects pasted text, and returns it once it is complete.
func (d *Decoder) paste() (text string, over bool) {
	before, after, over := bytes.Cut(d.pending, []byte(pasteEnd))
	if !over {
		// A possible start of the end mark stays.
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

// next returns the first key and its length in bytes: 0 if it is incomplete. The key is nil if it
// has no function.
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

// sequence reads a sequence that begins with Escape.
func (d *Decoder) sequence() (*Key, int) {
	if len(d.pending) < 2 {
		return nil, 0
	}
	switch second := d.pending[1]; {
	case second == '[' || second == 'O':
		return d.parameters()
	case second == escape && len(d.pending) == 2:
		return nil, 0
	case second == escape && (d.pending[2] == '[' || d.pending[2] == 'O'):
		return nil, 1 // Alt with the key of the sequence
	}
	code, ok := map[byte]Code{
		'\r': Newline, '\n': Newline, 'b': WordLeft, 'f': WordRight, 0x7f: KillWord, ctrl('H'): KillWord,
	}[d.pending[1]]
	switch second := d.pending[1]; {
	case !ok && second < ' ':
		return &Key{Code: Escape}, 1 // another key follows
	case !ok && second >= utf8.RuneSelf:
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
			return nil, i + 2 // not a sequence
		}
	}
	return nil, 0
}

var sequences = map[string]Code{
	"A": Up, "B": Down, "C": Right, "D": Left, "H": Home, "F": End, "M": Enter,
	"1~": Home, "7~": Home, "4~": End, "8~": End, "3~": Delete,
	"1;5C": WordRight, "1;3C": WordRight, "1;5D": WordLeft, "1;3D": WordLeft,
	// Enter with Shift, Alt or Ctrl, from terminals that distinguish them.
	"13;2u": Newline, "13;3u": Newline, "13;5u": Newline, "27;2;13~": Newline, "27;3;13~": Newline, "27;5;13~": Newline,
}
