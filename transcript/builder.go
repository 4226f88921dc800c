package transcript

import (
	"time"

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
