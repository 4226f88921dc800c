package schemas_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net/netip"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/clewdev/clew/internal/schemas"
	"github.com/clewdev/clew/wire"
)

// A shade decodes from a text.
type shade string

func (s *shade) UnmarshalText(text []byte) error {
	*s = shade(text)
	return nil
}

// A box decodes from any JSON.
type box struct{ raw string }

func (b *box) UnmarshalJSON(data []byte) error {
	b.raw = string(data)
	return nil
}

type (
	part struct {
		Count int      `json:"count"`
		Ratio float64  `json:"ratio,omitempty"`
		Tags  []string `json:"tags"`
	}
	base struct {
		ID uint16 `json:"id"`
	}
	whole struct {
		base
		Parts    []part                     `json:"parts"`
		ByName   map[string]*part           `json:"by_name"`
		Raw      json.RawMessage            `json:"raw"`
		Raws     map[string]json.RawMessage `json:"raws"`
		JSON     wire.JSON                  `json:"json"`
		Optional *json.RawMessage           `json:"optional,omitempty"`
		Bytes    []byte                     `json:"bytes"`
		Hash     [4]byte                    `json:"hash"`
		Number   json.Number                `json:"number"`
		Big      *big.Int                   `json:"big"`
		Small    int8                       `json:"small"`
		Size     *uint                      `json:"size"`
		When     time.Time                  `json:"when"`
		Until    *time.Time                 `json:"until"`
		Shade    shade                      `json:"shade"`
		Shades   []shade                    `json:"shades"`
		Box      box                        `json:"box"`
		Any      any                        `json:"any"`
		Lasts    time.Duration              `json:"lasts"`
		On       bool                       `json:"on"`
	}
)

// Every value that is made from the schema of a type fits it and decodes into the type.
func TestValuesOfSchemaDecode(t *testing.T) {
	t.Parallel()
	for _, value := range []any{
		false, 0, int8(0), uint64(0), 0.5, "", shade(""), box{}, part{}, whole{}, &whole{}, [2]part{}, []part{},
		[]byte(nil), [3]byte{}, json.RawMessage{}, wire.JSON(""), json.Number(""), big.Int{}, &big.Int{},
		time.Time{}, time.Duration(0), map[string]json.RawMessage{}, map[string][]byte{}, map[shade]int{},
		[]*shade{}, []json.RawMessage{}, struct{ A, B *[]json.RawMessage }{}, struct{ V any }{},
	} {
		typ := reflect.TypeOf(value)
		t.Run(typ.String(), func(t *testing.T) {
			t.Parallel()
			schema, resolved := schemaOf(t, typ)
			for i, text := range samples(schema) {
				var fits any
				if err := json.Unmarshal([]byte(text), &fits); err != nil {
					t.Fatalf("sample %d is not JSON: %v\n%s", i, err, text)
				}
				if err := resolved.Validate(fits); err != nil {
					t.Errorf("sample %d does not fit its schema: %v\n%s", i, err, text)
				}
				if err := schemas.Unmarshal([]byte(text), reflect.New(typ).Interface()); err != nil {
					t.Errorf("sample %d does not decode: %v\n%s", i, err, text)
				}
			}
		})
	}
}

func schemaOf(t *testing.T, typ reflect.Type) (*jsonschema.Schema, *jsonschema.Resolved) {
	t.Helper()
	schema, err := schemas.Of(typ)
	if err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return schema, resolved
}

// samples returns JSON texts that fit a schema: some for each type that it allows.
func samples(s *jsonschema.Schema) []string {
	kinds := slices.Clone(s.Types)
	switch {
	case s.Type != "":
		kinds = []string{s.Type}
	case kinds == nil: // anything
		kinds = []string{"null", "boolean", "number", "string", "array", "object"}
	}
	var texts []string
	for _, kind := range kinds {
		texts = append(texts, samplesOf(s, kind)...)
	}
	return texts
}

func samplesOf(s *jsonschema.Schema, kind string) []string {
	switch kind {
	case "null":
		return []string{"null"}
	case "boolean":
		return []string{"true", "false"}
	case "integer":
		return []string{"0", "7", "1.0", "1e2", "120.00e-1"}
	case "number":
		return []string{"0", "-1.5", "1.0", "2e3"}
	case "string":
		return stringSamples(s)
	case "array":
		return arraySamples(s)
	}
	return objectSamples(s)
}

func stringSamples(s *jsonschema.Schema) []string {
	switch {
	case s.Format == "date-time":
		return []string{`"2026-11-16T08:30:00Z"`, `"2026-11-16T08:30:00.25+02:00"`}
	case s.ContentEncoding == "base64":
		return []string{`""`, `"aGVsbG8="`}
	}
	return []string{`""`, `"1.0 and \"2.0\" \\"`, `"héllo"`}
}

