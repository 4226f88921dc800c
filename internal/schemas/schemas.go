// Package schemas makes JSON schemas from Go types, and decodes what fits them. The inputs of tools
// and structured answers of the agent have schemas of this package.
package schemas

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// Of returns the schema of a type: the result of [jsonschema.ForType], corrected for types with
// their own JSON decoding. A value that fits it can be decoded by [Unmarshal], except for rules
// that a schema can't express, such as the strings that an UnmarshalText accepts.
func Of(t reflect.Type) (*jsonschema.Schema, error) {
	forms := make(typeSchemas)
	if err := forms.add(t); err != nil {
		return nil, err
	}
	return jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: forms})
}

// typeSchemas are the schemas of types whose kind does not determine their JSON. Those of others
// are nil.
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

// checkField returns why a schema can't describe how a field is read, or "".
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

// formOf returns the schema of a type with its own UnmarshalJSON or UnmarshalText, or nil.
func formOf(t reflect.Type) *jsonschema.Schema {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return &jsonschema.Schema{Type: "string", Format: "date-time"}
	case t == reflect.TypeFor[json.Number]():
		return &jsonschema.Schema{Type: "number"}
	case t == reflect.TypeFor[big.Int](): // its UnmarshalJSON takes no string
		return &jsonschema.Schema{Type: "integer"}
	case decodesText(t):
		return &jsonschema.Schema{Type: "string"}
	case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) && !hasFields(t):
		// Any value, but said so that a pointer to it allows more than null.
		return &jsonschema.Schema{Types: []string{"null", "boolean", "number", "string", "array", "object"}}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return &jsonschema.Schema{Types: []string{"null", "string"}, ContentEncoding: "base64"}
	}
	return nil
}

// decodesText reports whether a type has an UnmarshalText.
func decodesText(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// hasFields reports whether a type is a struct with fields that JSON knows.
func hasFields(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	return slices.ContainsFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return f.IsExported() })
}

// Unmarshal is like [json.Unmarshal], but an integer of JSON, such as 1.0 or 2e3, also fits an
// integer of Go: for a schema they are the same.
func Unmarshal(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	if err == nil || !json.Valid(data) {
		return err
	}
	plain, changed := plainIntegers(data)
	if !changed || json.Unmarshal(plain, v) != nil {
		return err
	}
	return nil
}

// plainIntegers writes the integers of a JSON text, such as 1.0, as Go reads them, and reports
// whether it has changed any.
func plainIntegers(data []byte) (plain []byte, changed bool) {
	for i := 0; i < len(data); {
		n := tokenLength(data[i:])
		token := data[i : i+n]
		if short := plainInteger(token); short != "" {
			plain, changed = append(plain, short...), true
		} else {
			plain = append(plain, token...)
		}
		i += n
	}
	return plain, changed
}

// tokenLength returns the length of the string, the number or the other character that valid JSON
// begins with.
func tokenLength(data []byte) int {
	n := 1
	switch c := data[0]; {
	case c == '"':
		for ; data[n] != '"'; n++ {
			if data[n] == '\\' {
				n++
			}
		}
		n++
	case isDigit(c) || c == '-':
		for n < len(data) && (isDigit(data[n]) || strings.IndexByte(".eE+-", data[n]) >= 0) {
			n++
		}
	}
	return n
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// plainInteger returns an integer that is written with a fraction or an exponent without them. It
// returns "" for everything else, also for integers that are longer than Go's.
func plainInteger(token []byte) string {
	const longest = 40 // an exponent such as 1e999999999 would make the text as long
	number := isDigit(token[0]) || token[0] == '-'
	if !number || !strings.ContainsAny(string(token), ".eE") || len(token) > longest {
		return ""
	}
	if f, _, err := big.ParseFloat(string(token), 10, 64, big.ToZero); err != nil || f.MantExp(nil) > 64 || f.MantExp(nil) < -64 {
		return ""
	}
	r, ok := new(big.Rat).SetString(string(token))
	if !ok || !r.IsInt() {
		return ""
	}
	return r.Num().String()
}
