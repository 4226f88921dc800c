package simmodel

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/clewdev/clew/wire"
)

// A Usage is the usage that a reply reports.
type Usage struct {
	Input      int `json:"input_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"`
	CacheRead  int `json:"cache_read_input_tokens"`
	Output     int `json:"output_tokens"`

	// More are further members. It must not be changed once it is set.
	More map[string]any `json:"-"`
}

// MarshalJSON puts the further members after the counts.
func (u Usage) MarshalJSON() ([]byte, error) {
	type counts Usage
	data, err := json.Marshal(counts(u))
	if err != nil || len(u.More) == 0 {
		return data, err
	}
	more, err := json.Marshal(u.More)
	if err != nil {
		return nil, err
	}
	return append(append(data[:len(data)-1], ','), more[1:]...), nil
}

// replyMessage is the JSON of an answer. Without a stop reason the API sends null.
type replyMessage struct {
	ID           string           `json:"id"`
	Type         string           `json:"type"`
	Role         wire.Role        `json:"role"`
	Model        string           `json:"model"`
	Content      []wire.Block     `json:"content"`
	StopReason   *wire.StopReason `json:"stop_reason"`
	StopSequence *string          `json:"stop_sequence"`
	Usage        Usage            `json:"usage"`
}

// compose makes the whole answer to req.
func (m *Model) compose(req *Request, a *Answer) *replyMessage {
	msg := &replyMessage{
		ID: m.nextID("msg"), Type: "message", Role: wire.RoleAssistant, Model: a.Model,
		Content: []wire.Block{}, StopReason: &a.Stop, Usage: a.Usage,
	}
	if msg.Model == "" {
		msg.Model = req.Model
	}
	for _, block := range a.Blocks {
		msg.Content = append(msg.Content, m.withID(block))
	}
	if a.Stop == "" {
		a.Stop = wire.StopReasonEndTurn
		if len(wire.Content(msg.Content).ToolUses()) > 0 {
			a.Stop = wire.StopReasonToolUse
		}
	}
	return msg
}

// plain writes the answer as one JSON object.
func (m *Model) plain(w http.ResponseWriter, msg *replyMessage, a Answer) {
	data, err := json.Marshal(msg)
	if err != nil {
		m.refuse(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	if a.Cut >= 0 {
		_, _ = w.Write(data[:len(data)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(data)
}

// stream writes the answer as server-sent events, and flushes each of them.
func (m *Model) stream(w http.ResponseWriter, r *http.Request, msg *replyMessage, a Answer) {
	events, err := eventsOf(msg, a.Chunk)
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
			m.pause(r, a.Pace)
		}
		a.before(r, i)
		if i == a.Cut {
			panic(http.ErrAbortHandler)
		}
		if _, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", ev.name, ev.data); err != nil {
			return
		}
		_ = out.Flush()
	}
	if a.Cut >= len(events) {
		a.before(r, len(events))
		panic(http.ErrAbortHandler)
	}
}

// before calls Before, and ends the answer if the client is gone.
func (a *Answer) before(r *http.Request, sent int) {
	if a.Before == nil {
		return
	}
	if a.Before(r.Context(), sent); r.Context().Err() != nil {
		panic(http.ErrAbortHandler)
	}
}

// refuse reports a block of a rule that cannot be marshaled.
func (m *Model) refuse(w http.ResponseWriter, err error) {
	m.reporter.Errorf("a reply of the model cannot be written: %v", err)
	writeError(w, http.StatusInternalServerError, "clewtest: "+err.Error())
}

// An sseEvent is one server-sent event of a streamed answer.
type sseEvent struct {
	name string
	data []byte
}

// An eventList collects the events of an answer. After the first error it adds nothing more.
type eventList struct {
	events []sseEvent
	err    error
}

type object map[string]any

// add appends an event, and sets its type in body.
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

// addBlock appends the events of one block. Blocks of other types are not streamed in parts: they
// are whole in the event that opens them.
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
