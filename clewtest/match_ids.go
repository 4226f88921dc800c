package clewtest

import (
	"path"
	"slices"
)

// An idKind says which ids belong together.
type idKind int

const (
	noID       idKind = iota
	requestID         // of a control request of the host
	callbackID        // of a hook of the host
	messageID         // of a message of the host
	sessionID         // of the session, which the agent chooses
)

// An idPlace is where frames hold ids. Only these places count: a member of the same name elsewhere, such as in the input of
// a tool, is a value like any other.
type idPlace struct {
	kind     idKind
	types    []string // of frames; nil is any
	subtype  string   // of the frame or its request; "" is any
	pointer  string   // a JSON pointer, with * for any member or element
	optional bool     // the host may leave it out
}

// hostPlaces are the ids in frames of the host that need not be those of the scenario.
var hostPlaces = []idPlace{
	{kind: requestID, types: []string{"", "control_request", "control_cancel_request"}, pointer: "/request_id"},
	{kind: callbackID, types: []string{"control_request"}, pointer: "/request/hooks/*/*/hookCallbackIds/*"},
	{kind: messageID, types: []string{"control_request"}, subtype: "cancel_async_message", pointer: "/request/message_uuid"},
	{kind: messageID, types: []string{"control_request"}, subtype: "rewind_files", pointer: "/request/user_message_id"},
	{kind: messageID, pointer: "/uuid", optional: true},
	{kind: sessionID, pointer: "/session_id", optional: true},
}

// agentPlaces are the ids of the host that frames of the agent repeat. The requests of the agent have ids of its own.
var agentPlaces = []idPlace{
	{kind: requestID, types: []string{"control_response"}, pointer: "/response/request_id"},
	{kind: requestID, types: []string{"system"}, subtype: "control_request_progress", pointer: "/request_id"},
	{kind: callbackID, types: []string{"control_request"}, subtype: "hook_callback", pointer: "/request/callback_id"},
	{kind: messageID, types: []string{"control_response"}, pointer: "/response/response/still_queued/*"},
	{kind: messageID, types: []string{"control_response"}, pointer: "/response/response/cancelled/*"},
	{kind: messageID, types: []string{"command_lifecycle"}, pointer: "/command_uuid"},
	{kind: messageID, types: []string{replayType}, pointer: "/uuid"},
	{kind: messageID, pointer: "/user_message_uuid"},
	{kind: messageID, pointer: "/user_message_uuids/*"},
	{kind: messageID, types: []string{"system"}, pointer: "/refused_user_message_uuid"},
}

// replayType stands for the type of a user frame in which the agent repeats one of the host.
const replayType = "user, isReplay"

// A frameHead is what of a frame decides where its ids are.
type frameHead struct {
	Type     string `json:"type"`
	Subtype  string `json:"subtype"`
	IsReplay bool   `json:"isReplay"`
	Request  struct {
		Subtype string `json:"subtype"`
	} `json:"request"`
}

// headOf returns the head of a frame that is decoded.
func headOf(frame map[string]any) frameHead {
	var h frameHead
	h.Type, _ = frame["type"].(string)
	h.Subtype, _ = frame["subtype"].(string)
	if request, ok := frame["request"].(map[string]any); ok {
		h.Request.Subtype, _ = request["subtype"].(string)
	}
	return h
}

func (h frameHead) kind() string {
	if h.Type == "user" && h.IsReplay {
		return replayType
	}
	return h.Type
}

// placesIn returns the places that a frame can have.
func placesIn(places []idPlace, h frameHead) []idPlace {
	var in []idPlace
	for _, p := range places {
		ofType := p.types == nil || slices.Contains(p.types, h.kind())
		if ofType && (p.subtype == "" || p.subtype == h.Subtype || p.subtype == h.Request.Subtype) {
			in = append(in, p)
		}
	}
	return in
}

// placeAt returns the place at a pointer. Its kind is noID where there is none.
func placeAt(places []idPlace, pointer string) idPlace {
	for _, p := range places {
		if ok, err := path.Match(p.pointer, pointer); ok && err == nil {
			return p
		}
	}
	return idPlace{}
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
	bound   map[idKey]string
	taken   map[string]string // request ids of the scenario by the host's
	unnamed []string          // request ids of the host for which the scenario has Any, and that have no answer
}

func newIDTable() *idTable {
	return &idTable{bound: map[idKey]string{}, taken: map[string]string{}}
}

func (t *idTable) bind(bindings []binding) {
	for _, b := range bindings {
		if b.key == (idKey{requestID, Any}) {
			t.unnamed = append(t.unnamed, b.actual)
			continue
		}
		t.bound[b.key] = b.actual
		if b.key.kind == requestID {
			t.taken[b.actual] = b.key.id
		}
	}
}

// actual returns the host's id for the scenario's. Any is the oldest request without a name, which is answered then.
func (t *idTable) actual(key idKey) (string, bool) {
	if key == (idKey{requestID, Any}) && len(t.unnamed) > 0 {
		id := t.unnamed[0]
		t.unnamed = t.unnamed[1:]
		return id, true
	}
	id, ok := t.bound[key]
	return id, ok
}
