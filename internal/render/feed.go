package render

import (
	"strings"

	"github.com/clewdev/clew/transcript"
)

// A Feed shows a transcript while it grows. What was shown stays: it shows the
// items of the last chunk one by one as they are complete, and begins again
// after a rewind.
type Feed struct {
	Options
	// Label stands before each chunk, if it is not "". It has to be clean.
	Label string

	chunks int     // that are complete and were shown
	begun  []place // where each chunk that was begun begins
	turn   int
	open   bool // the next chunk was begun
	items  int  // of it that were shown

	growth
}

// Skip passes over the first n chunks.
func (f *Feed) Skip(chunks []transcript.Chunk, n int) {
	for i := range min(n, len(chunks)) {
		f.begin(&chunks[i])
		f.end()
	}
}

// Next returns the text of what is new. The first chunk that is new or has
// changed is that of the index first. If final is set, nothing more comes, and
// what is open is shown too.
func (f *Feed) Next(chunks []transcript.Chunk, first int, final bool) string {
	var b strings.Builder
	if kept := f.kept(chunks, first); kept < len(f.begun) {
		b.WriteString(f.rewind(chunks[:kept]))
	}
	for f.chunks < len(chunks) {
		c := &chunks[f.chunks]
		last := f.chunks == len(chunks)-1 && !final
		if last && c.Type == transcript.AIChunk && f.ready(c) == 0 {
			break
		}
		b.WriteString(f.show(c, last))
		if last && c.Type == transcript.AIChunk {
			break
		}
	}
	if final {
		b.WriteString(f.abandon())
	}
	return b.String()
}

// kept returns how many of the chunks that were begun are still there.
func (f *Feed) kept(chunks []transcript.Chunk, first int) int {
	for i := min(first, len(f.begun)); i < len(f.begun); i++ {
		if i >= len(chunks) || f.begun[i] != placeOf(&chunks[i]) {
			return i
		}
	}
	return len(f.begun)
}

// A place tells a chunk from another one in its stead.
type place struct {
	line int // 0 if that is not known
	time int64
}

func placeOf(c *transcript.Chunk) place {
	p := place{time: c.Timestamp.UnixNano()}
	if len(c.Lines) > 0 {
		p.line = c.Lines[0]
	}
	return p
}

// rewind goes back to the end of the chunks that are left.
func (f *Feed) rewind(kept []transcript.Chunk) string {
	text := f.abandon()
	if f.open {
		text += "\n"
	}
	f.chunks, f.turn, f.begun, f.open, f.items = 0, 0, nil, false, 0
	f.Skip(kept, len(kept))
	return text + f.line(dim, "--- the conversation goes on from an earlier place ---") + "\n"
}

// ready returns how many items of an open chunk are complete: those before the
// first call that has no result yet. Those that were shown are not looked at again:
// there may be very many.
func (f *Feed) ready(c *transcript.Chunk) int {
	for i := f.items; i < len(c.Items); i++ {
		item := &c.Items[i]
		isCall := item.Type == transcript.ItemToolCall || item.Type == transcript.ItemSubagent
		if isCall && !item.HasResult {
			return i
		}
	}
	return len(c.Items)
}

// show returns what is new of the next chunk, and leaves it open if it is the
// last one of an agent that may go on.
func (f *Feed) show(c *transcript.Chunk, last bool) string {
	var b strings.Builder
	if !f.open {
		f.begin(c)
		if c.Type != transcript.AIChunk || !f.headed {
			b.WriteString(f.abandon() + f.heading(c))
		}
		f.headed = false
	}
	open := last && c.Type == transcript.AIChunk
	end := len(c.Items)
	if open {
		end = f.ready(c)
	}
	for ; f.items < end; f.items++ {
		b.WriteString(f.next(&c.Items[f.items]))
	}
	f.waiting = end < len(c.Items)
	if !open {
		b.WriteString(f.Stop() + f.tail(c))
		f.end()
	}
	return b.String()
}

// heading returns what stands before the items of a chunk.
func (f *Feed) heading(c *transcript.Chunk) string {
	text := f.head(c, f.turn)
	if f.Label != "" {
		text = f.line(dim, f.fit(f.Label)) + text
	}
	return text
}

func (f *Feed) begin(c *transcript.Chunk) {
	f.open = true
	f.begun = append(f.begun, placeOf(c))
	if c.Type == transcript.UserChunk {
		f.turn++
	}
}

func (f *Feed) end() {
	f.open, f.items = false, 0
	f.chunks++
}

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