func arraySamples(s *jsonschema.Schema) []string {
	items := []string{"1.0", `"x"`}
	if s.Items != nil {
		items = samples(s.Items)
	}
	if s.MinItems != nil {
		for len(items) < *s.MinItems {
			items = append(items, items...)
		}
		items = items[:*s.MinItems]
		return []string{"[" + strings.Join(items, ",") + "]"}
	}
	return []string{"[]", "[" + strings.Join(items, " , ") + "]"}
}

// objectSamples returns objects whose members have each of their samples at least once.
func objectSamples(s *jsonschema.Schema) []string {
	values := make(map[string][]string)
	for name, property := range s.Properties {
		values[name] = samples(property)
	}
	if s.Properties == nil && s.AdditionalProperties != nil {
		values["any name"] = samples(s.AdditionalProperties)
	}
	most := 1
	for _, v := range values {
		most = max(most, len(v))
	}
	var texts []string
	for i := range most {
		var members []string
		for name, v := range values {
			members = append(members, fmt.Sprintf("%q: %s", name, v[i%len(v)]))
		}
		texts = append(texts, "{"+strings.Join(members, ", ")+"}")
	}
	return texts
}

// A type with its own decoding has the schema of the values that it decodes.
func TestSchemasOfTypes(t *testing.T) {
	t.Parallel()
	const anything = `{"type":["null","boolean","number","string","array","object"]}`
	for _, c := range []struct {
		value any
		want  string
	}{
		{json.RawMessage{}, anything},
		{wire.JSON(""), anything},
		{box{}, anything},
		{[]byte(nil), `{"type":["null","string"],"contentEncoding":"base64"}`},
		{shade(""), `{"type":"string"}`},
		{netip.Addr{}, `{"type":"string"}`},
		{slog.Level(0), `{"type":"string"}`},
		{time.Time{}, `{"type":"string","format":"date-time"}`},
		{big.Int{}, `{"type":"integer"}`},
		{json.Number(""), `{"type":"number"}`},
	} {
		schema, _ := schemaOf(t, reflect.TypeOf(c.value))
		if got, err := json.Marshal(schema); err != nil || string(got) != c.want {
			t.Errorf("%T: %s, %v; want %s", c.value, got, err, c.want)
		}
	}
}

type tree struct {
	Left *tree `json:"left"`
}

func TestTypesWithoutSchema(t *testing.T) {
	t.Parallel()
	for _, value := range []any{
		make(chan int), func() {}, complex(1, 1), map[float64]string{}, tree{},
		struct {
			N int `json:",string"`
		}{},
		struct {
			url.URL `json:"url"`
		}{},
	} {
		if schema, err := schemas.Of(reflect.TypeOf(value)); err == nil {
			t.Errorf("%T: %v, want an error", value, schema)
		}
	}
}

func TestUnmarshalIntegers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"1.0": 1, "-3.00": -3, "2e3": 2000, "5E+2": 500, "1200e-2": 12, "0.0": 0, "-0.0": 0, "9223372036854775807.0": 9223372036854775807,
		"0e999999999": 0,
	} {
		var got struct{ N int64 }
		if err := schemas.Unmarshal([]byte(`{"N":`+text+`}`), &got); err != nil && text != "0e999999999" || got.N != want {
			t.Errorf("%s: %d, %v; want %d", text, got.N, err, want)
		}
	}
	for _, text := range []string{
		"1.5", "1e-1", "9223372036854775808.0", "1e999999999", "1e-999999999", `"1.0"`, "1." + strings.Repeat("0", 100), "1.0}",
	} {
		var got struct{ N int64 }
		if err := schemas.Unmarshal([]byte(`{"N":`+text+`}`), &got); err == nil {
			t.Errorf("%s: %d, want an error", text, got.N)
		}
	}
}

// The error names the value as it was sent, and other values keep their text.
func TestUnmarshalKeepsOtherValues(t *testing.T) {
	t.Parallel()
	var got struct {
		N   int
		Raw json.RawMessage
		S   string
	}
	err := schemas.Unmarshal([]byte(`{"N":1.5,"Raw":1.0,"S":"2.0"}`), &got)
	if misfit, ok := errors.AsType[*json.UnmarshalTypeError](err); !ok || misfit.Value != "number 1.5" {
		t.Errorf("error %v", err)
	}
	if err := schemas.Unmarshal([]byte(`{"N":1,"Raw":1.0,"S":"2.0"}`), &got); err != nil || string(got.Raw) != "1.0" || got.S != "2.0" {
		t.Errorf("%s %q, %v", got.Raw, got.S, err)
	}
}
