package jsonlex

import (
	"strconv"
	"strings"
)

// Pointer returns the JSON pointer of the value at offset in data, which is
// valid JSON.
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

// Paths returns where the values at the offsets lie in data, which is valid
// JSON: for each, in order, the names on the way joined by dots, with [] behind a
// list. The offsets ascend.
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

// A walk goes through a JSON text once, as far as it has to, and finds the names
// of the values that are wanted.
type walk struct {
	Lexer
	wanted []int // offsets of values, ascending
	found  []string
	member func(path, key string) string
	elem   func(path string, i int) string
}

// run returns the names of the wanted values. One that is not a value has the
// name of the one that it lies in.
func (w *walk) run(data []byte) []string {
	want := len(w.wanted)
	w.Reset(data)
	w.value(func() string { return "" })
	for len(w.found) < want {
		w.found = append(w.found, "")
	}
	return w.found
}

// value walks through the next value, whose name path returns. Names are put
// together only where they are asked for.
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
