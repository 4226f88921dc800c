package rows

import (
	"slices"
	"strings"
	"time"

	"github.com/clewdev/clew/internal/pricelist"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/usage"
)

// build appends the rows of the chunks from first on, with the marks before and after them.
func (l *List) build(t *transcript.Transcript, first int) {
	b := builder{list: l, transcript: t, names: makeNames(nil), live: l.Live, current: currentTurn(t.Chunks)}
	b.turn, b.apart = l.segments[first].turn, first > 0
	l.segments = l.segments[:first]
	if first == 0 {
		l.rows = slices.Grow(l.rows, about(t))
	}
	next := 0
	for next < len(l.marks) && l.marks[next].before < first {
		next++
	}
	for i := first; i <= len(t.Chunks); i++ {
		l.segments = append(l.segments, segment{row: len(l.rows), turn: b.turn})
		for ; next < len(l.marks) && l.marks[next].before == i; next++ {
			b.mark(&l.marks[next])
		}
		if i < len(t.Chunks) {
			b.chunk(t.Chunks, i)
		}
	}
}

// about returns about how many rows a transcript has.
func about(t *transcript.Transcript) int {
	n := 0
	for _, c := range t.AllChunks() {
		n += max(len(c.Items), 1)
	}
	return n + len(t.Branches) + len(t.Unlinked)
}

// A builder appends rows of one transcript, or of one branch of it, to a list.
type builder struct {
	list       *List
	transcript *transcript.Transcript
	names      names
	agent      string
	depth      int
	parent     int // less than 0 for none: then rows have no parent
	nested     bool
	// apart means that other rows point into other transcripts. Then rows point to copies of
	// chunks: a chunk would keep all others of its transcript in memory.
	apart   bool
	turn    int
	live    bool // calls of the current turn may be running
	current int  // the index of the first chunk of that turn
}

// below returns a builder of rows below a row.
func (b *builder) below(parent int) builder {
	c := *b
	c.depth, c.parent, c.nested, c.apart = b.depth+1, parent, true, false
	return c
}

// add appends a row, and returns its index.
func (b *builder) add(r Row) int {
	l := b.list
	i := len(l.rows)
	r.Depth, r.Agent, r.Turn, r.Parent = b.depth, b.agent, b.turn, -1
	if b.nested {
		r.Parent = b.parent
	}
	for {
		if _, taken := l.index[r.ID]; !taken {
			break
		}
		r.ID += "+" // only if two entries claim to be one
	}
	l.index[r.ID] = i
	l.rows = append(l.rows, r)
	return i
}

// end marks the rows below a row as complete.
func (b *builder) end(i int) { b.list.rows[i].Below = len(b.list.rows) - i - 1 }

// chunk appends a chunk's rows.
func (b *builder) chunk(chunks []transcript.Chunk, i int) {
	c := &chunks[i]
	if b.apart {
		c = new(transcript.Chunk)
		*c = chunks[i]
	}
	b.names.chunk = i
	row := Row{ID: b.names.item(c, -1), Chunk: c, Time: c.Timestamp, Text: c.Text}
	switch c.Type {
	case transcript.UserChunk:
		if !b.nested {
			b.turn++
		}
		row.Kind = Prompt
		b.add(row)
	case transcript.CompactChunk:
		row.Kind = Compaction
		if c.Compaction != nil {
			row.Duration = time.Duration(c.Compaction.DurationMs) * time.Millisecond
		}
		b.add(row)
	case transcript.AIChunk:
		b.answer(c, before(chunks, i), i >= b.current)
	default:
		row.Kind = Notice
		if c.IsError {
			row.State = Failed
		}
		b.add(row)
	}
	if c.Interrupted {
		b.add(Row{ID: b.names.interruption(c), Kind: Interruption, State: Interrupted, Chunk: c})
	}
}

// before returns when the chunk before another one was said.
func before(chunks []transcript.Chunk, i int) time.Time {
	if i == 0 || chunks[i-1].Type != transcript.UserChunk {
		return time.Time{}
	}
	return chunks[i-1].Timestamp
}

// answer appends the rows of the items of a chunk. since is the time at which the model started, or
// the zero time.
func (b *builder) answer(c *transcript.Chunk, since time.Time, open bool) {
	if len(c.Items) == 0 && strings.TrimSpace(c.Text) != "" { // made by hand
		b.add(Row{ID: b.names.item(c, -1), Kind: Answer, Chunk: c, Time: c.Timestamp, Text: c.Text})
	}
	b.names.restart()
	for i := range c.Items {
		item := &c.Items[i]
		row := Row{ID: b.names.next(c, i), Chunk: c, Item: item, Time: item.Timestamp, Text: item.Text}
		switch item.Type {
		case transcript.ItemToolCall, transcript.ItemSubagent:
			b.call(row, c, open)
		case transcript.ItemThinking:
			row.Kind, row.Duration = Thinking, span(since, item.Timestamp)
			b.add(row)
		case transcript.ItemTeammateMessage:
			row.Kind = Teammate
			b.add(row)
		default:
			b.output(row)
		}
		since = item.Timestamp.Add(time.Duration(item.DurationMs) * time.Millisecond)
	}
}

