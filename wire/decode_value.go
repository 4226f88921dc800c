package wire

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/clewdev/clew/internal/jsonlex"
)

// The methods of this file decode one value each. A null is the zero value.

func (d *decoder) str() string {
	if d.Null() {
		return ""
	}
	return string(d.Bytes())
}

// name decodes a string that is likely to come again.
func (d *decoder) name() string {
	if d.Null() {
		return ""
	}
	return d.names.get(d.Bytes())
}

func (d *decoder) boolean() bool { return !d.Null() && d.Bool() }

func (d *decoder) booleanPtr() *bool {
	if d.Null() {
		return nil
	}
	return new(d.Bool())
}

func (d *decoder) int64() int64 {
	if d.Null() {
		return 0
	}
	return d.Int()
}

func (d *decoder) int() int {
	n := d.int64()
	if strconv.IntSize == 32 && n != int64(int32(n)) {
		d.Fail(jsonlex.OutOfRange, d.Pos(), "number does not fit into 32 bits")
	}
	return int(n)
}

func (d *decoder) intPtr() *int {
	if d.Null() {
		return nil
	}
	return new(d.int())
}

func (d *decoder) float() float64 {
	if d.Null() {
		return 0
	}
	return d.Float()
}

func (d *decoder) rawJSON() json.RawMessage {
	if d.Null() {
		return nil
	}
	value := d.Skip()
	if d.keepRaw {
		return value
	}
	return bytes.Clone(value)
}

func (d *decoder) rawJSONs() []json.RawMessage {
	return list(d, func() json.RawMessage {
		value := d.Skip()
		if d.keepRaw {
			return value
		}
		return bytes.Clone(value)
	})
}

func (d *decoder) nameList() []string { return list(d, d.name) }

// list decodes an array, each element with elem. It is nil for null, and not nil
// for an empty array.
func list[T any](d *decoder, elem func() T) []T {
	if d.Null() {
		return nil
	}
	all := []T{}
	for ok := d.FirstElem(); ok; ok = d.NextElem() {
		all = append(all, elem())
	}
	return all
}

// dict decodes an object, each value with elem.
func dict[T any](d *decoder, elem func() T) map[string]T {
	if d.Null() {
		return nil
	}
	all := map[string]T{}
	for key, ok := d.FirstKey(); ok; key, ok = d.NextKey() {
		name := d.names.get(key)
		all[name] = elem()
	}
	return all
}

// A shape is a struct of the wire.
type shape[T any] interface {
	*T
	decode(*decoder)
}

func structOf[T any, P shape[T]](d *decoder) T {
	var v T
	if !d.Null() {
		P(&v).decode(d)
	}
	return v
}

func pointerTo[T any, P shape[T]](d *decoder) P {
	if d.Null() {
		return nil
	}
	v := P(new(T))
	v.decode(d)
	return v
}

func structs[T any, P shape[T]](d *decoder) []T {
	return list(d, func() T { return structOf[T, P](d) })
}

func structDict[T any, P shape[T]](d *decoder) map[string]T {
	return dict(d, func() T { return structOf[T, P](d) })
}

// A nameTable shares strings that come again and again: ids of a session, names
// of models and tools, values of enums. A newcomer takes the slot of its hash,
// so that the table stays small.
type nameTable struct {
	slots []string
}

const (
	nameSlots  = 1024
	maxNameLen = 80
)

func (t *nameTable) get(b []byte) string {
	if len(b) == 0 || len(b) > maxNameLen {
		return string(b)
	}
	if t.slots == nil {
		t.slots = make([]string, nameSlots)
	}
	slot := &t.slots[nameHash(b)%nameSlots]
	if *slot != string(b) {
		*slot = string(b)
	}
	return *slot
}

// nameHash is FNV-1a over the length and at most the last 16 bytes.
func nameHash(b []byte) uint32 {
	h := 2166136261 ^ uint32(len(b))
	for _, c := range b[max(0, len(b)-16):] {
		h = (h ^ uint32(c)) * 16777619
	}
	return h
}
