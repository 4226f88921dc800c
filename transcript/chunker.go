package transcript

import (
	"slices"
	"strings"
	"time"
)

// A chunker groups digests into chunks as they come. The zero value is ready. The cost of a digest does not depend on
// how many came before it.
type chunker struct {
	list  []Chunk
	books []book // one for each chunk
	calls map[string]place

	// open says that the last chunk is an AI chunk that the next answer joins.
	open bool
	// bare says that there is only one chunk, and that nothing but injected text is in it. It waits for the first message
	// that makes a chunk, and becomes that chunk.
	bare bool

	// Of the open chunk: the texts of the answers, whether the chunk's text is not yet made of them, and the answer that
	// came last.
	texts []string
	stale bool
	last  run

	firstChanged int
}

// A book is what has to be known of a chunk beside what it shows.
type book struct {
	end               time.Time // of its last message
	subagentTimed     bool      // one of its subagents has a duration
	boundary, summary bool      // of a compaction: which of the two it has
}

// A place is where the item of a call is.
type place struct {
	chunk, item int
	message     string // the answer that the call is in
}

// add takes the next digest.
func (c *chunker) add(d *digest) {
	switch m := d.msg.(type) {
	case *UserMsg:
		c.push(d, Chunk{
			Type: UserChunk, Text: m.Text, PermissionMode: m.PermissionMode,
			Images: m.Images, Documents: m.Documents, Queued: m.Queued,
		})
	case *SystemMsg:
		c.push(d, Chunk{Type: SystemChunk, Text: m.Output, Stderr: m.Stderr, IsError: m.IsError})
	case *CompactMsg:
		c.addCompact(d, m)
	case *TeammateMsg:
		c.addTeammate(d, m)
	default:
		c.addAnswer(d)
	}
}

// chunks returns all chunks so far. They are valid until the next digest is added.
func (c *chunker) chunks() []Chunk {
	c.joinTexts()
	return c.list
}

// changed returns the index of the first chunk that is new or has changed since the last call, or the number of chunks.
func (c *chunker) changed() int {
	first := c.firstChanged
	c.firstChanged = len(c.list)
	return first
}

// addInterruption takes a line that says that the user stopped the agent.
func (c *chunker) addInterruption(d *digest) {
	i := c.lastChunk()
	c.list[i].Interrupted = true
	c.extend(i, d.time)
	c.count(i, d)
	c.seal()
}

func (c *chunker) addTeammate(d *digest, m *TeammateMsg) {
	i := c.turn()
	c.addItem(DisplayItem{
		Type: ItemTeammateMessage, Timestamp: d.time, Text: m.Text, TokenCount: len(m.Text) / 4,
		TeammateID: m.TeammateID, TeammateColor: m.Color, TeammateSummary: m.Summary,
	})
	c.extend(i, d.time)
	c.count(i, d)
}

// addCompact adds the boundary or the summary of a compaction to the other one if that is the last chunk.
func (c *chunker) addCompact(d *digest, m *CompactMsg) {
	i := len(c.list) - 1
	if i >= 0 && c.list[i].Type == CompactChunk && c.books[i].lacks(m) {
		c.count(i, d)
	} else {
		i = c.push(d, Chunk{Type: CompactChunk})
	}
	ch, b := &c.list[i], &c.books[i]
	if ch.Timestamp.IsZero() {
		ch.Timestamp = d.time
	}
	if m.Summary || !b.summary {
		ch.Text = m.Text
	}
	if !m.Summary || !b.boundary {
		ch.Compaction = &Compaction{m.Trigger, m.PreTokens, m.PostTokens, m.Duration}
	}
	b.summary, b.boundary = b.summary || m.Summary, b.boundary || !m.Summary
}

func (b *book) lacks(m *CompactMsg) bool {
	if m.Summary {
		return !b.summary
	}
	return !b.boundary
}

// push adds a chunk of its own for the digest, and returns its index.
func (c *chunker) push(d *digest, ch Chunk) int {
	c.seal()
	ch.Timestamp = d.time
	if c.bare {
		ch.Injected, ch.Lines = c.list[0].Injected, c.list[0].Lines
		c.list, c.books, c.bare = c.list[:0], c.books[:0], false
	}
	i := c.append(ch)
	c.count(i, d)
	return i
}

func (c *chunker) append(ch Chunk) int {
	c.list = append(c.list, ch)
	c.books = append(c.books, book{})
	return len(c.list) - 1
}

// turn returns the index of the open AI chunk, a new one if there is none.
func (c *chunker) turn() int {
	if !c.open && !c.bare {
		c.append(Chunk{Type: AIChunk})
	}
	if c.bare {
		c.list[0].Interrupted = false
	}
	c.open, c.bare = true, false
	return len(c.list) - 1
}

// lastChunk returns the index of the last chunk. If there is none yet it makes a bare one.
func (c *chunker) lastChunk() int {
	if len(c.list) == 0 {
		c.append(Chunk{Type: AIChunk})
		c.bare = true
	}
	return len(c.list) - 1
}

// seal closes the open chunk.
func (c *chunker) seal() {
	c.joinTexts()
	clear(c.texts)
	c.texts = c.texts[:0]
	c.last.reset("")
	c.open = false
}

func (c *chunker) joinTexts() {
	if c.stale {
		c.list[len(c.list)-1].Text = strings.Join(c.texts, "\n")
		c.stale = false
	}
}

// addItem adds an item to the open chunk, and returns its place.
func (c *chunker) addItem(item DisplayItem) place {
	i := len(c.list) - 1
	ch := &c.list[i]
	ch.Items = append(ch.Items, item)
	return place{chunk: i, item: len(ch.Items) - 1}
}

// count says that the digest is in the chunk.
func (c *chunker) count(i int, d *digest) {
	if d.at.Line > 0 {
		c.list[i].Lines = append(c.list[i].Lines, d.at.Line)
	}
	c.touch(i)
}

func (c *chunker) touch(i int) { c.firstChanged = min(c.firstChanged, i) }

// extend says that a message of an AI chunk came at that time.
func (c *chunker) extend(i int, at time.Time) {
	ch, b := &c.list[i], &c.books[i]
	if ch.Type != AIChunk || at.IsZero() || c.bare {
		return
	}
	if ch.Timestamp.IsZero() {
		ch.Timestamp = at
	}
	if at.After(b.end) {
		b.end = at
		ch.DurationMs = millisBetween(ch.Timestamp, at)
	}
}

// millisBetween returns 0 if one of the times is not known, or if they are the wrong way round.
func millisBetween(from, to time.Time) int64 {
	if from.IsZero() || !to.After(from) {
		return 0
	}
	return to.Sub(from).Milliseconds()
}

// drop forgets the first chunks.
func (c *chunker) drop(n int) {
	c.list = slices.Clone(c.list[n:])
	c.books = slices.Clone(c.books[n:])
	for id, at := range c.calls {
		if at.chunk < n {
			delete(c.calls, id)
			continue
		}
		at.chunk -= n
		c.calls[id] = at
	}
	c.firstChanged = max(0, c.firstChanged-n)
	if len(c.list) == 0 {
		*c = chunker{}
	}
}
