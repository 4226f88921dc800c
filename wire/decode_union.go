package wire

import (
	"slices"

	"github.com/clewdev/clew/internal/jsonlex"
)

// onlyContent decodes content, and fails for a value that can't be content.
func (d *decoder) onlyContent() Content {
	switch d.Peek() {
	case 'n', '"', '[':
		return d.content()
	}
	d.FailMismatch(contentType)
	return nil
}

const contentType = "string or array"

// content decodes a string or a list of blocks.
func (d *decoder) content() Content {
	switch d.Peek() {
	case 'n':
		d.Null()
		return nil
	case '"':
		start := d.Pos()
		block := &TextBlock{Text: d.str(), plain: true}
		block.raw = d.span(start)
		return Content{block}
	case '[':
		return Content(list(d, d.block))
	}
	d.Mismatch(contentType)
	return nil
}

// block decodes a block; a block that does not fit its type is an [*InvalidBlock].
func (d *decoder) block() Block {
	m := d.mark()
	kind := d.blockType(m.pos)
	var block Block
	if d.Err() == nil {
		block = d.blockOf(kind)
	}
	err := d.Err()
	if !d.forgive(m) {
		return block
	}
	return d.invalidBlock(m.pos, kind, err)
}

// blockType returns the type of the block at pos, and fails if it has none.
func (d *decoder) blockType(pos int) []byte {
	at, end := jsonlex.Find(d.text, pos, "type")
	if at >= 0 {
		if kind, ok := jsonlex.Unquote(d.text[at:end]); ok {
			return kind
		}
		d.stringAt(at)
		return nil
	}
	if d.Peek() == '{' {
		d.FailMissing(pos, "type")
	} else {
		d.FailMismatch("object")
	}
	return nil
}

// invalidBlock makes the block for the value at pos, which was passed over.
func (d *decoder) invalidBlock(pos int, kind []byte, err *jsonlex.Error) *InvalidBlock {
	block := &InvalidBlock{raw: d.keep(pos), kind: d.names.get(kind)}
	switch {
	case !d.keepRaw:
		err.Offset -= pos
		block.faults = &faults{text: block.raw}
	case d.faults == nil:
		d.faults = &faults{text: d.raw}
		fallthrough
	default:
		block.faults = d.faults
	}
	block.fault = len(block.faults.errs)
	block.faults.errs = append(block.faults.errs, err)
	return block
}

// unknownBlock keeps the block that comes next.
func (d *decoder) unknownBlock(kind []byte) Block {
	start := d.Pos()
	d.Skip()
	return &UnknownBlock{raw: d.keep(start), kind: d.names.get(kind)}
}

// event decodes an API event. One without a type is unknown.
func (d *decoder) event() Event {
	if d.Null() {
		return nil
	}
	d.Peek()
	start := d.Pos()
	kind, ok := jsonlex.Unquote(jsonlex.Lookup(d.text, start, "type"))
	if ok {
		return d.eventOf(kind)
	}
	if d.isObject() {
		d.untypedValue()
	}
	return &UnknownEvent{raw: d.keep(start)}
}

// untypedValue passes over an object whose type is not a string, and notes that.
func (d *decoder) untypedValue() {
	start := d.Pos()
	at, _ := jsonlex.Find(d.text, start, "type")
	if at < 0 || d.text[at] == 'n' {
		d.Lacks(start, "type")
		d.Skip()
		return
	}
	depth := d.Depth()
	d.Seek(d.text, at, depth+1)
	d.Mismatch("string")
	d.Seek(d.text, start, depth)
	d.Skip()
}

func (d *decoder) unknownEvent(kind []byte) Event {
	start := d.Pos()
	d.Skip()
	return &UnknownEvent{raw: d.keep(start), kind: d.names.get(kind)}
}

// A deltaEvent is an event whose fields lie in the object "delta" of a content_block_delta.
type deltaEvent interface {
	Event
	decode(*decoder)
	place(index int, raw string)
}

// delta decodes a content_block_delta. One without a delta, or with a delta of an unknown type, is
// an [*UnknownEvent].
func (d *decoder) delta() Event {
	start := d.Pos()
	index := 0
	var event deltaEvent
	for key, ok := d.FirstKey(); ok; key, ok = d.NextKey() {
		switch string(key) {
		case "index":
			index = d.int()
		case "delta":
			event = d.deltaValue()
		default:
			d.unknownMember(key)
		}
	}
	if event == nil {
		return &UnknownEvent{raw: d.keep(start), kind: "content_block_delta"}
	}
	event.place(index, d.span(start))
	return event
}

// deltaValue decodes the delta of a content_block_delta, or returns nil if it is of an unknown
// type.
func (d *decoder) deltaValue() deltaEvent {
	if !d.isObject() {
		return nil
	}
	kind, ok := jsonlex.Unquote(jsonlex.Lookup(d.text, d.Pos(), "type"))
	event := d.deltaOf(kind)
	switch {
	case event != nil:
		event.decode(d)
	case ok || jsonlex.Lookup(d.text, d.Pos(), "type") == nil:
		d.Skip()
	default:
		d.untypedValue()
	}
	return event
}

// bareEvent decodes an API event that stands by itself.
func (d *decoder) bareEvent() Message {
	start := d.Pos()
	event := d.event()
	return &StreamEventMessage{raw: d.span(start), bare: true, Event: event}
}

// flat decodes the API message that lies flat on the frame at start, and reports whether there is
// one.
func (d *decoder) flat(start int, m *APIMessage) bool {
	if jsonlex.Lookup(d.text, start, "content") == nil {
		d.Lacks(start, "message")
		return false
	}
	frame := d.unknown
	d.unknown = nil
	d.Seek(d.text, start, d.Depth())
	m.decode(d)
	message := d.unknown
	d.unknown = slices.DeleteFunc(frame, func(at int) bool {
		_, found := slices.BinarySearch(message, at)
		return !found
	})
	return true
}

// check notes that a user message has no content. That the message or its content does not fit was
// noted already.
func (v *UserMessage) check(d *decoder, start int) {
	if v.Content != nil || !d.survey && !d.strict {
		return
	}
	at := start
	if !v.flat {
		at, _ = jsonlex.Find(d.text, start, "message")
	}
	if at < 0 || d.text[at] != '{' {
		return
	}
	if content := jsonlex.Lookup(d.text, at, "content"); content == nil || isNull(content) {
		d.Lacks(at, "content")
	}
}

// unknownMessage decodes a frame of a kind that this package does not know.
func (d *decoder) unknownMessage(kind Kind) Message {
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
		v.decode(d) // notes what is wrong with the subtype
		return v
	}
	if decode := d.registry.lookup(Kind{"system", string(subtype)}); decode != nil {
		return d.unknownMessage(Kind{"system", string(subtype)})
	}
	return d.systemOf(subtype)
}
