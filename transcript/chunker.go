package transcript

import (
	"slices"
	"strings"
	"time"

	"github.com/clewdev/clew/wire"
)

// A chunker groups digests into chunks as they come. The zero value is ready. The cost of a digest
// does not depend on how many came before it.
type chunker struct {
	list    []Chunk
	states  []chunkState // one for each chunk
	prompts int          // how many there were
	// calls are the places of the items of calls, by ID, so that a result finds its call whatever
	// is between them.
	calls map[string]itemIndex
	// background are the places of the calls that started subagents in the background, by the IDs
	// of the subagents.
	background map[string]itemIndex
	// pending are the calls of the last answer that had calls.
	pending []itemIndex

	// open reports whether the last chunk is an AI chunk that the next answer joins.
	open bool
	// bare reports whether there is only one chunk, and that nothing but injected text is in it. It
	// waits for the first message that makes a chunk, and becomes that chunk.
	bare bool

	// Of the open chunk: the texts of the answers, whether the chunk's text is not yet made of
	// them, and the answer that came last.
	texts []string
	stale bool
	last  run

	// firstChanged is the index of the first chunk that changed since changed was called last.
	firstChanged int
}

// A chunkState holds the chunker's knowledge of a chunk in addition to its content.
type chunkState struct {
	end               time.Time // of its last message
	subagentTimed     bool      // one of its subagents has a duration
	boundary, summary bool      // of a compaction: which of the two it has
}

