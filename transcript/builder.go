package transcript

import (
	"time"

	"github.com/clewdev/clew/internal/entryfacts"
	"github.com/clewdev/clew/wire"
)

// A Builder builds a transcript as its lines arrive. It is an [io.Writer] that takes them in pieces
// of any size; or it takes entries or messages one by one, see [Builder.Add] and
// [Builder.AddMessage]. The transcript does not depend on how the bytes are cut. A Builder must not
// be used by several goroutines at once.
//
// Adding costs time in proportion to the new input, and [Builder.Transcript] in proportion to the
// changes. After a rewind, or when an entry joins a branch, the next call of Transcript builds all
// chunks again.
//
//	b := transcript.NewBuilder(nil)
//	for entry := range entries {
//		b.Add(&entry)
//		first, chunks := b.Changed(), b.Transcript().Chunks
//		redraw(chunks[first:])
//	}
type Builder struct {
	lines    *LineSplitter
	decoder  entryDecoder
	entry    Entry // the last one that was decoded
	live     liveState
	entries  int // how many were added
	assembly *assembly
}

// NewBuilder returns a builder of an empty transcript. opts may be nil. The options are copied, so
// the caller may change them afterwards.
func NewBuilder(opts *ReadOptions) *Builder {
	return &Builder{
		lines: NewLineSplitter(opts.maxLine()),
		assembly: newAssembly(classifier{
			maxResult: opts.maxResult(), decoder: wire.NewDecoder(&wire.ReaderOptions{DiscardRaw: true}),
		}),
	}
}

// Write adds the next bytes of a transcript, in pieces of any size. It never fails: a line that is
// not an entry becomes an [InvalidLine]. An incomplete last line waits for its end.
func (b *Builder) Write(p []byte) (int, error) {
	b.assembly.dropTorn()
	b.lines.Feed(p, b.addLine, b.assembly.addInvalid)
	return len(p), nil
}

// Close adds the last line if it has no line feed but is a complete entry. Otherwise the line is
// among the invalid lines, as torn, until Write continues it. Close never fails, and Write may
// follow it.
func (b *Builder) Close() error {
	b.assembly.dropTorn()
	b.lines.Flush(b.addLine, b.assembly.addInvalid)
	b.assembly.addQueued(b.assembly.queue.Rest())
	return nil
}

// addLine decodes a line and adds its entry, or records the line as invalid.
func (b *Builder) addLine(line []byte, at wire.Position) {
	if err := b.decoder.decode(line, &b.entry); err != nil {
		b.assembly.addInvalid(InvalidLine{Position: at, Err: err, Head: lineHead(line)})
		return
	}
	b.entry.Position = at
	b.add(&b.entry, "")
}

// Add adds the next entry. The builder does not keep its raw members, so the caller may reuse their
// memory. An entry without a line number gets the number of entries so far, plus one.
func (b *Builder) Add(e *Entry) { b.add(e, "") }

// add adds an entry. In a running session, caller is the call that started the subagent that the
// entry belongs to.
func (b *Builder) add(e *Entry, caller string) {
	b.entries++
	if e.Position.Line == 0 {
		numbered := *e
		numbered.Position.Line = b.entries
		e = &numbered
	}
	b.assembly.add(e, caller)
}

// AddMessage adds the next message of a running session, or of a recording in the agent's
// stream-json format. The chunks are the same as for the transcript that the agent writes, except
// for facts that messages don't contain: why an answer ended, its whole usage, and permission modes
// and decisions. A message without a time gets the time at.
//
// Prompts must also be added, each before the messages that answer it. The agent repeats them if
// clew.Options.ReplayUserMessages or --replay-user-messages is set; otherwise add a
// [*wire.UserMessage] yourself.
//
// Subagents are among [Transcript.Sidechains]: see [InlineAgents] and [Link].
func (b *Builder) AddMessage(msg wire.Message, at time.Time) {
	for _, e := range b.live.entries(msg, at) {
		b.add(&e.Entry, e.thread)
	}
}

// Partial returns the text so far of an answer that is being streamed and is not in a chunk yet, or
// "". Show it after the last chunk. It is only known if the agent was asked for partial messages.
func (b *Builder) Partial() string { return string(b.live.open) }

// Rewind removes a prompt of a running session and everything after it from the conversation. They
// become a branch. prompt is the UUID of the prompt, and last the UUID of the message that is now
// the last one, or "". No message reports a rewind, so call Rewind when the agent confirms one.
func (b *Builder) Rewind(prompt, last string) {
	b.live.thread("").last = last
	b.assembly.conversation.rewind(prompt)
}

// Transcript returns the transcript so far. It belongs to the builder, which changes it with the
// next input: nothing is copied.
func (b *Builder) Transcript() *Transcript { return b.assembly.transcript() }

// Changed returns the index of the first chunk that is new or changed since the last call, or the
// number of chunks if none has. A viewer redraws from there; after a rewind it is 0.
func (b *Builder) Changed() int { return b.assembly.conversation.changed() }

// An assembly makes one transcript of entries, for a session or for a subagent in the same file.
type assembly struct {
	classifier   classifier
	conversation conversation
	// sidechains are the subagents in the same file, each with its own assembly.
	sidechains sidechains
	// queue finds the prompts that no entry of the conversation has.
	queue PromptQueue
	// figures holds the data that the methods of the transcript need beside its chunks.
	figures figures
	// t is the transcript so far. Its chunks are only up to date after the method transcript.
	t Transcript
}

