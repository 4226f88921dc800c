package transcript

import (
	"cmp"
	"io"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/clewdev/clew/internal/entrylex"
	"github.com/clewdev/clew/usage"
	"github.com/clewdev/clew/wire"
)

// A Transcript is the transcript of one session or subagent. Each entry is in one chunk, one branch
// or one sidechain, or is counted as noise. [Read] and [Builder.Transcript] return one. A
// transcript that is made by hand has no usage and no context: Calls and Context need the entries.
type Transcript struct {
	// Chunks are the conversation as it stands at the end of the file, in its order. It is empty if
	// nobody said anything.
	Chunks []Chunk
	// Branches are parts of the conversation that a rewind or a new attempt removed, in the order
	// of the file. It is empty if there are none.
	Branches []Branch
	// Invalid are the lines that are not entries, up to 1,000. Further ones are counted in Noise as
	// "invalid". They don't affect the other lines: show them as a warning.
	Invalid []InvalidLine
	// Noise counts the entries that show nothing, by kind, such as "progress" or
	// "attachment:environment". Beyond 1,000 names, and where a name is long, they are "other". Use
	// it to see what a transcript has that Chunks does not show.
	Noise map[string]int
	// Sidechains are the conversations of subagents that older agents wrote into the same file.
	// Pass them to [Link] by way of [InlineAgents].
	Sidechains []*Transcript
	// Unlinked are the subagents that no item started. It is nil unless the caller has set it to
	// the result of [Link], as sessions.Read does.
	Unlinked []*Agent
	// TaskCalls are the IDs of the calls that started tasks in the background and subagents, by
	// task or agent ID, as far as reports of their progress or end name them.
	TaskCalls map[string]string
	// Drift counts what this package does not know. It is usually empty unless the agent is newer
	// than this package.
	Drift Drift

	Info

	figures *figures // nil for one that was made by hand
	// branchesOf holds the originals of a snapshot's branches.
	branchesOf *Branch
}

// Context returns a report of how the model's context filled up. It takes time in proportion to the
// number of entries. The report is empty for a transcript that was made by hand.
//
//	for _, turn := range t.Context().Turns {
//		files := turn.By[transcript.ContextFiles]
//		fmt.Printf("%.0f%% full, %d tokens of files\n", turn.Percent, files)
//	}
func (t *Transcript) Context() ContextReport {
	if t.figures == nil {
		return ContextReport{}
	}
	left := make(map[int]bool, len(t.figures.left))
	for _, line := range t.figures.left {
		left[line] = true
	}
	return t.figures.context.report(func(line int) bool { return !left[line] })
}

// figures holds the data that the methods of a transcript need beside its chunks. Lists only grow
// or are replaced, and everything else that changes is a value, so that a copy is a snapshot.
type figures struct {
	// calls are the answers of the whole file, including answers of subagents in it, and lines the
	// lines that have them, for [Transcript.Turns].
	calls callLog
	lines callLines
	// context records the additions of the entries to the model's context.
	context contextAccount
	// left are the lines of entries that are not part of the conversation, as far as the branches
	// of the transcript are.
	left []int
}

// Snapshot returns a copy of the transcript that does not change when its [Builder] gets more
// input, for other goroutines. It shares its texts with the transcript.
//
// Chunks before first are taken from last, an earlier snapshot: pass the result of
// [Builder.Changed], and the snapshot costs time in proportion to the changes since. If last is
// nil, all chunks are copied. Subagents are not copied: the items and Unlinked have the same ones.
//
//	first := b.Changed()
//	snapshot = b.Transcript().Snapshot(snapshot, first)
func (t *Transcript) Snapshot(last *Transcript, first int) *Transcript {
	s := *t
	var before []Chunk
	if last != nil {
		before = last.Chunks[:min(max(first, 0), len(last.Chunks), len(t.Chunks))]
	}
	s.Chunks = snapshotChunks(before, t.Chunks)
	s.copyBranches(last, t.Branches)
	s.Invalid, s.Unlinked = slices.Clone(t.Invalid), slices.Clone(t.Unlinked)
	s.Noise, s.TaskCalls = maps.Clone(t.Noise), maps.Clone(t.TaskCalls)
	s.Drift = t.Drift.clone()
	s.Sidechains = nil
	for _, chain := range t.Sidechains {
		s.Sidechains = append(s.Sidechains, chain.Snapshot(nil, 0))
	}
	if t.figures != nil {
		figures := *t.figures
		figures.context.classes = nil
		s.figures = &figures
	}
	return &s
}

