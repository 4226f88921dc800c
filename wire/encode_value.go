package wire

import "errors"

// The structs of this file don't write their members alone.

func (v *StreamEventMessage) encode(e *encoder) {
	if v.Event == nil {
		e.fail(errors.New("wire: a StreamEventMessage has no event"))
		return
	}
	if v.bare {
		v.Event.encode(e)
		return
	}
	e.begin(v.raw)
	v.members(e)
	e.end()
}

func (v *APIMessage) encode(e *encoder) {
	e.begin(v.raw)
	if kind := e.take("type"); kind != nil {
		e.member("type", kind)
	}
	v.members(e)
	e.end()
}