// newAssembly returns an assembly without entries. Each has its own copy of the classifier, since
// isAside changes it for a subagent.
func newAssembly(c classifier) *assembly {
	a := &assembly{classifier: c, conversation: conversation{tree: newTree()}}
	a.t.Noise, a.t.figures = map[string]int{}, &a.figures
	return a
}

// maxInvalid and maxNoise limit the memory for a file that is not a transcript.
const (
	maxInvalid = 1000
	maxNoise   = 1000
)

// addInvalid records a line that is not an entry. Beyond maxInvalid, such lines are only counted.
func (a *assembly) addInvalid(bad InvalidLine) {
	if len(a.t.Invalid) >= maxInvalid && !bad.Torn {
		a.count("invalid")
		return
	}
	a.t.Invalid = append(a.t.Invalid, bad)
}

// dropTorn removes the torn last line from the invalid lines: its rest may come now.
func (a *assembly) dropTorn() {
	if n := len(a.t.Invalid); n > 0 && a.t.Invalid[n-1].Torn {
		a.t.Invalid = a.t.Invalid[:n-1]
	}
}

// add adds an entry that has a line number. In a running session, caller is the call that started
// the subagent that the entry belongs to. The order matters: the times come first, since they
// decide whether a call is a copy.
func (a *assembly) add(e *Entry, caller string) {
	aside := e.Chained() && (caller != "" || a.isAside(e))
	a.t.Info.noteTime(e)
	if !aside {
		a.t.Info.note(e)
	}
	a.t.Drift.note(e)
	if call, ok := CallOf(e); ok {
		call.Forked = call.Forked || call.Time.Before(a.t.Created) // a fork begins with lines of its own
		a.figures.calls.add(call)
		a.figures.lines.add(e.Position.Line, &call)
	}
	a.noteTask(e)
	switch {
	case !e.Chained():
		a.count(noiseName("", e.Type))
		a.noteRewind(e)
		a.queue.Next(e)
	case aside:
		a.sidechains.of(e, a.classifier, caller).add(e, "")
	default:
		a.addQueued(a.queue.Next(e))
		a.addChained(e)
	}
}

// addQueued adds entries of prompts that only the queue has. They follow the entry before them.
func (a *assembly) addQueued(entries []Entry) {
	for i := range entries {
		a.addChained(&entries[i])
	}
}

// isAside reports whether the entry belongs to a subagent whose conversation is in the file of the
// session. A transcript that starts with such an entry is the subagent's own.
func (a *assembly) isAside(e *Entry) bool {
	if len(a.conversation.tree.nodes) == 0 && len(a.sidechains.all) == 0 && e.IsSidechain {
		a.classifier.sidechain = true
	}
	return e.IsSidechain && !a.classifier.sidechain
}

// noteTask records which call started a task, if the entry reports its progress or its end.
func (a *assembly) noteTask(e *Entry) {
	task, call, ok := taskCall(e)
	if !ok || a.t.TaskCalls[task] == call {
		return
	}
	if a.t.TaskCalls == nil {
		a.t.TaskCalls = map[string]string{}
	}
	a.t.TaskCalls[task] = call
}

// noteRewind cuts the conversation if the entry records a rewind. Usually the parent of the next
// prompt shows the same.
func (a *assembly) noteRewind(e *Entry) {
	if uuid, ok := entryfacts.Rewound(e.Type, e.Raw); ok {
		a.conversation.rewind(uuid)
	}
}

// addChained adds an entry of the conversation's tree. An entry whose UUID is already there counts
// as a duplicate.
func (a *assembly) addChained(e *Entry) {
	if a.conversation.tree.has(e.UUID) {
		a.count("duplicate")
		return
	}
	d, noise := a.classifier.digest(e, e.Position)
	if d == nil {
		a.count(noise)
	}
	for range a.conversation.add(e, d) {
		a.count("superseded")
	}
	a.figures.context.note(e, true)
}

// count counts an entry that shows nothing.
func (a *assembly) count(noise string) {
	if a.t.Noise[noise] == 0 && len(a.t.Noise) >= maxNoise {
		noise = "other"
	}
	a.t.Noise[noise]++
}

// transcript returns what was made so far.
func (a *assembly) transcript() *Transcript {
	a.t.Chunks, a.t.Branches = a.conversation.show()
	a.figures.left = a.conversation.left
	a.t.Sidechains = a.t.Sidechains[:0]
	for _, side := range a.sidechains.all {
		a.t.Sidechains = append(a.t.Sidechains, side.transcript())
	}
	return &a.t
}

// sidechains are the subagents whose conversations are in the file of the session. The zero value
// is ready.
type sidechains struct {
	all     []*assembly
	indexes map[identity]int // which of them has the entry, or is the agent
}

// of returns the sidechain that an entry belongs to, or a new one if it belongs to none.
func (s *sidechains) of(e *Entry, c classifier, caller string) *assembly {
	if s.indexes == nil {
		s.indexes = map[identity]int{}
	}
	number, ok := s.indexes[identify(e.UUID)] // it comes twice
	if !ok {
		number, ok = s.indexes[identify(e.ParentUUID)]
	}
	if !ok && e.AgentID != "" {
		number, ok = s.indexes[identify(e.AgentID)]
	}
	if !ok {
		number = len(s.all)
		s.all = append(s.all, newAssembly(c))
		s.all[number].t.ToolUseID = caller
	}
	s.indexes[identify(e.UUID)] = number
	if e.AgentID != "" {
		s.indexes[identify(e.AgentID)] = number
	}
	return s.all[number]
}
