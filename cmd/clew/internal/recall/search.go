package recall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/clewdev/clew/internal/newid"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/sqlite/search"
	"github.com/clewdev/clew/transcript"
)

// A SearchRequest describes a search.
type SearchRequest struct {
	// Query is a question or words.
	Query string
	// Project is "" for the project of the working directories, [EveryProject], or a name.
	Project string
	// Since limits the time of texts. The zero time means no limit.
	Since time.Time
	// In selects the texts to search: "said" or "" for prompts and answers, "calls" for tool
	// inputs, "results" for everything else.
	In string
	// Limit is the maximum number of texts. 0 means 8.
	Limit int
}

// The texts that can be searched.
const (
	InSaid    = "said"
	InCalls   = "calls"
	InResults = "results"
)

const (
	maxQuery     = 1000 // bytes of a question
	usualHits    = 8
	maxHits      = 20
	hitsASession = 3
	excerptSize  = 160 // characters around a match
	// minShare is the part of the best text's words that another one has at least.
	minShare = 0.4
)

// source returns the texts that a request is about.
func (r *Recall) source(in string) (search.Source, error) {
	switch {
	case in == "" || in == InSaid:
		return search.Said, nil
	case in == InCalls:
		return search.Called, nil
	case in == InResults && !r.opts.Results:
		return 0, errors.New("results of tools can't be searched: the server was started without --results")
	case in == InResults:
		return search.Other, nil
	}
	return 0, fmt.Errorf("in must be said, calls or results, not %s", quoted(plain(in), 40))
}

// checkLimit returns the limit of a request, or usual for 0.
func checkLimit(limit, usual, most int) (int, error) {
	switch {
	case limit == 0:
		return usual, nil
	case limit < 0 || limit > most:
		return 0, fmt.Errorf("limit must be between 1 and %d", most)
	}
	return limit, nil
}

// query returns the query for a request.
func (r *Recall) query(req *SearchRequest) (*search.Query, error) {
	if len(req.Query) > maxQuery {
		return nil, fmt.Errorf("the query has %d bytes, and at most %d are searched for: use fewer words", len(req.Query), maxQuery)
	}
	source, err := r.source(req.In)
	if err != nil {
		return nil, err
	}
	limit, err := checkLimit(req.Limit, usualHits, maxHits)
	if err != nil {
		return nil, err
	}
	q, err := search.Parse(cmp.Or(terms(req.Query), req.Query)) // any words are better than nothing
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "search: ") + ": give a few names or words that the text may have")
	}
	q.Source, q.Order, q.Since, q.Now = source, search.Relevance, req.Since, r.opts.Now()
	q.Limit, q.PerSession, q.PerTurn = 2*limit, hitsASession, hitsASession // forks repeat texts
	return q, nil
}

// Search finds texts, and returns a line with their number, then one for each of the best.
func (r *Recall) Search(ctx context.Context, req SearchRequest, progress Progress) (string, error) {
	q, err := r.query(&req)
	if err != nil {
		return "", err
	}
	l, err := r.list(ctx)
	if err != nil {
		return "", err
	}
	files, count, err := r.scope(&l, req.Project)
	if err != nil {
		return "", err
	}
	result, err := r.find(ctx, files, q, progress)
	if err != nil {
		return "", err
	}
	a := &answer{recall: r, list: &l, req: &req, query: q, found: result, sessions: count}
	a.choose(q.Limit / 2)
	return a.text(), nil
}

// An answer is made from a search result.
type answer struct {
	recall   *Recall
	list     *listing
	req      *SearchRequest
	query    *search.Query
	found    *found
	sessions int // that were searched
	hits     []*search.Hit
	texts    []string // of the hits, each on a line
}

// choose takes the hits to show: the best, each text once, in the order of their scores.
func (a *answer) choose(limit int) {
	slices.SortStableFunc(a.found.Hits, func(x, y search.Hit) int {
		switch {
		case x.Score > y.Score:
			return -1
		case x.Score < y.Score:
			return 1
		}
		return 0
	})
	seen := map[string]bool{}
	for i := range a.found.Hits {
		h := &a.found.Hits[i]
		if len(a.hits) == limit || h.Share < minShare*a.found.Hits[0].Share {
			break
		}
		if !newid.IsUUID(h.SessionID) || a.list.running[strings.ToLower(h.SessionID)] {
			continue
		}
		text, ok := a.recall.excerpt(h, a.query)
		key := h.Role.String() + " " + text
		if !ok || seen[key] {
			continue
		}
		seen[key] = true
		a.hits, a.texts = append(a.hits, h), append(a.texts, text)
	}
}

// excerpt returns the part of a hit's text around its matches. It returns false if the text is
// gone, or does not match the hit.
func (r *Recall) excerpt(h *search.Hit, q *search.Query) (string, bool) {
	read := passageText
	if h.File.Spill {
		read = pieceText
	}
	text, ok := read(h)
	at := strings.Index(text, h.Text)
	if !ok || at < 0 {
		return "", false
	}
	if h.File.Spill { // its piece may be too long to be read up to the hit
		h.Offset += int64(at) - min(h.Offset, margin)
	}
	from, to := max(0, at-excerptSize), min(len(text), at+len(h.Text)+excerptSize)
	section := r.safeSection(text, from, to)
	matches := q.Find(section)
	if len(matches) == 0 { // the match was a secret
		return quoted(section, excerptSize), true
	}
	cut := (&search.Hit{Text: section, Matches: matches}).Excerpt(excerptSize)
	line := strings.Join(strings.Fields(strings.ToValidUTF8(cut.Text, "")), " ")
	if !cut.Begins || from > 0 {
		line = "…" + line
	}
	if !cut.Ends || to < len(text) {
		line += "…"
	}
	return quote(line), true
}

