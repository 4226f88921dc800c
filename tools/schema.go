package tools

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// schemaOf returns the schema of an input. A pointer is what it points to, since there always is an input.
func schemaOf(in reflect.Type) (*jsonschema.Schema, error) {
	for in.Kind() == reflect.Pointer {
		in = in.Elem()
	}
	if in == reflect.TypeFor[any]() {
		return &jsonschema.Schema{Type: "object"}, nil
	}
	if in.Kind() != reflect.Struct && in.Kind() != reflect.Map {
		return nil, fmt.Errorf("%v is neither a struct nor a map", in)
	}
	forms := make(typeSchemas)
	if err := forms.addParts(in); err != nil {
		return nil, err
	}
	return jsonschema.ForType(in, &jsonschema.ForOptions{TypeSchemas: forms})
}

// typeSchemas are the schemas of types whose kind does not tell how they look in JSON. Those of others are nil.
type typeSchemas map[reflect.Type]*jsonschema.Schema

// add adds a type, or what it is made of.
func (s typeSchemas) add(t reflect.Type) error {
	if _, seen := s[t]; seen {
		return nil
	}
	if s[t] = formOf(t); s[t] != nil {
		return nil
	}
	return s.addParts(t)
}

func (s typeSchemas) addParts(t reflect.Type) error {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return s.add(t.Elem())
	case reflect.Struct:
		for field := range t.Fields() {
			if reason := checkField(&field); reason != "" {
				return fmt.Errorf("%v: the field %s %s", t, field.Name, reason)
			}
			if hidden := !field.IsExported() && !field.Anonymous; hidden || field.Tag.Get("json") == "-" {
				continue
			}
			if err := s.add(field.Type); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkField returns why a field is read in another way than a schema can tell, or "".
func checkField(field *reflect.StructField) string {
	name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
	embedded := field.Type
	if embedded.Kind() == reflect.Pointer {
		embedded = embedded.Elem()
	}
	switch {
	case field.Anonymous && (name != "" || embedded.Kind() != reflect.Struct):
		return "can't be embedded: give it a name"
	case slices.Contains(strings.Split(options, ","), "string"):
		return "can't have the json option string"
	}
	return ""
}

// formOf returns the schema of a type that is read in a way of its own, or nil.
func formOf(t reflect.Type) *jsonschema.Schema {
	p := reflect.PointerTo(t)
	switch {
	case t == reflect.TypeFor[time.Time]():
		return &jsonschema.Schema{Type: "string", Format: "date-time"}
	case t == reflect.TypeFor[json.Number]():
		return &jsonschema.Schema{Type: "number"}
	case p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return &jsonschema.Schema{Type: "string"}
	case p.Implements(reflect.TypeFor[json.Unmarshaler]()) && !hasFields(t):
		// Any value, but said so that a pointer to it allows more than null.
		return &jsonschema.Schema{Types: []string{"null", "boolean", "number", "string", "array", "object"}}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return &jsonschema.Schema{Types: []string{"null", "string"}, ContentEncoding: "base64"}
	}
	return nil
}

// hasFields reports whether a type is a struct with fields that JSON knows.
func hasFields(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	return slices.ContainsFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return f.IsExported() })
}
