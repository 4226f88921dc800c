package jsonlex

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special marks the bytes of w that end a plain run by their high bits: quotes, backslashes and
// control characters. With its second lowest bit flipped, a quote is a space, and a space is
// larger: so one comparison finds quotes and control characters. The borrow for a byte that is
// marked may mark the next one too; the lowest mark is always right.
func special(w uint64) uint64 {
	low := (w ^ ones*2) - ones*(' '+1)
	slash := (w ^ ones*'\\') - ones
	return (low | slash) &^ w & highs
}

// plainEnd returns the offset of the first quote, backslash or control character at or after i, or
// len(b), and whether a byte before it is not ASCII.
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

// skipString passes over a string whose opening quote lies before i. A string that has an escape,
// or is not short, is taken in blocks from there on.
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

// escaped holds what a backslash and a letter stand for; 0 where they stand for nothing by
// themselves.
var escaped = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// skipEscape passes over the escape whose backslash is at i. It returns i if the text ends inside
// of the escape.
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
		l.Mismatch("string")
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

// Bytes consumes a string and returns what it stands for, in UTF-8. The result is valid until the
// next call, and must not be changed.
func (l *Lexer) Bytes() []byte {
	if l.Peek() != '"' {
		l.Mismatch("string")
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

// maxPin is the maximum length of the text whose memory a string shares, as a multiple of the
// string's length.
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
		if long.Cap() > 2*long.Len() {
			return strings.Clone(long.String())
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

// plain passes over the string that starts at start if it stands for itself, and reports whether it
// does. If not, it does so up to end.
func (l *Lexer) plain(start int) (end int, plain bool) {
	end, ascii := plainEnd(l.data, start)
	if end >= len(l.data) || l.data[end] != '"' || !ascii && !utf8.Valid(l.data[start:end]) {
		return end, false
	}
	l.pos = end + 1
	return end, true
}

// scratchSize is the maximum length of a string that is put together in the scratch buffer alone.
const scratchSize = 16 << 10

// blocksSize is the size of the scratch buffer that appendBlocks needs.
const blocksSize = scratchSize + 3*block

// resolve passes over the string that starts at start, and has no escape before i, and resolves its
// escapes. It returns a short string in the scratch buffer, and appends a long one to long.
func (l *Lexer) resolve(start, i int, long *strings.Builder) []byte {
	if i-start > scratchSize {
		i = start
	}
	dst := l.scratch[:0]
	blocks := len(l.data)-start > scratchSize
	if blocks {
		dst = slices.Grow(dst, blocksSize)
	}
	dst = append(dst, l.data[start:i]...)
	for {
		var fault Fault
		dst, i, fault = appendText(dst, l.data, i, len(l.data), blocks)
		switch {
		case fault != 0:
			l.failAt(i, fault)
			return nil
		case len(dst) >= scratchSize:
			if long.Cap()-long.Len() < len(dst) {
				long.Grow(len(dst) + l.room(i, long.Len()))
			}
			dst = spill(dst, long)
		case i >= len(l.data):
			l.failAt(i, Incomplete)
			return nil
		default:
			l.pos = i + 1
			l.scratch = dst
			return settle(dst, long)
		}
	}
}

// nearBytes is the number of bytes in which room looks for the end of a string.
const nearBytes = 256 << 10

// room returns the number of bytes to make room for, for the rest of a string from i on, of which
// done bytes are there. To look for the end of a huge string would take long: it gets room for
// eight times as much as before, or for the rest of the text.
func (l *Lexer) room(i, done int) int {
	near := l.data[:min(len(l.data), i+nearBytes)]
	if end := stringEnd(near, i); end < len(near) {
		return end - i
	}
	rest := len(l.data) - i
	if 16*done >= rest {
		return rest
	}
	return max(8*done, len(near)-i)
}

// stringEnd returns where the string ends that continues at i, or len(b). It looks at quotes alone,
// and checks nothing.
func stringEnd(b []byte, i int) int {
	for at := i; ; at++ {
		n := bytes.IndexByte(b[at:], '"')
		if n < 0 {
			return len(b)
		}
		at += n
		slash := at
		for slash > i && b[slash-1] == '\\' {
			slash--
		}
		if (at-slash)%2 == 0 {
			return at
		}
	}
}

// Text returns what a text that is one JSON string stands for, or "" and false if it is no such
// text. The result may share the memory of text.
func Text(text string) (string, bool) {
	if len(text) > scratchSize && strings.IndexByte(text, '\\') > 0 {
		return longText(strings.Trim(text, " \t\r\n"))
	}
	var l Lexer
	l.Reset([]byte(text))
	l.Share(text)
	s := l.String()
	if l.End(); l.err != nil {
		return "", false
	}
	return s, true
}

const (
	// windowBytes is the number of bytes that longText reads at once.
	windowBytes = 8 << 10
	// escapeBytes is the length of the longest escape, which is a surrogate pair.
	escapeBytes = 12
)

// longText is Text for a long string with nothing around it. It reads the text in windows: the
// scans need bytes, and a copy of all of it would cost more.
func longText(text string) (string, bool) {
	if text[0] != '"' || text[len(text)-1] != '"' {
		return "", false
	}
	text = text[1 : len(text)-1]
	var long strings.Builder
	long.Grow(len(text))
	dst := make([]byte, 0, blocksSize)
	for window := make([]byte, windowBytes); text != ""; {
		n := copy(window, text)
		stop := n
		if n < len(text) {
			stop -= escapeBytes - 1
		}
		var end int
		var fault Fault
		dst, end, fault = appendText(dst, window[:n], 0, stop, true)
		full := len(dst) >= scratchSize
		if fault != 0 || !full && end < stop {
			return "", false
		}
		if full {
			dst = spill(dst, &long)
		}
		text = text[end:]
	}
	long.Write(validate(dst))
	return long.String(), true
}

// appendText appends what the text of a string from i on stands for. It returns where it stopped:
// where the scratch buffer is full, at the closing quote, at a fault, or not before stop. With
// blocks, which pay for long texts, dst has to be as large as appendBlocks needs.
func appendText(dst, b []byte, i, stop int, blocks bool) ([]byte, int, Fault) {
	for {
		if blocks {
			dst, i = appendBlocks(dst, b, i)
		}
		dst, i = appendPlain(dst, b, i)
		switch {
		case len(dst) >= scratchSize || i >= stop || b[i] == '"':
			return dst, i, 0
		case b[i] != '\\':
			return dst, i, Malformed
		}
		var fault Fault
		if dst, i, fault = appendEscaped(dst, b, i); fault != 0 {
			return dst, i, fault
		}
	}
}

// appendPlain appends the plain run that starts at i, or as much of it as the scratch buffer is
// meant for, and returns where it stopped. It copies whole words: bytes that it writes after the
// run are overwritten.
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

// appendBlocks appends the text from i on, in blocks whose quotes and backslashes are found all at
// once, until the scratch buffer is full, and returns where it stopped: there, at the end of the
// string, at what is not a short escape, or near the end of the text. It copies more than it needs,
// since that takes no branch: bytes that it writes after a run are overwritten.
func appendBlocks(dst, b []byte, i int) ([]byte, int) {
	out, o := dst[:blocksSize], len(dst)
	for i+3*block <= len(b) && o < scratchSize {
		text, to := (*[3 * block]byte)(b[i:]), (*[3 * block]byte)(out[o:])
		from, gone := uint(0), uint(0) // each escape leaves one byte less
		for m := places((*[block]byte)(text[:])); m != 0; {
			at := uint(bits.TrailingZeros64(m)) % block
			first := m & -m
			c := escaped[text[at+1]]
			if text[at] != '\\' || c == 0 {
				if isPlain(text[at]) {
					m &^= first
					continue
				}
				copy(to[(from-gone)%block:], text[from%block:at])
				return dst[:o+int(at-gone)], i + int(at)
			}
			copyHalf(to, text, from-gone, from)
			if at-from > block/2 {
				copyHalf(to, text, from-gone+block/2, from+block/2)
			}
			to[(at-gone)%block] = c
			gone++
			from = at + 2
			m &^= 3 * first
		}
		if from < block {
			copyHalf(to, text, from-gone, from)
			copyHalf(to, text, from-gone+block/2, from+block/2)
			from = block
		}
		i += int(from)
		o += int(from - gone)
	}
	return dst[:o], i
}

// copyHalf copies half a block from src[i:] to dst[k:], in two parts that each fit a register.
func copyHalf(dst, src *[3 * block]byte, k, i uint) {
	to, from := (*[block / 2]byte)(dst[k%(2*block):]), (*[block / 2]byte)(src[i%(2*block):])
	copy(to[:block/4], from[:block/4])
	copy(to[block/4:], from[block/4:])
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

// spill moves whole characters from the scratch buffer to long. A character that may continue is
// kept: its first byte is one of the last few.
func spill(dst []byte, long *strings.Builder) []byte {
	cut := len(dst)
	for i := cut - 1; i >= len(dst)-utf8.UTFMax; i-- {
		if utf8.RuneStart(dst[i]) {
			cut = i
			break
		}
	}
	long.Write(validate(dst[:cut]))
	return dst[:copy(dst, dst[cut:])]
}

// settle returns a string that is complete, or appends it to the part that was spilled before it.
func settle(dst []byte, long *strings.Builder) []byte {
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

// unescapeRune resolves the \u escape that s starts with, and the one after it if the two are a
// surrogate pair. A lone surrogate is U+FFFD.
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

const hexDigits = "0123456789abcdef"

// AppendQuote appends s to dst as a JSON string, in the compact form of JavaScript: only what has
// to be escaped is. Bytes that are not UTF-8 become U+FFFD.
func AppendQuote(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(dst, s[start:i]...)
				dst = append(dst, "\uFFFD"...)
				start = i + 1
			}
			i += size
			continue
		}
		if c < ' ' || c == '"' || c == '\\' {
			dst = append(dst, s[start:i]...)
			dst = appendEscape(dst, c)
			start = i + 1
		}
		i++
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

// Int consumes a number that is an integer and fits into 64 bits. It may be written with a point or
// an exponent, like 3.0, if a float64 holds it exactly.
func (l *Lexer) Int() int64 {
	text := l.number()
	if len(text) == 0 {
		return 0
	}
	if n, ok := smallInt(text); ok {
		return n
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		if f, err := strconv.ParseFloat(string(text), 64); err == nil && f == float64(int64(f)) && math.Abs(f) <= 1<<53 {
			return int64(f)
		}
		l.OutOfRange(l.pos-len(text), func() string { return "number " + abridge(text) + " is not an integer of 64 bits" })
		return 0
	}
	return n
}

// smallInt parses an integer of at most 18 digits.
func smallInt(text []byte) (int64, bool) {
	digits := text
	if text[0] == '-' {
		digits = text[1:]
	}
	if len(digits) > 18 {
		return 0, false
	}
	var n int64
	for _, c := range digits {
		if !isDigit(c) {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if len(digits) < len(text) {
		n = -n
	}
	return n, true
}

// Float consumes a number that fits into a float64.
func (l *Lexer) Float() float64 {
	text := l.number()
	if len(text) == 0 {
		return 0
	}
	if n, ok := smallInt(text); ok && n != 0 && -1<<53 <= n && n <= 1<<53 {
		return float64(n)
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		l.OutOfRange(l.pos-len(text), func() string { return "number " + abridge(text) + " is too large" })
		return 0
	}
	return f
}

// number consumes a number and returns its text, or nothing after an error.
func (l *Lexer) number() []byte {
	c := l.Peek()
	if c != '-' && !isDigit(c) {
		l.Mismatch("number")
		return nil
	}
	end, fault := skipNumber(l.data, l.pos)
	if fault != 0 {
		l.failAt(end, fault)
		return nil
	}
	text := l.data[l.pos:end]
	l.pos = end
	return text
}

// abridge shortens a number for an error message.
func abridge(text []byte) string {
	if len(text) > 40 {
		return string(text[:40]) + "…"
	}
	return string(text)
}
