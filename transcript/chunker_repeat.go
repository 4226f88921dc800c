package transcript

import "strings"

// A run is what the lines of one answer have added to the open chunk. Mostly each line has the next block of the
// answer, but some agents write all blocks so far again, with more text.
type run struct {
	message string
	parts   []said
}

// A said is a part that was added.
type said struct {
	kind partKind
	id   string
	item int // index of its item, if it has text
	text int // index of its text, if it is text of the answer
}

// begin starts another run unless the message is the same. Messages without an ID are never the same.
func (r *run) begin(message string) {
	if message == "" || message != r.message {
		r.reset(message)
	}
}

func (r *run) reset(message string) { r.message, r.parts = message, r.parts[:0] }

// repeated returns what the first of the parts say again: the whole answer so far, or its last part.
func (c *chunker) repeated(parts []part) []said {
	all := c.last.parts
	if len(all) == 0 || len(parts) == 0 {
		return nil
	}
	if c.repeats(parts, all) {
		return all
	}
	if last := all[len(all)-1:]; c.repeats(parts, last) {
		return last
	}
	return nil
}

// repeats reports whether the first of the parts go on from what was said. Thinking without text says too little to
// tell: two of it in a row are two.
func (c *chunker) repeats(parts []part, before []said) bool {
	if len(parts) < len(before) {
		return false
	}
	telling := len(parts) > len(before)
	for i, s := range before {
		p := &parts[i]
		if p.kind != s.kind || p.id != s.id || !strings.HasPrefix(p.text, c.textOf(s)) {
			return false
		}
		if s.kind == partCall && s.id == "" {
			return false
		}
		telling = telling || s.id != "" || c.textOf(s) != ""
	}
	return telling
}

// textOf returns the text of a part that was added, or "" if it is a call or a result.
func (c *chunker) textOf(s said) string {
	if s.kind == partCall || s.kind == partResult {
		return ""
	}
	return c.list[len(c.list)-1].Items[s.item].Text
}

// renew puts what a part says in the place of what was said, which it goes on from.
func (c *chunker) renew(s said, p *part) {
	switch s.kind {
	case partResult:
	case partCall:
		c.renewCall(c.calls[s.id], p)
	default:
		item := &c.list[len(c.list)-1].Items[s.item]
		item.Text, item.TokenCount = p.text, len(p.text)/4
		if s.kind == partText {
			c.texts[s.text] = p.text
			c.stale = true
		}
	}
}

// renewCall takes the input of a call that is written again, if there is more of it.
func (c *chunker) renewCall(at place, p *part) {
	item := c.item(at)
	if len(p.call.input) > len(item.ToolInput) {
		item.setCall(p.call)
		c.touch(at.chunk)
	}
}
