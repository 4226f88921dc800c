package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/wire"
)

func TestMisfits(t *testing.T) {
	msg := decodeAs[*wire.ResultMessage](t, `{"type":"result","errors":[`+strings.Repeat("1,", 5000)+`1]}`)
	if n := len(wire.Misfits(msg)); n != 100 || len(msg.Errors) != 5001 {
		t.Errorf("%d misfits of %d errors", n, len(msg.Errors))
	}
	msg = decodeAs[*wire.ResultMessage](t, `{"type":"result","num_turns":"x","total_cost_usd":{},"subtype":"success"}`)
	if diff := cmp.Diff([]string{"/num_turns", "/total_cost_usd"}, pointers(wire.Misfits(msg))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func pointers(fields []*wire.FieldError) []string {
	var all []string
	for _, f := range fields {
		all = append(all, f.Pointer)
	}
	return all
}

// misfit decodes a frame with one field that does not fit, and returns its error. The frame is
// encoded as it was read.
func misfit[T wire.Message](t testing.TB, frame string) *wire.FieldError {
	t.Helper()
	msg, ok := wire.Decode([]byte(frame)).(T)
	fields := wire.Misfits(msg)
	if !ok || len(fields) != 1 {
		t.Fatalf("%s: %T with the misfits %v", frame, msg, fields)
	}
	if diff := cmp.Diff(value(t, []byte(frame)), value(t, encoded(t, msg))); diff != "" {
		t.Errorf("%s (-want +got):\n%s", frame, diff)
	}
	return fields[0]
}

// An innerValue is a value inside a frame.
type innerValue struct {
	pointer    string
	start, end int
	within     string // the type of the object that it is in
}

// valuesIn returns all values inside a frame.
func valuesIn(t *testing.T, frame []byte) []innerValue {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(frame))
	var all []innerValue
	var value func(pointer, within string)
	value = func(pointer, within string) {
		start := int(d.InputOffset())
		start += len(frame[start:]) - len(bytes.TrimLeft(frame[start:], ",: \n\t"))
		token, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		n := len(all)
		all = append(all, innerValue{pointer: pointer, start: start, within: within})
		switch token {
		case json.Delim('{'):
			var object struct{ Type json.RawMessage }
			_ = json.Unmarshal(remainder(frame, start), &object) // any type will do
			for d.More() {
				key, _ := d.Token()
				value(pointer+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(key.(string)), string(object.Type))
			}
			_, _ = d.Token()
		case json.Delim('['):
			for i := 0; d.More(); i++ {
				value(fmt.Sprintf("%s/%d", pointer, i), within)
			}
			_, _ = d.Token()
		}
		all[n].end = int(d.InputOffset())
	}
	value("", "")
	return all[1:]
}

// remainder returns the value that starts at start.
func remainder(frame []byte, start int) []byte {
	var value json.RawMessage
	_ = json.NewDecoder(bytes.NewReader(frame[start:])).Decode(&value)
	return value
}

var index = regexp.MustCompile(`/[0-9]+`)

// inRaw reports whether a value is in a field that is kept as JSON and not decoded.
func inRaw(pointer string) bool {
	return strings.HasPrefix(pointer, "/response/response/") || strings.HasPrefix(pointer, "/tool_use_result/")
}

// Each field of each recorded frame gets a value of every other type. The frame keeps its type, and
// is the same as without the field, which is reported; or the field can hold the value.
func TestRecordedFramesWithFieldsOfOtherTypes(t *testing.T) {
	t.Parallel()
	type place struct {
		frame []byte
		value innerValue
	}
	fields := map[string]place{} // in the shortest frame that has the field
	for _, frames := range recorded(t) {
		for _, frame := range frames {
			kind := wire.Decode(frame).Kind().String()
			for _, p := range valuesIn(t, frame) {
				key := kind + p.within + index.ReplaceAllString(p.pointer, "/0")
				if inRaw(p.pointer) && !soak.Running() {
					continue
				}
				if shortest, ok := fields[key]; !untyped(p.pointer) && (!ok || len(frame) < len(shortest.frame)) {
					fields[key] = place{frame, p}
				}
			}
		}
	}
	for _, field := range fields {
		checkOtherTypes(t, field.frame, field.value)
	}
	if len(fields) < 500 {
		t.Errorf("only %d fields", len(fields))
	}
}

// untyped reports whether a field has no type to keep: it decides about the type of the frame, is
// part of a request, which stays JSON, or is the type of an API message, which no field holds.
func untyped(pointer string) bool {
	return pointer == "/type" || strings.HasSuffix(pointer, "/message/type") ||
		strings.HasPrefix(pointer, "/request/") && pointer != "/request/subtype"
}

func checkOtherTypes(t *testing.T, frame []byte, p innerValue) {
	t.Helper()
	with := func(other string) []byte {
		return slices.Concat(frame[:p.start], []byte(other), frame[p.end:])
	}
	whole, null := wire.Decode(frame), with("null")
	for _, other := range []string{"null", `"x"`, "7", "1e400", "true", `{"x":7}`, `["x",7]`} {
		changed := with(other)
		msg := wire.Decode(changed)
		if reflect.TypeOf(msg) != reflect.TypeOf(whole) && p.pointer != "/subtype" {
			t.Errorf("%s with %s as %s: %T: %v", whole.Kind(), other, p.pointer, msg, msg)
			continue
		}
		if again := encoded(t, msg); !bytes.Equal(again, changed) && !reflect.DeepEqual(value(t, changed), value(t, again)) {
			t.Errorf("%s with %s as %s is encoded as %s", whole.Kind(), other, p.pointer, again)
		}
		fits, absent := !slices.Contains(noted(msg), p.pointer), sameFields(null, changed)
		if sameType := other == "null" || other[0] == frame[p.start]; !fits && !absent || fits && absent && !sameType {
			t.Errorf("%s with %s as %s: fits %t, absent %t", whole.Kind(), other, p.pointer, fits, absent)
		}
	}
}

// sameFields reports whether two frames are the same for callers who don't look at their text.
func sameFields(a, b []byte) bool {
	d := wire.NewDecoder(&wire.ReaderOptions{DiscardRaw: true})
	x, y := d.Decode(a), d.Decode(b)
	return reflect.DeepEqual(x, y) || cmp.Equal(x, y, exported)
}

// noted returns the pointers of the fields of msg that do not fit, including the fields of its
// blocks.
func noted(msg wire.Message) []string {
	all := pointers(wire.Misfits(msg))
	for _, b := range contentOf(msg) {
		var field *wire.FieldError
		if bad, ok := b.(*wire.InvalidBlock); ok && errors.As(bad.Err(), &field) {
			all = append(all, field.Pointer)
		}
	}
	return all
}

func contentOf(msg wire.Message) wire.Content {
	switch msg := msg.(type) {
	case *wire.AssistantMessage:
		return msg.Content
	case *wire.UserMessage:
		return msg.Content
	case *wire.StreamEventMessage:
		if start, ok := msg.Event.(*wire.ContentBlockStartEvent); ok {
			return wire.Content{start.ContentBlock}
		}
	}
	return nil
}

// A result that does not say in the usual way whether the turn failed counts as failed.
func TestFailedWithMisfits(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{"type":"result","subtype":"success","is_error":false,"result":"x"}`: false,
		`{"type":"result","subtype":"success","result":"x"}`:                  false,
		`{"type":"result","subtype":"success","is_error":1,"result":"x"}`:     true,
		`{"type":"result","subtype":{"code":"error_max_turns"}}`:              true,
	} {
		result, ok := wire.Decode([]byte(text)).(*wire.ResultMessage)
		if !ok || result.Failed() != want {
			t.Errorf("%s: failed %v", text, ok && result.Failed())
		}
	}
}
