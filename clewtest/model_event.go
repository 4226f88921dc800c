package clewtest

import (
	"encoding/json"

	"github.com/clewdev/clew/wire"
)

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