// snapshotChunks returns the chunks that are given, and copies of the others. Lists in chunks only
// grow, except for the items, which also change.
func snapshotChunks(before, all []Chunk) []Chunk {
	chunks := slices.Concat(before, all[len(before):])
	for i := len(before); i < len(chunks); i++ {
		chunks[i].Items = slices.Clone(chunks[i].Items)
	}
	return chunks
}

// copyBranches copies branches, unless the last snapshot has copies of the same ones.
func (t *Transcript) copyBranches(last *Transcript, branches []Branch) {
	if t.Branches, t.branchesOf = nil, nil; len(branches) == 0 {
		return
	}
	t.branchesOf = &branches[0]
	if last != nil && last.branchesOf == t.branchesOf {
		t.Branches = last.Branches
		return
	}
	t.Branches = slices.Clone(branches)
	for i := range t.Branches {
		t.Branches[i].Chunks = snapshotChunks(nil, branches[i].Chunks)
	}
}

// A Branch is a part of the conversation that a rewind or a new attempt removed. The model does not
// see it any more, but its tool calls did run.
type Branch struct {
	// FromLine is the line of the entry at which the branch starts, from 1, or 0 if the branch has
	// its own root.
	FromLine int `json:"from_line"`
	// Chunks are the part of the conversation that was removed, in its order. They don't repeat the
	// chunks before FromLine.
	Chunks []Chunk `json:"chunks"`
}

// An InvalidLine is a line of a transcript that is not an entry, or an append of several entries
// that was not completed.
type InvalidLine struct {
	// Position is the line number, offset and length of the line.
	Position wire.Position
	// Err explains why the line is not an entry, with the offset of the problem in the line. It
	// wraps [ErrLineTooLong] for a line that is too long, and is [ErrUnfinished] for an append that
	// was not completed.
	Err error
	// Head is the beginning of the line, up to 1 KiB.
	Head string
	// Torn reports whether it is the last line and incomplete: the agent is writing it, or a crash
	// has cut it. A builder reads it again when more bytes arrive.
	Torn bool
}

// ReadOptions configure how a transcript is read. Nil and the zero value mean the defaults.
type ReadOptions struct {
	// MaxLineBytes is the length of the longest line that is decoded; 0 means 64 MiB, which is more
	// than fits into a message to the model. A longer line is skipped, and is among the invalid
	// lines. A line is held in memory until its end arrives: about twice its length, or twice this
	// limit if it is longer.
	MaxLineBytes int
	// MaxResultBytes is the length of the longest structured result that an item keeps; 0 means 8
	// KiB, and less than 0 means no limit. For a longer result, [DisplayItem.ResultAt] is the
	// position of its entry.
	MaxResultBytes int
	// Invalid is called by [Stream] with each line that is not an entry. Nil means that these lines
	// are dropped. [Read] and a [Builder] ignore it: they put the lines into [Transcript.Invalid].
	Invalid func(InvalidLine)
}

// copyBuffer is the number of bytes that are read at a time.
const copyBuffer = 256 << 10

// maxResult returns the limit for structured results, or -1 for none. o may be nil.
func (o *ReadOptions) maxResult() int {
	switch {
	case o == nil || o.MaxResultBytes == 0:
		return 8 << 10
	case o.MaxResultBytes < 0:
		return -1
	}
	return o.MaxResultBytes
}

// maxLine returns the limit for lines, or 0 for the default. o may be nil.
func (o *ReadOptions) maxLine() int {
	if o == nil {
		return 0
	}
	return o.MaxLineBytes
}

