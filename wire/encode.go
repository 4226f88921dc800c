package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
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
	if m, ok := msg.(json.Marshaler); ok {
		switch frame, err := m.MarshalJSON(); {
		case err != nil:
			return dst, err
		case len(frame) > 0:
			return append(dst, oneLine(frame)...), nil
		}
	}
	return dst, fmt.Errorf("wire: a %T can't be encoded as a frame", msg)
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

// unmarshal does what encoding/json asks of an Unmarshaler: a null changes nothing.
func unmarshal(data []byte, v node) error {
	if isNull(data) {
		return nil
	}
	d := decoder{strict: true}
	return d.whole(string(data), func() { v.decode(&d) })
}

// unmarshalKind is unmarshal for a value of a type, and of a subtype if that is not empty, and
// fails for one of another.
func unmarshalKind(data []byte, v node, kind, subtype string) error {
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

// A node is a struct of the wire. Its first field is the text that it was read from, or "".
type node interface{ decode(*decoder) }

// marshal returns v as JSON, with these members type and subtype.
func marshal(v node, tags ...string) ([]byte, error) {
	var e encoder
	text := e.node(reflect.ValueOf(v).Elem(), tags)
	if e.err != nil {
		return nil, e.err
	}
	return oneLine(text), nil
}

// marshalDelta returns v as a content_block_delta, whose member delta has the fields of v.
func marshalDelta(v deltaEvent, index int, kind string) ([]byte, error) {
	var e encoder
	text := e.delta(v, index, kind)
	if e.err != nil {
		return nil, e.err
	}
	return oneLine(text), nil
}

// MarshalJSON writes v, with the fields that this package does not know.
func (v StreamEventMessage) MarshalJSON() ([]byte, error) {
	switch {
	case v.Event == nil:
		return nil, errors.New("wire: a StreamEventMessage has no event")
	case v.bare:
		return v.Event.MarshalJSON()
	}
	return marshal(&v, "stream_event")
}

// An encoder writes structs by their tags. A struct that was read is compared with a new one from its
// text: the members of fields that changed are replaced in the text, and the rest of it stays.
type encoder struct {
	asRead bool // structs that were read are written as they were read, changed or not
	err    error
}

// fail records the first error.
func (e *encoder) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

// A member is a member of an object. Its text is JSON.
type member struct {
	name  string
	key   []byte // its name as it was read, with quotes, or nil
	text  []byte
	twice bool // it was read more than once
}

// node returns a struct as JSON.
func (e *encoder) node(v reflect.Value, tags []string) []byte {
	raw := v.Field(0).String()
	if !strings.HasPrefix(raw, "{") { // it was made by hand, or the block is a plain string
		return object(append(tagged(tags), e.members(v, true)...))
	}
	text := []byte(raw)
	if e.asRead {
		return text
	}
	before := reflect.New(v.Type())
	var d decoder
	_ = d.whole(raw, func() { before.Interface().(node).decode(&d) }) //nolint:forcetypeassert // all structs are nodes
	before = before.Elem()
	all := read(text, namesOf(v))
	if isTidy(all, tags) && reflect.DeepEqual(before.Interface(), v.Interface()) {
		return text
	}
	was := encoder{asRead: true}
	return overlay(all, was.members(before, false), append(tagged(tags), e.members(v, false)...))
}

// delta returns a content_block_delta as JSON.
func (e *encoder) delta(v deltaEvent, index int, kind string) []byte {
	event := func(index int, delta []byte) []member {
		return append(tagged([]string{v.EventType()}),
			member{name: "index", text: strconv.AppendInt(nil, int64(index), 10)}, member{name: "delta", text: delta})
	}
	text := []byte(v.Raw())
	now := append(tagged([]string{kind}), e.members(reflect.ValueOf(v).Elem(), len(text) == 0)...)
	if len(text) == 0 {
		return object(event(index, object(now)))
	}
	var d decoder
	var before Event
	_ = d.whole(v.Raw(), func() { before = d.event() })
	if reflect.DeepEqual(before, Event(v)) {
		return text
	}
	was := encoder{asRead: true}
	then := reflect.ValueOf(before).Elem()
	delta := jsonlex.Lookup(text, 0, "delta")
	return overlay(read(text, []string{"type", "index", "delta"}), event(int(then.FieldByName("Index").Int()), delta),
		event(index, overlay(read(delta, namesOf(then)), was.members(then, false), now)))
}

// tagNames are the members that select the variant of a sum.
var tagNames = [...]string{"type", "subtype"}

func tagged(tags []string) []member {
	var all []member
	for i, tag := range tags {
		all = append(all, member{name: tagNames[i], text: jsonlex.AppendQuote(nil, tag)})
	}
	return all
}

// read returns an object's members. Of several with one of the names, the last one counts. All
// others stay, even if their names decode to the same text, as those with half an emoji do.
func read(text []byte, names []string) []member {
	var all []member
	index := map[string]int{}
	var l jsonlex.Lexer
	l.Reset(text)
	from := 0
	for key, ok := l.FirstKey(); ok; key, ok = l.NextKey() {
		m := member{name: string(key), key: quoted(text[from:l.Pos()])}
		m.text = l.Skip()
		from = l.Pos()
		i, twice := index[m.name]
		switch {
		case twice:
			all[i].text, all[i].twice = m.text, true
			continue
		case slices.Contains(names, m.name):
			index[m.name] = len(all)
		}
		all = append(all, m)
	}
	return all
}

// quoted returns the text from the first quote to the last one.
func quoted(text []byte) []byte {
	return text[bytes.IndexByte(text, '"') : bytes.LastIndexByte(text, '"')+1]
}

// namesOf returns the names of all members that a struct reads.
func namesOf(v reflect.Value) []string {
	names := slices.Clone(tagNames[:])
	for _, f := range fieldsOf(v.Type()) {
		t := v.Type().Field(f.index).Type
		switch {
		case f.inline:
			names = append(names, namesOf(reflect.Zero(t.Elem()))...)
		case f.name == "message" && isFlat(v):
			names = append(names, namesOf(v.Field(f.index))...)
		default:
			names = append(names, f.name)
		}
	}
	return names
}

// isTidy reports whether an object has the members of the tags, which a struct that encoding/json read
// may lack, and each known member once.
func isTidy(all []member, tags []string) bool {
	found := 0
	for _, m := range all {
		if m.twice {
			return false
		}
		if slices.Contains(tagNames[:len(tags)], m.name) {
			found++
		}
	}
	return found == len(tags)
}

// object returns an object with these members.
func object(all []member) []byte {
	out := []byte{'{'}
	for i, m := range all {
		if i > 0 {
			out = append(out, ',')
		}
		if m.key != nil {
			out = append(out, m.key...)
		} else {
			out = jsonlex.AppendQuote(out, m.name)
		}
		out = append(append(out, ':'), m.text...)
	}
	return append(out, '}')
}

// overlay returns an object that was read with the differences between before and now.
func overlay(all, before, now []member) []byte {
	then, want := byName(before), byName(now)
	var out []member
	for _, m := range all {
		if next := want[m.name]; !bytes.Equal(next, then[m.name]) {
			m.text = next
		}
		delete(want, m.name)
		if m.text != nil {
			out = append(out, m)
		}
	}
	for _, m := range now {
		if _, missing := want[m.name]; missing && !bytes.Equal(m.text, then[m.name]) {
			out = append(out, m)
		}
	}
	return object(out)
}

func byName(all []member) map[string][]byte {
	texts := map[string][]byte{}
	for _, m := range all {
		texts[m.name] = m.text
	}
	return texts
}

// A field is a field of a struct of the wire.
type field struct {
	index    int
	name     string // of its member
	required bool
	inline   bool // its members are members of the struct
}

var fieldLists sync.Map // from types to lists of fields

// fieldsOf returns the fields of a struct that have members.
func fieldsOf(t reflect.Type) []field {
	if list, ok := fieldLists.Load(t); ok {
		return list.([]field) //nolint:forcetypeassert // nothing else is in there
	}
	var list []field
	for i := range t.NumField() {
		tag := t.Field(i).Tag
		name, _, _ := strings.Cut(tag.Get("json"), ",")
		options := strings.Split(tag.Get("wire"), ",")
		f := field{i, name, slices.Contains(options, "required"), slices.Contains(options, "inline")}
		if name != "" || f.inline {
			list = append(list, f)
		}
	}
	fieldLists.Store(t, list)
	return list
}

// members returns the members of a struct. If it is fresh, it was not read.
func (e *encoder) members(v reflect.Value, fresh bool) []member {
	var all []member
	for _, f := range fieldsOf(v.Type()) {
		value := v.Field(f.index)
		if f.inline {
			if !value.IsNil() {
				all = append(all, e.members(value.Elem(), fresh)...)
			}
			continue
		}
		if f.name == "message" && isFlat(v) {
			all = append(all, e.members(value, fresh)...)
			continue
		}
		if text := e.value(f.name, value, f.required, fresh); text != nil {
			all = append(all, member{name: f.name, text: text})
		}
	}
	return all
}

// isFlat reports whether the API message of a frame lies flat on it.
func isFlat(v reflect.Value) bool {
	flat := v.FieldByName("flat")
	return flat.IsValid() && flat.Bool()
}

// value returns a value as JSON, or nil if its member is left out.
func (e *encoder) value(name string, v reflect.Value, required, fresh bool) []byte {
	switch v := v.Interface().(type) {
	case JSON:
		return e.json(name, v)
	case Content:
		if text, ok := v.plain(); ok {
			return jsonlex.AppendQuote(nil, text)
		}
		if v == nil && fresh { // an API message always has content
			return []byte("[]")
		}
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map:
		if v.IsNil() {
			return nil
		}
	default:
		if v.IsZero() && !required && v.Type() != reflect.TypeFor[APIMessage]() { // every frame with one needs it
			return nil
		}
	}
	switch v.Kind() {
	case reflect.String:
		return jsonlex.AppendQuote(nil, v.String())
	case reflect.Bool:
		return strconv.AppendBool(nil, v.Bool())
	case reflect.Float64:
		return e.float(name, v.Float())
	case reflect.Struct:
		if m, ok := addressOf(v).(*ControlRequestMessage); ok { // a list of them in a response
			return e.variant(m)
		}
		return e.node(v, nil)
	case reflect.Pointer:
		return e.value(name, v.Elem(), true, fresh)
	case reflect.Interface:
		return e.variant(v.Interface().(json.Marshaler)) //nolint:forcetypeassert // it is a Block or an Event
	case reflect.Slice:
		return e.list(name, v)
	case reflect.Map:
		return e.dict(v)
	default:
		return strconv.AppendInt(nil, v.Int(), 10)
	}
}

func (e *encoder) json(name string, v JSON) []byte {
	if v == "" {
		return nil
	}
	if err := jsonlex.Valid([]byte(v)); err != nil {
		e.fail(fmt.Errorf("wire: %s is not JSON: %w", name, err))
	}
	return []byte(v)
}

func (e *encoder) float(name string, v float64) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		e.fail(fmt.Errorf("wire: %s: %w", name, err))
	}
	return text
}

