package transcript

import (
	"time"

	"github.com/clewdev/clew/internal/entryfacts"
	"github.com/clewdev/clew/usage"
	"github.com/clewdev/clew/wire"
)

// A Builder builds a transcript as its lines come. It is an [io.Writer] of them, or takes entries or messages one by one.
// What comes out does not depend on how the bytes are cut. It is for one goroutine at a time.
//
// It costs as much as the new lines are long, and a look at it as much as what has changed. Only after a rewind, and when
// something is added to what a rewind has left behind, the next look makes all chunks anew.
type Builder struct {
	lines    *LineSplitter
	decoder  entryDecoder
	entry    Entry // the last one that was decoded
	live     liveState
	entries  int // how many were added
	assembly *assembly
}

// NewBuilder returns a builder of an empty transcript. opts may be nil.
func NewBuilder(opts *ReadOptions) *Builder {
	return &Builder{
		lines: NewLineSplitter(opts.maxLine()),
		assembly: newAssembly(classifier{
			maxResult: opts.maxResult(), decoder: wire.NewDecoder(&wire.ReaderOptions{DiscardRaw: true}),
		}),
	}
}

// Write takes the next bytes of a transcript, in pieces of any size. It never fails: a line that is no entry is kept as
// an [InvalidLine]. The last line waits until its end has come.
func (b *Builder) Write(p []byte) (int, error) {
	b.assembly.dropTorn()
	b.lines.Feed(p, b.addLine, b.assembly.addInvalid)
	return len(p), nil
}

// Close takes the last line, if it has no end but is an entry. Another one is among the invalid lines, as torn, until more
// of it comes. Close never fails, and Write may follow it.
func (b *Builder) Close() error {
	b.assembly.dropTorn()
	b.lines.Flush(b.addLine, b.assembly.addInvalid)
	return nil
}

func (b *Builder) addLine(line []byte, at wire.Position) {
	if err := b.decoder.decode(line, &b.entry); err != nil {
		b.assembly.addInvalid(InvalidLine{Position: at, Err: err, Head: lineHead(line)})
		return
	}
	b.entry.Position = at
	b.add(&b.entry, "")
}

// Add takes the next entry. The builder keeps nothing of its raw members. One that does not tell its line gets a number:
// how many came before it, and one.
func (b *Builder) Add(e *Entry) { b.add(e, "") }

// add takes an entry. caller is the call that has started the subagent whose entry it is, in a running session.
func (b *Builder) add(e *Entry, caller string) {
	b.entries++
	if e.Position.Line == 0 {
		numbered := *e
		numbered.Position.Line = b.entries
		e = &numbered
	}
	b.assembly.add(e, caller)
}

// AddMessage takes the next message of a running session, or of a pipe in the agent's stream-json form, and gives the
// same chunks as the transcript that the agent writes, but for what messages don't tell: why an answer ended, all that it
// has used, and permission modes. A message that does not tell its time is of the time at.
//
// Prompts that the host has sent are messages too, each before those that answer it. The agent sends them back if it is
// told to, by clew.Options.ReplayUserMessages or --replay-user-messages; or give a [*wire.UserMessage] of your own.
//
// Subagents are among [Transcript.Sidechains]: see [InlineAgents] and [Link].
func (b *Builder) AddMessage(msg wire.Message, at time.Time) {
	for _, e := range b.live.entries(msg, at) {
		b.add(&e.Entry, e.thread)
	}
}

// Partial returns the text so far of an answer that is being streamed, which is in no chunk yet, or "".
func (b *Builder) Partial() string { return string(b.live.open) }

// Rewind takes a prompt of a running session and all that came after it out of the conversation: they are a branch from
// then on. prompt is its UUID, and last that of the message that is the last one now, or "". The messages of the
// session don't tell: call it when the agent has answered that it did so.
func (b *Builder) Rewind(prompt, last string) {
	b.live.thread("").last = last
	b.assembly.conversation.rewind(prompt)
}

// Transcript returns what was built so far. It belongs to the builder, which changes it when more comes: nothing of it is
// copied.
func (b *Builder) Transcript() *Transcript { return b.assembly.transcript() }

// Changed returns the index of the first chunk that is new or has changed since the last call, or the number of chunks
// if none has.
func (b *Builder) Changed() int { return b.assembly.conversation.changed() }

