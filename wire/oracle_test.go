package wire_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

// agree checks the typed fields of v, by their tags, against the JSON value that it was decoded
// from.
func agree(t testing.TB, path string, v reflect.Value, want any) {
	t.Helper()
	switch x := v.Interface().(type) {
	case wire.JSON:
		agreeRaw(t, path, x, want)
		return
	case wire.Content:
		agreeContent(t, path, x, want)
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() != (want == nil) {
			t.Errorf("%s is %v, want %v", path, v, want)
		} else if want != nil {
			agree(t, path, v.Elem(), want)
		}
	case reflect.Struct:
		agreeStruct(t, path, v, want)
	case reflect.Slice:
		agreeSlice(t, path, v, want)
	case reflect.Map:
		agreeMap(t, path, v, want)
	default:
		agreeScalar(t, path, v, want)
	}
}

func agreeRaw(t testing.TB, path string, got wire.JSON, want any) {
	t.Helper()
	if got == "" {
		if want != nil {
			t.Errorf("%s has no value, want %v", path, want)
		}
		return
	}
	if diff := cmp.Diff(want, value(t, []byte(got))); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func agreeContent(t testing.TB, path string, got wire.Content, want any) {
	t.Helper()
	if text, ok := want.(string); ok {
		want = []any{map[string]any{"type": "text", "text": text}}
	}
	list, _ := want.([]any)
	if len(got) != len(list) || (got == nil) != (want == nil) {
		t.Fatalf("%s has %d blocks, want %v", path, len(got), want)
	}
	for i, block := range got {
		agree(t, fmt.Sprintf("%s/%d", path, i), reflect.ValueOf(block), list[i])
	}
}

func agreeStruct(t testing.TB, path string, v reflect.Value, want any) {
	t.Helper()
	members, ok := want.(map[string]any)
	if !ok {
		t.Errorf("%s is an object, want %v", path, want)
		return
	}
	if delta, ok := members["delta"].(map[string]any); ok && isDelta(v) {
		agree(t, path+"/index", v.FieldByName("Index"), members["index"])
		members = delta
	}
	for field, f := range v.Fields() {
		key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Tag.Get("wire") == "inline" && !f.IsNil() {
			agree(t, path, f, want)
		}
		if !field.IsExported() || key == "" {
			continue
		}
		agree(t, path+"/"+key, f, members[key])
	}
}

// isDelta reports whether the fields of an event lie in the object "delta".
func isDelta(v reflect.Value) bool {
	return strings.HasSuffix(v.Type().Name(), "DeltaEvent") && v.Type() != reflect.TypeFor[wire.MessageDeltaEvent]()
}

func agreeSlice(t testing.TB, path string, v reflect.Value, want any) {
	t.Helper()
	list, _ := want.([]any)
	if v.Len() != len(list) || v.IsNil() != (want == nil) {
		t.Errorf("%s is %v, want %v", path, v, want)
		return
	}
	for i := range list {
		agree(t, fmt.Sprintf("%s/%d", path, i), v.Index(i), list[i])
	}
}

func agreeMap(t testing.TB, path string, v reflect.Value, want any) {
	t.Helper()
	members, _ := want.(map[string]any)
	if v.Len() != len(members) {
		t.Errorf("%s is %v, want %v", path, v, want)
		return
	}
	for key, elem := range members {
		got := v.MapIndex(reflect.ValueOf(key))
		if !got.IsValid() {
			t.Errorf("%s has no %s", path, key)
			continue
		}
		agree(t, path+"/"+key, got, elem)
	}
}

func agreeScalar(t testing.TB, path string, v reflect.Value, want any) {
	t.Helper()
	ok := false
	switch want := want.(type) {
	case nil:
		ok = v.IsZero()
	case string:
		ok = v.Kind() == reflect.String && v.String() == want
	case bool:
		ok = v.Kind() == reflect.Bool && v.Bool() == want
	case json.Number:
		if v.CanInt() {
			ok = want.String() == fmt.Sprint(v.Int())
		} else if f, err := want.Float64(); v.CanFloat() && err == nil {
			ok = v.Float() == f
		}
	}
	if !ok {
		t.Errorf("%s is %v, want %v", path, v, want)
	}
}

// Each field of each struct in the examples has a value in one of them, so that the other tests
// compare every field.
func TestExamplesFillEveryField(t *testing.T) {
	all, filled := map[string]bool{}, map[string]bool{}
	for _, ex := range examples() {
		visit(reflect.ValueOf(wire.Decode([]byte(ex.frame))), all, filled)
	}
	for name := range all {
		if !filled[name] {
			t.Errorf("no example has %s", name)
		}
	}
}

// visit notes the fields below v, and which of them have a value.
func visit(v reflect.Value, all, filled map[string]bool) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			visit(v.Elem(), all, filled)
		}
	case reflect.Slice:
		for i := range v.Len() {
			visit(v.Index(i), all, filled)
		}
	case reflect.Map:
		for _, elem := range v.Seq2() {
			visit(elem, all, filled)
		}
	case reflect.Struct:
		for field, f := range v.Fields() {
			if field.IsExported() {
				name := v.Type().Name() + "." + field.Name
				all[name] = true
				filled[name] = filled[name] || !f.IsZero()
				visit(f, all, filled)
			}
		}
	}
}
