package jsonlex

import (
	"encoding/binary"
	"math/bits"
	"strings"
	"unicode/utf8"
)

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special marks, with the high bit of its byte, the first of the eight bytes of
// w that ends a plain run: a quote, a backslash or a control character. Bits
// above the lowest one set mean nothing.
func special(w uint64) uint64 {
	quote := w ^ ones*'"'
	slash := w ^ ones*'\\'
	return ((quote - ones) | (slash - ones) | (w - ones*' ')) &^ w & highs
}

// plainEnd returns the offset of the first quote, backslash or control
// character at or behind i, or len(b), and whether a byte before it is not
// ASCII.
func plainEnd(b []byte, i int) (end int, ascii bool) {
	var seen uint64
	for i+8 <= len(b) {
		w := binary.LittleEndian.Uint64(b[i:])
		if m := special(w); m != 0 {
			n := bits.TrailingZeros64(m) &^ 7
			return i + n>>3, (seen|w&(1<<n-1))&highs == 0
		}
		seen |= w
		i += 8
	}
	for i < len(b) && b[i] >= ' ' && b[i] != '"' && b[i] != '\\' {
		seen |= uint64(b[i])
		i++
	}
	return i, seen&highs == 0
}

// skipString passes over a string whose opening quote lies before i. A string
// that has an escape, or is not short, is taken in blocks from there on.
func skipString(b []byte, i int) (int, Fault) {
	long := i + 48
	for i+8 <= len(b) && i < long {
		m := special(binary.LittleEndian.Uint64(b[i:]))
		if m == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(m) >> 3
		if b[i] == '"' {
			return i + 1, 0
		}
		break
	}
	i, done := skipBlocks(b, i)
	if done {
		return i, 0
	}
	return skipStringTail(b, i)
}

// skipStringTail is skipString for the last bytes of the text.
func skipStringTail(b []byte, i int) (int, Fault) {
	for i < len(b) {
		switch c := b[i]; {
		case c == '"':
			return i + 1, 0
		case c == '\\':
			var fault Fault
			if i, fault = skipEscape(b, i); fault != 0 {
				return i, fault
			}
		case c < ' ':
			return i, Malformed
		default:
			i++
		}
	}
	return i, Incomplete
}

// escaped holds what a backslash and a letter stand for; 0 where they stand for
// nothing by themselves.
var escaped = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// skipEscape passes over the escape whose backslash is at i. It returns i if the
// text ends inside of the escape.
func skipEscape(b []byte, i int) (int, Fault) {
	if i+1 >= len(b) {
		return i, Incomplete
	}
	if escaped[b[i+1]] != 0 {
		return i + 2, 0
	}
	if b[i+1] != 'u' {
		return i + 1, Malformed
	}
	for k := i + 2; k < i+6; k++ {
		if k >= len(b) {
			return i, Incomplete
		}
		if hexDigit(b[k]) < 0 {
			return k, Malformed
		}
	}
	return i + 6, 0
}

func hexDigit(c byte) rune {
	switch {
	case c-'0' <= 9:
		return rune(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return rune(c|0x20-'a') + 10
	}
	return -1
}

// String consumes a string and returns it.
func (l *Lexer) String() string {
	if l.Peek() != '"' {
		l.mismatch("string")
		return ""
	}
	return l.string()
}

// StringOrNull is String, but takes a null for the empty string.
func (l *Lexer) StringOrNull() string {
	if i := l.pos; i < len(l.data) && l.data[i] == '"' || !l.Null() {
		return l.String()
	}
	return ""
}

// Bytes consumes a string and returns what it stands for, in UTF-8. The result
// is valid until the next call, and must not be changed.
func (l *Lexer) Bytes() []byte {
	if l.Peek() != '"' {
		l.mismatch("string")
		return nil
	}
	return l.text()
}

// BytesOrNull is Bytes, but takes a null for the empty string.
func (l *Lexer) BytesOrNull() []byte {
	if i := l.pos; i < len(l.data) && l.data[i] == '"' || !l.Null() {
		return l.Bytes()
	}
	return nil
}

// maxPin is how many times as long as a string the text may be whose memory it
// shares.
const maxPin = 16

func (l *Lexer) string() string {
	start := l.pos + 1
	end, plain := l.plain(start)
	switch {
	case !plain:
		var long strings.Builder
		if short := l.resolve(start, end, &long); long.Len() == 0 {
			return string(short)
		}
		return long.String()
	case (end-start)*maxPin < len(l.shared) || l.shared == "":
		return string(l.data[start:end])
	}
	return l.shared[start:end]
}

func (l *Lexer) text() []byte {
	start := l.pos + 1
	end, plain := l.plain(start)
	if plain {
		return l.data[start:end]
	}
	var long strings.Builder
	if short := l.resolve(start, end, &long); long.Len() == 0 {
		return short
	}
	return []byte(long.String())
}

// plain passes over the string that starts at start if it stands for itself, and
// reports whether it does. If not, it does so up to end.
func (l *Lexer) plain(start int) (end int, plain bool) {
	end, ascii := plainEnd(l.data, start)
	if end >= len(l.data) || l.data[end] != '"' || !ascii && !utf8.Valid(l.data[start:end]) {
		return end, false
	}
	l.pos = end + 1
	return end, true
}
