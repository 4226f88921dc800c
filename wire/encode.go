package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/clewdev/clew/internal/jsonlex"
)

// Append appends the frame of msg to dst, as one line of JSON without the line end. A message that
// was decoded and not changed is written as the JSON value that it was read from, including unknown
// fields. A changed field is written with its new value. A field set to its zero value is left out,
// unless its frame requires it.
//
// Append returns an error and leaves dst unchanged for a [*TextLine] or an [*InvalidFrame], which
// have no frame, for a raw value that is not JSON, and for a message that lacks a required part.
func Append(dst []byte, msg Message) ([]byte, error) {
	switch msg := msg.(type) {
	case node:
		return appendNode(dst, msg)
	case json.Marshaler:
		if frame, err := msg.MarshalJSON(); err == nil && len(frame) > 0 {
			return append(dst, oneLine(frame)...), nil
		}
	}
	return dst, fmt.Errorf("wire: a %T has no frame", msg)
}

// A node is a value that writes itself.
type node interface{ encode(*encoder) }

func appendNode(dst []byte, n node) ([]byte, error) {
	var e encoder
	n.encode(&e)
	if e.err != nil {
		return dst, e.err
	}
	return append(dst, oneLine(e.out)...), nil
}

// oneLine changes JSON into one line, which it may not have been when it was read, and into UTF-8:
// a byte that does not fit is U+FFFD, as it was when its string was decoded.
func oneLine(text []byte) []byte {
	if bytes.IndexByte(text, '\n') >= 0 || bytes.IndexByte(text, '\r') >= 0 {
		for i, c := range text {
			if c == '\n' || c == '\r' {
				text[i] = ' '
			}
		}
	}
	if utf8.Valid(text) {
		return text
	}
	return []byte(string(bytes.Runes(text)))
}

func marshal(n node) ([]byte, error) { return appendNode(nil, n) }

// unmarshal does what encoding/json asks of an Unmarshaler: a null changes nothing.
func unmarshal(data []byte, v interface{ decode(*decoder) }) error {
	if isNull(data) {
		return nil
	}
	var d decoder
	return d.whole(data, func() { v.decode(&d) })
}

// unmarshalKind is unmarshal for a value of a type, and of a subtype if that is not empty, and
// fails for one of another.
func unmarshalKind(data []byte, v interface{ decode(*decoder) }, kind, subtype string) error {
	for _, want := range []struct{ name, value string }{{"type", kind}, {"subtype", subtype}} {
		got, ok := jsonlex.Unquote(jsonlex.Lookup(data, 0, want.name))
		if ok && want.value != "" && string(got) != want.value {
			return fmt.Errorf("wire: %s %q does not fit into a %T", want.name, got, v)
		}
	}
	return unmarshal(data, v)
}

