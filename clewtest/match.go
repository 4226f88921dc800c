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

// A difference is one place where a host frame is not what the scenario names.
type difference struct {
	pointer   string // a JSON pointer; "" is the whole frame
	want, got string
}

func (d difference) String() string {
	return fmt.Sprintf("%s: want %s, got %s", d.pointer, d.want, d.got)
}

// A matcher compares one host frame with one expected frame. It changes no id: what it would bind is in bindings.
type matcher struct {
	ids      *idTable
	answer   bool // the frame answers a request of the agent, and so carries the agent's id
	bindings []binding
	diffs    []difference
}

// match compares got with w.
func match(ids *idTable, w wanted, got map[string]any) *matcher {
	m := &matcher{ids: ids, answer: w.frameType() == "control_response"}
	m.object("", w.value, got)
	return m
}

func (m *matcher) differ(at, want, got string) {
	m.diffs = append(m.diffs, difference{at, want, got})
}

// value compares one value. name is the member that it belongs to, through lists.
func (m *matcher) value(at, name string, want, got any) {
	if want == Any {
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
			m.list(at, name, w, g)
			return
		}
	case string:
		if g, ok := got.(string); ok {
			m.text(at, name, w, g)
			return
		}
	case json.Number:
		if g, ok := got.(json.Number); ok && sameNumber(w, g) {
			return
		}
	default:
		if want == got {
			return
		}
	}
	m.differ(at, jsonText(want), jsonText(got))
}

func (m *matcher) object(at string, want, got map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		w, there := at+"/"+escapePointer(name), false
		var g any
		if g, there = got[name]; there {
			m.value(w, name, want[name], g)
			continue
		}
		if want[name] != nil && !idMembers[name].optional() {
			m.differ(w, jsonText(want[name]), "nothing")
		}
	}
}

func (m *matcher) list(at, name string, want, got []any) {
	if len(want) != len(got) {
		m.differ(at, fmt.Sprintf("a list of %d, %s", len(want), jsonText(want)),
			fmt.Sprintf("a list of %d, %s", len(got), jsonText(got)))
		return
	}
	for i := range want {
		m.value(fmt.Sprintf("%s/%d", at, i), name, want[i], got[i])
	}
}

func (m *matcher) text(at, name, want, got string) {
	kind := idMembers[name]
	switch {
	case kind == noID || kind == requestID && m.answer:
		if want != got {
			m.differ(at, jsonText(want), jsonText(got))
		}
	case kind == requestID:
		m.requestID(at, want, got)
	default:
		m.bindings = append(m.bindings, binding{idKey{kind, want}, got})
	}
}

// requestID compares an id of a request that the host made.
func (m *matcher) requestID(at, want, got string) {
	if bound, ok := m.ids.bound[idKey{requestID, want}]; ok {
		if bound != got {
			m.differ(at, fmt.Sprintf("%q, as before for %q", bound, want), jsonText(got))
		}
		return
	}
	if other, ok := m.ids.taken[got]; ok {
		m.differ(at, fmt.Sprintf("a new id for %q", want), fmt.Sprintf("%q, which stands for %q already", got, other))
		return
	}
	m.bindings = append(m.bindings, binding{idKey{requestID, want}, got})
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

func jsonText(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return shorten(strings.TrimSpace(b.String()))
}
