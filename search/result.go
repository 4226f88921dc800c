package search

import (
	"cmp"
	"container/heap"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// A Hit is a passage that matches a query.
type Hit struct {
	// File is the transcript, or the spilled result, that has the passage.
	File *sessions.File
	// SessionID and AgentID are those of the file, or else of the entry.
	SessionID, AgentID string
	// Directory is the name of the working directory, or "" if it is unknown.
	Directory string
	// Line is the line of the entry in the transcript, or the line of the first match in a spill.
	Line int
	// Turn is the number of the turn, from 1. It is 0 in a transcript of a subagent, for what a
	// rewind has removed from the conversation, and before the first prompt.
	Turn int
	Time time.Time // zero if it is unknown
	Role Role      // who wrote the passage
	Tool string    // name of the tool, for its input or result
	// Text is the passage, or the most relevant section of a long one.
	Text string
	// Matches are the matches in Text, in order. There is at least one.
	Matches []Span
}

// An Excerpt is a section of a text with matches.
type Excerpt struct {
	Text    string // the section
	Matches []Span // matches in Text; there is at least one
	// Begins and Ends report whether the excerpt is at the beginning and at the end of the text.
	Begins, Ends bool
}

// Excerpt returns the section of the text, of about size bytes, that has the most matches.
func (h *Hit) Excerpt(size int) Excerpt { return excerpt(h.Text, h.Matches, size) }

func excerpt(text string, matches []Span, size int) Excerpt {
	w := window(text, matches, size)
	e := Excerpt{Text: text[w.Start:w.End], Begins: w.Start == 0, Ends: w.End == len(text)}
	for _, m := range matches {
		atEnd := m.Start == m.End && m.End == w.End
		if m.Start >= w.Start && (m.Start < w.End || atEnd) {
			e.Matches = append(e.Matches, Span{m.Start - w.Start, min(m.End, w.End) - w.Start})
		}
	}
	return e
}

func window(text string, matches []Span, size int) Span {
	best, most := 0, 0
	for i, m := range matches {
		n := 0
		for _, other := range matches[i:] {
			if other.End > m.Start+size*2/3 {
				break
			}
			n++
		}
		if n > most {
			best, most = i, n
		}
	}
	start := max(0, matches[best].Start-size/4)
	end := min(len(text), start+size)
	for range utf8.UTFMax - 1 { // invalid UTF-8 may have no start of a rune
		if start > 0 && !utf8.RuneStart(text[start]) {
			start--
		}
		if end < len(text) && !utf8.RuneStart(text[end]) {
			end++
		}
	}
	return Span{start, end}
}

// A Result is the result of a search.
type Result struct {
	// Hits are the matching passages, the newest first.
	Hits []Hit
	// More is the number of further hits.
	More   int
	AtMost bool // some of the further hits may not match
	// Unread are the errors of files that could not be read.
	Unread []error
}

// A candidate is a passage that may be a hit.
type candidate struct {
	file     *sessions.File
	id       int64 // of the file in the index
	state    *state
	location location
	text     string
	matches  []Span
	feeds    int // line feeds before the first match
}

// maxText is the number of bytes that are kept of the text of a candidate.
const maxText = 1 << 10

// take records the matches in the text of the candidate, and keeps an excerpt. It returns false if
// there are no matches.
func (c *candidate) take(text string, matches []Span) bool {
	if len(matches) == 0 {
		return false
	}
	c.feeds = strings.Count(text[:matches[0].Start], "\n")
	e := excerpt(text, matches, maxText)
	c.text, c.matches = strings.Clone(e.Text), e.Matches // the rest need not be kept
	return true
}

// compare is negative if c comes before other in the result: newer passages first, and at the same
// time those later in the file.
func (c *candidate) compare(other *candidate) int {
	a, b := &c.location, &other.location
	return cmp.Or(
		cmp.Compare(b.time, a.time), cmp.Compare(c.file.Path, other.file.Path),
		cmp.Compare(b.offset, a.offset), cmp.Compare(b.nth, a.nth))
}

// hit returns the hit of a candidate with matches.
func (c *candidate) hit(ctx context.Context, turns *turnCounter) Hit {
	h := Hit{
		File: c.file, SessionID: cmp.Or(c.file.SessionID, c.state.Session), AgentID: cmp.Or(c.file.AgentID, c.location.agent),
		Directory: c.state.Directory, Line: int(c.location.line), Role: c.location.role, Tool: c.location.tool, Text: c.text, Matches: c.matches,
	}
	if c.location.time != 0 {
		h.Time = time.UnixMilli(c.location.time)
	}
	switch {
	case h.AgentID != "" || c.file.Spill:
	case c.state.Rewound:
		h.Turn = turns.of(ctx, c.file)[h.Line]
	default:
		h.Turn = int(c.location.turn)
	}
	if c.file.Spill {
		h.Line += c.feeds
	}
	return h
}

// A turnCounter counts the turns of transcripts in which the turn of a line is known only from
// all lines, as after a rewind. It reads each transcript once. The zero value is ready.
type turnCounter struct {
	turns map[string]map[int]int // by path and line
}

// maxCounted is the size of the largest transcript that is read for its turns.
const maxCounted = 1 << 30

// of returns the turns of a transcript's lines. Lines that are not part of the conversation have
// none, and neither has a transcript that can't be read.
func (t *turnCounter) of(ctx context.Context, f *sessions.File) map[int]int {
	turns, ok := t.turns[f.Path]
	if ok || f.Info.Size() > maxCounted || ctx.Err() != nil {
		return turns
	}
	if t.turns == nil {
		t.turns = map[string]map[int]int{}
	}
	turns = map[int]int{}
	t.turns[f.Path] = turns
	file, err := os.Open(f.Path)
	if err != nil {
		return turns
	}
	defer file.Close()
	read, err := transcript.Read(&contextReader{ctx, file}, nil)
	if err != nil {
		return turns
	}
	turn := 0
	for i := range read.Chunks {
		if read.Chunks[i].Type == transcript.UserChunk {
			turn++
		}
		for _, line := range read.Chunks[i].Lines {
			turns[line] = turn
		}
	}
	return turns
}

// A contextReader reads until its context ends.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (r *contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// A ranking keeps the first candidates, in the order of the result.
type ranking struct {
	limit int // 0 means all
	list  []*candidate
	total int
}

func (r *ranking) Len() int           { return len(r.list) }
func (r *ranking) Less(i, j int) bool { return r.list[i].compare(r.list[j]) > 0 }
func (r *ranking) Swap(i, j int)      { r.list[i], r.list[j] = r.list[j], r.list[i] }

// Push is for package heap.
func (r *ranking) Push(x any) {
	r.list = append(r.list, x.(*candidate)) //nolint:forcetypeassert // only candidates are pushed
}

// Pop is for package heap.
func (r *ranking) Pop() any {
	last := r.list[len(r.list)-1]
	r.list = r.list[:len(r.list)-1]
	return last
}

// wants reports whether a candidate would be kept.
func (r *ranking) wants(c *candidate) bool {
	return r.limit <= 0 || len(r.list) < r.limit || c.compare(r.list[0]) < 0
}

// add counts a candidate, and keeps it if it is one of the first.
func (r *ranking) add(c *candidate) {
	r.total++
	if !r.wants(c) {
		return
	}
	heap.Push(r, c)
	if r.limit > 0 && len(r.list) > r.limit {
		heap.Pop(r)
	}
}

func (r *ranking) sorted() []*candidate {
	list := slices.Clone(r.list)
	slices.SortFunc(list, (*candidate).compare)
	return list
}

// A fileCache opens files, and keeps the last one open, since candidates of one file often follow
// each other.
type fileCache struct {
	path string
	file *os.File
}

func (s *fileCache) open(path string) (*os.File, error) {
	if s.file != nil && s.path == path {
		return s.file, nil
	}
	s.close()
	file, err := os.Open(path)
	if err == nil {
		s.path, s.file = path, file
	}
	return file, err
}

func (s *fileCache) close() {
	if s.file != nil {
		_ = s.file.Close() // it was only read
		s.file = nil
	}
}

// A location is the position of a passage in a file, and what is known about it.
type location struct {
	offset int64 // of the line, or of the piece of a spill
	length int64
	line   int64
	nth    int64 // its index among the passages of the line
	time   int64 // in milliseconds
	turn   int64
	role   Role
	tool   string
	agent  string // the subagent, for its entries in the session's own transcript
}

var errDamaged = errors.New("search: a segment is damaged")

// encodeLocations encodes locations in few bytes, by the differences to the one before.
func encodeLocations(locations []location) []byte {
	names := map[string]uint64{"": 0}
	var list []string
	number := func(name string) uint64 {
		n, ok := names[name]
		if !ok {
			n = uint64(len(names))
			names[name], list = n, append(list, name)
		}
		return n
	}
	var body []byte
	var last location
	for i := range locations {
		p := &locations[i]
		body = append(body, byte(p.role))
		for _, n := range []int64{p.offset - last.offset, p.line - last.line, p.time - last.time, p.turn - last.turn, p.length, p.nth} {
			body = binary.AppendVarint(body, n)
		}
		body = binary.AppendUvarint(body, number(p.tool))
		body = binary.AppendUvarint(body, number(p.agent))
		last = *p
	}
	head := binary.AppendUvarint(nil, uint64(len(locations)))
	head = binary.AppendUvarint(head, uint64(len(list)))
	for _, name := range list {
		head = append(binary.AppendUvarint(head, uint64(len(name))), name...)
	}
	return append(head, body...)
}

// A locationReader reads the encoding of encodeLocations.
type locationReader struct {
	data []byte
	bad  bool
}

func decodeLocations(data []byte) ([]location, error) {
	r := locationReader{data: data}
	count := r.size()
	names := []string{""}
	for range r.size() {
		names = append(names, string(r.bytes(r.size())))
	}
	locations := make([]location, 0, min(count, segmentPassages))
	var last location
	for i := 0; i < count && !r.bad; i++ {
		p := location{role: Role(r.byte())}
		p.offset, p.line = last.offset+r.number(), last.line+r.number()
		p.time, p.turn = last.time+r.number(), last.turn+r.number()
		p.length, p.nth = r.number(), r.number()
		p.tool, p.agent = r.name(names), r.name(names)
		r.bad = r.bad || p.role > Thinking || p.offset < 0 || p.length < 0 || p.nth < 0
		locations, last = append(locations, p), p
	}
	if r.bad || len(r.data) > 0 {
		return nil, errDamaged
	}
	return locations, nil
}

func (r *locationReader) number() int64 {
	n, size := binary.Varint(r.data)
	r.pass(size)
	return n
}

// size reads a count of following elements, each of at least one byte.
func (r *locationReader) size() int {
	n, size := binary.Uvarint(r.data)
	r.pass(size)
	if n > uint64(len(r.data)) {
		r.bad = true
		return 0
	}
	return int(n)
}

func (r *locationReader) name(names []string) string {
	n, size := binary.Uvarint(r.data)
	r.pass(size)
	if n >= uint64(len(names)) {
		r.bad = true
		return ""
	}
	return names[n]
}

func (r *locationReader) byte() byte {
	b := r.bytes(1)
	if len(b) == 0 {
		return 0
	}
	return b[0]
}

func (r *locationReader) bytes(n int) []byte {
	if n > len(r.data) {
		r.bad = true
		return nil
	}
	b := r.data[:n]
	r.data = r.data[n:]
	return b
}

func (r *locationReader) pass(size int) {
	if size <= 0 {
		r.bad, r.data = true, nil
		return
	}
	r.data = r.data[size:]
}

// A passage is one text of an entry.
type passage struct {
	role Role
	tool string // the name of the called tool
	call string // the ID of the call, also for a result
	turn bool   // the passage is a prompt that begins a turn
	text string
}

// An extractor returns the passages of entries. It must not be used by several goroutines at once.
type extractor struct {
	decoder *wire.Decoder
	list    []passage
}

func newExtractor() *extractor {
	return &extractor{decoder: wire.NewDecoder(&wire.ReaderOptions{DiscardRaw: true})}
}

// passages returns the texts of an entry that can be searched, always in the same order. The list
// is valid until the next call.
func (d *extractor) passages(e *transcript.Entry) []passage {
	d.list = d.list[:0]
	switch e.Type {
	case "user":
		if e.Message != nil && !d.results(e.Message.Content) {
			d.classified(*e)
		}
	case "assistant":
		if e.Message != nil {
			d.answer(e.Message.Content)
		}
	case "attachment", "system":
		d.classified(*e)
	case queueOperation:
		d.classified(transcript.Entry{
			Type: "attachment", AttachmentType: "queued_command",
			Attachment: fmt.Appendf(nil, `{"type":"queued_command","prompt":%s}`, e.Content),
		})
	}
	return d.list
}

// queueOperation is the type of entries with prompts that may be in no other entry.
const queueOperation = "queue-operation"

func (d *extractor) add(p passage) {
	if strings.TrimSpace(p.text) != "" {
		d.list = append(d.list, p)
	}
}

// results adds the results of tools, and reports whether there are any.
func (d *extractor) results(content []byte) bool {
	if len(content) == 0 || content[0] != '[' {
		return false
	}
	blocks, err := d.decoder.Content(content)
	if err != nil {
		return false
	}
	any := false
	for _, block := range blocks {
		if b, ok := block.(*wire.ToolResultBlock); ok {
			any = true
			d.add(passage{role: Tool, call: b.ToolUseID, text: d.resultText(b.Content)})
		}
	}
	return any
}

// resultText returns the texts of a result.
func (d *extractor) resultText(content wire.JSON) string {
	blocks, err := d.decoder.Content([]byte(content))
	if err != nil {
		return ""
	}
	var texts []string
	for _, block := range blocks {
		if b, ok := block.(*wire.TextBlock); ok {
			texts = append(texts, b.Text)
		}
	}
	return transcript.AgentReport(strings.Join(texts, "\n"))
}

func (d *extractor) answer(content []byte) {
	blocks, err := d.decoder.Content(content)
	if err != nil {
		return
	}
	for _, block := range blocks {
		switch b := block.(type) {
		case *wire.TextBlock:
			d.add(passage{role: Answer, text: b.Text})
		case *wire.ThinkingBlock:
			d.add(passage{role: Thinking, text: b.Thinking})
		case *wire.ToolUseBlock:
			d.add(passage{role: Tool, tool: b.Name, call: b.ID, text: inputText(b.Name, b.Input)})
		case *wire.ServerToolUseBlock:
			d.add(passage{role: Tool, tool: b.Name, call: b.ID, text: inputText(b.Name, b.Input)})
		case *wire.MCPToolUseBlock:
			d.add(passage{role: Tool, tool: b.Name, call: b.ID, text: inputText(b.Name, b.Input)})
		}
	}
}

// classified adds the text of an entry that a person would see. Text for the model is omitted.
func (d *extractor) classified(e transcript.Entry) {
	sidechain := e.IsSidechain
	e.IsSidechain = false
	msg, _ := transcript.Classify(e)
	switch m := msg.(type) {
	case *transcript.UserMsg:
		d.add(passage{role: Prompt, turn: !sidechain, text: m.Text})
	case *transcript.TeammateMsg:
		d.add(passage{role: Prompt, text: m.Text})
	case *transcript.CompactMsg:
		d.add(passage{role: Answer, text: m.Text})
	case *transcript.SystemMsg:
		d.add(passage{role: Tool, text: m.Output + "\n" + m.Stderr})
	}
}

// inputText returns the name of a tool and the values of its input, each on a line.
func inputText(name string, input wire.JSON) string {
	var b strings.Builder
	b.WriteString(name)
	text := string(input)
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"':
			end := stringEnd(text, i)
			if !isKey(text[end:]) {
				b.WriteByte('\n')
				writeString(&b, text[i:end])
			}
			i = end
		case c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z':
			end := i + 1
			for end < len(text) && !strings.ContainsRune(",]} \t\r\n", rune(text[end])) {
				end++
			}
			b.WriteString("\n" + text[i:end])
			i = end
		default:
			i++
		}
	}
	return b.String()
}

// stringEnd returns the end of the string that begins at i.
func stringEnd(text string, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

func isKey(rest string) bool {
	return strings.HasPrefix(strings.TrimLeft(rest, " \t\r\n"), ":")
}

func writeString(b *strings.Builder, quoted string) {
	if !strings.Contains(quoted, `\`) && len(quoted) > 1 {
		b.WriteString(quoted[1 : len(quoted)-1])
		return
	}
	var s string
	if json.Unmarshal([]byte(quoted), &s) == nil {
		b.WriteString(s)
	}
}