// invalid returns the function to call with a line that is not an entry. o may be nil.
func (o *ReadOptions) invalid() func(InvalidLine) {
	if o == nil || o.Invalid == nil {
		return func(InvalidLine) {}
	}
	return o.Invalid
}

// Read reads a whole transcript. It returns an error only if r does, together with the transcript
// up to then. Invalid lines are in [Transcript.Invalid]. opts may be nil. It holds the whole
// conversation in memory, without long structured results; use [Stream] if that is too much.
func Read(r io.Reader, opts *ReadOptions) (*Transcript, error) {
	b := NewBuilder(opts)
	_, err := b.ReadFrom(r)
	_ = b.Close()
	return b.Transcript(), err
}

// Info are the properties of the session that its entries contain. If entries differ, the last one
// counts, except for Created and CWD. Entries of subagents in the same file only change the times.
type Info struct {
	// SessionID is the ID of the session, a UUID. In the transcript of a subagent it is the ID of
	// the session that started it.
	SessionID string
	// AgentID is the ID of the subagent whose transcript it is, or "" for a session.
	AgentID string
	// ToolUseID is the ID of the call that started the subagent. It is set in
	// [Transcript.Sidechains] of a running session, and "" otherwise.
	ToolUseID string
	// Title is the title that the user gave, or "". It goes before AITitle.
	Title string
	// AITitle is the title that the agent generated, such as "Say hello", or "" if it has not
	// generated one.
	AITitle string
	// Recap is the title that older agents wrote, in an entry of type summary, or "".
	Recap string
	// LastPrompt is the last text that the user wrote, as the agent recorded it. Older agents did
	// not: use the last user chunk.
	LastPrompt string
	// Tag is the tag that the user gave to the session, or "" if it has none.
	Tag string
	// CWD is the working directory of the first entry that has one, such as "/home/me/code".
	CWD string
	// GitBranch is the last git branch, such as "main". It is "HEAD" outside of a repository.
	GitBranch string
	// Version is the version of the agent that wrote the last entry, such as "2.1.325".
	Version string
	// Model is the model that answered last, such as "claude-opus-5-5", or "" if none answered.
	// Texts that the agent made up don't count.
	Model string
	// PermissionMode is the last permission mode, such as "plan", or "" if no entry has one.
	PermissionMode string
	// TeamName is the name of the team, if the session belongs to a teammate, or "". See
	// [TeamAgent].
	TeamName string
	// AgentName is the name of the teammate, or a name that the agent of the session was given, or
	// "".
	AgentName string
	// Created is the time of the first entry that has a time, or the zero time.
	Created time.Time
	// Modified is the time of the last entry that has a time, or the zero time. It is the time of
	// an entry, not of the file.
	Modified time.Time
	// CostStates are the agent's own accounts of its usage, in their order. The agent writes one
	// when its process ends normally. Pass them to [usage.Reconcile].
	CostStates []usage.CostState
}

// note takes what an entry says of the session.
func (i *Info) note(e *Entry) {
	last(&i.SessionID, e.SessionID)
	last(&i.AgentID, e.AgentID)
	last(&i.GitBranch, e.GitBranch)
	last(&i.Version, e.Version)
	last(&i.PermissionMode, e.PermissionMode)
	last(&i.TeamName, e.TeamName)
	last(&i.AgentName, e.AgentName)
	i.CWD = cmp.Or(i.CWD, e.CWD)
	if m := e.Message; m != nil && e.Type == "assistant" && m.Model != entrylex.SyntheticModel {
		last(&i.Model, m.Model)
	}
	if !e.Chained() {
		i.noteBeside(e)
	}
}

// noteTime takes the time of an entry. Entries without one are ignored.
func (i *Info) noteTime(e *Entry) {
	if e.Timestamp.IsZero() {
		return
	}
	if i.Created.IsZero() {
		i.Created = e.Timestamp
	}
	i.Modified = e.Timestamp
}

