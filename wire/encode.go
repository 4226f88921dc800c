package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/clewdev/clew/internal/jsonlex"
)

// Append appends the frame of msg to dst, as one line of JSON without the line
// end. A message that was decoded and not changed gives the JSON value that it
// was read from, unknown fields included. A changed field gives its new value; a
// field set to its zero value is left out, unless its frame cannot do without.
//
// [*TextLine] and [*InvalidFrame] have no frame: for them, and for a raw value
// that is not JSON, Append returns an error and dst as it was.
func Append(dst []byte, msg Message) ([]byte, error) {
	switch msg := msg.(type) {
	case node:
		return appendNode(dst, msg)
	case json.Marshaler:
		frame, err := msg.MarshalJSON()
		return append(dst, frame...), err
	}
	return dst, fmt.Errorf("wire: a %T has no frame", msg)
}

// UnknownFields returns the fields of msg that this package does not know, each
// as its path: names joined by dots, [] behind a list. A path appears once.
func UnknownFields(msg Message) []string {
	n, ok := msg.(node)
	if !ok {
		return nil
	}
	found := map[string]bool{}
	e := encoder{unknown: found}
	n.encode(&e)
	return slices.Sorted(maps.Keys(found))
}

// A node is a value that writes itself.
type node interface{ encode(*encoder) }

func appendNode(dst []byte, n node) ([]byte, error) {
	var e encoder
	n.encode(&e)
	if e.err != nil {
		return dst, e.err
	}
	if !utf8.Valid(e.out) {
		e.out = bytes.ToValidUTF8(e.out, []byte("\uFFFD"))
	}
	return append(dst, e.out...), nil
}

func marshal(n node) ([]byte, error) { return appendNode(nil, n) }

func unmarshal(data []byte, v interface{ decode(*decoder) }) error {
	var d decoder
	return d.whole(data, func() { v.decode(&d) })
}

func unmarshalDelta[T any](data []byte, v *T) error {
	var d decoder
	var event Event
	if err := d.whole(data, func() { event = d.event() }); err != nil {
		return err
	}
	same, ok := any(event).(*T)
	if !ok {
		return fmt.Errorf("wire: a %T does not fit into a %T", event, v)
	}
	*v = *same
	return nil
}

// An encoder writes objects over the bytes that they were read from: what a
// typed field says goes first, what was read fills in the rest.
type encoder struct {
	out     []byte
	members []member // of the objects that are open, the innermost last
	objects []object
	err     error

	unknown map[string]bool // collects the paths of members that nobody wrote
	path    []string
}

// A member is one that an object was read with.
type member struct {
	name    string
	value   []byte
	written bool
}

// An object is open.
type object struct {
	members int // where its members begin
	filled  bool
}

// begin opens an object that was read from raw, if raw is an object.
func (e *encoder) begin(raw []byte) {
	e.objects = append(e.objects, object{members: len(e.members)})
	e.out = append(e.out, '{')
	if len(raw) == 0 || raw[0] != '{' {
		return
	}
	var l jsonlex.Lexer
	l.Reset(raw)
	for key, ok := l.FirstKey(); ok; key, ok = l.NextKey() {
		name := string(key)
		e.members = append(e.members, member{name: name, value: l.Skip()})
	}
}

// end writes the members that are left and closes the object.
func (e *encoder) end() {
	open := e.objects[len(e.objects)-1]
	for i := open.members; i < len(e.members); i++ {
		m := e.members[i]
		if m.written {
			continue
		}
		if e.unknown != nil {
			e.unknown[strings.Join(append(e.path, m.name), ".")] = true
		}
		e.key(m.name)
		e.out = append(e.out, m.value...)
	}
	e.members = e.members[:open.members]
	e.objects = e.objects[:len(e.objects)-1]
	e.out = append(e.out, '}')
}

// take returns the value that the object was read with for a member, or nil, and
// marks the member as written.
func (e *encoder) take(name string) []byte {
	var value []byte
	open := e.objects[len(e.objects)-1]
	for i := open.members; i < len(e.members); i++ {
		if m := &e.members[i]; m.name == name {
			m.written = true
			value = m.value
		}
	}
	return value
}

// key writes a member's name.
func (e *encoder) key(name string) {
	open := &e.objects[len(e.objects)-1]
	if open.filled {
		e.out = append(e.out, ',')
	}
	open.filled = true
	e.out = jsonlex.AppendQuote(e.out, name)
	e.out = append(e.out, ':')
}

