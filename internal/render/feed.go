package render

import (
	"strings"

	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/transcript"
)

// A Feed shows a transcript while it grows. It never changes text that it returned: it shows the
// items of the last chunk one by one, when each is complete, and starts again after a rewind.
type Feed struct {
	Options
	// Label is a clean line before each chunk, or "".
	Label string
	// Redraws means that the caller can draw the last lines again: see [Feed.Open]. Then a partial
	// text is laid out. Otherwise its words are shown as they come.
	Redraws bool

	chunks int       // how many chunks are complete and were shown
	begun  []chunkID // the chunks of which something was shown
	open   bool      // the next chunk was started
	items  int       // how many items of it were shown
	last   group     // the one of the item that was shown last
	away   bool      // another feed wrote since

	growth
}

// Leave hands over to another feed. It returns the line that ends an open chunk, whose head is
// repeated when the feed continues.
func (f *Feed) Leave() string {
	text := f.Stop()
	if f.open && !f.away {
		f.away = true
		text += "\n"
	}
	return text
}

// Skip marks the first n chunks as shown.
func (f *Feed) Skip(chunks []transcript.Chunk, n int) {
	for i := range min(n, len(chunks)) {
		f.begin(&chunks[i])
		f.end()
	}
}

// Next returns the text of new items. first is the index of the first new or changed chunk. If
// final is set, nothing more follows, and incomplete items are shown as well.
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

// kept returns the number of started chunks that are still there.
func (f *Feed) kept(chunks []transcript.Chunk, first int) int {
	for i := min(first, len(f.begun)); i < len(f.begun); i++ {
		if i >= len(chunks) || f.begun[i] != idOf(&chunks[i]) {
			return i
		}
	}
	return len(f.begun)
}

// A chunkID identifies a chunk, so that a Feed notices when a rewind replaces it.
type chunkID struct {
	line int // the first line of the chunk, or 0 if that is unknown
	time int64
}

func idOf(c *transcript.Chunk) chunkID {
	id := chunkID{time: c.Timestamp.UnixNano()}
	if len(c.Lines) > 0 {
		id.line = c.Lines[0]
	}
	return id
}

// rewind goes back to the end of the chunks that were kept.
func (f *Feed) rewind(kept []transcript.Chunk) string {
	text := f.abandon()
	if f.open && !f.away {
		text += "\n"
	}
	f.chunks, f.begun, f.open, f.away, f.items, f.last = 0, nil, false, false, 0, noGroup
	f.Skip(kept, len(kept))
	return text + f.line(tty.Dim, "--- rewound: the conversation continues from an earlier message ---") + "\n"
}

// ready returns how many items of an open chunk are complete: those before the first call without a
// result. It starts after the items that were shown, since there may be very many.
func (f *Feed) ready(c *transcript.Chunk) int {
	for i := f.items; i < len(c.Items); i++ {
		item := &c.Items[i]
		if item.IsCall() && !item.HasResult && !item.ResultLost {
			return i
		}
	}
	return len(c.Items)
}

// show returns the new items of the next chunk. It leaves the chunk open if it is the last one, and
// an answer that may grow.
func (f *Feed) show(c *transcript.Chunk, last bool) string {
	var b strings.Builder
	again := f.open && f.away
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
		b.WriteString(f.next(c, &c.Items[f.items]))
	}
	f.waiting = end < len(c.Items)
	if !open {
		b.WriteString(f.Stop() + f.tail(c))
		f.end()
	}
	if !again {
		return b.String()
	}
	if strings.TrimSpace(b.String()) == "" { // Leave ended the chunk
		return ""
	}
	f.away = false
	return f.heading(c) + b.String()
}

// heading returns the label and the head of a chunk.
func (f *Feed) heading(c *transcript.Chunk) string {
	text := f.head(c)
	if f.Label != "" {
		text = f.line(tty.Dim, f.fit(f.Label)) + text
	}
	return text
}

func (f *Feed) begin(c *transcript.Chunk) {
	f.open = true
	f.begun = append(f.begun, idOf(c))
}

func (f *Feed) end() {
	f.open, f.away, f.items, f.last = false, false, 0, noGroup
	f.chunks++
}

// Result returns a turn's result, under a title.
func (f *Feed) Result(title, text string) string {
	text = f.Stop() + f.line(tty.Title, title) + f.in(2).prose(text)
	if !f.open && !f.headed {
		text += "\n" // the chunk has one otherwise
	}
	return text
}
