package wire

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/clewdev/clew/internal/jsonlex"
)

// The methods of this file write one member each. What was read is written as it
// was as long as the value is what it stands for.

// none writes a member that has no value, if it was read as null.
func (e *encoder) none(name string) {
	if raw := e.take(name); isNull(raw) {
		e.member(name, raw)
	}
}

// bent writes a lenient member that has no value because it was read with one
// of another shape, which read does not take, and reports whether it did.
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

// scalar writes a member: what was read if the value is zero and was then, or
// nothing if it is zero and need not be there, or else text.
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

// object writes a member that is a struct. One that comes out empty is left out
// if it was not read, and null if it was read as that, unless it is required.
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

// isZero reports whether a value that was read is null, or what the zero value
// of a string, a bool or a number is written as.
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
