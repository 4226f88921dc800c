// Package rawjson encodes and decodes the JSON values of control requests. Its errors name the
// field, it does not escape HTML, and where an agent of another version may send a field of another
// type, it decodes field by field.
package rawjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/clewdev/clew/wire"
)

// Decode decodes data into v. what names the data in the error, which also names the field if a
// value is of the wrong type.
func Decode(what string, data wire.JSON, v any) error {
	err := data.Decode(v)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if wrong.Field != "" {
			what += ": field " + wrong.Field
		}
		return fmt.Errorf("clew: %s has the wrong type: %s", what, wrong.Value)
	}
	if err != nil {
		return fmt.Errorf("clew: %s: %w", what, err)
	}
	return nil
}

// Encode encodes v. It leaves <, > and & as they are, so that a value of the agent goes back
// unchanged.
func Encode(v any) (wire.JSON, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", err
	}
	return wire.JSON(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// EncodeInput encodes the updated input of a tool, which must be a JSON object. Nil stays nil.
func EncodeInput(input any) (any, error) {
	if input == nil {
		return nil, nil
	}
	object, err := Encode(input)
	if err == nil && !strings.HasPrefix(string(object), "{") {
		err = errors.New("UpdatedInput is not a JSON object")
	}
	return object, err
}

// Absent reports whether a field is missing, or null, which is the same.
func Absent(field wire.JSON) bool { return field == "" || field == "null" }

// A Loose is a value that is decoded field by field: a field that does not fit its type stays zero.
type Loose struct {
	// Value is a pointer to a struct. If it is a json.Unmarshaler, it is decoded as a whole.
	Value any
	// What is the name of the data in errors.
	What string
	// Required are fields that must fit: otherwise decoding fails.
	Required []string
	// Report is called for each field that does not fit. Nil ignores these fields.
	Report func(field string, err error)
}

// UnmarshalJSON calls Decode.
func (l *Loose) UnmarshalJSON(data []byte) error { return l.Decode(wire.JSON(data)) }

// Decode decodes an object. The error is about data that is not an object, a required field that
// does not fit, or a value that decodes itself.
func (l *Loose) Decode(data wire.JSON) error {
	err := Decode(l.What, data, l.Value)
	if _, ok := l.Value.(json.Unmarshaler); err == nil || ok {
		return err
	}
	var members map[string]wire.JSON
	if data.Decode(&members) != nil {
		return err
	}
	// One by one: a member that decodes itself and fails would end the decoding of all others.
	for _, name := range slices.Sorted(maps.Keys(members)) {
		member, err := Encode(map[string]wire.JSON{name: members[name]})
		if err == nil {
			err = Decode(l.What, member, l.Value)
		}
		switch {
		case err != nil && slices.Contains(l.Required, name):
			return err
		case err != nil && l.Report != nil:
			l.Report(name, err)
		}
	}
	return nil
}
