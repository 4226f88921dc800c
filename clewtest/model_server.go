package clewtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/clewdev/clew/wire"
)

const (
	messagesPath = "/v1/messages"
	countPath    = "/v1/messages/count_tokens"
)

// serve answers one HTTP request.
func (m *Model) serve(w http.ResponseWriter, r *http.Request) {
	if !m.enter() {
		panic(http.ErrAbortHandler)
	}
	defer m.active.Done()
	w.Header().Set("request-id", m.nextID("req"))
	req := &Request{Method: r.Method, Host: r.Host, Path: r.URL.Path, RawQuery: r.URL.RawQuery, Header: r.Header.Clone()}
	if !loopback(r.RemoteAddr) || !loopback(r.Host) {
		req.refused = true
		m.record(req)
		writeError(w, http.StatusForbidden, "clewtest: the scripted model serves the loopback interface only")
		return
	}
	var err error
	if req.Body, err = io.ReadAll(r.Body); err != nil {
		return // the client is gone
	}
	switch {
	case req.forAnswer():
		m.serveMessages(w, r, req)
	case req.Path == countPath && req.Method == http.MethodPost:
		m.serveCount(w, req)
	default:
		m.record(req)
		serveOther(w, req)
	}
}

// loopback reports whether addr, a host with or without a port, is this machine as seen from itself. A name other than
// localhost is not: it may have been made to point here by somebody else.
func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = strings.Trim(addr, "[]")
	}
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// serveMessages answers a request for an answer by the rules.
func (m *Model) serveMessages(w http.ResponseWriter, r *http.Request, req *Request) {
	err := req.decode()
	m.record(req)
	if err != nil {
		m.tb.Errorf("clewtest: the model got a request that it cannot read: %v\n%s", err, clip(string(req.Body)))
		writeError(w, http.StatusBadRequest, "clewtest: "+err.Error())
		return
	}
	a, err := m.take(req)
	switch {
	case err == nil:
	case errors.Is(err, errNoRule) && req.background:
		m.tb.Logf("clewtest: answered in the background, without a rule:\n%s", describe(req))
		a = m.newRule(nil).Reply(Text("ok")).answer
	default:
		m.tb.Errorf("clewtest: %v:\n%s", err, describe(req))
		writeError(w, http.StatusBadRequest, "clewtest: "+err.Error())
		return
	}
	m.pause(r, a.delay)
	m.serveAnswer(w, r, req, a)
}

// serveAnswer carries an answer out.
func (m *Model) serveAnswer(w http.ResponseWriter, r *http.Request, req *Request, a answer) {
	switch {
	case a.kind == answerHang:
		m.hang(r)
	case a.kind == answerFail:
		a.writeFailure(w)
	case req.Stream:
		m.stream(w, r, m.compose(req, &a), a)
	default:
		m.plain(w, m.compose(req, &a), a)
	}
}

// pause waits for d. When the client or the test ends first, it cuts the connection and does not return.
func (m *Model) pause(r *http.Request, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-m.done:
		panic(http.ErrAbortHandler)
	case <-r.Context().Done():
		panic(http.ErrAbortHandler)
	}
}

// hang waits until the client or the test ends, and then cuts the connection.
func (m *Model) hang(r *http.Request) {
	select {
	case <-m.done:
	case <-r.Context().Done():
	}
	panic(http.ErrAbortHandler)
}

// serveCount answers with a rough count: four bytes a token.
func (m *Model) serveCount(w http.ResponseWriter, req *Request) {
	err := req.decode()
	m.record(req)
	if err != nil {
		writeError(w, http.StatusBadRequest, "clewtest: "+err.Error())
		return
	}
	writeJSON(w, http.StatusOK, map[string]int{"input_tokens": 1 + len(req.Body)/4})
}

// serveOther answers what a model does not serve: an error under /v1/, and an empty object elsewhere, where the agent
// looks whether the host is there or reports what it did.
func serveOther(w http.ResponseWriter, req *Request) {
	if strings.HasPrefix(req.Path, "/v1/") {
		writeError(w, http.StatusNotFound, fmt.Sprintf("clewtest: the scripted model has no %s %s", req.Method, req.Path))
		return
	}
	writeJSON(w, http.StatusOK, struct{}{})
}

// writeJSON writes v as the whole body. A client that is gone by then is no fault of the test.
func writeJSON(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("clewtest: %v", err)) // only values of this package come here
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	w.WriteHeader(status)
	_, _ = w.Write(data)
}

// describe tells what a request asked, in a few lines.
func describe(req *Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  model %s, %d messages, %d tools\n", req.Model, len(req.Messages), len(req.Tools))
	fmt.Fprintf(&b, "  newest prompt: %q", clip(req.Prompt()))
	for _, result := range req.ToolResults() {
		fmt.Fprintf(&b, "\n  result of a tool: %q", clip(result.Text()))
	}
	return b.String()
}

// clip returns the beginning of text.
func clip(text string) string {
	const limit = 500
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "..."
}

// tokens is the usage that a reply reports.
type tokens struct {
	Input      int `json:"input_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"`
	CacheRead  int `json:"cache_read_input_tokens"`
	Output     int `json:"output_tokens"`

	more map[string]any
}

// MarshalJSON puts the further members behind the counts.
func (t tokens) MarshalJSON() ([]byte, error) {
	type counts tokens
	data, err := json.Marshal(counts(t))
	if err != nil || len(t.more) == 0 {
		return data, err
	}
	more, err := json.Marshal(t.more)
	if err != nil {
		return nil, err
	}
	return append(append(data[:len(data)-1], ','), more[1:]...), nil
}