func unmarshalDelta[T any](data []byte, v *T) error {
	if isNull(data) {
		return nil
	}
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

// An encoder merges the typed fields of an object with the bytes that it was read from. The fields
// take precedence; the bytes supply the rest.
type encoder struct {
	out     []byte
	members []member // of the objects that are open, the innermost last
	value   []byte   // what the member that is being written was read with
	objects []object
	err     error
}

// A member is one that an object was read with.
type member struct {
	name    string
	value   []byte
	written bool
	twin    int // the member of the same name before it, or -1
}

// An object is open.
type object struct {
	members int            // where its members begin
	index   map[string]int // the last member of each name
	fresh   bool           // it was not read, but made by hand
	filled  bool           // a member has been written
}

// fail records the first error.
func (e *encoder) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

// begin opens an object that was read from raw, if raw is an object.
func (e *encoder) begin(raw string) {
	fresh := raw == "" || raw[0] != '{'
	open := object{members: len(e.members), fresh: fresh}
	e.out = append(e.out, '{')
	if !fresh {
		text := e.value
		if string(text) != raw {
			text = []byte(raw)
		}
		open.index = e.read(text)
	}
	e.objects = append(e.objects, open)
}

// read notes the members of an object, and returns where the last of each name is.
func (e *encoder) read(text []byte) map[string]int {
	index := map[string]int{}
	var l jsonlex.Lexer
	l.Reset(text)
	for key, ok := l.FirstKey(); ok; key, ok = l.NextKey() {
		name := string(key)
		twin, ok := index[name]
		if !ok {
			twin = -1
		}
		index[name] = len(e.members)
		e.members = append(e.members, member{name: name, value: l.Skip(), twin: twin})
	}
	return index
}

// end writes the members that are left and closes the object.
func (e *encoder) end() {
	open := e.objects[len(e.objects)-1]
	for i := open.members; i < len(e.members); i++ {
		m := e.members[i]
		if m.written {
			continue
		}
		e.key(m.name)
		e.out = append(e.out, m.value...)
	}
	e.members = e.members[:open.members]
	e.objects = e.objects[:len(e.objects)-1]
	e.out = append(e.out, '}')
}

// take returns the value that the object was read with for a member, or nil, and marks the member
// as written.
func (e *encoder) take(name string) []byte {
	e.value = nil
	i, ok := e.objects[len(e.objects)-1].index[name]
	if !ok {
		return nil
	}
	e.value = e.members[i].value
	for ; i >= 0; i = e.members[i].twin {
		e.members[i].written = true
	}
	return e.value
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
func (e *encoder) verbatim(value string) {
	if value == "" {
		value = "null"
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

// A memberWriter writes the members of an object, without its braces.
type memberWriter interface{ members(*encoder) }

// whole writes an object that was read from raw.
func (e *encoder) whole(raw string, v memberWriter) {
	e.begin(raw)
	v.members(e)
	e.end()
}

// delta writes a content_block_delta that was read from raw, with v as its delta.
func (e *encoder) delta(raw string, index int, v memberWriter) {
	e.begin(raw)
	e.tag("type", "content_block_delta")
	e.int("index", int64(index), true)
	e.enter("delta")
	v.members(e)
	e.end()
	e.end()
}

// enter opens the object of a member.
func (e *encoder) enter(name string) {
	raw := e.take(name)
	e.key(name)
	e.begin(string(raw))
}

// writeList writes an array, each element with elem. A nil list is a member without a value, an
// empty one an empty array.
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

// content writes a list of blocks, or a string if it was read as one. An API message that was made
// by hand always has it.
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

// plain returns the string that the content was read as, unless there is more to it now.
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

// writePointer writes a member that is a struct, or the null of one that is nil.
func writePointer[T any, P structNode[T]](e *encoder, name string, v P) {
	if v == nil {
		e.none(name)
		return
	}
	e.object(name, v, true)
}

// writeInline writes the members of a struct that lie on the object that is open.
func writeInline[T any, P interface {
	*T
	memberWriter
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

// writeDict writes an object with the keys of all, in order. A nil map is a member without a value,
// an empty one an empty object.
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

// discard drops the members of the object that were not written: keys that were removed from a map.
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

// The methods below write one member each. They write the text that the member was read from as
// long as the value has not changed.

// none writes a member that has no value, if it was read as null.
func (e *encoder) none(name string) {
	if raw := e.take(name); isNull(raw) {
		e.member(name, raw)
	}
}

// bent writes a lenient member that has no value because its JSON had another shape, one that read
// does not accept. It reports whether it wrote the member.
func (e *encoder) bent(name string, absent bool, read func(*decoder)) bool {
	raw := e.take(name)
	if !absent || raw == nil || isNull(raw) {
		return false
	}
	var d decoder
	d.load(raw)
	read(&d)
	if d.Err() == nil {
		return false
	}
	e.member(name, raw)
	return true
}

// scalar writes a member. A zero value is written as it was read, if it was zero then, and left out
// if it is not required. Any other value is written as text.
func (e *encoder) scalar(name string, text []byte, zero, required bool) {
	raw := e.take(name)
	spared := raw == nil && !e.objects[len(e.objects)-1].fresh // it was read without
	switch {
	case zero && raw != nil && isZero(raw):
		e.member(name, raw)
	case zero && (!required || spared):
	default:
		e.member(name, text)
	}
}

func (e *encoder) str(name, v string, required bool) {
	raw := e.take(name)
	if len(raw) > 0 && raw[0] == '"' {
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
	e.take(name)
	e.member(name, strconv.AppendBool(nil, *v))
}

func (e *encoder) int(name string, v int64, required bool) {
	e.scalar(name, strconv.AppendInt(nil, v, 10), v == 0, required)
}

func (e *encoder) intPtr(name string, v *int) {
	switch {
	case v == nil:
		e.none(name)
	case isNull(e.take(name)):
		e.member(name, strconv.AppendInt(nil, int64(*v), 10))
	default:
		e.int(name, int64(*v), true)
	}
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
	if err != nil {
		e.fail(fmt.Errorf("wire: %s: %w", name, err))
	}
	e.scalar(name, text, v == 0, required)
}

func (e *encoder) json(name string, v JSON) {
	if v == "" {
		e.none(name)
		return
	}
	if raw := e.take(name); string(raw) != string(v) {
		e.check(name, v)
	}
	e.member(name, []byte(v))
}

// check records that a value is not JSON.
func (e *encoder) check(name string, v JSON) {
	if err := jsonlex.Valid([]byte(v)); err != nil {
		e.fail(fmt.Errorf("wire: %s is not JSON: %w", name, err))
	}
}

// object writes a member that is a struct. One that comes out empty is left out if it was not read,
// and null if it was read as that, unless it is required.
func (e *encoder) object(name string, v node, required bool) {
	raw := e.take(name)
	before, filled := len(e.out), e.objects[len(e.objects)-1].filled
	e.key(name)
	start := len(e.out)
	v.encode(e)
	if required || string(e.out[start:]) != "{}" {
		return
	}
	switch {
	case raw == nil:
		e.out = e.out[:before]
		e.objects[len(e.objects)-1].filled = filled
	case isNull(raw):
		e.out = append(e.out[:start], raw...)
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

// isNull reports whether a value that was read, if any, is null.
func isNull(raw []byte) bool { return string(raw) == "null" }

// isZero reports whether a value that was read is null, or what the zero value of a string, a bool
// or a number is written as.
func isZero(raw []byte) bool {
	switch raw[0] {
	case 'n', 'f':
		return true
	case '"':
		return len(raw) == 2
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	return err == nil && f == 0
}

// The structs below write more than their members.

func (v *StreamEventMessage) encode(e *encoder) {
	if v.Event == nil {
		e.fail(errors.New("wire: a StreamEventMessage has no event"))
		return
	}
	if v.bare {
		v.Event.encode(e)
		return
	}
	e.whole(v.raw, v)
}

func (v *APIMessage) encode(e *encoder) {
	e.begin(v.raw)
	if kind := e.take("type"); kind != nil {
		e.member("type", kind)
	}
	v.members(e)
	e.end()
}
