package backlog

import "github.com/clewdev/clew/wire"

// A batch is what is taken at once: messages, or records that are still to be decoded.
type batch struct {
	msgs    []wire.Message
	records []byte
}

// decode returns the messages.
func (b batch) decode(decode func([]byte) wire.Message) []wire.Message {
	msgs := b.msgs
	for rest := b.records; len(rest) > 0; {
		var frame []byte
		frame, rest, _ = cutRecord(rest)
		msgs = append(msgs, decode(frame))
	}
	return msgs
}

// encode returns records of the messages that msgs starts with, up to the first that cannot be on disk or until they
// fill a piece, and how many messages they hold.
func encode(msgs []wire.Message) (records []byte, n int) {
	for n < len(msgs) && len(records) < pieceBytes {
		frame, ok := frameOf(msgs[n])
		if !ok {
			break
		}
		records = appendRecord(records, frame)
		n++
	}
	return records, n
}

// frameOf returns the frame that decodes to msg, if there is one. Text lines and invalid frames know their place in the
// stream, which their text does not tell.
func frameOf(msg wire.Message) (string, bool) {
	switch msg.(type) {
	case *wire.TextLine, *wire.InvalidFrame:
		return "", false
	}
	if raw := msg.Raw(); raw != "" {
		return raw, true
	}
	frame, err := wire.Append(nil, msg)
	return string(frame), err == nil
}
