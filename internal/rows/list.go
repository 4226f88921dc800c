package rows

import (
	"math"
	"slices"

	"github.com/clewdev/clew/transcript"
)

// A List is a transcript's rows, in the order of reading. Its zero value is an empty list. It is
// for one goroutine at a time.
type List struct {
	// Live means that an agent has the session open: a call without a result is running then. A
	// change takes effect at the next Update.
	Live bool

	rows  []Row
	index map[ID]int
	// agents are the rows of the subagents that are listed, so that each is listed once.
	agents map[string]int
	works  map[string]agentWork
	// segments are the first rows of each chunk, with the marks before it. The last one is the
	// start of the marks after all chunks.
	segments []segment
	marks    []mark
	live     bool
	// open is the first chunk with a call that is running only because nothing follows it, or -1.
	open int
}

// A segment is the start of a chunk's rows.
type segment struct {
	row  int
	turn int // the number of prompts before it
}

// Len returns the number of rows.
func (l *List) Len() int { return len(l.rows) }

// At returns a row. It is valid until the next Update.
func (l *List) At(i int) *Row { return &l.rows[i] }

// Index returns the index of the row with that ID.
func (l *List) Index(id ID) (int, bool) {
	i, ok := l.index[id]
	return i, ok
}

// Turns returns the number of prompts.
func (l *List) Turns() int {
	if len(l.segments) == 0 {
		return 0
	}
	return l.segments[len(l.segments)-1].turn
}

// Next returns the index of the first row after i that match accepts, or -1. It starts at the first
// row if i is -1.
func (l *List) Next(i int, match func(*Row) bool) int {
	for i++; i < len(l.rows); i++ {
		if match(&l.rows[i]) {
			return i
		}
	}
	return -1
}

// Previous returns the index of the last row before i that match accepts, or -1.
func (l *List) Previous(i int, match func(*Row) bool) int {
	for i = min(i, len(l.rows)) - 1; i >= 0; i-- {
		if match(&l.rows[i]) {
			return i
		}
	}
	return -1
}

// IsPrompt reports whether a row is a prompt of the conversation itself.
func IsPrompt(r *Row) bool { return r.Kind == Prompt && r.Depth == 0 }

// IsFailure reports whether something failed in a row.
func IsFailure(r *Row) bool { return r.State == Failed }

// Find returns the index of the row that shows a place, as [transcript.Transcript.Find] and
// [transcript.Transcript.All] yield them. A place without its own row, such as a blank text, is
// found at another row of its chunk, or at the row of its subagent.
func (l *List) Find(p transcript.Place) (int, bool) {
	at, ok := 0, false
	if p.Agent != nil {
		if at, ok = l.agents[agentKey(p.Agent)]; !ok {
			return 0, false
		}
	}
	if p.Chunk == nil {
		return at, ok
	}
	n := makeNames(p.Agent)
	n.chunk = p.ChunkIndex
	if p.Branch != nil {
		n = n.branch(&p.Branch.Chunks[0], branchNumber(&p))
	}
	for item := p.ItemIndex; item >= -1; item-- {
		if i, ok := l.index[n.item(p.Chunk, item)]; ok {
			return i, true
		}
	}
	for item := range p.Chunk.Items {
		if i, ok := l.index[n.item(p.Chunk, item)]; ok {
			return i, true
		}
	}
	return at, ok
}

// branchNumber returns the index of the branch of a place.
func branchNumber(p *transcript.Place) int {
	for i := range p.Transcript.Branches {
		if &p.Transcript.Branches[i] == p.Branch {
			return i
		}
	}
	return -1
}

// Update makes the rows again, from the given chunk on. It returns the index of the first new or
// changed row, or Len if there is none. Call it with 0 for another transcript, and if the changes
// are not known.
//
// t must not change as long as the list is used. Rows of the chunks before first keep pointing into
// earlier transcripts, which must have equal chunks. It takes time in proportion to the rows that
// are made again, and to the rows of branches.
func (l *List) Update(t *transcript.Transcript, first int) (changed int) {
	if t == nil {
		t = &transcript.Transcript{}
	}
	marks := marksOf(t, l.Live)
	first = min(first, len(t.Chunks), len(l.segments)-1, firstDifference(l.marks, marks))
	if l.open >= 0 {
		first = min(first, l.open)
	}
	if l.live != l.Live || first < 0 {
		first = 0
	}
	l.marks, l.live = marks, l.Live
	old := l.cut(first)
	l.build(t, first)
	for i := range old {
		at := len(l.rows) // of the first difference
		if from := l.segments[first].row + i; from < len(l.rows) {
			if at = from; sameRow(&old[i], &l.rows[from]) {
				continue
			}
		}
		return at
	}
	return min(l.segments[first].row+len(old), len(l.rows))
}

// cut removes a chunk's rows and all after it, and returns them.
func (l *List) cut(first int) []Row {
	if l.index == nil {
		l.index, l.agents, l.works = map[ID]int{}, map[string]int{}, map[string]agentWork{}
	}
	if first >= len(l.segments) {
		l.segments, l.open = []segment{{}}, -1
	}
	from := l.segments[first]
	old := slices.Clone(l.rows[from.row:])
	for i := range old {
		delete(l.index, old[i].ID)
		if a := old[i].AgentRef; a != nil && l.agents[agentKey(a)] >= from.row {
			delete(l.agents, agentKey(a))
		}
	}
	clear(l.rows[from.row:])
	l.rows = l.rows[:from.row]
	l.segments = l.segments[:first]
	if l.open >= first {
		l.open = -1
	}
	l.segments = append(l.segments, from)
	return old
}

// firstDifference returns the first chunk before which two mark lists differ.
func firstDifference(a, b []mark) int {
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(a):
			return b[i].before
		case i >= len(b):
			return a[i].before
		case a[i].before != b[i].before || a[i].facts != b[i].facts:
			return min(a[i].before, b[i].before)
		}
	}
	return math.MaxInt
}

// sameRow reports whether two rows show the same.
func sameRow(a, b *Row) bool {
	x, y := *a, *b
	x.Chunk, x.Item, x.AgentRef, x.Work, x.Transcript = nil, nil, nil, nil, nil
	y.Chunk, y.Item, y.AgentRef, y.Work, y.Transcript = nil, nil, nil, nil, nil
	return x == y && a.AgentRef == b.AgentRef && same(a.Work, b.Work) && sameItem(a.Item, b.Item) &&
		(a.Item != nil || sameChunk(a.Chunk, b.Chunk))
}

// sameItem compares what the layouts show of items.
func sameItem(a, b *transcript.DisplayItem) bool {
	if a == nil || b == nil || a == b {
		return a == b
	}
	return a.HasResult == b.HasResult && a.ToolError == b.ToolError && a.ResultImages == b.ResultImages &&
		a.ToolInput == b.ToolInput && a.ToolResult == b.ToolResult && a.Structured == b.Structured && a.Patch == b.Patch &&
		a.Status == b.Status && a.Report == b.Report && a.AgentID == b.AgentID && len(a.Agents) == len(b.Agents) &&
		same(a.Permission, b.Permission) && same(a.Sandboxed, b.Sandboxed)
}

// same reports whether two pointers are nil or point to equal values.
func same[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

// sameChunk compares what the layouts show of chunks that have no items.
func sameChunk(a, b *transcript.Chunk) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Stderr == b.Stderr && a.IsError == b.IsError && a.Images == b.Images && a.Documents == b.Documents &&
		a.Queued == b.Queued && same(a.Compaction, b.Compaction)
}
