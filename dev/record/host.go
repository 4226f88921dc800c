package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/clewdev/clew/wire"
)

// A Host drives the agent as a scenario says. It uses one goroutine and reads only while it waits
// for something, so that both directions are recorded in one order. After the first error it does
// nothing more.
type Host struct {
	*Stage

	scenario *Scenario
	rec      *Recording
	stdin    io.WriteCloser
	next     func() (wire.Message, error, bool)
	answered map[string]bool // the host's control requests, by id
	err      error
}

// errEnded reports that the agent ended its output while the host waited for something.
var errEnded = errors.New("the agent ended")

// Prompt writes a prompt of the user.
func (h *Host) Prompt(text string) {
	h.write(fmt.Sprintf(`{"type":"user","message":{"role":"user","content":%s},"parent_tool_use_id":null,"session_id":"default"}`,
		quote(text)))
}

// Request writes a control request with this id and this JSON as its body. It does not wait for the
// answer.
func (h *Host) Request(id, body string) {
	h.write(fmt.Sprintf(`{"type":"control_request","request_id":%s,"request":%s}`, quote(id), body))
}

// Turn writes a prompt and waits for a result.
func (h *Host) Turn(text string) {
	h.Prompt(text)
	h.AwaitResult()
}

// AwaitResult waits for a result.
func (h *Host) AwaitResult() { h.Await("result", 1) }

// AwaitResponses waits until the control requests with these ids are answered, in any order.
func (h *Host) AwaitResponses(ids ...string) {
	missing := func() bool {
		return slices.ContainsFunc(ids, func(id string) bool { return !h.answered[id] })
	}
	if missing() {
		h.await(func(wire.Message) bool { return !missing() })
	}
}

// Await waits for n frames whose label starts with prefix; see label.
func (h *Host) Await(prefix string, n int) {
	h.await(func(msg wire.Message) bool {
		if strings.HasPrefix(label(msg), prefix) {
			n--
		}
		return n <= 0
	})
}

// await reads until done returns true for a frame. It answers the agent's questions meanwhile.
func (h *Host) await(done func(wire.Message) bool) {
	for h.err == nil {
		msg := h.read()
		if msg == nil {
			h.fail(errEnded)
			return
		}
		if done(msg) {
			return
		}
	}
}

// read records the next frame, and answers it if it is a question. It returns nil at the end and
// after an error.
func (h *Host) read() wire.Message {
	msg, err, ok := h.next()
	if !ok || err != nil {
		h.fail(err)
		return nil
	}
	h.rec.add(fromAgent, msg.Raw())
	switch m := msg.(type) {
	case *wire.ControlRequestMessage:
		h.answer(m)
	case *wire.ControlResponseMessage:
		h.answered[m.Response.RequestID] = true
	}
	return msg
}

// drain reads to the end of the agent's output.
func (h *Host) drain() {
	for h.err == nil && h.read() != nil {
	}
}

// answer responds to an agent's question.
func (h *Host) answer(req *wire.ControlRequestMessage) {
	q := &Question{ID: req.RequestID, Request: wire.JSON(req.Request.Raw())}
	if err := json.Unmarshal([]byte(q.Request), q); err != nil {
		h.fail(err)
		return
	}
	reply := h.reply(req.Request.Subtype, q)
	if reply == "" {
		h.fail(fmt.Errorf("the scenario has no answer to %s", q.Request))
		return
	}
	h.write(fmt.Sprintf(`{"type":"control_response","response":{"subtype":"success","request_id":%s,"response":%s}}`,
		quote(q.ID), reply))
}

// reply returns the scenario's answer, or "" if it has none.
func (h *Host) reply(subtype string, q *Question) string {
	s := h.scenario
	switch {
	case subtype == "can_use_tool" && s.Tool == nil:
		return allow(q.Input)
	case subtype == "can_use_tool":
		return s.Tool(q)
	case subtype == "hook_callback" && s.Hook == nil:
		return `{}`
	case subtype == "hook_callback":
		return s.Hook(q)
	case subtype == "mcp_message" && s.MCP != nil:
		return s.MCP(q)
	}
	return ""
}

// allow lets the agent use a tool with that input.
func allow(input wire.JSON) string {
	return fmt.Sprintf(`{"behavior":"allow","updatedInput":%s}`, input)
}

// write records a frame and sends it.
func (h *Host) write(frame string) {
	if h.err != nil {
		return
	}
	h.rec.add(fromHost, frame)
	if _, err := io.WriteString(h.stdin, frame+"\n"); err != nil {
		h.fail(fmt.Errorf("writing to the agent: %w", err))
	}
}

// close ends the agent's input.
func (h *Host) close() {
	h.rec.add(prose, "host closes stdin")
	if err := h.stdin.Close(); err != nil {
		h.fail(err)
	}
}

// fail keeps the first error, and ignores nil.
func (h *Host) fail(err error) {
	if h.err == nil {
		h.err = err
	}
}

// quote returns text as a JSON string.
func quote(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err) // every string has a JSON form
	}
	return string(data)
}

// Faults describes everything in the frames of a recording that package wire does not know.
func Faults(r *Recording) []string {
	var faults []string
	for _, frame := range append(r.Frames(fromHost), r.Frames(fromAgent)...) {
		for _, fault := range frameFaults(frame) {
			faults = append(faults, fmt.Sprintf("%s: %.300s", fault, frame))
		}
	}
	return faults
}

// frameFaults describes what package wire does not know about a frame.
func frameFaults(frame string) []string {
	msg := wire.Decode([]byte(frame))
	if invalid, ok := msg.(*wire.InvalidFrame); ok {
		return []string{"invalid: " + invalid.Err.Error()}
	}
	faults := unknownContent(msg)
	if !wire.Known(msg.Kind()) {
		faults = append(faults, "unknown kind "+msg.Kind().String())
	}
	fields, misfits := wire.Survey(msg)
	if len(fields) > 0 {
		faults = append(faults, fmt.Sprintf("unknown fields %q", fields))
	}
	for _, misfit := range misfits {
		faults = append(faults, "misfit: "+misfit.Error())
	}
	if !json.Valid([]byte(frame)) {
		faults = append(faults, "not JSON")
	}
	return faults
}

// unknownContent describes unknown blocks and events inside a message.
func unknownContent(msg wire.Message) []string {
	var content wire.Content
	switch m := msg.(type) {
	case *wire.AssistantMessage:
		content = m.Content
	case *wire.UserMessage:
		content = m.Content
	case *wire.StreamEventMessage:
		if _, ok := m.Event.(*wire.UnknownEvent); ok {
			return []string{"unknown event " + m.Event.EventType()}
		}
	}
	var faults []string
	for _, block := range content {
		if _, ok := block.(*wire.UnknownBlock); ok {
			faults = append(faults, "unknown block "+block.BlockType())
		}
	}
	return faults
}
