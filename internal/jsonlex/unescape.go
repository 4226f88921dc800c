package jsonlex

import (
	"encoding/binary"
	"math/bits"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// scratchSize is how long a string is at most that is put together in the
// scratch buffer alone.
const scratchSize = 16 << 10

// resolve passes over the string that starts at start, and has no escape before
// i, and resolves its escapes. It returns a short string in the scratch buffer,
// and appends a long one to long.
func (l *Lexer) resolve(start, i int, long *strings.Builder) []byte {
	if i-start > scratchSize {
		i = start
	}
	dst := l.scratch[:0]
	dst = append(dst, l.data[start:i]...)
	for {
		dst, i = appendPlain(dst, l.data, i)
		switch {
		case len(dst) >= scratchSize:
			dst = l.spill(dst, i, long)
		case i >= len(l.data):
			l.failAt(i, Incomplete)
			return nil
		case l.data[i] == '"':
			l.pos = i + 1
			return l.settle(dst, long)
		case l.data[i] != '\\':
			l.failAt(i, Malformed)
			return nil
		default:
			var fault Fault
			if dst, i, fault = appendEscaped(dst, l.data, i); fault != 0 {
				l.failAt(i, fault)
				return nil
			}
		}
	}
}

// appendPlain appends the plain run that starts at i, or as much of it as the
// scratch buffer is meant for, and returns where it stopped. It copies whole
// words: what it writes behind the run is written over.
func appendPlain(dst, b []byte, i int) ([]byte, int) {
	for i+8 <= len(b) && len(dst) < scratchSize {
		w := binary.LittleEndian.Uint64(b[i:])
		n := len(dst)
		dst = binary.LittleEndian.AppendUint64(dst, w)
		if m := special(w); m != 0 {
			k := bits.TrailingZeros64(m) >> 3
			return dst[:n+k], i + k
		}
		i += 8
	}
	if i+8 <= len(b) {
		return dst, i
	}
	end, _ := plainEnd(b, i)
	return append(dst, b[i:end]...), end
}

// appendEscaped appends what the escape at i stands for.
func appendEscaped(dst, b []byte, i int) ([]byte, int, Fault) {
	if i+1 < len(b) && escaped[b[i+1]] != 0 {
		return append(dst, escaped[b[i+1]]), i + 2, 0
	}
	if end, fault := skipEscape(b, i); fault != 0 {
		return dst, end, fault
	}
	r, size := unescapeRune(b[i:])
	return utf8.AppendRune(dst, r), i + size, 0
}

// spill moves whole characters from the scratch buffer to long. The string goes
// on at i.
func (l *Lexer) spill(dst []byte, i int, long *strings.Builder) []byte {
	if long.Len() == 0 {
		end, _ := skipString(l.data, i)
		long.Grow(len(dst) + end - i)
	}
	cut := len(dst)
	for cut > len(dst)-utf8.UTFMax && !utf8.RuneStart(dst[cut-1]) {
		cut--
	}
	long.Write(validate(dst[:cut-1]))
	return dst[:copy(dst, dst[cut-1:])]
}

// settle returns a string that is complete, or appends it to what has been
// spilled before it.
func (l *Lexer) settle(dst []byte, long *strings.Builder) []byte {
	l.scratch = dst
	dst = validate(dst)
	if long.Len() > 0 {
		long.Write(dst)
	}
	return dst
}

// validate returns s with every byte that is not UTF-8 as U+FFFD.
func validate(s []byte) []byte {
	if utf8.Valid(s) {
		return s
	}
	return appendValid(make([]byte, 0, len(s)+64), s)
}

// unescapeRune resolves the \u escape that s starts with, and the one behind it
// if the two are a surrogate pair. A lone surrogate is U+FFFD.
func unescapeRune(s []byte) (r rune, size int) {
	r = hex4(s)
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if _, fault := skipEscape(s, 6); fault == 0 && s[6] == '\\' && s[7] == 'u' {
		if pair := utf16.DecodeRune(r, hex4(s[6:])); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return utf8.RuneError, 6
}

func hex4(s []byte) rune {
	return hexDigit(s[2])<<12 | hexDigit(s[3])<<8 | hexDigit(s[4])<<4 | hexDigit(s[5])
}

// appendValid appends s to dst, each byte that is not UTF-8 as U+FFFD.
func appendValid(dst, s []byte) []byte {
	for len(s) > 0 {
		r, size := utf8.DecodeRune(s)
		dst = utf8.AppendRune(dst, r)
		s = s[size:]
	}
	return dst
}
