package transcript

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/clewdev/clew/wire"
)

// A Builder builds a transcript as its lines come. It is an [io.Writer] of them, or takes entries one by one. What comes
// out does not depend on how the bytes are cut. It is for one goroutine at a time.
//
// It costs as much as the new lines are long, except after a rewind: then the chunks are made anew.
type Builder struct {
	opts       *ReadOptions
	lines      *LineSplitter
	decoder    entryDecoder
	entry      Entry // the last one that was decoded
	classifier classifier
	entries    int // how many were added

	tree     tree
	trail    *trail // nil while it has to be traced anew
	answers  map[string]bool
	chunker  chunker
	rebuilt  bool // since the last call of Changed
	branched bool // branches have changed

	noise      map[string]int
	sidechains []*Builder
	aside      map[identity]int // which of them has the entry
	live       liveState
	caller     string // the call that has started the subagent whose message comes, in a running session
	tally      Tally
	context    contextAccount
	t          Transcript
}

// NewBuilder returns a builder of an empty transcript. opts may be nil.
func NewBuilder(opts *ReadOptions) *Builder {
	return &Builder{
		opts:  opts,
		lines: NewLineSplitter(opts.maxLine()),
		classifier: classifier{
			maxResult: opts.maxResult(), decoder: wire.NewDecoder(&wire.ReaderOptions{DiscardRaw: true}),
		},
		tree:    newTree(),
		answers: map[string]bool{},
		noise:   map[string]int{},
	}
}

// Write takes the next bytes of a transcript, in pieces of any size. It never fails: a line that is no entry is kept as
// an [InvalidLine]. The last line waits until its end has come.
func (b *Builder) Write(p []byte) (int, error) {
	b.lines.Feed(p, b.addLine, b.addInvalid)
	return len(p), nil
}

// Close takes the last line, if it has no end but is an entry. Another one is among the invalid lines, as torn, and still
// waits for its rest. Close never fails.
func (b *Builder) Close() error {
	b.lines.Flush(b.addLine, b.addInvalid)
	return nil
}

func (b *Builder) addLine(line []byte, at wire.Position) {
	if err := b.decoder.decode(line, &b.entry); err != nil {
		b.addInvalid(InvalidLine{Position: at, Err: err, Head: lineHead(line)})
		return
	}
	b.entry.Position = at
	b.Add(&b.entry)
}

func (b *Builder) addInvalid(bad InvalidLine) { b.t.Invalid = append(b.t.Invalid, bad) }

// AddMessage takes the next message of a running session, or of a pipe in the agent's stream-json form, and gives the
// same chunks as the transcript that the agent writes. Prompts that the host has sent are messages too: give them before
// the messages that answer them. A message that does not tell its time is of the time at.
//
// Subagents are among [Transcript.Sidechains]: see [InlineAgents] and [Link].
func (b *Builder) AddMessage(msg wire.Message, at time.Time) {
	for _, e := range b.live.entries(msg, at) {
		b.caller = e.thread
		b.Add(&e.Entry)
	}
	b.caller = ""
}

// Add takes the next entry. The builder keeps nothing of its raw members.
func (b *Builder) Add(e *Entry) {
	b.entries++
	b.t.Info.note(e)
	b.t.Drift.note(e)
	if call, ok := CallOf(e); ok {
		call.Forked = call.Forked || call.Time.Before(b.t.Created) // a fork begins with lines of its own
		b.tally.Add(call)
	}
	b.noteTask(e)
	switch {
	case !e.Chained():
		b.noise[e.Type]++
		b.noteRewind(e)
	case b.isAside(e):
		b.addAside(e)
	default:
		b.addChained(e)
	}
}

// noteRewind leaves behind what the entry says that a rewind has left behind. Usually the next prompt says so, too, by
// what it hangs on.
func (b *Builder) noteRewind(e *Entry) {
	if e.Type == "last-prompt" && trueAt(e.Raw, "rewound") && b.tree.cut(e.member("cutUuid")) {
		b.trail = nil
	}
}

