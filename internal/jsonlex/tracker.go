package jsonlex

import "slices"

// A Status is a [Tracker]'s verdict on the pieces that it has seen.
type Status uint8

// The states of a JSON object that arrives in pieces.
const (
	Open     Status = iota // more can follow, and has to
	Complete               // the object has ended
	Broken                 // no continuation makes this JSON
)

// A Tracker follows one JSON object through pieces cut anywhere. It checks the structure: strings,
// brackets, commas and colons. The decoder that reads the whole checks numbers and words in
// detail. The zero value expects the start of an object.
type Tracker struct {
	state trackerState
	stack []byte // the open containers, '{' or '['
	inKey bool   // the string that is open is a key
	hex   int    // hexadecimal digits that an escape still needs
}

type trackerState uint8

const (
	wantObject trackerState = iota
	wantValue
	wantValueOrEnd // behind [
	wantKey
	wantKeyOrEnd // behind {
	wantColon
	wantCommaOrEnd
	inString
	inEscape
	inHex
	inScalar // a number or a word
)

// Reset makes t expect the start of an object.
func (t *Tracker) Reset() { *t = Tracker{stack: t.stack[:0]} }

// Clone returns a tracker in the same state, to go back to.
func (t *Tracker) Clone() Tracker {
	clone := *t
	clone.stack = slices.Clone(t.stack)
	return clone
}

// Feed follows the object through piece. It returns how many bytes of the piece belong to the
// object: all while it is open, those up to its end when it is complete, those before the offending
// one when it is broken.
func (t *Tracker) Feed(piece []byte) (int, Status) {
	for i := 0; i < len(piece); {
		switch t.state {
		case inString:
			end, fault := skipString(piece, i)
			switch {
			case fault == Malformed:
				return end, Broken
			case fault == 0:
				t.endString()
				if t.anotherString(piece[end:]) {
					t.state = inString
					end += 2
				}
			case end < len(piece):
				t.state = inEscape
				end++
			}
			i = end
		case inEscape, inHex:
			if !t.escape(piece[i]) {
				return i, Broken
			}
			i++
		case inScalar:
			if i = skipScalar(piece, i); i < len(piece) {
				t.state = wantCommaOrEnd
			}
		default:
			if piece[i] <= ' ' {
				if i = skipSpace(piece, i); i == len(piece) {
					return i, Open
				}
			}
			if !t.structure(piece[i]) {
				return i, Broken
			}
			i++
			if len(t.stack) == 0 && t.state == wantCommaOrEnd {
				return i, Complete
			}
		}
	}
	return len(piece), Open
}

// anotherString reports whether, after a string, another one of the same list follows. It saves the
// steps for the comma and the quote.
func (t *Tracker) anotherString(rest []byte) bool {
	return len(rest) > 1 && rest[0] == ',' && rest[1] == '"' && t.state == wantCommaOrEnd && t.stack[len(t.stack)-1] == '['
}

func (t *Tracker) endString() {
	t.state = wantCommaOrEnd
	if t.inKey {
		t.state, t.inKey = wantColon, false
	}
}

func (t *Tracker) escape(c byte) bool {
	if t.state == inHex {
		if t.hex--; t.hex == 0 {
			t.state = inString
		}
		return hexDigit(c) >= 0
	}
	if c == 'u' {
		t.state, t.hex = inHex, 4
		return true
	}
	t.state = inString
	return escaped[c] != 0
}

func skipScalar(b []byte, i int) int {
	for i < len(b) && isScalar(b[i]) {
		i++
	}
	return i
}

func isScalar(c byte) bool {
	return isDigit(c) || c-'a' < 26 || c == '+' || c == '-' || c == '.' || c == 'E'
}

// structure takes a byte between tokens.
func (t *Tracker) structure(c byte) bool {
	switch c {
	case '{', '[':
		return t.open(c)
	case '}', ']':
		return t.close(c)
	case '"':
		return t.quote()
	case ':':
		ok := t.state == wantColon
		t.state = wantValue
		return ok
	case ',':
		return t.comma()
	}
	ok := isScalar(c) && (t.state == wantValue || t.state == wantValueOrEnd)
	t.state = inScalar
	return ok
}

func (t *Tracker) open(c byte) bool {
	switch t.state {
	case wantObject:
		if c == '[' {
			return false
		}
	case wantValue, wantValueOrEnd:
	default:
		return false
	}
	if len(t.stack) == MaxDepth {
		return false
	}
	t.stack = append(t.stack, c)
	t.state = wantKeyOrEnd
	if c == '[' {
		t.state = wantValueOrEnd
	}
	return true
}

func (t *Tracker) close(c byte) bool {
	if len(t.stack) == 0 || t.stack[len(t.stack)-1] != c-2 {
		return false
	}
	switch t.state {
	case wantCommaOrEnd, wantKeyOrEnd, wantValueOrEnd:
	default:
		return false
	}
	t.stack = t.stack[:len(t.stack)-1]
	t.state = wantCommaOrEnd
	return true
}

func (t *Tracker) quote() bool {
	switch t.state {
	case wantKey, wantKeyOrEnd:
		t.inKey = true
	case wantValue, wantValueOrEnd:
	default:
		return false
	}
	t.state = inString
	return true
}

func (t *Tracker) comma() bool {
	if t.state != wantCommaOrEnd || len(t.stack) == 0 {
		return false
	}
	t.state = wantKey
	if t.stack[len(t.stack)-1] == '[' {
		t.state = wantValue
	}
	return true
}
