package clewtest

import (
	"encoding/json"
	"strconv"
	"strings"
)

// rewrite returns a frame of the agent with the host's ids in place of the scenario's. All else stays as it was written,
// and so does what is not JSON.
func (t *idTable) rewrite(frame string) string {
	if !t.mentioned(frame) {
		return frame
	}
	var head frameHead
	if !json.Valid([]byte(frame)) || json.Unmarshal([]byte(frame), &head) != nil {
		return frame
	}
	places := placesIn(agentPlaces, head)
	var out strings.Builder
	last := 0
	for s := range jsonStrings(frame) {
		kind := placeAt(places, s.pointer).kind
		if kind == noID {
			continue
		}
		actual, ok := t.actual(idKey{kind, s.value})
		if !ok {
			continue
		}
		out.WriteString(frame[last:s.start] + encodeJSON(actual))
		last = s.end
	}
	out.WriteString(frame[last:])
	return out.String()
}

// mentioned reports whether an id that the host calls otherwise may be in frame.
func (t *idTable) mentioned(frame string) bool {
	escaped := strings.Contains(frame, `\`)
	if len(t.unnamed) > 0 && (escaped || strings.Contains(frame, Any)) {
		return true
	}
	for key, actual := range t.bound {
		if key.id != actual && (escaped || strings.Contains(frame, encodeJSON(key.id))) {
			return true
		}
	}
	return false
}

// A jsonString is a string in a JSON text, and where it stands.
type jsonString struct {
	pointer, value string
	start, end     int
}

// A nesting is an object or a list that is open.
type nesting struct {
	pointer string // of itself
	object  bool
	wantKey bool
	key     string // of the member whose value comes next
	index   int    // of the element that comes next
}

// next returns the pointer of the value that comes next, and counts it.
func (n *nesting) next() string {
	switch {
	case n.object:
		n.wantKey = true
		return n.pointer + "/" + escapePointer(n.key)
	case n.index < 0:
		return n.pointer
	}
	n.index++
	return n.pointer + "/" + strconv.Itoa(n.index-1)
}

// jsonStrings yields the strings of a text that is valid JSON, without the names of members.
func jsonStrings(text string) func(yield func(jsonString) bool) {
	return func(yield func(jsonString) bool) {
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		open := []nesting{{index: -1}}
		for {
			before := int(d.InputOffset())
			token, err := d.Token()
			if err != nil {
				return
			}
			top := &open[len(open)-1]
			value, isString := token.(string)
			switch {
			case token == json.Delim('}') || token == json.Delim(']'):
				open = open[:len(open)-1]
			case isString && top.wantKey:
				top.key, top.wantKey = value, false
			case token == json.Delim('{') || token == json.Delim('['):
				object := token == json.Delim('{')
				open = append(open, nesting{pointer: top.next(), object: object, wantKey: object})
			default:
				pointer := top.next()
				start := before + max(0, strings.IndexByte(text[before:], '"'))
				if isString && !yield(jsonString{pointer, value, start, int(d.InputOffset())}) {
					return
				}
			}
		}
	}
}
