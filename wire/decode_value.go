package wire

import (
	"encoding/binary"
	"strconv"
	"sync"

	"github.com/clewdev/clew/internal/jsonlex"
)

// The methods of this file decode one value each. A null is the zero value.

func (d *decoder) str() string { return d.StringOrNull() }

// name decodes a string that is likely to come again.
func (d *decoder) name() string { return d.names.get(d.BytesOrNull()) }

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

func (d *decoder) rawJSON() JSON {
	if d.Null() {
		return ""
	}
	return d.anyJSON()
}

func (d *decoder) anyJSON() JSON {
	d.Peek()
	start := d.Pos()
	value := d.Skip()
	if d.keepRaw {
		return JSON(d.span(start))
	}
	return JSON(value)
}

func (d *decoder) rawJSONs() []JSON { return list(d, d.anyJSON) }

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
// so that the table stays small. Readers that wait have none.
type nameTable struct {
	slots *[nameSlots]string
}

var nameTables = sync.Pool{New: func() any { return new([nameSlots]string) }}

const (
	nameSlots  = 1024
	maxNameLen = 80
)

func (t *nameTable) get(b []byte) string {
	if len(b) == 0 || len(b) > maxNameLen {
		return string(b)
	}
	if t.slots == nil {
		t.slots = nameTables.Get().(*[nameSlots]string) //nolint:forcetypeassert // nothing else is in there
	}
	slot := &t.slots[nameHash(b)%nameSlots]
	if *slot != string(b) {
		*slot = string(b)
	}
	return *slot
}

// free leaves the names to others.
func (t *nameTable) free() {
	if t.slots != nil {
		nameTables.Put(t.slots)
		t.slots = nil
	}
}

// nameHash mixes the length and the first and last eight bytes.
func nameHash(b []byte) uint64 {
	h := uint64(len(b))
	if len(b) >= 8 {
		h ^= binary.LittleEndian.Uint64(b)
		h = h*0x9E3779B97F4A7C15 ^ binary.LittleEndian.Uint64(b[len(b)-8:])
	} else {
		for _, c := range b {
			h = h<<8 | uint64(c)
		}
	}
	h *= 0x9E3779B97F4A7C15
	return h >> 32
}