// An assembly makes one transcript of entries: that of a session, or that of a subagent in the same file.
type assembly struct {
	classifier   classifier
	conversation conversation
	sidechains   sidechains
	tally        usage.Tally
	context      contextAccount
	t            Transcript
}

func newAssembly(c classifier) *assembly {
	a := &assembly{classifier: c, conversation: conversation{tree: newTree()}}
	a.t.Noise, a.t.assembly = map[string]int{}, a
	return a
}

// maxInvalid and maxNoise bound the memory for a file that is no transcript.
const (
	maxInvalid = 1000
	maxNoise   = 1000
)

func (a *assembly) addInvalid(bad InvalidLine) {
	if len(a.t.Invalid) >= maxInvalid && !bad.Torn {
		a.count("invalid")
		return
	}
	a.t.Invalid = append(a.t.Invalid, bad)
}

// dropTorn forgets that the last line is torn: its rest may come now.
func (a *assembly) dropTorn() {
	if n := len(a.t.Invalid); n > 0 && a.t.Invalid[n-1].Torn {
		a.t.Invalid = a.t.Invalid[:n-1]
	}
}

// add takes an entry that knows its line. caller is the call that has started the subagent whose entry it is, in a
// running session.
func (a *assembly) add(e *Entry, caller string) {
	aside := e.Chained() && (caller != "" || a.isAside(e))
	a.t.Info.noteTime(e)
	if !aside {
		a.t.Info.note(e)
	}
	a.t.Drift.note(e)
	if call, ok := CallOf(e); ok {
		call.Forked = call.Forked || call.Time.Before(a.t.Created) // a fork begins with lines of its own
		a.tally.Add(call)
	}
	a.noteTask(e)
	switch {
	case !e.Chained():
		a.count(noiseName("", e.Type))
		a.noteRewind(e)
	case aside:
		a.sidechains.of(e, a.classifier, caller).add(e, "")
	default:
		a.addChained(e)
	}
}

// isAside reports whether the entry is that of a subagent whose conversation stands in the file of another. A transcript
// that begins with such an entry is that of the subagent itself.
func (a *assembly) isAside(e *Entry) bool {
	if len(a.conversation.tree.nodes) == 0 && len(a.sidechains.all) == 0 && e.IsSidechain {
		a.classifier.sidechain = true
	}
	return e.IsSidechain && !a.classifier.sidechain
}

// noteTask takes note of which call has started a task, if the entry tells that the task has ended.
func (a *assembly) noteTask(e *Entry) {
	task, call, ok := taskCall(e)
	if !ok {
		return
	}
	if a.t.TaskCalls == nil {
		a.t.TaskCalls = map[string]string{}
	}
	a.t.TaskCalls[task] = call
}

// noteRewind leaves behind what the entry says that a rewind has left behind. Usually the next prompt says so, too, by
// what it hangs on.
func (a *assembly) noteRewind(e *Entry) {
	if uuid, ok := entryfacts.Rewound(e.Type, e.Raw); ok {
		a.conversation.rewind(uuid)
	}
}

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
	a.context.note(e, true)
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
	a.t.Sidechains = a.t.Sidechains[:0]
	for _, side := range a.sidechains.all {
		a.t.Sidechains = append(a.t.Sidechains, side.transcript())
	}
	return &a.t
}

// sidechains are the subagents whose conversations stand in the file of the session. The zero value is ready.
type sidechains struct {
	all    []*assembly
	places map[identity]int // which of them has the entry, or is the agent
}

// of returns the sidechain that an entry belongs to: a new one if nothing tells.
func (s *sidechains) of(e *Entry, c classifier, caller string) *assembly {
	if s.places == nil {
		s.places = map[identity]int{}
	}
	number, ok := s.places[identify(e.UUID)] // it comes twice
	if !ok {
		number, ok = s.places[identify(e.ParentUUID)]
	}
	if !ok && e.AgentID != "" {
		number, ok = s.places[identify(e.AgentID)]
	}
	if !ok {
		number = len(s.all)
		s.all = append(s.all, newAssembly(c))
		s.all[number].t.ToolUseID = caller
	}
	s.places[identify(e.UUID)] = number
	if e.AgentID != "" {
		s.places[identify(e.AgentID)] = number
	}
	return s.all[number]
}