// replyMessage is the JSON of an answer. The API sends null, and not nothing, where there is no stop reason.
type replyMessage struct {
	ID           string           `json:"id"`
	Type         string           `json:"type"`
	Role         wire.Role        `json:"role"`
	Model        string           `json:"model"`
	Content      []wire.Block     `json:"content"`
	StopReason   *wire.StopReason `json:"stop_reason"`
	StopSequence *string          `json:"stop_sequence"`
	Usage        tokens           `json:"usage"`
}

// compose makes the whole answer to req.
func (m *Model) compose(req *Request, a *answer) *replyMessage {
	msg := &replyMessage{
		ID: m.nextID("msg"), Type: "message", Role: wire.RoleAssistant, Model: a.model,
		Content: []wire.Block{}, StopReason: &a.stop, Usage: a.usage,
	}
	if msg.Model == "" {
		msg.Model = req.Model
	}
	for _, block := range a.blocks {
		msg.Content = append(msg.Content, m.withID(block))
	}
	if a.stop == "" {
		a.stop = wire.StopReasonEndTurn
		if len(wire.Content(msg.Content).ToolUses()) > 0 {
			a.stop = wire.StopReasonToolUse
		}
	}
	return msg
}

// plain writes the answer as one JSON object.
func (m *Model) plain(w http.ResponseWriter, msg *replyMessage, a answer) {
	data, err := json.Marshal(msg)
	if err != nil {
		m.refuse(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	if a.cut >= 0 {
		_, _ = w.Write(data[:len(data)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(data)
}

// stream writes the answer as server-sent events, each on its way before the next.
func (m *Model) stream(w http.ResponseWriter, r *http.Request, msg *replyMessage, a answer) {
	events, err := eventsOf(msg, a.chunk)
	if err != nil {
		m.refuse(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	out := http.NewResponseController(w)
	_ = out.Flush()
	for i, ev := range events {
		if i > 0 {
			m.pause(r, a.pace)
		}
		if i == a.cut {
			panic(http.ErrAbortHandler)
		}
		if _, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", ev.name, ev.data); err != nil {
			return
		}
		_ = out.Flush()
	}
	if a.cut >= len(events) {
		panic(http.ErrAbortHandler)
	}
}

// refuse reports a block of a rule that has no JSON.
func (m *Model) refuse(w http.ResponseWriter, err error) {
	m.tb.Errorf("clewtest: a reply of the model cannot be written: %v", err)
	writeError(w, http.StatusInternalServerError, "clewtest: "+err.Error())
}

// An sseEvent is one server-sent event of a streamed answer.
type sseEvent struct {
	name string
	data []byte
}

// An eventList collects the events of an answer. The first error stays, and nothing is added after it.
type eventList struct {
	events []sseEvent
	err    error
}

type object map[string]any

// add appends an event; body gets its type.
func (l *eventList) add(name string, body object) {
	if l.err != nil {
		return
	}
	body["type"] = name
	var data []byte
	if data, l.err = json.Marshal(body); l.err == nil {
		l.events = append(l.events, sseEvent{name, data})
	}
}

// eventsOf returns the events that stream msg, with deltas of chunk runes.
func eventsOf(msg *replyMessage, chunk int) ([]sseEvent, error) {
	start := *msg
	start.Content, start.StopReason, start.Usage.Output = []wire.Block{}, nil, 1
	list := &eventList{}
	list.add("message_start", object{"message": &start})
	list.add("ping", object{})
	for i, block := range msg.Content {
		list.addBlock(i, block, chunk)
	}
	list.add("message_delta", object{
		"delta": object{"stop_reason": msg.StopReason, "stop_sequence": nil},
		"usage": msg.Usage,
	})
	list.add("message_stop", object{})
	return list.events, list.err
}

// addBlock appends the events of one block. A block that is not streamed in parts comes whole at its start.
func (l *eventList) addBlock(index int, block wire.Block, chunk int) {
	switch b := block.(type) {
	case *wire.TextBlock:
		l.start(index, object{"type": "text", "text": ""})
		l.deltas(index, "text_delta", "text", split(b.Text, chunk))
	case *wire.ThinkingBlock:
		l.start(index, object{"type": "thinking", "thinking": "", "signature": ""})
		l.deltas(index, "thinking_delta", "thinking", split(b.Thinking, chunk))
		l.deltas(index, "signature_delta", "signature", []string{b.Signature})
	case *wire.ToolUseBlock:
		l.start(index, object{"type": "tool_use", "id": b.ID, "name": b.Name, "input": object{}})
		l.deltas(index, "input_json_delta", "partial_json", split(string(b.Input), chunk))
	default:
		l.start(index, block)
	}
	l.add("content_block_stop", object{"index": index})
}

// start appends the event that opens a block.
func (l *eventList) start(index int, block any) {
	l.add("content_block_start", object{"index": index, "content_block": block})
}

// deltas appends an event for each part of a block.
func (l *eventList) deltas(index int, kind, member string, parts []string) {
	for _, part := range parts {
		l.add("content_block_delta", object{"index": index, "delta": object{"type": kind, member: part}})
	}
}

// split cuts text into parts of n runes; n of 0 or less means one part. An empty text has no parts.
func split(text string, n int) []string {
	if text == "" {
		return nil
	}
	if n <= 0 {
		return []string{text}
	}
	var parts []string
	count, start := 0, 0
	for i := range text {
		if count == n {
			parts = append(parts, text[start:i])
			count, start = 0, i
		}
		count++
	}
	return append(parts, text[start:])
}
