package transcript

import (
	"github.com/clewdev/clew/internal/jsonlex"
	"github.com/clewdev/clew/wire"
)

// digest classifies an entry, and returns what chunks need of it, or nil and the name under which it is counted as noise.
func (c *classifier) digest(e *Entry, at wire.Position) (d *digest, noise string) {
	c.lean, c.parts = true, nil
	msg, noise := c.classify(e)
	ai, ok := msg.(*AIMsg)
	switch {
	case ok:
		return &digest{at: at, time: msg.Time(), answer: newAnswerOf(ai, c.parts)}, ""
	case msg != nil:
		return newDigest(msg, at), ""
	case noise == noiseInterruption:
		return newInterruption(at, e.Timestamp), ""
	}
	return nil, noise
}

// resultParts returns the parts for the results of tools, straight from the content of a message: results are most of a
// transcript, and are not worth being decoded into blocks first. It returns false if there is anything else.
func (c *classifier) resultParts(content []byte) ([]part, bool) {
	s := scratches.Get().(*scratch) //nolint:forcetypeassert // nothing else is in there
	defer s.free()
	l := &c.lexer
	l.Reset(content)
	defer l.Reset(nil)
	if l.Peek() != '[' {
		return nil, false
	}
	var parts []part
	for ok := l.FirstElem(); ok; ok = l.NextElem() {
		p, ok := readResultPart(l, s)
		if !ok {
			return nil, false
		}
		parts = append(parts, p)
	}
	l.End()
	return parts, l.Err() == nil && len(parts) > 0
}

// readResultPart reads a block that must be the result of a tool, and fit its type.
func readResultPart(l *jsonlex.Lexer, s *scratch) (part, bool) {
	p := part{kind: partResult}
	if l.Peek() != '{' {
		return p, false
	}
	var content []byte
	isResult := false
	for key, ok := l.FirstKey(); ok; key, ok = l.NextKey() {
		switch first := l.Peek(); {
		case string(key) == "type" && first == '"':
			isResult = string(l.Bytes()) == "tool_result"
		case string(key) == "tool_use_id" && first == '"':
			p.id = l.String()
		case string(key) == "is_error" && (first == 't' || first == 'f'):
			p.failed = l.Bool()
		case string(key) == "content":
			content = l.Skip()
		default: // of another type, or rare
			return p, false
		}
	}
	if !isResult || p.id == "" || l.Err() != nil {
		return p, false
	}
	p.text, p.images = s.text(content)
	return p, true
}
