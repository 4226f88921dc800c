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
	return dst, fmt.Errorf("wire: a %T can't be encoded as a frame", msg)
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
	d := decoder{strict: true}
	return d.whole(string(data), func() { v.decode(&d) })
}

// unmarshalKind is unmarshal for a value of a type, and of a subtype if that is not empty, and
// fails for one of another.
func unmarshalKind(data []byte, v interface{ decode(*decoder) }, kind, subtype string) error {
	for _, want := range []struct{ name, value string }{{"type", kind}, {"subtype", subtype}} {
		got, ok := jsonlex.Unquote(jsonlex.Lookup(data, 0, want.name))
		if ok && want.value != "" && string(got) != want.value {
			return fmt.Errorf("wire: a frame of %s %q can't be decoded into a %T", want.name, got, v)
		}
	}
	return unmarshal(data, v)
}

func unmarshalDelta[T any](data []byte, v *T) error {
	if isNull(data) {
		return nil
	}
	d := decoder{strict: true}
	var event Event
	if err := d.whole(string(data), func() { event = d.event() }); err != nil {
		return err
	}
	same, ok := any(event).(*T)
	if !ok {
		return fmt.Errorf("wire: a %T can't be decoded into a %T", event, v)
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

// A member is a member of an object that was read.
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
		e.none(name, anArray)
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
	if raw[0] != '[' {
		return false
	}
	var l jsonlex.Lexer
	l.Reset(raw)
	l.Lenient(nil)
	n := 0
	for ok := l.FirstElem(); ok; ok = l.NextElem() {
		s := string(l.BytesOrNull())
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
	if c == nil {
		if !e.objects[len(e.objects)-1].fresh {
			e.none(name, someBlocks)
			return
		}
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
	misfits := misfitElems(e.take(name))
	writeList(e, name, all, func(i int, v T) {
		if raw := misfits[i]; raw != "" && blank[T, P](&v) {
			e.verbatim(raw)
			return
		}
		P(&all[i]).encode(e)
	})
}

// writePointer writes a member that is a struct, or null for a nil pointer.
func writePointer[T any, P structNode[T]](e *encoder, name string, v P) {
	if v == nil {
		e.none(name, anObject)
		return
	}
	e.object(name, v)
}

// writeWhole is writePointer for a struct that is nil unless it is whole.
func writeWhole[T any, P interface {
	structNode[T]
	shape[T]
	whole() bool
}](e *encoder, name string, v P) {
	if v != nil {
		e.object(name, v)
		return
	}
	e.none(name, func(raw []byte) bool {
		var d decoder
		d.load(raw)
		return wholePointerTo[T, P](&d) != nil
	})
}

// writeStruct writes a member that is a struct. A zero value is written as it was read, if that was
// not an object, and left out if it was absent. One that was made by hand is left out if it is
// empty and not required.
func writeStruct[T any, P structNode[T]](e *encoder, name string, v P, required bool) {
	raw := e.take(name)
	if raw != nil && anObject(raw) || !blank[T](v) {
		e.object(name, v)
		return
	}
	switch fresh := e.objects[len(e.objects)-1].fresh; {
	case raw != nil:
		e.member(name, raw)
	case required && fresh:
		e.object(name, v)
	}
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

// misfitElems returns those elements of an array that was read that are not objects, by index.
func misfitElems(raw []byte) map[int]string {
	var misfits map[int]string
	var l jsonlex.Lexer
	l.Reset(raw)
	i := 0
	for ok := l.FirstElem(); ok; ok = l.NextElem() {
		if v := l.Skip(); len(v) > 0 && v[0] != '{' {
			if misfits == nil {
				misfits = map[int]string{}
			}
			misfits[i] = string(v)
		}
		i++
	}
	return misfits
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
		e.none(name, anObject)
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
		if raw := e.take(key); raw != nil && !anObject(raw) && blank[T](P(&v)) {
			e.member(key, raw)
			return
		}
		e.object(key, P(&v))
	})
}

// The methods below write one member each. They write the text that the member was read from as
// long as the value has not changed.

// none writes a member that has no value, if it was read as null, or as a value that did not fit.
func (e *encoder) none(name string, fits shapeTest) {
	if raw := e.take(name); raw != nil && (isNull(raw) || !fits(raw)) {
		e.member(name, raw)
	}
}

// A shapeTest reports whether a field can hold a value that was read.
type shapeTest func(raw []byte) bool

func anyValue([]byte) bool       { return true }
func aString(raw []byte) bool    { return raw[0] == '"' }
func aBool(raw []byte) bool      { return raw[0] == 't' || raw[0] == 'f' }
func anArray(raw []byte) bool    { return raw[0] == '[' }
func anObject(raw []byte) bool   { return raw[0] == '{' }
func someBlocks(raw []byte) bool { return aString(raw) || anArray(raw) }

func anInt(raw []byte) bool {
	var l jsonlex.Lexer
	l.Reset(raw)
	n := l.Int()
	return l.Err() == nil && n == int64(int(n))
}

func aFloat(raw []byte) bool {
	_, err := strconv.ParseFloat(string(raw), 64)
	return err == nil
}

// scalar writes a member. A zero value is written as it was read, if it was zero then or did not
// fit, and left out if it is not required. Any other value is written as text.
func (e *encoder) scalar(name string, text []byte, zero, required bool, fits shapeTest) {
	raw := e.take(name)
	spared := raw == nil && !e.objects[len(e.objects)-1].fresh // it was read without
	switch {
	case zero && raw != nil && (isZero(raw) || !fits(raw)):
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
	e.scalar(name, text, v == "", required, aString)
}

func (e *encoder) bool(name string, v, required bool) {
	e.scalar(name, strconv.AppendBool(nil, v), !v, required, aBool)
}

func (e *encoder) boolPtr(name string, v *bool) {
	if v == nil {
		e.none(name, aBool)
		return
	}
	e.take(name)
	e.member(name, strconv.AppendBool(nil, *v))
}

func (e *encoder) int(name string, v int64, required bool) {
	e.scalar(name, strconv.AppendInt(nil, v, 10), v == 0, required, anInt)
}

func (e *encoder) intPtr(name string, v *int) {
	if v == nil {
		e.none(name, anInt)
		return
	}
	if raw := e.take(name); raw != nil && !anInt(raw) {
		e.member(name, strconv.AppendInt(nil, int64(*v), 10))
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
	if err != nil {
		e.fail(fmt.Errorf("wire: %s: %w", name, err))
	}
	e.scalar(name, text, v == 0, required, aFloat)
}

func (e *encoder) json(name string, v JSON) {
	if v == "" {
		e.none(name, anyValue)
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

// object writes a member that is an object.
func (e *encoder) object(name string, v node) {
	e.take(name)
	e.key(name)
	v.encode(e)
}

// node writes a member that is a variant of a sum.
func (e *encoder) node(name string, v node) {
	if v == nil {
		e.none(name, anObject)
		return
	}
	if unknown, ok := v.(*UnknownEvent); ok {
		e.event(name, unknown)
		return
	}
	e.object(name, v)
}

// event writes a member that is an unknown event, unless it was read without.
func (e *encoder) event(name string, v *UnknownEvent) {
	if e.take(name); v.raw == "" {
		e.none(name, anyValue)
		return
	}
	e.member(name, []byte(v.raw))
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
