package index

import (
	"cmp"
	"container/heap"
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// A Hit is a passage that was found.
type Hit struct {
	File *sessions.File
	// SessionID and AgentID are those of the file, or of the entry where the file
	// does not tell.
	SessionID, AgentID string
	// Folder is the name of the working folder, or "" if that is not known.
	Folder string
	// Line is that of the entry in the transcript, or, of a spill, the line of the
	// first match in it.
	Line int
	// Turn is the number of the turn, or 0 if it is not known.
	Turn int
	Time time.Time // zero if it is not known
	Role Role
	Tool string
	// Text is the passage, or a part of a long one.
	Text string
	// Matches are places in Text, in order. There is at least one.
	Matches []Span
}

// An Excerpt is a part of a text.
type Excerpt struct {
	Text    string
	Matches []Span // there is at least one
	// Begins and Ends say that the text begins and ends with it.
	Begins, Ends bool
}

// Excerpt returns the part of the text, of about so many bytes, that has the most
// matches in it.
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
	for range utf8.UTFMax - 1 { // what is not UTF-8 may have no start at all
		if start > 0 && !utf8.RuneStart(text[start]) {
			start--
		}
		if end < len(text) && !utf8.RuneStart(text[end]) {
			end++
		}
	}
	return Span{start, end}
}

// A Result is what a search has found.
type Result struct {
	// Hits are the newest, in that order.
	Hits []Hit
	// More is how many more there are. AtMost says that some of these may turn out
	// to be none.
	More   int
	AtMost bool
	// Unread are the errors of files that could not be read.
	Unread []error
}

// A candidate is a passage that may be a hit.
type candidate struct {
	file    *sessions.File
	id      int64 // of the file in the index
	state   *state
	place   place
	text    string
	matches []Span
	feeds   int // line feeds before the first match
}

// maxText is how much is kept of the text of a candidate.
const maxText = 1 << 10

// take notes where the text has what is looked for, and keeps as much of it as is
// worth showing. It reports false if there is nothing.
func (c *candidate) take(text string, matches []Span) bool {
	if len(matches) == 0 {
		return false
	}
	c.feeds = strings.Count(text[:matches[0].Start], "\n")
	e := excerpt(text, matches, maxText)
	c.text, c.matches = strings.Clone(e.Text), e.Matches // the rest need not be kept
	return true
}

// compare is negative if c comes before other in the result: the newer one does,
// and of one time the later one in its file.
func (c *candidate) compare(other *candidate) int {
	a, b := &c.place, &other.place
	return cmp.Or(
		cmp.Compare(b.time, a.time), cmp.Compare(c.file.Path, other.file.Path),
		cmp.Compare(b.offset, a.offset), cmp.Compare(b.nth, a.nth))
}

// hit makes a hit of a candidate whose matches are known.
func (c *candidate) hit() Hit {
	h := Hit{
		File: c.file, SessionID: cmp.Or(c.file.SessionID, c.state.Session), AgentID: cmp.Or(c.file.AgentID, c.place.agent),
		Folder: c.state.Folder, Line: int(c.place.line), Role: c.place.role, Tool: c.place.tool, Text: c.text, Matches: c.matches,
	}
	if c.place.time != 0 {
		h.Time = time.UnixMilli(c.place.time)
	}
	if !c.state.Rewound && h.AgentID == "" && !c.file.Spill {
		h.Turn = int(c.place.turn)
	}
	if c.file.Spill {
		h.Line += c.feeds
	}
	return h
}

// A ranking keeps the first candidates of all that it is given.
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
	r.list = append(r.list, x.(*candidate)) //nolint:forcetypeassert // nothing else is pushed
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

// A shelf opens files, and keeps the last one open: candidates of one file often
// follow each other.
type shelf struct {
	path string
	file *os.File
}