// verbatim writes a value as it is.
func (e *encoder) verbatim(value []byte) {
	if value == nil {
		value = []byte("null")
	}
	e.out = append(e.out, value...)
}

func (e *encoder) member(name string, value []byte) {
	e.key(name)
	e.out = append(e.out, value...)
}

// tag writes a member that is the same on all objects of a kind.
func (e *encoder) tag(name, value string) {
	e.take(name)
	e.key(name)
	e.out = jsonlex.AppendQuote(e.out, value)
}

// enter opens the object of a member.
func (e *encoder) enter(name string) {
	raw := e.take(name)
	e.key(name)
	e.path = append(e.path, name)
	e.begin(raw)
}

func (e *encoder) leave() {
	e.end()
	e.path = e.path[:len(e.path)-1]
}

// none writes a member without a value, if it was read as one.
func (e *encoder) none(name string) { e.scalar(name, nil, true, false) }

// bent writes a lenient member that has no value because it was read with one
// of another shape, and reports whether it did.
func (e *encoder) bent(name string, absent bool) bool {
	if !absent {
		return false
	}
	value := e.take(name)
	if value != nil {
		e.member(name, value)
	}
	return value != nil
}

// scalar writes a member: what was read if the value is zero and was then, or
// nothing if it is zero and need not be there, or else text.
func (e *encoder) scalar(name string, text []byte, zero, required bool) {
	raw := e.take(name)
	switch {
	case zero && raw != nil && isZero(raw):
		e.member(name, raw)
	case zero && !required:
	default:
		e.member(name, text)
	}
}

func (e *encoder) str(name, v string, required bool) {
	raw := e.take(name)
	if raw != nil && raw[0] == '"' {
		if s, ok := jsonlex.Unquote(raw); ok && string(s) == v {
			e.member(name, raw)
			return
		}
	}
	var text []byte
	if v != "" || required {
		text = jsonlex.AppendQuote(nil, v)
	}
	e.scalar(name, text, v == "", required)
}

func (e *encoder) bool(name string, v, required bool) {
	e.scalar(name, strconv.AppendBool(nil, v), !v, required)
}

func (e *encoder) boolPtr(name string, v *bool) {
	if v == nil {
		e.none(name)
		return
	}
	e.bool(name, *v, true)
}

func (e *encoder) int(name string, v int64, required bool) {
	e.scalar(name, strconv.AppendInt(nil, v, 10), v == 0, required)
}

func (e *encoder) intPtr(name string, v *int) {
	if v == nil {
		e.none(name)
		return
	}
	e.int(name, int64(*v), true)
}

func (e *encoder) float(name string, v float64, required bool) {
	raw := e.take(name)
	if raw != nil {
		if f, err := strconv.ParseFloat(string(raw), 64); err == nil && f == v {
			e.member(name, raw)
			return
		}
	}
	text, err := json.Marshal(v)
	if err != nil && e.err == nil {
		e.err = fmt.Errorf("wire: %s: %w", name, err)
	}
	e.scalar(name, text, v == 0, required)
}

func (e *encoder) json(name string, v json.RawMessage) {
	if err := jsonlex.Valid(v); v != nil && err != nil && e.err == nil {
		e.err = fmt.Errorf("wire: %s is not JSON: %w", name, err)
	}
	e.scalar(name, v, v == nil, false)
}

// writeList writes an array, each element with elem.
func writeList[T any](e *encoder, name string, all []T, elem func(T)) {
	raw := e.take(name)
	if len(all) == 0 && raw != nil && isZero(raw) {
		e.member(name, raw)
		return
	}
	if all == nil {
		return
	}
	e.key(name)
	e.path = append(e.path, name+"[]")
	e.out = append(e.out, '[')
	for i, v := range all {
		if i > 0 {
			e.out = append(e.out, ',')
		}
		elem(v)
	}
	e.out = append(e.out, ']')
	e.path = e.path[:len(e.path)-1]
}

// isZero reports whether a value that was read is null, or what a Go zero value
// is written as.
func isZero(raw []byte) bool {
	switch raw[0] {
	case 'n', 'f':
		return true
	case '"':
		return len(raw) == 2
	case '[', '{':
		return len(bytes.Trim(raw, "[]{} \t\r\n")) == 0 && bytes.Count(raw, raw[:1]) == 1
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	return err == nil && f == 0
}
