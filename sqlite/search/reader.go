package search

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"hash/fnv"
	"io"
	"os"
	"path"
	"strings"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// A state records how far a file was read, and the data needed to continue there.
type state struct {
	Offset    int64           `json:"offset"`
	Lines     int64           `json:"lines"` // line feeds before the offset
	Time      int64           `json:"time"`  // of the last entry that has one
	Turns     int64           `json:"turns"`
	Tip       string          `json:"tip,omitempty"`     // the last entry of the conversation
	Rewound   bool            `json:"rewound,omitempty"` // only the whole transcript has the turns
	Runs      []byte          `json:"runs,omitempty"`    // these turns: see encodeTurns
	Session   string          `json:"session,omitempty"` // the session ID in the entries
	Directory string          `json:"folder,omitempty"`  // the name of the first working directory
	Calls     map[string]call `json:"calls,omitempty"`   // calls without a result, by ID
	Title     string          `json:"title,omitempty"`   // the last title of the session
	Member    bool            `json:"member,omitempty"`  // the session is that of a teammate
	Checksum  uint64          `json:"guard"`             // of the bytes before the offset

	// Branch is the last entry of a branch that started with an entry of the agent, and not where
	// the conversation ended. If the conversation continues there, it was rewound.
	Branch string `json:"branch,omitempty"`
	// Spills has the calls whose results are in separate files, by the names of these. The index
	// stores it in a separate column.
	Spills map[string]spillCall `json:"-"`

	// Queue has the prompts that no entry of the conversation may have.
	Queue transcript.PromptQueue `json:"queue,omitzero"`
	// Rest means that the end of the file decided about prompts of the queue. If the file grows, it
	// must be read again: entries of them may follow.
	Rest bool `json:"rest,omitempty"`
}

const (
	// maxCalls is the most calls without results that are remembered.
	maxCalls = 1000
	// maxLine is the length of the longest line that is read.
	maxLine = 64 << 20
	// pieceSize is the length of the pieces of a spill.
	pieceSize = 1 << 20
	readSize  = 256 << 10
	// checksumSize is the number of bytes before the offset that are compared, to find out whether
	// a file was only appended to.
	checksumSize = 512
)

// A visitor is called with each passage of a file.
type visitor func(p *location, text string) error

// A reader reads files passage by passage. It must not be used by several goroutines at once.
type reader struct {
	extractor *extractor
	buf       []byte
	progress  func(n int) // may be nil
	foreign   bool        // the file is that of a subagent, or a spill

	state *state
	base  state // where reading began
	visit visitor
	err   error
}

func newReader() *reader {
	return &reader{extractor: newExtractor(), buf: make([]byte, readSize)}
}

// read visits the passages of a file after a state, and moves the state to the end of the file. A
// file that no longer exists has no passages.
func (r *reader) read(ctx context.Context, f *sessions.File, s *state, visit visitor) error {
	file, err := os.Open(f.Path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	r.state, r.base, r.visit, r.err = s, *s, visit, nil
	r.foreign = f.AgentID != "" || f.Spill
	if s.Time == 0 {
		s.Time = f.Info.ModTime().UnixMilli()
		if !f.Spill {
			s.Time = 0
		}
	}
	if f.Spill {
		return r.spill(ctx, file)
	}
	if err := r.transcript(ctx, file); err != nil {
		return err
	}
	s.Checksum, err = checksum(file, s.Offset)
	return err
}

// transcript reads the lines of a transcript.
func (r *reader) transcript(ctx context.Context, file *os.File) error {
	splitter := transcript.NewLineSplitter(maxLine)
	ignore := func(transcript.InvalidLine) {}
	for at := r.base.Offset; ; {
		n, err := file.ReadAt(r.buf, at)
		at += int64(n)
		splitter.Feed(r.buf[:n], r.line, ignore)
		r.report(n)
		switch {
		case r.err != nil:
			return r.err
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, io.EOF):
			splitter.Flush(r.line, ignore)
			rest := r.state.Queue.Rest()
			r.state.Rest = len(rest) > 0
			r.queued(rest)
			r.state.Offset, r.state.Lines = r.base.Offset+splitter.Offset(), r.base.Lines+int64(splitter.Lines())
			return r.err
		case err != nil:
			return err
		}
	}
}

func (r *reader) report(n int) {
	if r.progress != nil {
		r.progress(n)
	}
}

// line visits the passages of a line.
func (r *reader) line(line []byte, at wire.Position) {
	if r.err != nil {
		return
	}
	e, err := transcript.DecodeEntry(line)
	if err != nil {
		return
	}
	r.note(&e)
	e.Position = wire.Position{
		Line: int(r.base.Lines) + at.Line, Offset: r.base.Offset + at.Offset, Bytes: int64(len(line)),
	}
	r.queued(r.state.Queue.Next(&e))
	if e.Type != queueOperation {
		r.entry(&e, r.state.Time)
	}
	if e.Chained() && !e.IsSidechain {
		r.state.Tip = e.UUID
	}
}

