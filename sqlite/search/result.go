package search

import (
	"cmp"
	"container/heap"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/clewdev/clew/sessions"
)

// A Hit is a passage that matches a query.
type Hit struct {
	// File is the transcript, or the spilled result, that has the passage.
	File *sessions.File
	// SessionID and AgentID come from the file, or else from the entry.
	SessionID, AgentID string
	// Directory is the name of the working directory, or for the session of a job the name of its
	// repository's directory: see [sessions.Job]. It is "" if it is unknown.
	Directory string
	// Line is the line of the entry in the transcript, or the line of the first match in a spill.
	Line int
	// Offset is the start of the entry in the transcript, or of the section of a spill, in bytes.
	Offset int64
	// Turn is the number of the turn, from 1. It is 0 in a transcript of a subagent, for passages
	// that a rewind removed from the conversation, before the first prompt, and for titles.
	Turn int
	// Time is the time of the entry or, in a spill, of the call whose result it is. If no transcript
	// has the call, it is the time of the file. It is zero if it is unknown.
	Time time.Time
	Role Role   // the kind of the passage
	Tool string // name of the tool, for its input or result
	// Source is the writer of the passage.
	Source Source
	// Share is the part of the query that the turn has, from 0 to 1, for a query by [Parse]. Each word
	// counts log2(2 + m/n), if n texts have it, and the word that most texts have is in m of them.
	// A word that is only a part of a longer one, or only in an output, counts less. For other
	// queries it is 1.
	Share float64
	// Score is the relevance of the hit, for the order [Relevance], or 0. It is the product of the
	// following. A text counts by its role: 3 for a title, 2 for a prompt, 1.5 for an answer and 1
	// for others, and in subagents three quarters of that. A text of n words is divided by 1 +
	// log2(1+n/50)/4, so that a short one counts more. Words that are close to each other count up
	// to twice as much: 1 + q/w, if the query has q words, and the shortest section with all of
	// them has w. What is new counts up to twice as much, 1.5 times after a week and 1.2 times after
	// a month: 1 + 1/(1+days/7). Each doubling of the number of hits in a session adds a tenth, and
	// five of them at most. How rare words are does not matter, since each hit has all of them.
	//
	// For a query by [Parse], the score is the third power of the part of the query that the turn
	// has, where a word counts less in thinking, calls and most of all in outputs, and a little if
	// only the title or another turn has it. It is up to twice as much if one text has all of these
	// words, and if they are close to each other; a fifth more for a prompt, and a seventh for new
	// turns.
	Score float64
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
	// Hits are the matching passages, in the order of the query.
	Hits []Hit
	// Groups are the sessions of the hits, for the order [Relevance]: the hits of the first one are
	// the first hits, and so on.
	Groups []Group
	// More is the number of further hits, and MoreSessions, for the order [Relevance], the number of
	// sessions that have only such hits.
	More, MoreSessions int

	AtMost bool // some of the further hits may not match

	// Updated is the time the index was last updated, and Outdated are the files that changed
	// since, for a result of [Index.Lookup]. What is new in these files was not searched: it has
	// OutdatedBytes.
	Updated       time.Time
	Outdated      []*sessions.File
	OutdatedBytes int64
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

	owner *spillOwner // of a spill, or nil if it is unknown

	base, near float64 // the score without the closeness of the words, and that closeness
	score      float64
	masks      masks   // the words of a query by Parse
	value      float32 // how many of these it has
	turn       *turn   // of a hit of such a query
	share      float64 // of the query: see Hit.Share
	segment    int64   // the passage in the index
	number     int
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
		Offset: c.location.offset, Source: c.location.source, Share: 1,
	}
	if dir := c.file.Job.Directory; dir != "" {
		h.Directory = baseName(dir)
	}
	if c.turn != nil {
		h.Share = c.share
	}
	if c.location.time != 0 {
		h.Time = time.UnixMilli(c.location.time)
	}
	transcript, line := c.file, h.Line
	if c.owner.linked() {
		transcript, line = c.owner.file, int(c.owner.Line)
	}
	switch {
	case h.AgentID != "" || transcript.Spill:
	case c.state.Rewound:
		h.Turn = turns.of(ctx, transcript, c.state)[line]
	default:
		h.Turn = int(c.location.turn)
	}
	if c.file.Spill {
		h.Line += c.feeds
	}
	return h
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

// A location is the position of a passage in a file, and its known properties.
type location struct {
	offset int64 // of the line, or of the piece of a spill
	length int64
	line   int64
	nth    int64 // its index among the passages of the line
	time   int64 // in milliseconds
	turn   int64
	role   Role
	source Source
	tool   string
	agent  string // the subagent, for its entries in the session's own transcript
	words  int64  // the number of its words
	output bool   // it is the output of a tool or of a command
}

// sourceShift is the position of the source in the byte of the role, and outputBit a bit of it.
const (
	sourceShift = 4
	outputBit   = 1 << 7
)

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
		kind := byte(p.role) | byte(p.source)<<sourceShift
		if p.output {
			kind |= outputBit
		}
		body = append(body, kind)
		for _, n := range []int64{p.offset - last.offset, p.line - last.line, p.time - last.time, p.turn - last.turn, p.length, p.nth, p.words} {
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
	at   int // how much of it was read
	bad  bool
}

// more reports whether there is more to read.
func (r *locationReader) more() bool { return r.at < len(r.data) }

// decodeLocations appends locations to a list.
func decodeLocations(locations []location, data []byte) ([]location, error) {
	r := locationReader{data: data}
	count := r.size()
	names := []string{""}
	for range r.size() {
		names = append(names, string(r.bytes(r.size())))
	}
	locations = slices.Grow(locations, min(count, segmentPassages))
	var last location
	for i := 0; i < count && !r.bad; i++ {
		kind := r.byte()
		p := location{role: Role(kind & (1<<sourceShift - 1)), source: Source(kind &^ outputBit >> sourceShift), output: kind&outputBit != 0}
		p.offset, p.line = last.offset+r.number(), last.line+r.number()
		p.time, p.turn = last.time+r.number(), last.turn+r.number()
		p.length, p.nth, p.words = r.number(), r.number(), r.number()
		p.tool, p.agent = r.name(names), r.name(names)
		r.bad = r.bad || p.role > Title || p.source > Other || p.words < 0 || p.offset < 0 || p.length < 0 || p.nth < 0
		locations, last = append(locations, p), p
	}
	if r.bad || r.more() {
		return nil, errDamaged
	}
	return locations, nil
}

func (r *locationReader) number() int64 {
	if r.more() && r.data[r.at] < 0x80 { // most have one byte
		b := int64(r.data[r.at])
		r.at++
		return b>>1 ^ -(b & 1)
	}
	n, size := binary.Varint(r.data[r.at:])
	r.pass(size)
	return n
}

// size reads a count of following elements, each of at least one byte.
func (r *locationReader) size() int {
	n, size := binary.Uvarint(r.data[r.at:])
	r.pass(size)
	if n > uint64(len(r.data)-r.at) {
		r.bad = true
		return 0
	}
	return int(n)
}

func (r *locationReader) name(names []string) string {
	n, size := binary.Uvarint(r.data[r.at:])
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
	if n > len(r.data)-r.at {
		r.bad = true
		return nil
	}
	b := r.data[r.at : r.at+n]
	r.at += n
	return b
}

func (r *locationReader) pass(size int) {
	if size <= 0 {
		r.bad, r.at = true, len(r.data)
		return
	}
	r.at += size
}
