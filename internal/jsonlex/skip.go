package jsonlex

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strconv"
	"strings"
)

// The scans of this file work on plain indexes. Each returns the offset after what it passed over,
// or the offset of the fault and the fault. Where the text ends too early, that is the end, or the
// escape that it cuts.

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// skipValue passes over the value at i, which lies depth containers deep.
func skipValue(b []byte, i, depth int) (int, Fault) {
	if i >= len(b) {
		return i, Incomplete
	}
	switch c := b[i]; c {
	case '"':
		return skipString(b, i+1)
	case '{':
		return skipObject(b, i, depth)
	case '[':
		return skipArray(b, i, depth)
	case 't':
		return matchWord(b, i, "true")
	case 'f':
		return matchWord(b, i, "false")
	case 'n':
		return matchWord(b, i, "null")
	default:
		if c == '-' || c-'0' <= 9 {
			return skipNumber(b, i)
		}
	}
	return i, Malformed
}

func skipObject(b []byte, i, depth int) (int, Fault) {
	if depth >= MaxDepth {
		return i, TooDeep
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1, 0
	}
	for {
		var fault Fault
		if i, fault = skipKey(b, i); fault != 0 {
			return i, fault
		}
		if i, fault = skipValue(b, i, depth+1); fault != 0 {
			return i, fault
		}
		if i < len(b) && b[i] <= ' ' {
			i = skipSpace(b, i)
		}
		if i >= len(b) {
			return i, Incomplete
		}
		if b[i] == '}' {
			return i + 1, 0
		}
		if b[i] != ',' {
			return i, Malformed
		}
		if i++; i < len(b) && b[i] <= ' ' {
			i = skipSpace(b, i)
		}
	}
}

// skipKey passes over a key, its colon and the space after that.
func skipKey(b []byte, i int) (int, Fault) {
	if i >= len(b) {
		return i, Incomplete
	}
	if b[i] != '"' {
		return i, Malformed
	}
	i, fault := skipString(b, i+1)
	if fault != 0 {
		return i, fault
	}
	if i < len(b) && b[i] <= ' ' {
		i = skipSpace(b, i)
	}
	if i >= len(b) {
		return i, Incomplete
	}
	if b[i] != ':' {
		return i, Malformed
	}
	if i++; i < len(b) && b[i] <= ' ' {
		i = skipSpace(b, i)
	}
	return i, 0
}