// span returns the time between two times, or 0 if one of them is not known.
func span(from, to time.Time) time.Duration {
	if from.IsZero() || to.IsZero() {
		return 0
	}
	return max(to.Sub(from), 0)
}

// output appends the row of a text or of a result without its call. A blank one has no row.
func (b *builder) output(row Row) {
	switch {
	case row.Item.ToolID != "":
		row.Kind = Result
		if row.Item.ToolError {
			row.State = Failed
		}
	case strings.TrimSpace(row.Text) == "" && row.Item.ResultImages == 0:
		return
	default:
		row.Kind = Answer
	}
	b.add(row)
}

// call appends a call's row, and below it the rows of its subagents.
func (b *builder) call(row Row, c *transcript.Chunk, open bool) {
	item := row.Item
	row.Kind, row.Duration = Call, time.Duration(item.DurationMs)*time.Millisecond
	if item.Type == transcript.ItemSubagent || len(item.Agents) > 0 {
		row.Kind = Subagent
	}
	row.State = b.state(item, c, open)
	if row.State == Running && !b.nested && !item.HasResult && b.list.open < 0 {
		b.list.open = b.names.chunk
	}
	if len(item.Agents) == 1 {
		row.AgentRef = item.Agents[0]
	}
	row.Work = b.list.work(item.Agents)
	i := b.add(row)
	below := b.below(i)
	below.live = row.State == Running
	if row.AgentRef != nil {
		below.rowsOf(row.AgentRef, i)
	} else {
		for _, a := range item.Agents {
			below.agentRow(Agent, a)
		}
	}
	b.end(i)
}

// state returns how a call went.
func (b *builder) state(item *transcript.DisplayItem, c *transcript.Chunk, open bool) State {
	state := StateOf(c, item)
	switch {
	case item.InBackground():
		if b.runsInBackground(item) {
			return Running
		}
	case state == Done && b.anyRuns(item.Agents), // an older agent, or a workflow
		state == NoResult && open && b.live && !item.ResultLost:
		return Running
	}
	return state
}

// runsInBackground reports whether the subagent of a call in the background is running: it is not
// reported as ended, or was resumed after it completed.
func (b *builder) runsInBackground(item *transcript.DisplayItem) bool {
	if item.Report == nil && len(item.Agents) == 0 { // its transcript is not there yet
		return b.list.Live
	}
	return (item.Report == nil || StateOf(nil, item) == Done) && b.anyRuns(item.Agents)
}

// StateOf returns how a call went, in a session that no agent has open. c is the chunk of the call,
// or nil if it is not known.
func StateOf(c *transcript.Chunk, item *transcript.DisplayItem) State {
	switch {
	case item.ToolError:
		return Failed
	case item.InBackground():
		return backgroundState(item)
	case item.HasResult:
		return Done
	case c != nil && c.Interrupted:
		return Interrupted
	}
	return NoResult
}

// backgroundState returns how a subagent in the background ended: as reported, or else by its
// transcript.
func backgroundState(item *transcript.DisplayItem) State {
	if item.Report == nil {
		for _, a := range item.Agents {
			if a != nil && a.Transcript != nil && !a.Ongoing() {
				return Done
			}
		}
		return NoResult
	}
	switch item.Report.Status {
	case "failed":
		return Failed
	case "killed", "stopped":
		return Interrupted
	}
	return Done
}

// anyRuns reports whether one of the subagents is still running, in a session that is open.
func (b *builder) anyRuns(agents []*transcript.Agent) bool {
	for _, a := range agents {
		if b.list.Live && a != nil && a.Ongoing() {
			return true
		}
	}
	return false
}

// agentRow appends a row for a subagent, and below it its rows.
func (b *builder) agentRow(kind Kind, a *transcript.Agent) {
	if a == nil {
		return
	}
	row := Row{ID: ID("@" + agentKey(a)), Kind: kind, AgentRef: a, Time: a.Start(), Work: b.list.work([]*transcript.Agent{a})}
	if a.Transcript != nil {
		row.Duration = span(row.Time, a.Transcript.Modified)
	}
	if a.Ongoing() {
		row.State = NoResult
		if b.list.Live {
			row.State = Running
		}
	}
	i := b.add(row)
	below := b.below(i)
	below.live = row.State == Running
	below.rowsOf(a, i)
	b.end(i)
}

