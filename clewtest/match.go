package clewtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// A wanted frame is one that the host is expected to send.
type wanted struct {
	text  string
	value map[string]any
}

func newWanted(text string) (wanted, error) {
	value, err := decodeObject(text)
	if err != nil {
		return wanted{}, fmt.Errorf("an expected frame that is no JSON object (%w): %s", err, shorten(text))
	}
	return wanted{text, value}, nil
}

func (w wanted) frameType() string {
	t, _ := w.value["type"].(string)
	return t
}

// decodeObject reads one JSON object, with its numbers as they are written.
func decodeObject(text string) (map[string]any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if v == nil {
		return nil, errors.New("null")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one value")
	}
	return v, nil
}

// A matcher compares one host frame with one expected frame. It changes no id: what it would bind is in bindings.
type matcher struct {
	ids      *idTable
	head     frameHead // of the expected frame
	places   []idPlace
	bindings []binding
	diffs    []difference
	named    int // values of the scenario that were compared and fit
}

// match compares got with w.
func match(ids *idTable, w wanted, got map[string]any) *matcher {
	head := headOf(w.value)
	m := &matcher{ids: ids, head: head, places: placesIn(hostPlaces, head)}
	m.object("", w.value, got)
	return m
}

func (m *matcher) differ(at, want, got string) {
	m.diffs = append(m.diffs, difference{at, want, got})
}

func (m *matcher) value(at string, want, got any) {
	place := placeAt(m.places, at)
	if w, ok := want.(string); ok && place.kind != noID {
		m.id(at, place, w, got)
		return
	}
	switch w := want.(type) {
	case map[string]any:
		if g, ok := got.(map[string]any); ok {
			m.object(at, w, g)
			return
		}
	case []any:
		if g, ok := got.([]any); ok {
			m.list(at, w, g)
			return
		}
	default:
		if want == Any {
			return
		}
		if sameScalar(want, got) {
			m.named++
			return
		}
	}
	m.differ(at, encodeJSON(want), encodeJSON(got))
}

func (m *matcher) object(at string, want, got map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		pointer := at + "/" + escapePointer(name)
		if g, there := got[name]; there {
			m.value(pointer, want[name], g)
			continue
		}
		if want[name] != nil && !placeAt(m.places, pointer).optional {
			m.differ(pointer, encodeJSON(want[name]), "nothing")
		}
	}
}

func (m *matcher) list(at string, want, got []any) {
	if len(want) != len(got) {
		m.differ(at, fmt.Sprintf("a list of %d, %s", len(want), encodeJSON(want)),
			fmt.Sprintf("a list of %d, %s", len(got), encodeJSON(got)))
		return
	}
	for i := range want {
		m.value(fmt.Sprintf("%s/%d", at, i), want[i], got[i])
	}
}

// id compares an id that the host may choose.
func (m *matcher) id(at string, place idPlace, want string, got any) {
	actual, ok := got.(string)
	switch {
	case !ok && got == nil && place.optional:
	case !ok:
		m.differ(at, encodeJSON(want), encodeJSON(got))
	case want == Any && m.head.Type == "control_cancel_request":
	case place.kind == requestID:
		m.requestID(at, want, actual)
	case place.kind == callbackID:
		m.callbackID(at, want, actual)
	case place.kind == messageID && actual != "":
		m.bindings = append(m.bindings, binding{idKey{messageID, want}, actual})
	}
}

// requestID compares an id of a request that the host made.
func (m *matcher) requestID(at, want, got string) {
	if bound, ok := m.ids.bound[idKey{requestID, want}]; ok {
		if bound != got {
			m.differ(at, fmt.Sprintf("%q, as before for %q", bound, want), encodeJSON(got))
		}
		return
	}
	if other, ok := m.ids.taken[got]; ok && want != Any {
		m.differ(at, fmt.Sprintf("a new id for %q", want), fmt.Sprintf("%q, which stands for %q already", got, other))
		return
	}
	m.bindings = append(m.bindings, binding{idKey{requestID, want}, got})
}

// callbackID compares an id of a hook. A later initialize may choose anew, so that only this frame counts.
func (m *matcher) callbackID(at, want, got string) {
	key := idKey{callbackID, want}
	for _, b := range m.bindings {
		if b.key == key && b.actual != got && want != Any {
			m.differ(at, fmt.Sprintf("%q, as before for %q", b.actual, want), encodeJSON(got))
			return
		}
	}
	m.bindings = append(m.bindings, binding{key, got})
}

// sameScalar compares values that are neither objects nor lists.
func sameScalar(want, got any) bool {
	switch got.(type) {
	case map[string]any, []any:
		return false
	}
	w, isNumber := want.(json.Number)
	g, ok := got.(json.Number)
	return want == got || isNumber && ok && sameNumber(w, g)
}

// sameNumber compares numbers by value: 1, 1.0 and 1e0 are the same.
func sameNumber(a, b json.Number) bool {
	if a == b {
		return true
	}
	x, errA := a.Float64()
	y, errB := b.Float64()
	return errA == nil && errB == nil && x == y && !(isInteger(a) && isInteger(b))
}

func isInteger(n json.Number) bool {
	return !strings.ContainsAny(n.String(), ".eE")
}

func escapePointer(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// encodeJSON returns a value that was decoded as JSON, whole.
func encodeJSON(v any) string {
	data, err := marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}

// marshal writes v without the escapes that are for web pages: Any stays readable.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}
