package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/clewdev/clew/internal/jsonlex"
)

// Append appends the frame of msg to dst, as one line of JSON without the line
// end. A message that was decoded and not changed gives the JSON value that it
// was read from, unknown fields included. A changed field gives its new value; a
// field set to its zero value is left out, unless its frame cannot do without.
//
// [*TextLine] and [*InvalidFrame] have no frame: for them, for a raw value that
// is not JSON, and for a part that is missing, Append returns an error and dst as
// it was.
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

// oneLine changes JSON into one line, which it may not have been when it was
// read, and into UTF-8: a byte that does not fit is U+FFFD, as it was when its
// string was decoded.
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

// unmarshal does what encoding/json asks of an Unmarshaler: a null changes
// nothing.
func unmarshal(data []byte, v interface{ decode(*decoder) }) error {
	if isNull(data) {
		return nil
	}
	var d decoder
	return d.whole(data, func() { v.decode(&d) })
}

// unmarshalKind is unmarshal for a value of a type, and of a subtype if that is
// not empty, and fails for one of another.
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

// An encoder writes objects over the bytes that they were read from: what a
// typed field says goes first, what was read fills in the rest.
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

// read notes the members of an object, and returns where the last of each name
// is.
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

// take returns the value that the object was read with for a member, or nil, and
// marks the member as written.
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

// enter opens the object of a member.
func (e *encoder) enter(name string) {
	raw := e.take(name)
	e.key(name)
	e.begin(string(raw))
}