// rowsOf appends a subagent's rows, unless they are in the list. at is the row that stands for
// it.
func (b *builder) rowsOf(a *transcript.Agent, at int) {
	key := agentKey(a)
	if _, listed := b.list.agents[key]; listed || a.Transcript == nil {
		return
	}
	b.list.agents[key] = at
	b.transcript, b.names, b.agent = a.Transcript, makeNames(a), a.ID
	b.current = currentTurn(a.Transcript.Chunks)
	marks := marksOf(a.Transcript, b.list.Live)
	for i := range len(a.Transcript.Chunks) + 1 {
		for len(marks) > 0 && marks[0].before == i {
			b.mark(&marks[0])
			marks = marks[1:]
		}
		if i < len(a.Transcript.Chunks) {
			b.chunk(a.Transcript.Chunks, i)
		}
	}
}

// currentTurn returns the index of the first chunk after the last prompt or interruption. A prompt
// that was queued belongs to the turn in which it was typed.
func currentTurn(chunks []transcript.Chunk) int {
	for i := len(chunks) - 1; i >= 0; i-- {
		if c := &chunks[i]; c.Interrupted || c.Type == transcript.UserChunk && !c.Queued {
			return i + 1
		}
	}
	return 0
}

// agentKey returns what distinguishes a subagent from the others of a session.
func agentKey(a *transcript.Agent) string {
	if a.Workflow == "" {
		return a.ID
	}
	return a.Workflow + "/" + a.ID
}

// agentWork is the work of a subagent, as of a state of its transcript.
type agentWork struct {
	of            *transcript.Transcript
	chunks, items int
	work          *Work
}

// work returns what subagents did, or nil if that is not known.
func (l *List) work(agents []*transcript.Agent) *Work { return sumWork(agents, l.workOf) }

// WorkOfAgents returns what subagents did, or nil if that is not known.
func WorkOfAgents(agents []*transcript.Agent) *Work {
	return sumWork(agents, func(a *transcript.Agent) *Work { return WorkOf(a.Transcript) })
}

// sumWork adds up what each of the subagents did.
func sumWork(agents []*transcript.Agent, of func(*transcript.Agent) *Work) *Work {
	var sum *Work
	for _, a := range agents {
		if a == nil || a.Transcript == nil {
			continue
		}
		w := of(a)
		if len(agents) == 1 {
			return w
		}
		if sum == nil {
			sum = new(Work)
		}
		sum.Calls, sum.Tokens, sum.Cost = sum.Calls+w.Calls, sum.Tokens+w.Tokens, sum.Cost+w.Cost
		sum.UnknownCost = sum.UnknownCost || w.UnknownCost
	}
	return sum
}

// Facts are the figures of a session.
type Facts struct {
	Prompts, Calls, Failed, Agents int
	Work                           *Work
	Turns                          map[int]usage.Costs // by number
}

// FactsOf returns the figures of a transcript with these rows. It takes time in proportion to the number of rows.
func FactsOf(l *List, t *transcript.Transcript) *Facts {
	f := &Facts{Prompts: l.Turns(), Work: WorkOf(t), Turns: map[int]usage.Costs{}}
	for i := range l.rows {
		r := &l.rows[i]
		if r.Kind == Subagent || r.Kind == Agent || r.Kind == Unlinked {
			f.Agents++
		}
		if r.IsCall() {
			f.Calls++
			if r.Failed() {
				f.Failed++
			}
		}
	}
	turns, _ := t.Turns()
	for i := range turns {
		f.Turns[turns[i].Number] = usage.Cost(turns[i].Calls, pricelist.Current())
	}
	return f
}

// WorkOf returns what the agent of a transcript and its subagents did. It takes time in proportion to
// the number of items.
func WorkOf(t *transcript.Transcript) *Work {
	calls := t.Calls()
	costs := usage.Cost(calls, pricelist.Current())
	w := &Work{Cost: costs.Total, UnknownCost: len(costs.Unknown) > 0}
	for i := range calls {
		w.Tokens += calls[i].Usage.TotalTokens()
	}
	for _, item := range t.All() {
		if item.IsCall() {
			w.Calls++
		}
	}
	return w
}

// workOf returns what a subagent did. It is counted once for each state of its transcript.
func (l *List) workOf(a *transcript.Agent) *Work {
	known := agentWork{of: a.Transcript, chunks: len(a.Transcript.Chunks)}
	if n := known.chunks; n > 0 {
		known.items = len(a.Transcript.Chunks[n-1].Items)
	}
	key := agentKey(a)
	if last := l.works[key]; last.of == known.of && last.chunks == known.chunks && last.items == known.items {
		return last.work
	}
	known.work = WorkOf(a.Transcript)
	l.works[key] = known
	return known.work
}