// variant returns a block or an event as JSON, or nil for an event that was not there.
func (e *encoder) variant(v json.Marshaler) []byte {
	if read, ok := v.(interface{ Raw() string }); ok && e.asRead && strings.HasPrefix(read.Raw(), "{") {
		return []byte(read.Raw())
	}
	text, err := v.MarshalJSON()
	if err != nil {
		e.fail(err)
	}
	if len(text) == 0 {
		return nil
	}
	return text
}

func (e *encoder) list(name string, v reflect.Value) []byte {
	out := []byte{'['}
	for i := range v.Len() {
		if i > 0 {
			out = append(out, ',')
		}
		elem := v.Index(i)
		if elem.Kind() == reflect.Interface && elem.IsNil() {
			e.fail(errors.New("wire: a block is nil"))
			return nil
		}
		text := e.value(name, elem, true, true)
		if text == nil {
			text = []byte("null")
		}
		out = append(out, text...)
	}
	return append(out, ']')
}

// dict returns an object with the keys of a map, in order.
func (e *encoder) dict(v reflect.Value) []byte {
	var all []member
	for _, key := range v.MapKeys() {
		all = append(all, member{name: key.String(), text: e.value(key.String(), v.MapIndex(key), true, true)})
	}
	slices.SortFunc(all, func(a, b member) int { return strings.Compare(a.name, b.name) })
	return object(all)
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

// isNull reports whether a value that was read, if any, is null.
func isNull(raw []byte) bool { return string(raw) == "null" }

// addressOf returns a pointer to a value, or nil if it has none.
func addressOf(v reflect.Value) any {
	if !v.CanAddr() || !v.Addr().CanInterface() {
		return nil
	}
	return v.Addr().Interface()
}
