package simagent

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

// A wanted frame is expected from the host.
type wanted struct {
	text  string
	value map[string]any
}

func newWanted(text string) (wanted, error) {
	value, err := decodeObject(text)
	if err != nil {
		return wanted{}, fmt.Errorf("the expected frame is not a JSON object (%w): %s", err, shorten(text))
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

// A matcher compares one host frame with one expected frame. It does not change the table of ids:
// the caller binds what is in bindings if the frame fits.
type matcher struct {
	ids      *idTable
	head     frameHead // of the expected frame
	fields   []idField
	bindings []binding
	diffs    []difference
	named    int // how many values of the expected frame were compared and fit
}

// match compares got with w.
func match(ids *idTable, w wanted, got map[string]any) *matcher {
	head := headOf(w.value)
	m := &matcher{ids: ids, head: head, fields: fieldsIn(hostFields, head)}
	m.object("", w.value, got)
	return m
}

func (m *matcher) differ(at, want, got string) {
	m.diffs = append(m.diffs, difference{at, want, got})
}

func (m *matcher) value(at string, want, got any) {
	field := fieldAt(m.fields, at)
	if w, ok := want.(string); ok && field.kind != noID {
		m.id(at, field, w, got)
		return
	}
	if m.head.Type == "user" && at == "/message/content" {
		want, got = sameForm(want, got)
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
		if sameScalar(want, got) || fitsMasked(want, got) {
			m.named++
			return
		}
	}
	m.differ(at, encodeJSON(want), encodeJSON(got))
}

// sameForm returns the contents of two prompts in the same form if one of them is a text: a text
// means a list with one text block.
func sameForm(want, got any) (any, any) {
	wanted, isText := want.(string)
	list, isList := got.([]any)
	switch {
	case isText && isList && want != Any:
		return textBlocks(wanted), list
	case !isText && !isList:
		if text, ok := got.(string); ok {
			return want, textBlocks(text)
		}
	}
	return want, got
}

func textBlocks(text string) []any {
	return []any{map[string]any{"type": "text", "text": text}}
}

// masked stands in recordings for a secret.
const masked = "***"

// fitsMasked reports whether got is a text that want is a recording of, with secrets masked.
func fitsMasked(want, got any) bool {
	w, isText := want.(string)
	rest, ok := got.(string)
	parts := strings.Split(w, masked)
	if !isText || !ok || len(parts) == 1 || !strings.HasPrefix(rest, parts[0]) {
		return false
	}
	rest = rest[len(parts[0]):]
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		i := strings.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	return strings.HasSuffix(rest, parts[last])
}

func (m *matcher) object(at string, want, got map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		pointer := at + "/" + escapePointer(name)
		if g, there := got[name]; there {
			m.value(pointer, want[name], g)
			continue
		}
		if want[name] != nil && !fieldAt(m.fields, pointer).optional {
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
func (m *matcher) id(at string, field idField, want string, got any) {
	actual, ok := got.(string)
	switch {
	case !ok && got == nil && field.optional:
	case !ok:
		m.differ(at, encodeJSON(want), encodeJSON(got))
	case want == Any && m.head.Type == "control_cancel_request":
	case field.kind == requestID:
		m.requestID(at, want, actual)
	case field.kind == callbackID:
		m.callbackID(at, want, actual)
	case field.kind == messageID && actual != "":
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

// callbackID compares an id of a hook with the others in this frame. Earlier frames don't count: a
// later initialize may choose other ids.
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

// encodeJSON returns the JSON of a value that was decoded from JSON.
func encodeJSON(v any) string {
	data, err := marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}

// marshal is json.Marshal without escapes for web pages, so that Any stays readable.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// A difference is a value in a host frame that differs from the scenario's value.
type difference struct {
	pointer   string // a JSON pointer; "" is the whole frame
	want, got string
}

func (d difference) String() string {
	want, got := shortenPair(d.want, d.got)
	return fmt.Sprintf("%s: want %s, got %s", d.pointer, want, got)
}

// maxShown is the maximum number of bytes of a text that a report shows.
const maxShown = 240

// shorten returns the beginning of a text, for a report.
func shorten(text string) string { return excerpt(text, 0) }

// shortenPair returns excerpts of two texts that differ. The first difference is in them.
func shortenPair(a, b string) (string, string) {
	const before = 40
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	start := 0
	if max(len(a), len(b)) > maxShown && same > maxShown-before {
		start = same - before
	}
	return excerpt(a, start), excerpt(b, start)
}

// excerpt returns up to maxShown bytes of text, from about start on.
func excerpt(text string, start int) string {
	for start > 0 && start < len(text) && !utf8.RuneStart(text[start]) {
		start--
	}
	start = min(start, len(text))
	shown := text[start:]
	if start == 0 && len(shown) <= maxShown {
		return shown
	}
	note := fmt.Sprintf(" (%d bytes)", len(text))
	if start > 0 {
		note = fmt.Sprintf(" (from byte %d of %d)", start, len(text))
		shown = "…" + shown
	}
	if len(shown) > maxShown {
		shown = strings.ToValidUTF8(shown[:maxShown], "") + "…"
	}
	return shown + note
}

// An idKind is the kind of thing that an id identifies.
type idKind int

const (
	noID       idKind = iota
	requestID         // of a control request of the host
	callbackID        // of a hook of the host
	messageID         // of a message of the host
	sessionID         // of the session, which the agent chooses
)

// An idField is a field of frames that holds an id. A field with the same name in another place,
// such as in a tool input, is a value like any other.
type idField struct {
	kind     idKind
	types    []string // of frames; nil is any
	subtype  string   // of the frame or its request; "" is any
	pointer  string   // a JSON pointer, with * for any member or element
	optional bool     // the host may leave it out
}

// hostFields are the ids in frames of the host that need not equal the scenario's.
var hostFields = []idField{
	{kind: requestID, types: []string{"", "control_request", "control_cancel_request"}, pointer: "/request_id"},
	{kind: callbackID, types: []string{"control_request"}, pointer: "/request/hooks/*/*/hookCallbackIds/*"},
	{kind: messageID, types: []string{"control_request"}, subtype: "cancel_async_message", pointer: "/request/message_uuid"},
	{kind: messageID, types: []string{"control_request"}, subtype: "rewind_files", pointer: "/request/user_message_id"},
	{kind: messageID, pointer: "/uuid", optional: true},
	{kind: sessionID, pointer: "/session_id", optional: true},
}

// agentFields are the ids of the host that frames of the agent repeat. The ids of the agent's own
// requests are not among them.
var agentFields = []idField{
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

// A frameHead holds the fields of a frame that decide which idFields it has.
type frameHead struct {
	Type     string `json:"type"`
	Subtype  string `json:"subtype"`
	IsReplay bool   `json:"isReplay"`
	Request  struct {
		Subtype string `json:"subtype"`
	} `json:"request"`
}

// headOf returns the head of a decoded frame.
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

// fieldsIn returns the fields that a frame with this head can have.
func fieldsIn(fields []idField, h frameHead) []idField {
	var in []idField
	for _, p := range fields {
		ofType := p.types == nil || slices.Contains(p.types, h.kind())
		if ofType && (p.subtype == "" || p.subtype == h.Subtype || p.subtype == h.Request.Subtype) {
			in = append(in, p)
		}
	}
	return in
}

// fieldAt returns the field at a pointer. Its kind is noID if the pointer does not name an id.
func fieldAt(fields []idField, pointer string) idField {
	for _, p := range fields {
		if ok, err := path.Match(p.pointer, pointer); ok && err == nil {
			return p
		}
	}
	return idField{}
}

type idKey struct {
	kind idKind
	id   string // the scenario's
}

// A binding is the id that the host uses in place of a scenario's id.
type binding struct {
	key    idKey
	actual string
}

// An idTable maps the ids of the scenario to the host's.
type idTable struct {
	bound   map[idKey]string
	taken   map[string]string // request ids of the scenario by the host's
	unnamed []string          // the host's ids of unanswered requests for which the scenario has Any
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

// actual returns the host's id for an id of the scenario. For Any it takes the oldest request
// without a name off the list.
func (t *idTable) actual(key idKey) (string, bool) {
	if key == (idKey{requestID, Any}) && len(t.unnamed) > 0 {
		id := t.unnamed[0]
		t.unnamed = t.unnamed[1:]
		return id, true
	}
	id, ok := t.bound[key]
	return id, ok
}

// rewrite returns a frame of the agent with the host's ids in place of the scenario's. Everything
// else stays as it was written, and so does text that is not JSON.
func (t *idTable) rewrite(frame string) string {
	if !t.mentioned(frame) {
		return frame
	}
	var head frameHead
	if !json.Valid([]byte(frame)) {
		return frame
	}
	_ = json.Unmarshal([]byte(frame), &head) // a field of another type is as good as none
	fields := fieldsIn(agentFields, head)
	var out strings.Builder
	last := 0
	for s := range jsonStrings(frame) {
		kind := fieldAt(fields, s.pointer).kind
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

// mentioned reports whether frame may hold an id that has to be replaced. It is a quick test that
// avoids most parsing.
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

// A jsonString is a string in a JSON text, with its pointer and its offsets.
type jsonString struct {
	pointer, value string
	start, end     int
}

// A nesting is an object or a list whose end has not been read yet.
type nesting struct {
	pointer string // of itself
	object  bool
	wantKey bool
	key     string // of the member whose value comes next
	index   int    // of the element that comes next
}

// next returns the pointer of the value that comes next, and moves on to the one after it.
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

// jsonStrings yields the strings of a valid JSON text, except the names of members.
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