// Rewind takes a prompt of a running session and all that came after it out of the conversation: they are a branch from
// then on. prompt is its UUID, and last that of the message that is the last one now, or "". The messages of the
// session don't tell: call it when the agent has answered that it did so.
func (b *Builder) Rewind(prompt, last string) {
	b.live.thread("").last = last
	if b.tree.cut(prompt) {
		b.trail = nil
	}
}

// noteTask takes note of which call has started a task, if the entry tells that the task has ended.
func (b *Builder) noteTask(e *Entry) {
	task, call, ok := taskCall(e)
	if !ok {
		return
	}
	if b.t.TaskCalls == nil {
		b.t.TaskCalls = map[string]string{}
	}
	b.t.TaskCalls[task] = call
}

// isAside reports whether the entry is that of a subagent whose conversation stands in the file of another. A transcript
// that begins with such an entry is that of the subagent itself.
func (b *Builder) isAside(e *Entry) bool {
	if len(b.tree.nodes) == 0 && len(b.sidechains) == 0 && e.IsSidechain {
		b.classifier.sidechain = true
	}
	return e.IsSidechain && !b.classifier.sidechain
}

func (b *Builder) addAside(e *Entry) {
	if b.aside == nil {
		b.aside = map[identity]int{}
	}
	number, ok := b.aside[identify(e.ParentUUID)]
	if !ok && e.AgentID != "" {
		number, ok = b.aside[identify(e.AgentID)]
	}
	if !ok {
		number = len(b.sidechains)
		b.sidechains = append(b.sidechains, b.beside())
		b.sidechains[number].t.ToolUseID = b.caller
	}
	b.aside[identify(e.UUID)] = number
	if e.AgentID != "" {
		b.aside[identify(e.AgentID)] = number
	}
	b.sidechains[number].Add(e)
}

// beside returns a builder for a subagent in the same file.
func (b *Builder) beside() *Builder {
	return &Builder{
		opts: b.opts, lines: b.lines, classifier: b.classifier,
		tree: newTree(), answers: map[string]bool{}, noise: map[string]int{},
	}
}

func (b *Builder) addChained(e *Entry) {
	if b.tree.has(e.UUID) {
		b.noise["duplicate"]++
		return
	}
	n, noise := b.newNode(e)
	at := b.tree.add(e, n)
	switch {
	case n.digest == nil:
		b.noise[noise]++
	case b.tree.nodes[at].hidden:
		b.noise[superseded]++
	}
	b.context.note(e, true)
	b.rework(e)
	b.follow(at)
}

// newNode returns the node of an entry, and what it is counted as if it shows nothing.
func (b *Builder) newNode(e *Entry) (n node, noise string) {
	n.role = roleRemark
	n.line = e.Position.Line
	if n.line == 0 {
		n.line = b.entries
	}
	n.digest, noise = b.classifier.digest(e, source{line: n.line, at: e.Position})
	if n.digest != nil {
		n.take(e)
	}
	return n, noise
}

// take says what the entry does in the tree.
func (n *node) take(e *Entry) {
	a := n.digest.answer
	switch {
	case a != nil && e.Type == "assistant":
		n.role, n.message = roleAnswer, a.message
		for i := range a.parts {
			if p := &a.parts[i]; p.kind == partCall {
				n.calls = append(n.calls, p.id)
			}
		}
	case a != nil && e.Type == "user":
		for i := range a.parts {
			if p := &a.parts[i]; p.kind == partResult {
				n.role = roleResult
				n.results = append(n.results, p.id)
			}
		}
	case n.digest.isPrompt(e):
		n.role = rolePrompt
	}
}

// isPrompt reports whether an entry that is no answer is what the user said, or a compaction.
func (d *digest) isPrompt(e *Entry) bool {
	if _, ok := d.msg.(*CompactMsg); ok {
		return true
	}
	return d.msg != nil && e.Type == "user" && !e.IsMeta
}

// rework changes the tree above an entry that takes others back, or tells what a compaction has kept.
func (b *Builder) rework(e *Entry) {
	for _, uuid := range e.Supersedes {
		if n := b.tree.hide(uuid); n != nil {
			b.trail = nil
			if n.digest != nil {
				b.noise[superseded]++
			}
		}
	}
	if e.Subtype == "compact_boundary" && len(e.CompactMetadata) > 0 {
		b.tree.relink(kept(e.CompactMetadata))
	}
}

