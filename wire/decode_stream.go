package wire

// Nearly every frame of a stream is a delta, and begins with the same bytes in
// the same order. This file reads those without looking for members one by one.
// Whatever is different, in the least, goes the ordinary way.

const (
	streamEventStart = `{"type":"stream_event",`
	eventStart       = streamEventStart + `"event":`
	deltaStart       = eventStart + `{"type":"content_block_delta","index":`
	deltaKind        = `,"delta":{"type":"`
)

// streamEvent decodes a stream_event.
func (d *decoder) streamEvent() Message {
	at := d.mark()
	msg := d.quickDelta()
	d.behindEvent = d.Pos()
	d.Seek(d.text, at.pos, at.depth)
	if msg == nil {
		msg = new(StreamEventMessage)
	}
	msg.decode(d)
	return msg
}

// quickDelta reads the event of a frame that begins as usual, up to the event's
// end, into one allocation with its message. Otherwise it returns nil.
func (d *decoder) quickDelta() *StreamEventMessage {
	start := d.Pos() + len(eventStart)
	if !d.Literal(deltaStart) || d.Peek() < '0' || d.Peek() > '9' {
		return nil
	}
	index := d.int()
	if !d.Literal(deltaKind) {
		return nil
	}
	switch {
	case d.Literal(`text_delta","text":"`):
		msg, delta := withDelta[TextDeltaEvent]()
		delta.Text = d.quickText()
		return d.quickEnd(msg, delta, index, start)
	case d.Literal(`input_json_delta","partial_json":"`):
		msg, delta := withDelta[InputJSONDeltaEvent]()
		delta.PartialJSON = d.quickText()
		return d.quickEnd(msg, delta, index, start)
	case d.Literal(`thinking_delta","thinking":"`):
		msg, delta := withDelta[ThinkingDeltaEvent]()
		delta.Thinking = d.quickText()
		if d.Literal(`,"estimated_tokens":`) {
			delta.EstimatedTokens = d.int()
		}
		return d.quickEnd(msg, delta, index, start)
	}
	return nil
}

// withDelta makes a message and its event in one allocation.
func withDelta[T any]() (*StreamEventMessage, *T) {
	both := new(struct {
		message StreamEventMessage
		delta   T
	})
	return &both.message, &both.delta
}

// quickText reads a string whose opening quote has been taken.
func (d *decoder) quickText() string {
	d.Back()
	return d.str()
}

// quickName is quickText for a string that is likely to come again.
func (d *decoder) quickName() string {
	d.Back()
	return d.name()
}

func (d *decoder) quickEnd(m *StreamEventMessage, event deltaEvent, index, start int) *StreamEventMessage {
	if !d.Literal("}}") {
		return nil
	}
	event.place(index, d.span(start))
	m.Event = event
	return m
}

// firstKey enters the frame, or goes on behind the event that quickDelta has
// read: past the members that follow it as usual.
func (v *StreamEventMessage) firstKey(d *decoder, seen *uint) ([]byte, bool) {
	if v.Event == nil {
		return d.FirstKey()
	}
	d.Seek(d.text, d.behindEvent, d.Depth()+1)
	if d.Literal(`,"session_id":"`) {
		v.SessionID = d.quickName()
		*seen |= seenStreamEventMessageSessionID
	}
	d.Literal(`,"parent_tool_use_id":null`)
	if d.Literal(`,"uuid":"`) {
		v.UUID = d.quickText()
		*seen |= seenStreamEventMessageUUID
	}
	if d.Literal(`,"api_message_id":"`) {
		v.APIMessageID = d.quickName()
	}
	return d.NextKey()
}

// check records that a frame has no event.
func (v *StreamEventMessage) check(d *decoder, start int) {
	if v.Event == nil {
		d.FailMissing(start, "event")
	}
}
