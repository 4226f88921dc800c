package clewtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
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

// A difference is one place where a host frame is not what the scenario names.
type difference struct {
	pointer   string // a JSON pointer; "" is the whole frame
	want, got string
}

func (d difference) String() string {
	want, got := shortenPair(d.want, d.got)
	return fmt.Sprintf("%s: want %s, got %s", d.pointer, want, got)
}

// mostShown is how many bytes of a text are printed for people.
const mostShown = 240

// shorten cuts a text that is printed for people.
func shorten(text string) string { return excerpt(text, 0) }

// shortenPair cuts two texts that differ, so that the first difference is in what is left.
func shortenPair(a, b string) (string, string) {
	const before = 40
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	start := 0
	if max(len(a), len(b)) > mostShown && same > mostShown-before {
		start = same - before
	}
	return excerpt(a, start), excerpt(b, start)
}

// excerpt returns what of text is printed, from about start on.
func excerpt(text string, start int) string {
	for start > 0 && start < len(text) && !utf8.RuneStart(text[start]) {
		start--
	}
	start = min(start, len(text))
	shown := text[start:]
	if start == 0 && len(shown) <= mostShown {
		return shown
	}
	note := fmt.Sprintf(" (%d bytes)", len(text))
	if start > 0 {
		note = fmt.Sprintf(" (from byte %d of %d)", start, len(text))
		shown = "…" + shown
	}
	if len(shown) > mostShown {
		shown = strings.ToValidUTF8(shown[:mostShown], "") + "…"
	}
	return shown + note
}

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