// queued visits the passages of entries that only the queue has.
func (r *reader) queued(entries []transcript.Entry) {
	for i := range entries {
		time := r.state.Time
		if at := entries[i].Timestamp; !at.IsZero() {
			time = at.UnixMilli()
		}
		r.entry(&entries[i], time)
	}
}

// entry visits the passages of an entry.
func (r *reader) entry(e *transcript.Entry, time int64) {
	at := e.Position
	p := location{offset: at.Offset, length: at.Bytes, line: int64(at.Line), time: time, agent: e.AgentID}
	for i, passage := range r.extractor.passages(e) {
		if r.err != nil {
			return
		}
		if passage.turn {
			r.state.Turns++
		}
		p.nth, p.role, p.source, p.turn, p.tool = int64(i), passage.role, passage.source, r.state.Turns, ""
		p.output = passage.role == Tool && passage.tool == ""
		if r.foreign || r.state.Member {
			p.source = Other
		}
		switch {
		case passage.role == Title:
			if passage.text == r.state.Title {
				continue // the agent writes it again and again
			}
			r.state.Title, p.turn = passage.text, 0
		case passage.tool != "":
			r.called(&passage, time)
			p.tool = passage.tool
		case passage.call != "":
			p.tool = r.answered(e, &passage, &p).Tool
		}
		r.err = r.visit(&p, passage.text)
	}
}

// note records the facts of an entry that later entries need.
func (r *reader) note(e *transcript.Entry) {
	s := r.state
	if !e.Timestamp.IsZero() {
		s.Time = e.Timestamp.UnixMilli()
	}
	if s.Session == "" {
		s.Session = e.SessionID
	}
	s.Member = s.Member || isMember(e)
	if s.Directory == "" && e.CWD != "" {
		s.Directory = baseName(e.CWD)
	}
	if len(e.Supersedes) > 0 || recordsRewind(e) {
		s.Rewound = true
	}
	if e.Chained() && !e.IsSidechain {
		s.follow(e)
	}
}

// baseName returns the last element of a path of any system.
func baseName(dir string) string { return path.Base(strings.ReplaceAll(dir, `\`, "/")) }

// follow notes whether an entry continues the conversation or starts a branch of it. Results of
// calls that ran at once, and notes of the agent, also follow entries before the last one. Only if
// the user or the model continues after such a note, the conversation was rewound.
func (s *state) follow(e *transcript.Entry) {
	away := e.ParentUUID != "" && s.Tip != "" && e.ParentUUID != s.Tip
	onBranch := s.Branch != "" && e.ParentUUID == s.Branch
	switch said := (e.Type == "user" || e.Type == "assistant") && e.ToolUseResult == nil; {
	case said && (away || onBranch):
		s.Rewound, s.Branch = true, ""
	case !said && e.Type == "system" && away, !said && onBranch:
		s.Branch = e.UUID
	}
}

// recordsRewind reports whether an entry beside the conversation may record a rewind.
func recordsRewind(e *transcript.Entry) bool {
	return e.Type == "last-prompt" && bytes.Contains(e.Raw, []byte(`"rewound"`))
}

// spill reads a spill in pieces. It skips a file that does not look like text.
func (r *reader) spill(ctx context.Context, file *os.File) error {
	piece := make([]byte, pieceSize)
	p := location{role: Tool, source: Other, output: true, line: 1, time: r.state.Time}
	for ctx.Err() == nil {
		n, err := io.ReadFull(io.NewSectionReader(file, p.offset, pieceSize), piece)
		if n == 0 || p.offset == 0 && bytes.IndexByte(piece[:min(n, checksumSize)], 0) >= 0 {
			break
		}
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		if n == pieceSize {
			n = pieceEnd(piece)
		}
		p.length = int64(n)
		if err := r.visit(&p, string(piece[:n])); err != nil {
			return err
		}
		p.offset += int64(n)
		p.line += int64(bytes.Count(piece[:n], []byte("\n")))
		r.report(n)
	}
	r.state.Offset = p.offset
	return ctx.Err()
}

// pieceEnd returns the end of a piece that is not the last one: after a line, or at least between
// words.
func pieceEnd(piece []byte) int {
	return cmp.Or(bytes.LastIndexByte(piece, '\n')+1, bytes.LastIndexAny(piece, " \t,;:{}[]\"")+1, len(piece))
}

// checksum returns a hash of the bytes before an offset.
func checksum(file io.ReaderAt, offset int64) (uint64, error) {
	from := max(0, offset-checksumSize)
	sum := fnv.New64a()
	_, err := io.Copy(sum, io.NewSectionReader(file, from, offset-from))
	return sum.Sum64(), err
}

// text reads a passage again.
func (r *reader) text(file io.ReaderAt, p *location, spill bool) (string, bool) {
	data := make([]byte, p.length)
	if n, err := file.ReadAt(data, p.offset); err != nil && n < len(data) {
		return "", false
	}
	if spill {
		return string(data), true
	}
	e, err := transcript.DecodeEntry(data)
	if err != nil {
		return "", false
	}
	passages := r.extractor.passages(&e)
	if p.nth >= int64(len(passages)) {
		return "", false
	}
	return passages[p.nth].text, true
}
