package wire

import (
	"bytes"
	"errors"
	"maps"
	"slices"

	"github.com/clewdev/clew/internal/jsonlex"
)

// writeList writes an array, each element with elem. A nil list is a member
// without a value, an empty one an empty array.
func writeList[T any](e *encoder, name string, all []T, elem func(i int, v T)) {
	if all == nil {
		e.none(name)
		return
	}
	e.take(name)
	e.key(name)
	e.out = append(e.out, '[')
	for i, v := range all {
		if i > 0 {
			e.out = append(e.out, ',')
		}
		elem(i, v)
	}
	e.out = append(e.out, ']')
}

func (e *encoder) strs(name string, all []string) {
	if raw := e.take(name); raw != nil && all != nil && readsAs(raw, all) {
		e.member(name, raw)
		return
	}
	writeList(e, name, all, func(_ int, s string) { e.out = jsonlex.AppendQuote(e.out, s) })
}

// readsAs reports whether raw is the array that decodes to all.
func readsAs(raw []byte, all []string) bool {
	var l jsonlex.Lexer
	l.Reset(raw)
	n := 0
	for ok := l.FirstElem(); ok; ok = l.NextElem() {
		s := ""
		if !l.Null() {
			s = string(l.Bytes())
		}
		if n == len(all) || s != all[n] {
			return false
		}
		n++
	}
	return l.Err() == nil && n == len(all)
}

func (e *encoder) jsons(name string, all []JSON) {
	writeList(e, name, all, func(_ int, v JSON) {
		if v != "" {
			e.check(name, v)
		}
		e.verbatim(string(v))
	})
}

// content writes a list of blocks, or a string if it was read as one. An API
// message that was made by hand always has it.
func (e *encoder) content(name string, c Content) {
	if text, ok := c.plain(); ok {
		e.str(name, text, true)
		return
	}
	if c == nil && e.objects[len(e.objects)-1].fresh {
		c = Content{}
	}
	writeList(e, name, c, func(_ int, b Block) {
		if b == nil {
			e.fail(errors.New("wire: a block is nil"))
			return
		}
		b.encode(e)
	})
}

// plain returns the string that the content was read as, unless there is more
// to it now.
func (c Content) plain() (string, bool) {
	if len(c) != 1 {
		return "", false
	}
	b, ok := c[0].(*TextBlock)
	if !ok || !b.plain || b.Citations != nil || b.CacheControl != nil {
		return "", false
	}
	return b.Text, true
}

type structNode[T any] interface {
	*T
	node
}

func writeStructs[T any, P structNode[T]](e *encoder, name string, all []T) {
	nulls := nullElems(e.take(name))
	writeList(e, name, all, func(i int, v T) {
		if _, null := slices.BinarySearch(nulls, i); null && blank[T, P](&v) {
			e.verbatim("")
			return
		}
		P(&all[i]).encode(e)
	})
}

// writeInline writes the members of a struct that lie on the object that is open.
func writeInline[T any, P interface {
	*T
	members(*encoder)
}](e *encoder, v P) {
	if v == nil {
		v = new(T)
	}
	v.members(e)
}

// nullElems returns which elements of an array that was read are null.
func nullElems(raw []byte) []int {
	if !bytes.Contains(raw, []byte("null")) {
		return nil
	}
	var nulls []int
	var l jsonlex.Lexer
	l.Reset(raw)
	i := 0
	for ok := l.FirstElem(); ok; ok = l.NextElem() {
		if isNull(l.Skip()) {
			nulls = append(nulls, i)
		}
		i++
	}
	return nulls
}

// blank reports whether v is written like the zero value.
func blank[T any, P structNode[T]](v P) bool {
	got, err := marshal(v)
	zero, _ := marshal(P(new(T)))
	return err == nil && string(got) == string(zero)
}

// writeDict writes an object with the keys of all, in order. A nil map is a
// member without a value, an empty one an empty object.
func writeDict[T any](e *encoder, name string, all map[string]T, elem func(string, T)) {
	if all == nil {
		e.none(name)
		return
	}
	raw := e.take(name)
	e.key(name)
	e.begin(string(raw))
	for _, key := range slices.Sorted(maps.Keys(all)) {
		elem(key, all[key])
	}
	e.discard()
	e.end()
}

// discard drops the members of the object that nobody has written: keys that
// were removed from a map.
func (e *encoder) discard() {
	e.members = e.members[:e.objects[len(e.objects)-1].members]
}

func (e *encoder) intDict(name string, all map[string]int) {
	writeDict(e, name, all, func(key string, v int) { e.int(key, int64(v), true) })
}

func writeStructDict[T any, P structNode[T]](e *encoder, name string, all map[string]T) {
	writeDict(e, name, all, func(key string, v T) {
		if isNull(e.take(key)) && blank[T, P](&v) {
			e.none(key)
			return
		}
		e.object(key, P(&v), true)
	})
}
