package transcript

import (
	"io"

	"github.com/clewdev/clew/wire"
)

// A Transcript is what was read of one session or subagent. Each entry is in one chunk, in one branch, in one sidechain
// or counted as noise.
type Transcript struct {
	Chunks []Chunk
	// Branches are parts of the conversation that were left behind, by a rewind or a new try, in the order of the file.
	Branches []Branch
	// Invalid are the lines that are no entries, up to 1,000. The others are counted as the noise "invalid".
	Invalid []InvalidLine
	// Noise counts the entries that show nothing, by what they are, such as "progress" or "attachment:environment". Beyond
	// 1,000 names, and where a name is long, they are "other".
	Noise map[string]int
	// Sidechains are the conversations of subagents that older agents wrote into the same file.
	Sidechains []*Transcript
	// Unlinked are the subagents that hang at none of the items, if somebody has looked for subagents: see [Link].
	Unlinked []*Agent
	// TaskCalls are the calls that started tasks in the background, by the task's ID, as far as notices of the tasks tell.
	TaskCalls map[string]string
	// Drift counts what this package does not know.
	Drift Drift

	Info

	assembly *assembly // nil for one that was made by hand
}

// Context returns how the model's context filled up.
func (t *Transcript) Context() ContextReport {
	if t.assembly == nil {
		return ContextReport{}
	}
	return t.assembly.context.report(t.assembly.conversation.shownLines())
}

// A Branch is a part of the conversation that was left behind.
type Branch struct {
	// FromLine is the line of the entry that the branch hangs on, or 0 if it has its own root.
	FromLine int
	Chunks   []Chunk
}

// An InvalidLine is a line of a transcript that is no entry.
type InvalidLine struct {
	Position wire.Position
	Err      error
	// Head is the beginning of the line.
	Head string
	// Torn says that it was the last line and had no end: somebody was writing it, or was stopped.
	Torn bool
}

// ReadOptions say how a transcript is read. Nil and the zero value mean the defaults.
type ReadOptions struct {
	// MaxLineBytes is the length of the longest line that is decoded; 0 means 64 MiB, which is more than the model can be
	// told in one message. A longer one is passed over, and is among the invalid lines. A line is held in memory until its
	// end has come: about twice its length, or twice this limit if it is longer.
	MaxLineBytes int
	// MaxResultBytes is the length of the longest structured result that an item keeps; 0 means 8 KiB, and less than 0
	// means no limit. What is longer is found by [DisplayItem.ResultAt].
	MaxResultBytes int
}

// copyBuffer is how much is read at a time.
const copyBuffer = 256 << 10

func (o *ReadOptions) maxResult() int {
	switch {
	case o == nil || o.MaxResultBytes == 0:
		return 8 << 10
	case o.MaxResultBytes < 0:
		return -1
	}
	return o.MaxResultBytes
}

func (o *ReadOptions) maxLine() int {
	if o == nil {
		return 0
	}
	return o.MaxLineBytes
}

// Read reads a whole transcript. The error is that of the reader, and comes with what was read before it; bad lines are
// in the transcript.
func Read(r io.Reader, opts *ReadOptions) (*Transcript, error) {
	b := NewBuilder(opts)
	_, err := io.CopyBuffer(b, struct{ io.Reader }{r}, make([]byte, copyBuffer)) // a plain reader, so that the buffer is used
	_ = b.Close()
	return b.Transcript(), err
}
