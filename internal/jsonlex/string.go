package jsonlex

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
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

// skipString passes over a string whose opening quote lies before i.
func skipString(b []byte, i int) (int, Fault) {
	for {
		for i+8 <= len(b) {
			m := special(binary.LittleEndian.Uint64(b[i:]))
			if m != 0 {
				i += bits.TrailingZeros64(m) >> 3
				break
			}
			i += 8
		}
		for i < len(b) && b[i] >= ' ' && b[i] != '"' && b[i] != '\\' {
			i++
		}
		if i >= len(b) {
			return i, Incomplete
		}
		switch b[i] {
		case '"':
			return i + 1, 0
		case '\\':
			var fault Fault
			if i, fault = skipEscape(b, i); fault != 0 {
				return i, fault
			}
		default:
			return i, Malformed
		}
	}
}

// escaped holds what a backslash and a letter stand for; 0 where they stand for
// nothing by themselves.
var escaped = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// skipEscape passes over the escape whose backslash is at i.
func skipEscape(b []byte, i int) (int, Fault) {
	if i+1 >= len(b) {
		return i + 1, Incomplete
	}
	if escaped[b[i+1]] != 0 {
		return i + 2, 0
	}
	if b[i+1] != 'u' {
		return i + 1, Malformed
	}
	for k := i + 2; k < i+6; k++ {
		if k >= len(b) {
			return k, Incomplete
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

// String consumes a string and returns it. The result shares no memory with the
// text.
func (l *Lexer) String() string { return string(l.Bytes()) }

// Bytes consumes a string and returns what it stands for, in UTF-8. The result
// is valid until the next call, and must not be changed.
func (l *Lexer) Bytes() []byte {
	if l.Peek() != '"' {
		l.mismatch("string")
		return nil
	}
	return l.text()
}

// text reads the string whose opening quote comes next.
func (l *Lexer) text() []byte {
	start := l.pos + 1
	end, ascii := plainEnd(l.data, start)
	if end < len(l.data) && l.data[end] == '"' {
		l.pos = end + 1
		if s := l.data[start:end]; ascii || utf8.Valid(s) {
			return s
		}
	}
	return l.textSlow(start)
}

// textSlow reads a string that has escapes, or bytes that are not UTF-8, into
// the scratch buffer.
func (l *Lexer) textSlow(start int) []byte {
	end, fault := skipString(l.data, start)
	if fault != 0 {
		l.failAt(end, fault)
		return nil
	}
	l.pos = end
	src := l.data[start : end-1]
	if n := len(src) + 8; cap(l.scratch) < n {
		l.scratch = make([]byte, n, n+n/4)
	}
	dst := unescape(l.scratch[:cap(l.scratch)], src)
	if !utf8.Valid(dst) {
		dst = appendValid(make([]byte, 0, len(dst)+64), dst)
	}
	if cap(l.scratch) > maxScratch {
		l.scratch = nil
	}
	return dst
}

// maxScratch is the largest scratch buffer that outlives its string.
const maxScratch = 1 << 20

// unescape resolves the escapes of src, which skipString has passed, into dst,
// and returns the part of dst that it filled. dst is longer than src by eight
// bytes at least: runs are copied in whole words.
func unescape(dst, src []byte) []byte {
	i, n := 0, 0
	for i < len(src) {
		if i+8 <= len(src) {
			w := binary.LittleEndian.Uint64(src[i:])
			binary.LittleEndian.PutUint64(dst[n:], w)
			m := special(w)
			if m == 0 {
				i, n = i+8, n+8
				continue
			}
			k := bits.TrailingZeros64(m) >> 3
			i, n = i+k, n+k
		}
		if src[i] != '\\' {
			dst[n] = src[i]
			i, n = i+1, n+1
			continue
		}
		if c := escaped[src[i+1]]; c != 0 {
			dst[n] = c
			i, n = i+2, n+1
			continue
		}
		r, size := unescapeRune(src[i:])
		i += size
		n += utf8.EncodeRune(dst[n:], r)
	}
	return dst[:n]
}

// unescapeRune resolves the \u escape that s starts with, and the one behind it
// if the two are a surrogate pair. A lone surrogate is U+FFFD.
func unescapeRune(s []byte) (r rune, size int) {
	r = hex4(s)
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
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