// noteBeside takes what stands beside the conversation.
func (i *Info) noteBeside(e *Entry) {
	switch e.Type {
	case "custom-title":
		i.Title = textAt(e.Raw, "customTitle")
	case "ai-title":
		i.AITitle = textAt(e.Raw, "aiTitle")
	case "summary":
		i.Recap = textAt(e.Raw, "summary")
	case "last-prompt":
		last(&i.LastPrompt, textAt(e.Raw, "lastPrompt"))
	case "tag":
		i.Tag = textAt(e.Raw, "tag")
	case "agent-name":
		i.AgentName = e.AgentName
	case "cost-state":
		if state, ok := CostStateOf(e); ok {
			i.CostStates = append(i.CostStates, state)
		}
	}
}

// last keeps the later of two texts, unless it is empty.
func last(to *string, text string) {
	if text != "" && text != *to {
		*to = text
	}
}

// streamWindow is the number of chunks a stream holds back, so that a late result finds its call.
const streamWindow = 32

// Stream reads a transcript of any length, and holds at most some dozen chunks in memory. It yields
// the chunks in the order of the file. An error of the reader comes last, with a nil chunk.
//
// Since Stream does not know the rest of the file, branches are among the chunks, an entry that
// appears twice is shown twice, retracted entries are shown, and a result that comes very late is a
// separate output. Stream skips subagents in the same file, and lines that are not entries: see
// [ReadOptions.Invalid]. Use [Read] if that matters. Leaving the loop ends the reading; the caller
// closes the reader.
//
//	for chunk, err := range transcript.Stream(file, nil) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(chunk.Type, transcript.Truncate(chunk.Text, 80))
//	}
func Stream(r io.Reader, opts *ReadOptions) iter.Seq2[*Chunk, error] {
	return func(yield func(*Chunk, error) bool) {
		s := &stream{lines: NewLineSplitter(opts.maxLine()), invalid: opts.invalid(), yield: yield}
		s.classifier.maxResult = opts.maxResult()
		err := s.read(r)
		if !s.left {
			s.lines.Flush(s.addLine, s.invalid)
			s.addAll(s.queue.Rest())
			s.let(len(s.chunker.chunks()))
		}
		if err != nil && !s.left {
			yield(nil, err)
		}
	}
}

// A stream is one loop over the chunks of a transcript.
type stream struct {
	lines      *LineSplitter
	invalid    func(InvalidLine)
	decoder    entryDecoder
	entry      Entry
	begun      bool // an entry of the tree has come
	classifier classifier
	queue      PromptQueue
	chunker    chunker
	yield      func(*Chunk, error) bool
	left       bool // the loop was left
}

// read reads until the end of the reader, or until the loop is left. It yields chunks as soon as
// there are many.
func (s *stream) read(r io.Reader) error {
	buffer := make([]byte, copyBuffer)
	for !s.left {
		n, err := r.Read(buffer)
		s.lines.Feed(buffer[:n], s.addLine, s.invalid)
		if n := len(s.chunker.chunks()); n >= 2*streamWindow {
			s.let(n - streamWindow)
		}
		if err == io.EOF { // one that is wrapped says that something broke
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addLine adds a line to the chunks. The first entry decides whether the transcript belongs to a
// subagent.
func (s *stream) addLine(line []byte, at wire.Position) {
	e := &s.entry
	if err := s.decoder.decode(line, e); err != nil {
		s.invalid(InvalidLine{Position: at, Err: err, Head: lineHead(line)})
		return
	}
	e.Position = at
	if !e.Chained() {
		s.queue.Next(e)
		return
	}
	if !s.begun {
		s.begun, s.classifier.sidechain = true, e.IsSidechain
	}
	s.addAll(s.queue.Next(e))
	s.add(e)
}

func (s *stream) add(e *Entry) {
	if d, _ := s.classifier.digest(e, e.Position); d != nil {
		s.chunker.add(d)
	}
}

func (s *stream) addAll(entries []Entry) {
	for i := range entries {
		s.add(&entries[i])
	}
}

// let yields the first chunks and forgets them. It stops if the loop was left.
func (s *stream) let(n int) {
	chunks := s.chunker.chunks()
	for i := range chunks[:n] {
		if !s.yield(&chunks[i], nil) {
			s.left = true
			return
		}
	}
	s.chunker.drop(n)
}
