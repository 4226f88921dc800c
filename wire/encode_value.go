package wire

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/clewdev/clew/internal/jsonlex"
)

func (e *encoder) strs(name string, all []string) {
	writeList(e, name, all, func(s string) { e.out = jsonlex.AppendQuote(e.out, s) })
}

func (e *encoder) jsons(name string, all []json.RawMessage) {
	writeList(e, name, all, func(v json.RawMessage) { e.verbatim(v) })
}

func (e *encoder) intDict(name string, all map[string]int) {
	writeDict(e, name, all, func(key string, v int) { e.int(key, int64(v), true) })
}

// object writes a member that is a struct. One that comes out empty and was not
// read is left out, unless it is required.
func (e *encoder) object(name string, v node, required bool) {
	fresh := e.take(name) == nil
	before, filled := len(e.out), e.objects[len(e.objects)-1].filled
	e.key(name)
	start := len(e.out)
	e.path = append(e.path, name)
	v.encode(e)
	e.path = e.path[:len(e.path)-1]
	if fresh && !required && string(e.out[start:]) == "{}" {
		e.out = e.out[:before]
		e.objects[len(e.objects)-1].filled = filled
	}
}

// node writes a member that is a variant of a sum.
func (e *encoder) node(name string, v node) {
	if v == nil {
		e.none(name)
		return
	}
	e.object(name, v, true)
}

func (e *encoder) content(name string, c Content) {
	if len(c) == 1 {
		if b, ok := c[0].(*TextBlock); ok && b.plain {
			e.str(name, b.Text, true)
			return
		}
	}
	writeList(e, name, c, func(b Block) { b.encode(e) })
}

func writeStructs[T any, P interface {
	*T
	node
}](e *encoder, name string, all []T) {
	raw := make([]P, 0, len(all))
	for i := range all {
		raw = append(raw, &all[i])
	}
	if all == nil {
		raw = nil
	}
	writeList(e, name, raw, func(v P) { v.encode(e) })
}

func writeStructDict[T any, P interface {
	*T
	node
}](e *encoder, name string, all map[string]T) {
	writeDict(e, name, all, func(key string, v T) { e.object(key, P(&v), true) })
}

// writeDict writes an object with the keys of all, in order.
func writeDict[T any](e *encoder, name string, all map[string]T, elem func(string, T)) {
	if len(all) == 0 {
		e.none(name)
		return
	}
	raw := e.take(name)
	e.key(name)
	e.path = append(e.path, name)
	e.begin(raw)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		elem(key, all[key])
	}
	e.discard()
	e.end()
	e.path = e.path[:len(e.path)-1]
}

// discard drops the members of the object that nobody has written: keys that
// were removed from a map.
func (e *encoder) discard() {
	e.members = e.members[:e.objects[len(e.objects)-1].members]
}

func (v *StreamEventMessage) encode(e *encoder) {
	if v.bare && v.Event != nil {
		v.Event.encode(e)
		return
	}
	e.begin(v.raw)
	v.members(e)
	e.end()
}

func (v *APIMessage) encode(e *encoder) {
	e.begin(v.raw)
	if kind := e.take("type"); kind != nil {
		e.member("type", kind)
	}
	v.members(e)
	e.end()
}

// encode writes the request's fields as they were read: which there are depends
// on the subtype.
func (v *ControlRequest) encode(e *encoder) {
	unknown := e.unknown
	e.unknown = nil
	e.begin(v.raw)
	v.members(e)
	e.end()
	e.unknown = unknown
}