func skipArray(b []byte, i, depth int) (int, Fault) {
	if depth >= MaxDepth {
		return i, TooDeep
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == ']' {
		return i + 1, 0
	}
	for {
		var fault Fault
		if i, fault = skipValue(b, i, depth+1); fault != 0 {
			return i, fault
		}
		if i < len(b) && b[i] <= ' ' {
			i = skipSpace(b, i)
		}
		if i >= len(b) {
			return i, Incomplete
		}
		if b[i] == ']' {
			return i + 1, 0
		}
		if b[i] != ',' {
			return i, Malformed
		}
		if i++; i < len(b) && b[i] <= ' ' {
			i = skipSpace(b, i)
		}
	}
}

func matchWord(b []byte, i int, w string) (int, Fault) {
	if len(b)-i >= len(w) && string(b[i:i+len(w)]) == w {
		return i + len(w), 0
	}
	for k := range len(w) {
		if i+k >= len(b) {
			return i + k, Incomplete
		}
		if b[i+k] != w[k] {
			return i + k, Malformed
		}
	}
	return i + len(w), 0
}

// skipNumber passes over a number by the grammar of JSON: no leading zeros, a digit on each side of
// the point.
func skipNumber(b []byte, i int) (int, Fault) {
	if b[i] == '-' {
		i++
	}
	if i >= len(b) {
		return i, Incomplete
	}
	if b[i] == '0' {
		i++
	} else if i = skipDigits(b, i); !isDigit(b[i-1]) {
		return i, numberFault(b, i)
	}
	if i < len(b) && b[i] == '.' {
		if i = skipDigits(b, i+1); b[i-1] == '.' {
			return i, numberFault(b, i)
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if i = skipDigits(b, i); !isDigit(b[i-1]) {
			return i, numberFault(b, i)
		}
	}
	return i, 0
}

func skipDigits(b []byte, i int) int {
	for i < len(b) && isDigit(b[i]) {
		i++
	}
	return i
}

func isDigit(c byte) bool { return c-'0' <= 9 }

// numberFault distinguishes a number that was cut off from a wrong one.
func numberFault(b []byte, i int) Fault {
	if i >= len(b) {
		return Incomplete
	}
	return Malformed
}

// Source text in a string has an escape every dozen bytes. Stopping at each of them, a scan spends
// its time on branches that the processor cannot foresee. So long strings are read in blocks of 64
// bytes: first the places of all quotes and backslashes, as bits of a word, then one short loop
// over those bits.

const block = 64

// skipBlocks passes over whole blocks of a string, starting at i inside of it. It returns where the
// string ended, with done set, or where to continue byte by byte: at a fault, at a control
// character, or near the end of the text.
func skipBlocks(b []byte, i int) (next int, done bool) {
	for i+block <= len(b) {
		text := (*[block]byte)(b[i:])
		end := block
		for m := places(text); m != 0; {
			at := bits.TrailingZeros64(m) % block
			first := m & -m
			if text[at] != '\\' {
				if isPlain(text[at]) {
					m &^= first
					continue
				}
				if text[at] == '"' {
					return i + at + 1, true
				}
				return i + at, false
			}
			if at < block-1 && escaped[text[(at+1)%block]] != 0 {
				m &^= 3 * first
				continue
			}
			after, fault := skipEscape(b, i+at)
			if fault != 0 {
				return i + at, false
			}
			end = max(end, after-i)
			m &= ^uint64(0) << (after - i)
		}
		i += end
	}
	return i, false
}

// places returns the places of quotes, backslashes and control characters, the first byte in the
// lowest bit. A bit after one of those may be set for a plain byte: the caller looks.
func places(b *[block]byte) uint64 {
	w0, w1 := binary.LittleEndian.Uint64(b[0:]), binary.LittleEndian.Uint64(b[8:])
	w2, w3 := binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint64(b[24:])
	w4, w5 := binary.LittleEndian.Uint64(b[32:]), binary.LittleEndian.Uint64(b[40:])
	w6, w7 := binary.LittleEndian.Uint64(b[48:]), binary.LittleEndian.Uint64(b[56:])
	return gather(special(w0)) | gather(special(w1))<<8 | gather(special(w2))<<16 | gather(special(w3))<<24 |
		gather(special(w4))<<32 | gather(special(w5))<<40 | gather(special(w6))<<48 | gather(special(w7))<<56
}

// gather makes one byte of the high bits of the eight bytes of w, which has no other bits.
func gather(w uint64) uint64 { return w >> 7 * 0x0102040810204080 >> 56 }

// isPlain reports whether c stands for itself in a string.
func isPlain(c byte) bool { return c >= ' ' && c != '"' && c != '\\' }

// Pointer returns the JSON pointer of the value at offset in data, which is valid JSON.
func Pointer(data []byte, offset int) string { return Pointers(data, []int{offset})[0] }

// Pointers returns the JSON pointers of the values at the offsets, which ascend.
func Pointers(data []byte, offsets []int) []string {
	w := walk{
		wanted: offsets,
		member: func(path, key string) string { return path + "/" + pointerEscaper.Replace(key) },
		elem:   func(path string, i int) string { return path + "/" + strconv.Itoa(i) },
	}
	return w.run(data)
}

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

// Paths returns where the values at the offsets lie in data, which is valid JSON: for each, in
// order, the names on the way joined by dots, with [] after a list. The offsets ascend.
func Paths(data []byte, offsets []int) []string {
	w := walk{
		wanted: offsets,
		member: func(path, key string) string {
			if path == "" {
				return key
			}
			return path + "." + key
		},
		elem: func(path string, _ int) string { return path + "[]" },
	}
	return w.run(data)
}

// A walk goes through a JSON text once, as far as it has to, and finds the names of the values that
// are wanted.
type walk struct {
	Lexer
	wanted []int // offsets of values, ascending
	found  []string
	member func(path, key string) string
	elem   func(path string, i int) string
}

// run returns the names of the wanted values. An offset that is not at a value has the name
// of the value that it lies in.
func (w *walk) run(data []byte) []string {
	want := len(w.wanted)
	w.Reset(data)
	w.value(func() string { return "" })
	for len(w.found) < want {
		w.found = append(w.found, "")
	}
	return w.found
}

// value walks through the next value, whose name path returns. Names are put together only where
// they are asked for.
func (w *walk) value(path func() string) {
	w.Peek()
	for len(w.wanted) > 0 && w.wanted[0] == w.pos {
		w.found = append(w.found, path())
		w.wanted = w.wanted[1:]
	}
	switch {
	case len(w.wanted) == 0:
		w.data = nil
	case w.Peek() == '{':
		for key, ok := w.FirstKey(); ok; key, ok = w.NextKey() {
			name := string(key)
			w.value(func() string { return w.member(path(), name) })
		}
	case w.Peek() == '[':
		i := 0
		for ok := w.FirstElem(); ok; ok = w.NextElem() {
			w.value(func() string { return w.elem(path(), i) })
			i++
		}
	default:
		w.Skip()
	}
	for len(w.wanted) > 0 && w.wanted[0] < w.pos {
		w.found = append(w.found, path())
		w.wanted = w.wanted[1:]
	}
}

// Lookup returns the value of the first member of that name in the object at pos, without looking
// at anything after it. It returns nil if there is no object, no such member, or a fault before it.
func Lookup(data []byte, pos int, name string) []byte {
	start, end := Find(data, pos, name)
	if start < 0 {
		return nil
	}
	return data[start:end:end]
}

// Find is Lookup for callers that want the place of the value. It returns negative numbers where
// that returns nil.
func Find(data []byte, pos int, name string) (start, end int) {
	i := skipSpace(data, pos)
	if i >= len(data) || data[i] != '{' {
		return -1, -1
	}
	i = skipSpace(data, i+1)
	for i < len(data) && data[i] == '"' {
		key := i + 1
		start, fault := skipKey(data, i)
		if fault != 0 {
			return -1, -1
		}
		end, fault := skipValue(data, start, 1)
		if fault != 0 {
			return -1, -1
		}
		if keyIs(data[key:start], name) {
			return start, end
		}
		i = skipSpace(data, end)
		if i < len(data) && data[i] == ',' {
			i = skipSpace(data, i+1)
		}
	}
	return -1, -1
}

// keyIs reports whether text, which starts after the opening quote of a key, starts with the key of
// that name.
func keyIs(text []byte, name string) bool {
	if len(text) > len(name) && text[len(name)] == '"' && string(text[:len(name)]) == name {
		return true
	}
	quote := bytes.IndexByte(text, '"')
	if bytes.IndexByte(text[:quote], '\\') < 0 {
		return false
	}
	var l Lexer
	l.Reset(append([]byte{'"'}, text...))
	return string(l.Bytes()) == name
}

// Unquote returns what a JSON string stands for. It returns false when value is not a string. The
// result may share the memory of value.
func Unquote(value []byte) ([]byte, bool) {
	if len(value) < 2 || value[0] != '"' {
		return nil, false
	}
	if end, ascii := plainEnd(value, 1); ascii && end == len(value)-1 {
		return value[1:end], true
	}
	var l Lexer
	l.Reset(value)
	s := l.Bytes()
	return s, l.err == nil
}
