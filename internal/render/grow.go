package render

import (
	"strings"

	"github.com/clewdev/clew/transcript"
)

// A growth is a text of the agent that is shown while it is written, before the
// chunk has it.
type growth struct {
	headed  bool // what stands before the items of the next chunk was shown
	waiting bool // an item of the open chunk is not complete, and the text would come before it
	flow    *flow
	grown   strings.Builder // all of the text
}

// Grow returns what is to be shown of the next piece of the text that the agent of
// that model is writing. [Feed.Next] shows the rest, once a chunk has it.
func (f *Feed) Grow(model, piece string) string {
	if f.waiting || piece == "" {
		return ""
	}
	text := ""
	if !f.open && !f.headed {
		f.headed = true
		text = f.heading(&transcript.Chunk{Type: transcript.AIChunk, Model: model})
	}
	if f.flow == nil {
		f.flow = &flow{Options: f.in(2)}
	}
	f.grown.WriteString(piece)
	return text + f.flow.add(Clean(piece))
}

// Interject returns a line that is not a part of the conversation.
func (f *Feed) Interject(line string) string {
	text := ""
	if f.flow != nil {
		text = f.flow.end()
	}
	return text + f.line(plain, Clean(line))
}

// Result returns how the turn ended, under a title.
func (f *Feed) Result(title, text string) string {
	text = f.Stop() + f.line(bold, title) + f.in(2).block(plain, text)
	if !f.open && !f.headed {
		text += "\n" // the chunk has one otherwise
	}
	return text
}

// Stop ends the text that is being written. What grows next is another one.
func (f *Feed) Stop() string {
	if f.flow == nil {
		return ""
	}
	text := f.flow.end()
	f.flow = nil
	f.grown.Reset()
	return text
}

// abandon is Stop for a text that got into no chunk.
func (f *Feed) abandon() string {
	text := f.Stop()
	if f.headed {
		f.headed = false
		text += "\n"
	}
	return text
}

// next returns an item, without what was shown of it already.
func (f *Feed) next(i *transcript.DisplayItem) string {
	if f.flow == nil {
		return f.item(i)
	}
	grown := f.grown.String()
	rest, begun := strings.CutPrefix(i.Text, grown)
	switch {
	case i.Type != transcript.ItemOutput:
	case begun:
		return f.flow.add(Clean(rest)) + f.Stop()
	case strings.TrimSpace(i.Text) == strings.TrimSpace(grown):
		return f.Stop()
	}
	return f.Stop() + f.item(i)
}