// An itemIndex locates the item of a call.
type itemIndex struct {
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
		if m = c.reported(d, m); m == nil {
			return
		}
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

// changed returns the index of the first chunk that is new or changed since the last call, or the
// number of chunks.
func (c *chunker) changed() int {
	first := c.firstChanged
	c.firstChanged = len(c.list)
	return first
}

// addInterruption takes a line that reports that the user stopped the agent.
func (c *chunker) addInterruption(d *digest) {
	i := c.lastChunk()
	c.list[i].Interrupted = true
	c.extend(i, d.time)
	c.count(i, d)
	c.seal()
}

// addTeammate adds a teammate's message to the open AI chunk, or starts one with it.
func (c *chunker) addTeammate(d *digest, m *TeammateMsg) {
	i := c.turn()
	c.addItem(DisplayItem{
		Type: ItemTeammateMessage, Timestamp: d.time, Text: m.Text, At: d.at, TokenCount: len(m.Text) / 4,
		TeammateID: m.TeammateID, TeammateColor: m.Color, TeammateSummary: m.Summary,
	})
	c.extend(i, d.time)
	c.count(i, d)
}

// startBackground records the call that started a subagent in the background.
func (c *chunker) startBackground(agent string, at itemIndex) {
	if agent == "" {
		return
	}
	if c.background == nil {
		c.background = map[string]itemIndex{}
	}
	c.background[agent] = at
}

// reported gives the reports of subagents in the background to the calls that started them. It
// returns the message without these, or nil if nothing else is in it. The next answer starts another
// chunk: the reports started it.
func (c *chunker) reported(d *digest, m *SystemMsg) *SystemMsg {
	var rest []string
	home, killed := -1, false
	for i := range m.Tasks {
		task := &m.Tasks[i]
		at, ok := c.background[task.TaskID]
		if !ok {
			at, ok = c.calls[task.ToolUseID]
			ok = ok && c.item(at).InBackground()
		}
		if !ok {
			rest, killed = append(rest, task.Summary), killed || task.Status == taskKilled
			continue
		}
		item := c.item(at)
		item.Report, item.DurationMs = task, task.DurationMs
		if item.DurationMs == 0 {
			item.DurationMs = millisBetween(item.Timestamp, d.time)
		}
		home = max(home, at.chunk)
		c.touch(at.chunk)
	}
	switch {
	case home < 0:
		return m
	case len(rest) == 0:
		c.seal()
		c.count(home, d)
		return nil
	}
	left := *m
	left.Output, left.IsError = joinLines(rest...), killed
	return &left
}

// addCompact adds the boundary or the summary of a compaction to the other one if that is the last
// chunk. The two are entries one after the other, in either order.
func (c *chunker) addCompact(d *digest, m *CompactMsg) {
	i := len(c.list) - 1
	if i >= 0 && c.list[i].Type == CompactChunk && c.states[i].lacks(m) {
		c.count(i, d)
	} else {
		i = c.push(d, Chunk{Type: CompactChunk})
	}
	ch, b := &c.list[i], &c.states[i]
	if ch.Timestamp.IsZero() {
		ch.Timestamp = d.time
	}
	if m.Summary || !b.summary {
		ch.Text = m.Text
	}
	if !m.Summary || !b.boundary {
		ch.Compaction = &Compaction{m.Trigger, m.PreTokens, m.PostTokens, m.Duration.Milliseconds()}
	}
	b.summary, b.boundary = b.summary || m.Summary, b.boundary || !m.Summary
}

// lacks reports whether a compaction chunk does not have yet what the message brings: the boundary
// or the summary.
func (b *chunkState) lacks(m *CompactMsg) bool {
	if m.Summary {
		return !b.summary
	}
	return !b.boundary
}

// push adds a new chunk for the digest, and returns its index. Text that was injected before the
// first chunk moves to the new one.
func (c *chunker) push(d *digest, ch Chunk) int {
	c.seal()
	ch.Timestamp, ch.At = d.time, d.at
	if c.bare {
		ch.Injected, ch.Lines = c.list[0].Injected, c.list[0].Lines
		c.list, c.states, c.bare = c.list[:0], c.states[:0], false
	}
	i := c.append(ch)
	c.count(i, d)
	return i
}

// append adds a chunk with its state, and returns its index.
func (c *chunker) append(ch Chunk) int {
	if ch.Type == UserChunk {
		c.prompts++
	}
	ch.Turn = c.prompts
	c.list = append(c.list, ch)
	c.states = append(c.states, chunkState{})
	return len(c.list) - 1
}

// turn returns the index of the open AI chunk, a new one if there is none. A bare chunk becomes the
// open one.
func (c *chunker) turn() int {
	if !c.open && !c.bare {
		c.append(Chunk{Type: AIChunk})
	}
	if c.bare {
		c.list[0].Interrupted, c.list[0].At = false, wire.Position{}
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

// joinTexts makes the text of the open chunk of its parts. It is only done when somebody looks, so
// that an answer of many lines costs no more than its length.
func (c *chunker) joinTexts() {
	if c.stale {
		c.list[len(c.list)-1].Text = strings.Join(c.texts, "\n")
		c.stale = false
	}
}

// addItem adds an item to the open chunk, and returns its index.
func (c *chunker) addItem(item DisplayItem) itemIndex {
	i := len(c.list) - 1
	ch := &c.list[i]
	ch.Items = append(ch.Items, item)
	return itemIndex{chunk: i, item: len(ch.Items) - 1}
}

// count records that the digest is in the chunk.
func (c *chunker) count(i int, d *digest) {
	if ch := &c.list[i]; d.at.Line > 0 {
		ch.Lines = append(ch.Lines, d.at.Line)
		if ch.At.Line == 0 {
			ch.At = d.at
		}
	}
	c.touch(i)
}

// touch records that a chunk changed.
func (c *chunker) touch(i int) { c.firstChanged = min(c.firstChanged, i) }

// extend records that a message of an AI chunk came at that time. Times that go back don't shorten
// a chunk.
func (c *chunker) extend(i int, at time.Time) {
	ch, b := &c.list[i], &c.states[i]
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

// millisBetween returns the time from one message to another. It returns 0 if one of the times is
// not known, or if they are the wrong way round.
func millisBetween(from, to time.Time) int64 {
	if from.IsZero() || !to.After(from) {
		return 0
	}
	return to.Sub(from).Milliseconds()
}

// drop forgets the first chunks. Indexes of calls move with the chunks; calls in dropped chunks are
// forgotten, so their results become outputs.
func (c *chunker) drop(n int) {
	c.list = slices.Clone(c.list[n:])
	c.states = slices.Clone(c.states[n:])
	for id, at := range c.calls {
		if at.chunk < n {
			delete(c.calls, id)
			continue
		}
		at.chunk -= n
		c.calls[id] = at
	}
	for id, at := range c.background {
		if at.chunk < n {
			delete(c.background, id)
			continue
		}
		at.chunk -= n
		c.background[id] = at
	}
	kept := c.pending[:0]
	for _, at := range c.pending {
		if at.chunk >= n {
			at.chunk -= n
			kept = append(kept, at)
		}
	}
	c.pending = kept
	c.firstChanged = max(0, c.firstChanged-n)
	if len(c.list) == 0 {
		*c = chunker{prompts: c.prompts}
	}
}

// addAnswer takes an answer of the model, or something that went back to it.
func (c *chunker) addAnswer(d *digest) {
	switch a := d.answer; {
	case d.interrupted:
		c.addInterruption(d)
	case a == nil:
	case a.meta:
		c.addMeta(d)
	default:
		i := c.turn()
		c.addSummary(&c.list[i], a)
		c.addParts(d)
		c.extend(i, d.time)
		c.count(i, d)
	}
}

// addSummary takes the properties of an answer into its chunk. The first model counts, and the last
// stop reason and usage that are there.
func (c *chunker) addSummary(ch *Chunk, a *answerDigest) {
	if ch.Model == "" {
		ch.Model = a.model
	}
	if a.stop != "" {
		ch.StopReason = a.stop
	}
	if a.usage.TotalTokens() > 0 {
		ch.Usage = a.usage
	}
	ch.ThinkingCount += a.thinking
	ch.ToolCalls = append(ch.ToolCalls, a.calls...)
	if a.text != "" {
		c.addText(a.text)
	}
}

// addParts adds the parts of an answer to the open chunk, except parts that repeat an earlier line
// of the same answer.
func (c *chunker) addParts(d *digest) {
	c.last.begin(d.answer.message)
	c.loseResults(d.answer.message)
	repeated := c.repeated(d.answer)
	for i := range d.answer.parts {
		p := &d.answer.parts[i]
		if i < len(repeated) {
			c.renew(repeated[i], p)
			continue
		}
		s := c.addPart(d, p)
		if d.answer.block > 0 {
			s.block = d.answer.block + i
		}
		c.last.parts = append(c.last.parts, s)
	}
	c.last.complete = d.answer.complete
}

// loseResults records that the results of earlier answers that have not come are lost: an answer
// follows, and the model can't answer without them.
func (c *chunker) loseResults(message string) {
	if message == "" || len(c.pending) == 0 || c.pending[0].message == message {
		return
	}
	for _, at := range c.pending {
		if item := c.item(at); !item.HasResult {
			item.ResultLost = true
			c.touch(at.chunk)
		}
	}
	c.pending = c.pending[:0]
}

// addPart adds one part of an answer to the open chunk, and returns what the next line may repeat.
func (c *chunker) addPart(d *digest, p *part) said {
	item := DisplayItem{Timestamp: d.time, Text: p.text, At: d.at, TokenCount: len(p.text) / 4}
	s := said{kind: p.kind, id: p.id}
	switch p.kind {
	case partThinking:
		item.Type = ItemThinking
		c.list[len(c.list)-1].ThinkingCount++
		s.item = c.addItem(item).item
	case partText:
		item.Type = ItemOutput
		s.text = c.addText(p.text)
		s.item = c.addItem(item).item
	case partCall:
		c.addCall(d, p)
	case partResult:
		c.addResult(d, p)
	case partOther, partInjected:
		item.Type = ItemOutput
		s.item = c.addItem(item).item
	}
	return s
}

// addText adds to the text of the open chunk, and returns which of its texts it is.
func (c *chunker) addText(text string) int {
	c.texts = append(c.texts, text)
	c.stale = true
	return len(c.texts) - 1
}

// addCall adds a call, unless another line of the same answer has it. One without an ID is always
// new, and gets no result.
func (c *chunker) addCall(d *digest, p *part) {
	message := d.answer.message
	if at, ok := c.calls[p.id]; ok && message != "" && at.message == message {
		c.renewCall(at, p)
		return
	}
	item := DisplayItem{Type: ItemToolCall, Timestamp: d.time, ToolID: p.id, At: d.at}
	if startsSubagent(p.call.name) {
		item.Type = ItemSubagent
	}
	item.setCall(p.call)
	at := c.addItem(item)
	if p.id == "" {
		return
	}
	if c.calls == nil {
		c.calls = make(map[string]itemIndex)
	}
	at.message = message
	c.calls[p.id] = at
	if message != "" {
		c.pending = append(c.pending, at)
	}
	if p.call.name != "" {
		ch := &c.list[at.chunk]
		ch.ToolCalls = append(ch.ToolCalls, ToolCall{ID: p.id, Name: p.call.name})
	}
}

// setCall fills in the fields of an item that come from its call.
func (i *DisplayItem) setCall(from *callDigest) {
	i.TokenCount += estimate(from.input) - estimate(i.ToolInput)
	i.ToolName, i.ToolInput, i.ToolSummary = from.name, from.input, from.summary
	i.SubagentType, i.SubagentDesc = from.subagentType, from.subagentDesc
}

// addMeta adds a message that went back to the model. Results go to the items of their calls, in
// whichever chunk these are. Results of unknown calls become outputs. Other text goes to the last
// chunk, and never makes a new one.
func (c *chunker) addMeta(d *digest) {
	home, timed := -1, false // the chunk that the line counts for, and whether its time counts
	for i := range d.answer.parts {
		p := &d.answer.parts[i]
		at, known := c.calls[p.id]
		switch {
		case p.kind == partResult:
			home, timed = max(home, c.addResult(d, p)), true
		case p.kind != partInjected:
			home, timed = c.turn(), true
			c.addPart(d, p)
		case known:
			item := c.item(at)
			item.Injected = append(item.Injected, p.text)
			c.touch(at.chunk)
			home = max(home, at.chunk)
		default:
			home = c.lastChunk()
			c.list[home].Injected = append(c.list[home].Injected, p.text)
			c.touch(home)
		}
	}
	if home < 0 {
		home = c.lastChunk()
	}
	if timed {
		c.extend(home, d.time)
	}
	c.count(home, d)
}

// item returns an item for changing it. The pointer is valid until the next item is added.
func (c *chunker) item(at itemIndex) *DisplayItem { return &c.list[at.chunk].Items[at.item] }

// addResult gives a result to its call, or makes it an output of the open chunk. It returns the
// index of the chunk.
func (c *chunker) addResult(d *digest, p *part) int {
	at, known := c.calls[p.id]
	if !known {
		i := c.turn()
		item := DisplayItem{
			Type: ItemOutput, Timestamp: d.time, ToolID: p.id, Text: p.text, At: d.at, TokenCount: p.tokens,
		}
		item.setOutcome(d, p)
		c.addItem(item)
		return i
	}
	item := c.item(at)
	if p.text == "" && p.images == 0 && (item.ToolResult != "" || item.ResultImages > 0) {
		return at.chunk // of two results the last one that says something counts
	}
	item.HasResult, item.ResultLost, item.ToolResult = true, false, p.text
	item.TokenCount = estimate(item.ToolInput) + p.tokens
	item.DurationMs = millisBetween(item.Timestamp, d.time)
	item.setOutcome(d, p)
	if item.InBackground() {
		item.DurationMs = 0 // it is the time of the start
		c.startBackground(item.AgentID, at)
	}
	c.distrustDurations(at)
	c.touch(at.chunk)
	return at.chunk
}

// setOutcome fills in the fields of an item that come from its result, except the text. It clears
// what an earlier result left.
func (i *DisplayItem) setOutcome(d *digest, p *part) {
	i.ToolError, i.ResultImages, i.ResultAt = p.failed, p.images, d.at
	i.Structured, i.Patch, i.Status, i.SpillPath = "", "", "", ""
	i.Permission, i.Sandboxed = nil, nil
	if o := p.outcome; o != nil {
		i.Structured, i.Patch, i.Status, i.SpillPath = o.structured, o.patch, o.status, o.spill
		i.Sandboxed = o.sandboxed
		if o.permission != (PermissionDecision{}) {
			i.Permission = &o.permission
		}
		if o.agentID != "" {
			i.AgentID = o.agentID
		}
	}
}

// distrustDurations takes back durations of more than a minute in a chunk with a subagent: while
// one runs, the results of other tools are written late.
func (c *chunker) distrustDurations(at itemIndex) {
	const maxMillis = 60_000
	items, b := c.list[at.chunk].Items, &c.states[at.chunk]
	from, to := at.item, at.item+1
	if it := &items[at.item]; it.Type == ItemSubagent && it.DurationMs > 0 && !b.subagentTimed {
		b.subagentTimed = true
		from, to = 0, len(items)
	}
	for i := from; i < to && b.subagentTimed; i++ {
		if items[i].Type != ItemSubagent && items[i].DurationMs > maxMillis {
			items[i].DurationMs = 0
		}
	}
}

// A run is the contribution of the lines of one answer to the open chunk. Mostly each line has the
// next block of the answer, but some agents write all blocks so far again, with more text.
type run struct {
	message  string
	parts    []said
	complete bool // the last line had complete blocks
}

// A said is a part that was added.
type said struct {
	kind  partKind
	id    string
	block int // which block of the answer it is, from 1, or 0 if that is not known
	item  int // index of its item, if it has text
	text  int // index of its text, if it is text of the answer
}

// begin starts another run unless the message is the same. Messages without an ID are never the
// same.
func (r *run) begin(message string) {
	if message == "" || message != r.message {
		r.reset(message)
	}
}

// reset starts a run without parts, and keeps the memory of the old one.
func (r *run) reset(message string) { r.message, r.parts = message, r.parts[:0] }

// repeated returns what the first of the answer's parts say again: the whole answer so far, or its
// last part.
func (c *chunker) repeated(a *answerDigest) []said {
	all := c.last.parts
	if len(all) == 0 || len(a.parts) == 0 {
		return nil
	}
	if len(a.parts) > 1 && sameBlock(a.block, all[0].block) && c.repeats(a.parts, all) {
		return all
	}
	if last := all[len(all)-1:]; c.mayContinue(a, last[0]) && c.repeats(a.parts, last) {
		return last
	}
	return nil
}

// mayContinue reports whether a line may repeat a block with more text. IDs and block numbers decide.
// Without them, a line with one block does so only where blocks are written as they grow.
func (c *chunker) mayContinue(a *answerDigest, last said) bool {
	if a.block > 0 && last.block > 0 || last.id != "" {
		return sameBlock(a.block, last.block)
	}
	return len(a.parts) > 1 || !c.last.complete
}

// sameBlock reports whether two numbers of blocks may be the same. 0 means that one is not known.
func sameBlock(a, b int) bool { return a == 0 || b == 0 || a == b }

// repeats reports whether the first of the parts continue what was said before. Two blocks of
// thinking without text in a row count as two, since nothing shows that they are the same.
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

// renew replaces earlier text with the text of a part that continues it.
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
func (c *chunker) renewCall(at itemIndex, p *part) {
	item := c.item(at)
	if len(p.call.input) > len(item.ToolInput) {
		item.setCall(p.call)
		c.touch(at.chunk)
	}
}

// BuildChunks groups messages into chunks, in order. Consecutive answers make one chunk, with the
// results of their calls and the messages of teammates. Each prompt, each output of a command and
// each compaction makes a separate chunk. Chunks share the strings of the messages. Messages have
// no line numbers and don't record interruptions: use [Read] for those.
func BuildChunks(msgs []ClassifiedMsg) []Chunk {
	var c chunker
	for _, msg := range msgs {
		if msg != nil {
			c.add(newDigest(msg, wire.Position{}))
		}
	}
	return c.chunks()
}