// kept returns the entries that a compaction has kept as they were, and the entry behind which they stand now.
func kept(metadata []byte) (uuids []string, anchor string) {
	var m struct {
		PreservedMessages struct {
			AnchorUUID string
			UUIDs      []string
		}
		PreservedSegment struct{ HeadUUID, AnchorUUID, TailUUID string }
	}
	if json.Unmarshal(metadata, &m) != nil {
		return nil, ""
	}
	if all := m.PreservedMessages; all.AnchorUUID != "" {
		return all.UUIDs, all.AnchorUUID
	}
	return []string{m.PreservedSegment.TailUUID}, m.PreservedSegment.AnchorUUID
}

// follow goes on with the conversation, if it does go on with the new node.
func (b *Builder) follow(at int32) {
	n := &b.tree.nodes[at]
	seen := n.role == roleAnswer && b.answers[n.message]
	if n.role == roleAnswer && n.message != "" {
		b.answers[n.message] = true
	}
	if b.trail == nil {
		return
	}
	if !b.tree.follow(b.trail, at, seen) {
		b.trail = nil
		return
	}
	if n.trail == none {
		b.branched = true
		return
	}
	b.show(&b.chunker, n)
}

func (b *Builder) show(c *chunker, n *node) {
	if n.digest != nil && !n.hidden {
		c.add(n.digest)
	}
}

// Transcript returns what was built so far. It belongs to the builder, which changes it when more comes: nothing of it is
// copied.
func (b *Builder) Transcript() *Transcript {
	b.settle()
	b.t.Chunks = b.chunker.chunks()
	b.t.Noise = b.noise
	b.t.Sidechains = b.t.Sidechains[:0]
	for _, side := range b.sidechains {
		b.t.Sidechains = append(b.t.Sidechains, side.Transcript())
	}
	b.t.builder = b
	return &b.t
}

// shownLines returns a test of whether the entry of a line is part of the conversation.
func (b *Builder) shownLines() func(line int) bool {
	b.settle()
	left := map[int]bool{}
	for i := range b.tree.nodes {
		if n := &b.tree.nodes[i]; n.trail != 0 || n.hidden {
			left[n.line] = true
		}
	}
	return func(line int) bool { return !left[line] }
}

// Changed returns the index of the first chunk that is new or has changed since the last call, or the number of chunks
// if none has.
func (b *Builder) Changed() int {
	b.settle()
	first := b.chunker.changed()
	if b.rebuilt {
		first = 0
	}
	b.rebuilt = false
	return first
}

// settle makes the chunks anew if the conversation has taken another way, and the branches if one of them has changed.
func (b *Builder) settle() {
	if b.trail == nil {
		b.trail, _ = b.tree.retrace()
		b.chunker = chunker{}
		for i := range b.tree.nodes {
			if n := &b.tree.nodes[i]; n.trail == 0 {
				b.show(&b.chunker, n)
			}
		}
		b.rebuilt, b.branched = true, true
	}
	if b.branched {
		b.t.Branches = b.branches()
		b.branched = false
	}
}

func (b *Builder) branches() []Branch {
	if !slices.ContainsFunc(b.tree.nodes, func(n node) bool { return n.trail != 0 }) {
		return nil
	}
	var trails int32
	b.trail, trails = b.tree.retrace() // what was added since is on no trail
	chunkers := make([]*chunker, trails)
	var branches []Branch
	var numbers []int32
	for i := range b.tree.nodes {
		n := &b.tree.nodes[i]
		if n.trail == 0 || n.hidden || n.digest == nil {
			continue
		}
		if chunkers[n.trail] == nil {
			chunkers[n.trail] = new(chunker)
			branches = append(branches, Branch{FromLine: b.tree.lineAbove(n)})
			numbers = append(numbers, n.trail)
		}
		b.show(chunkers[n.trail], n)
	}
	for i, number := range numbers {
		branches[i].Chunks = chunkers[number].chunks()
	}
	return branches
}

// What entries are counted as that were taken back, and what those are counted as that stop the agent, if they are
// classified by themselves.
const (
	superseded        = "superseded"
	noiseInterruption = "interruption"
)
