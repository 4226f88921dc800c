package main

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestPeek(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, line, kind, subtype string }{
		{"type first", `{"type":"user","message":{"type":"x"}}`, "user", ""},
		{"type last", `{"a":1,"b":"x,}\"","c":{"type":"no","d":[1,{"e":"]"}]},"type":"result"}`, "result", ""},
		{"subtype before type", `{"subtype":"success","is_error":false,"type":"result"}`, "result", "success"},
		{"system", `{"type":"system","subtype":"init","cwd":"/"}`, "system", "init"},
		{"system, subtype later", `{"type":"system","x":null,"subtype":"status"}`, "system", "status"},
		{"no type", `{"a":[1,2]}`, "", ""},
		{"empty", `{}`, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			kind, subtype := peek([]byte(tt.line))
			if string(kind) != tt.kind || string(subtype) != tt.subtype {
				t.Errorf("got %q, %q, want %q, %q", kind, subtype, tt.kind, tt.subtype)
			}
		})
	}
}

// A baseline that skipped fields would be too fast: every field of the stream has a place in the
// structs.
func TestStructsKnowEveryField(t *testing.T) {
	t.Parallel()
	for _, s := range testSlices(t) {
		for line := range s.lines() {
			v, err := intoFlatStructs(line)
			if err != nil {
				t.Fatalf("%v: %.200s", err, line)
			}
			d := json.NewDecoder(bytes.NewReader(line))
			d.DisallowUnknownFields()
			if err := d.Decode(v); err != nil {
				t.Fatalf("%T: %v", v, err)
			}
		}
	}
}

func TestStructsKnowEveryBlockAndEvent(t *testing.T) {
	t.Parallel()
	for _, s := range testSlices(t) {
		for line := range s.lines() {
			v, err := intoStructs(line)
			if err != nil {
				t.Fatalf("%v: %.200s", err, line)
			}
			for _, part := range unions(v) {
				if _, raw := part.(*json.RawMessage); raw || part == nil {
					t.Fatalf("a part without a struct: %.200s", line)
				}
			}
		}
	}
}

// unions lists the values of the unions in a frame.
func unions(frame any) []any {
	switch f := frame.(type) {
	case *assistantFrame:
		return blockValues(f.Message.Content)
	case *userFrame:
		return blockValues(f.Message.Content)
	case *streamEventFrame:
		if start, ok := f.Event.value.(*blockStart); ok {
			return []any{start, start.ContentBlock.value}
		}
		return []any{f.Event.value}
	}
	return nil
}

func blockValues(list content) []any {
	var values []any
	for _, b := range list {
		values = append(values, b.value)
	}
	return values
}

func TestStructsRefuseUnknownKinds(t *testing.T) {
	t.Parallel()
	for _, line := range []string{`{"type":"novel"}`, `{"type":"system","subtype":"novel"}`, `{}`} {
		if v, err := intoStructs([]byte(line)); err == nil {
			t.Errorf("%s became %T", line, v)
		}
	}
}
