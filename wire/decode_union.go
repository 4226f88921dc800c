package wire

import (
	"bytes"

	"github.com/clewdev/clew/internal/jsonlex"
)

// content decodes a string or a list of blocks.
func (d *decoder) content() Content {
	switch d.Peek() {
	case 'n':
		d.Null()
		return nil
	case '"':
		start := d.Pos()
		block := &TextBlock{Text: string(d.Bytes()), plain: true}
		block.raw = d.span(start)
		return Content{block}
	case '[':
		return Content(list(d, d.block))
	}
	at := d.Pos()
	d.Skip()
	d.Fail(jsonlex.Mismatch, at, "expected string or array")
	return nil
}

// block decodes a block; one that does not fit its type is an [*InvalidBlock].
func (d *decoder) block() Block {
	m := d.mark()
	if d.Null() {
		d.Fail(jsonlex.Mismatch, m.pos, "expected object, found null")
	}
	value := jsonlex.Lookup(d.text, m.pos, "type")
	kind, ok := jsonlex.Unquote(value)
	var block Block
	switch {
	case ok:
		block = d.blockOf(kind)
	case value != nil:
		d.Skip()
		d.Fail(jsonlex.Mismatch, m.pos, "the block's type is not a string")
	case d.Peek() == '{':
		d.Skip()
		d.FailMissing(m.pos, "type")
	default:
		d.FirstKey()
	}
	err := d.Err()
	if !d.forgive(m) {
		return block
	}
	return &InvalidBlock{raw: d.keep(m.pos), kind: string(kind), err: frameError(d.text, err)}
}

// unknownBlock keeps the block that comes next.
func (d *decoder) unknownBlock(kind []byte) Block {
	start := d.Pos()
	d.Skip()
	return &UnknownBlock{raw: d.keep(start), kind: d.names.get(kind)}
}

// event decodes an API event.
func (d *decoder) event() Event {
	if d.Null() {
		return nil
	}
	d.Peek()
	kind, ok := jsonlex.Unquote(jsonlex.Lookup(d.text, d.Pos(), "type"))
	if ok {
		return d.eventOf(kind)
	}
	start := d.Pos()
	d.Skip()
	if d.Err() == nil && d.text[start] == '{' {
		d.FailMissing(start, "type")
	}
	d.Fail(jsonlex.Mismatch, start, "expected object")
	return nil
}

func (d *decoder) unknownEvent(kind []byte) Event {
	start := d.Pos()
	d.Skip()
	return &UnknownEvent{raw: d.keep(start), kind: d.names.get(kind)}
}

// A deltaEvent is an event whose fields lie in the object "delta" of a
// content_block_delta.
type deltaEvent interface {
	Event
	decode(*decoder)
	place(index int, raw []byte)
}

// delta decodes a content_block_delta. One without a delta, or with a delta of
// an unknown type, is an [*UnknownEvent].
func (d *decoder) delta() Event {
	start := d.Pos()
	index := 0
	var event deltaEvent
	for key, ok := d.FirstKey(); ok; key, ok = d.NextKey() {
		switch string(key) {
		case "index":
			index = d.int()
		case "delta":
			d.Peek()
			kind, _ := jsonlex.Unquote(jsonlex.Lookup(d.text, d.Pos(), "type"))
			if event = d.deltaOf(kind); event != nil {
				event.decode(d)
			} else {
				d.Skip()
			}
		default:
			d.Skip()
		}
	}
	if event == nil {
		return &UnknownEvent{raw: d.keep(start), kind: "content_block_delta"}
	}
	event.place(index, d.span(start))
	return event
}

// deltaPrefix is how nearly every frame of a stream begins.
var deltaPrefix = []byte(`{"type":"stream_event","event":{"type":"content_block_delta","index":`)

// streamEvent decodes a stream_event. A message and its delta come out of one
// allocation where the frame begins as usual.
func (d *decoder) streamEvent() Message {
	msg := d.streamEventSlot()
	msg.decode(d)
	d.textDelta, d.thinkingDelta, d.inputDelta = nil, nil, nil
	return msg
}

func (d *decoder) streamEventSlot() *StreamEventMessage {
	if !bytes.HasPrefix(d.text, deltaPrefix) {
		return new(StreamEventMessage)
	}
	rest := d.text[len(deltaPrefix):]
	_, rest, _ = bytes.Cut(rest[:min(len(rest), 64)], []byte(`,"delta":{"type":"`))
	switch {
	case bytes.HasPrefix(rest, []byte(`text_delta"`)):
		both := new(struct {
			message StreamEventMessage
			delta   TextDeltaEvent
		})
		d.textDelta = &both.delta
		return &both.message
	case bytes.HasPrefix(rest, []byte(`input_json_delta"`)):
		both := new(struct {
			message StreamEventMessage
			delta   InputJSONDeltaEvent
		})
		d.inputDelta = &both.delta
		return &both.message
	case bytes.HasPrefix(rest, []byte(`thinking_delta"`)):
		both := new(struct {
			message StreamEventMessage
			delta   ThinkingDeltaEvent
		})
		d.thinkingDelta = &both.delta
		return &both.message
	}
	return new(StreamEventMessage)
}

// take returns *slot and empties it, or returns a new T.
func take[T any](slot **T) *T {
	v := *slot
	*slot = nil
	if v == nil {
		v = new(T)
	}
	return v
}

// bareEvent decodes an API event that stands by itself.
func (d *decoder) bareEvent() Message {
	start := d.Pos()
	event := d.event()
	return &StreamEventMessage{raw: d.span(start), bare: true, Event: event}
}

// flat decodes the API message that lies flat on the frame at start.
func (d *decoder) flat(start int, m *APIMessage) {
	if jsonlex.Lookup(d.text, start, "content") == nil {
		d.FailMissing(start, "message")
		return
	}
	d.Seek(d.text, start, d.Depth())
	m.decode(d)
}

// check records that a user message has no content.
func (m *UserMessage) check(d *decoder, start int) {
	if m.Content != nil {
		return
	}
	at := start
	if !m.flat {
		if value := jsonlex.Lookup(d.text, start, "message"); value != nil {
			at = start + bytes.Index(d.text[start:], value)
		}
	}
	d.FailMissing(at, "content")
}

// unknown decodes a frame of a kind that this package does not know.
func (d *decoder) unknown(kind Kind) Message {
	d.Peek()
	start := d.Pos()
	d.Skip()
	raw := d.keep(start)
	if d.Err() != nil {
		return nil
	}
	if decode := d.registry.lookup(kind); decode != nil {
		return d.custom(kind, raw, decode)
	}
	return &UnknownMessage{raw: raw, kind: kind}
}

// system decodes a frame of type system.
func (d *decoder) system() Message {
	value := jsonlex.Lookup(d.text, d.Pos(), "subtype")
	subtype, ok := jsonlex.Unquote(value)
	if !ok {
		v := new(SystemMessage)
		v.decode(d) // records what is wrong with the subtype
		return v
	}
	if decode := d.registry.lookup(Kind{"system", string(subtype)}); decode != nil {
		return d.unknown(Kind{"system", string(subtype)})
	}
	return d.systemOf(subtype)
}