// maxEntry is the longest line that is read.
const maxEntry = 64 << 20

// passageText reads the whole text of a hit, if it is still there and of the source of the hit.
func passageText(h *search.Hit) (string, bool) {
	file, err := os.Open(h.File.Path)
	if err != nil {
		return "", false
	}
	defer file.Close()
	text, found := "", false
	splitter := transcript.NewLineSplitter(maxEntry)
	_ = eachLine(io.NewSectionReader(file, h.Offset, maxEntry), splitter, func(e *transcript.Entry) bool {
		for _, p := range search.Passages(e) {
			if p.Role == h.Role && (p.Source == h.Source || h.Source == search.Other) && strings.Contains(p.Text, h.Text) {
				text, found = p.Text, true
				break
			}
		}
		return false
	})
	return text, found
}

// maxPiece is the length of the longest piece of a spill that has one offset.
const maxPiece = 1 << 20

// pieceText reads the piece of a spill with a hit, and its surroundings.
func pieceText(h *search.Hit) (string, bool) {
	file, err := os.Open(h.File.Path)
	if err != nil {
		return "", false
	}
	defer file.Close()
	data, _, err := readAround(file, h.Offset, maxPiece)
	return string(data), err == nil
}

// readAround reads size bytes after an offset, and a margin before and after them. It returns the
// place of the offset in the data.
func readAround(file io.ReaderAt, offset, size int64) (data []byte, at int, err error) {
	before := min(offset, margin)
	data, err = io.ReadAll(io.NewSectionReader(file, offset-before, before+size+margin))
	return data, int(before), err
}

// text returns the answer.
func (a *answer) text() string {
	var b strings.Builder
	b.WriteString(a.heading() + "\n")
	for i, h := range a.hits {
		fmt.Fprintf(&b, "%s %s", refOf(a.list, h.File, h.SessionID, h.Offset), day(h.Time))
		if a.req.Project != "" {
			b.WriteString(" " + quote(a.recall.projectName(h.Directory, h.File.Project)))
		}
		p := search.Passage{Role: h.Role, Source: h.Source}
		fmt.Fprintf(&b, " %s %s\n", who(&p, h.Tool), a.texts[i])
	}
	return b.String()
}

// heading returns the number of texts, and the scope of the search.
func (a *answer) heading() string {
	all := len(a.found.Hits) + a.found.More
	var parts []string
	switch {
	case len(a.hits) == 0 && all > 0:
		parts = append(parts, "Texts were found, but can no longer be read")
	case len(a.hits) == 0:
		parts = append(parts, "Nothing found: no text has any of these words. Try other words for the same thing")
	default:
		in := map[string]bool{}
		for _, h := range a.hits {
			in[h.SessionID] = true
		}
		parts = append(parts, fmt.Sprintf("Best %d of %s with some of the words, in %s", len(a.hits), wording.Count(all, "text"), wording.Count(len(in), "session")))
	}
	parts = append(parts, "Searched: "+a.searched())
	if len(a.hits) > 0 {
		parts = append(parts, "To read on: read(ref). "+strings.TrimSuffix(Record, "."))
	}
	return strings.Join(parts, ". ") + "."
}

// searched describes the scope of the search and its gaps.
func (a *answer) searched() string {
	what := map[string]string{"": "prompts and answers", InSaid: "prompts and answers", InCalls: "tool calls", InResults: "tool results and other texts"}[a.req.In]
	where := "this project"
	switch {
	case a.req.Project == EveryProject:
		where = "all projects"
	case a.req.Project != "":
		where = "project " + quoted(plain(a.req.Project), 60)
	}
	text := fmt.Sprintf("%s of %s of %s", what, wording.Count(a.sessions, "session"), where)
	if !a.req.Since.IsZero() {
		text += " since " + day(a.req.Since)
	}
	if a.req.In != InResults {
		text += "; not tool results"
		if a.recall.opts.Results {
			text += ` (in: "results")`
		}
	}
	if a.recall.opts.All && a.req.Project == "" {
		text += `; not other projects (project: "*")`
	}
	for _, note := range []string{a.found.note, unread(len(a.found.Unread)), unlisted(a.list.err)} {
		if note != "" {
			text += "; " + note
		}
	}
	return text
}

func unread(n int) string {
	if n == 0 {
		return ""
	}
	return wording.Count(n, "file") + " could not be read"
}

func unlisted(err error) string {
	if err == nil {
		return ""
	}
	return "some directories could not be read"
}

// day returns the day of a time, or "-".
func day(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return at.Local().Format(time.DateOnly)
}

// projectName returns a short name of a project.
func (r *Recall) projectName(directory, project string) string {
	if directory != "" {
		return plainLine(directory)
	}
	return plainLine(project)
}
