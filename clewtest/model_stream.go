package clewtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/clewdev/clew/wire"
)

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
