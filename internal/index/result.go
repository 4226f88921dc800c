package index

import (
	"cmp"
	"container/heap"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/clewdev/clew/sessions"
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