func (s *shelf) open(path string) (*os.File, error) {
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

func (s *shelf) close() {
	if s.file != nil {
		_ = s.file.Close() // opened to be read
		s.file = nil
	}
}

// A place is where a passage is in a file.
type place struct {
	offset int64 // of the line, or of the piece of a spill
	length int64
	line   int64
	nth    int64 // of the passages of the line
	time   int64 // in milliseconds
	turn   int64
	role   Role
	tool   string
	agent  string // the subagent whose entry stands in the session's own transcript
}

var errPlaces = errors.New("index: the places of a part are damaged")

// encodePlaces writes places in few bytes. Most differ little from the one before.
func encodePlaces(places []place) []byte {
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
	var last place
	for i := range places {
		p := &places[i]
		body = append(body, byte(p.role))
		for _, n := range []int64{p.offset - last.offset, p.line - last.line, p.time - last.time, p.turn - last.turn, p.length, p.nth} {
			body = binary.AppendVarint(body, n)
		}
		body = binary.AppendUvarint(body, number(p.tool))
		body = binary.AppendUvarint(body, number(p.agent))
		last = *p
	}
	head := binary.AppendUvarint(nil, uint64(len(places)))
	head = binary.AppendUvarint(head, uint64(len(list)))
	for _, name := range list {
		head = append(binary.AppendUvarint(head, uint64(len(name))), name...)
	}
	return append(head, body...)
}

// A placeReader reads what encodePlaces has written.
type placeReader struct {
	data []byte
	bad  bool
}

func decodePlaces(data []byte) ([]place, error) {
	r := placeReader{data: data}
	count := r.size()
	names := []string{""}
	for range r.size() {
		names = append(names, string(r.bytes(r.size())))
	}
	places := make([]place, 0, min(count, partPlaces))
	var last place
	for i := 0; i < count && !r.bad; i++ {
		p := place{role: Role(r.byte())}
		p.offset, p.line = last.offset+r.number(), last.line+r.number()
		p.time, p.turn = last.time+r.number(), last.turn+r.number()
		p.length, p.nth = r.number(), r.number()
		p.tool, p.agent = r.name(names), r.name(names)
		r.bad = r.bad || p.role > Thinking || p.offset < 0 || p.length < 0 || p.nth < 0
		places, last = append(places, p), p
	}
	if r.bad || len(r.data) > 0 {
		return nil, errPlaces
	}
	return places, nil
}

func (r *placeReader) number() int64 {
	n, size := binary.Varint(r.data)
	r.pass(size)
	return n
}

// size reads a number of things that are still to come.
func (r *placeReader) size() int {
	n, size := binary.Uvarint(r.data)
	r.pass(size)
	if n > uint64(len(r.data)) {
		r.bad = true
		return 0
	}
	return int(n)
}

func (r *placeReader) name(names []string) string {
	n, size := binary.Uvarint(r.data)
	r.pass(size)
	if n >= uint64(len(names)) {
		r.bad = true
		return ""
	}
	return names[n]
}

func (r *placeReader) byte() byte {
	b := r.bytes(1)
	if len(b) == 0 {
		return 0
	}
	return b[0]
}

func (r *placeReader) bytes(n int) []byte {
	if n > len(r.data) {
		r.bad = true
		return nil
	}
	b := r.data[:n]
	r.data = r.data[n:]
	return b
}

func (r *placeReader) pass(size int) {
	if size <= 0 {
		r.bad, r.data = true, nil
		return
	}
	r.data = r.data[size:]
}

// A passage is a text of an entry.
type passage struct {
	role Role
	tool string // the name of the tool that is called
	call string // the ID of a call, or of the one whose result this is
	turn bool   // it is a prompt that begins a turn
	text string
}

// A dissector takes entries apart. It is for one goroutine at a time.
type dissector struct {
	decoder *wire.Decoder
	list    []passage
}

func newDissector() *dissector {
	return &dissector{decoder: wire.NewDecoder(&wire.ReaderOptions{DiscardRaw: true})}
}

// passages returns the texts of an entry that people search in, always in the same
// order. The list is valid until the next call.
func (d *dissector) passages(e *transcript.Entry) []passage {
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
	}
	return d.list
}

func (d *dissector) add(p passage) {
	if strings.TrimSpace(p.text) != "" {
		d.list = append(d.list, p)
	}
}

// results takes results of tools, and reports false if there is none.
func (d *dissector) results(content []byte) bool {
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
func (d *dissector) resultText(content wire.JSON) string {
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
	return strings.Join(texts, "\n")
}

func (d *dissector) answer(content []byte) {
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

// classified takes what a person would see of the entry. What only the model was
// told is left out.
func (d *dissector) classified(e transcript.Entry) {
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

// inputText returns the name of a tool and the values of its input, each on a
// line.
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

// stringEnd returns the index behind the string that begins at i.
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
