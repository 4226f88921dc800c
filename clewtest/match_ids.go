package clewtest

import (
	"encoding/json"
	"strconv"
	"strings"
)

// An idKind says which ids belong together.
type idKind int

const (
	noID idKind = iota
	requestID
	messageID
	sessionID
)

// idMembers are the members of frames that hold ids, or lists of ids.
var idMembers = map[string]idKind{
	"request_id":         requestID,
	"uuid":               messageID,
	"message_uuid":       messageID,
	"user_message_uuid":  messageID,
	"user_message_uuids": messageID,
	"user_message_id":    messageID,
	"session_id":         sessionID,
}

// optional reports whether the host may leave such a member out.
func (k idKind) optional() bool {
	return k == messageID || k == sessionID
}

type idKey struct {
	kind idKind
	id   string // the scenario's
}

// A binding says what the host calls an id of the scenario.
type binding struct {
	key    idKey
	actual string
}

// An idTable holds the host's ids by the scenario's.
type idTable struct {
	bound map[idKey]string
	taken map[string]string // request ids of the scenario by the host's
}

func newIDTable() *idTable {
	return &idTable{map[idKey]string{}, map[string]string{}}
}

func (t *idTable) bind(bindings []binding) {
	for _, b := range bindings {
		t.bound[b.key] = b.actual
		if b.key.kind == requestID {
			t.taken[b.actual] = b.key.id
		}
	}
}

// rewrite returns a frame of the agent with the host's ids in place of the scenario's. All else stays as it was written,
// and so does what is not JSON.
func (t *idTable) rewrite(frame string) string {
	if !t.mentioned(frame) {
		return frame
	}
	var head struct {
		Type string `json:"type"`
	}
	if json.Unmarshal([]byte(frame), &head) != nil {
		return frame
	}
	// The agent's own requests, and their cancellation, carry ids of its own.
	own := head.Type == "control_request" || head.Type == "control_cancel_request"
	var out strings.Builder
	last := 0
	for s := range memberStrings(frame) {
		kind := idMembers[s.name]
		actual, ok := t.bound[idKey{kind, s.value}]
		if !ok || own && kind == requestID {
			continue
		}
		quoted, err := json.Marshal(actual)
		if err != nil {
			continue
		}
		out.WriteString(frame[last:s.start])
		out.Write(quoted)
		last = s.end
	}
	out.WriteString(frame[last:])
	return out.String()
}

// mentioned reports whether an id that the host calls otherwise may be in frame.
func (t *idTable) mentioned(frame string) bool {
	for key, actual := range t.bound {
		if key.id != actual && strings.Contains(frame, strconv.Quote(key.id)) {
			return true
		}
	}
	return false
}

// A memberString is a string in a JSON text, where it stands, and the member that it is the value of, through lists.
type memberString struct {
	name, value string
	start, end  int
}

// A nesting is an object or a list that is open.
type nesting struct {
	object  bool
	wantKey bool
	name    string // of the member whose value comes next; for a list, of the list itself
}

// memberStrings yields the strings of a text that is valid JSON, without the names of members.
func memberStrings(text string) func(yield func(memberString) bool) {
	return func(yield func(memberString) bool) {
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		open := []nesting{{}}
		for {
			before := int(d.InputOffset())
			token, err := d.Token()
			if err != nil {
				return
			}
			top := &open[len(open)-1]
			switch token := token.(type) {
			case json.Delim:
				open = nest(open, token)
				continue
			case string:
				if top.wantKey {
					top.name, top.wantKey = token, false
					continue
				}
				start := before + strings.IndexByte(text[before:], '"')
				if !yield(memberString{top.name, token, start, int(d.InputOffset())}) {
					return
				}
			}
			top.wantKey = top.object
		}
	}
}

// nest opens or closes an object or a list.
func nest(open []nesting, token json.Delim) []nesting {
	top := &open[len(open)-1]
	switch token {
	case '{':
		return append(open, nesting{object: true, wantKey: true})
	case '[':
		return append(open, nesting{name: top.name})
	}
	open = open[:len(open)-1]
	top = &open[len(open)-1]
	top.wantKey = top.object
	return open
}
