package web

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/clewdev/clew/internal/rows"
	"github.com/clewdev/clew/transcript"
)

const (
	maxMatches = 20_000
	maxPattern = 1000 // bytes
)

// A rowMatch is a row in which something was found.
type rowMatch struct {
	Row   rows.ID   `json:"row"`
	Path  []rows.ID `json:"path"`  // the rows that it is below, the outermost first
	Index int       `json:"index"` // of the outermost one at depth 0
	N     int       `json:"n"`     // matches in the row

	at int
}

// found is the answer of find.
type found struct {
	Revision int        `json:"revision"`
	Count    int        `json:"count"`
	More     bool       `json:"more"` // there are more matches than are counted
	Matches  []rowMatch `json:"matches"`
}

// find answers with the rows that have a text.
func (s *Server) find(w http.ResponseWriter, r *http.Request) error {
	matcher, err := parseMatcher(r.URL.Query())
	if err != nil {
		return err
	}
	v, err := s.readWhole(r)
	if err != nil {
		return err
	}
	defer v.close()
	result := v.find(r.Context(), matcher)
	if err := r.Context().Err(); err != nil {
		return err
	}
	v.close()
	return reply(w, result)
}

// parseMatcher reads what to look for.
func parseMatcher(values url.Values) (transcript.Matcher, error) {
	text, exact := values.Get("q"), isSet(values.Get("case"))
	switch {
	case text == "":
		return nil, refused(http.StatusBadRequest, "q is empty")
	case len(text) > maxPattern:
		return nil, refused(http.StatusBadRequest, "q is too long")
	case !isSet(values.Get("regex")) && !exact:
		return transcript.IgnoreCase(text), nil
	case !isSet(values.Get("regex")):
		text = regexp.QuoteMeta(text)
	case !exact:
		text = "(?i)" + text
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, &refusal{
			status: http.StatusBadRequest, reason: strings.TrimPrefix(err.Error(), "error parsing regexp: "),
			hint: "The expression must be one of Go's package regexp.",
		}
	}
	return re, nil
}

// find returns the rows with matches, in order.
func (v *reading) find(ctx context.Context, matcher transcript.Matcher) *found {
	result := &found{Revision: v.Revision, Matches: []rowMatch{}}
	counts := map[int]int{}
	last, lastRow := transcript.Place{}, -1
	for m := range v.Snapshot.Transcript.Find(stoppable{ctx, matcher}) {
		if result.Count == maxMatches {
			result.More = true
			break
		}
		if lastRow < 0 || !samePlace(&last, &m.Place) {
			at, ok := v.List.Find(m.Place)
			if !ok {
				continue
			}
			last, lastRow = m.Place, at
		}
		result.Count++
		counts[lastRow]++
	}
	for at, n := range counts {
		result.Matches = append(result.Matches, rowMatch{Row: v.List.At(at).ID, Path: v.above(at), Index: v.TopOf(at), N: n, at: at})
	}
	slices.SortFunc(result.Matches, func(a, b rowMatch) int { return a.at - b.at })
	return result
}

// samePlace reports whether two places are in the same item.
func samePlace(a, b *transcript.Place) bool {
	return a.Chunk == b.Chunk && a.ItemIndex == b.ItemIndex && a.Agent == b.Agent && a.Branch == b.Branch
}

// above returns the IDs of the rows that a row is below, the outermost first.
func (v *reading) above(at int) []rows.ID {
	path := []rows.ID{}
	for i := v.List.At(at).Parent; i >= 0; i = v.List.At(i).Parent {
		path = append(path, v.List.At(i).ID)
	}
	slices.Reverse(path)
	return path
}

// A stoppable matcher finds nothing more after its context ends.
type stoppable struct {
	ctx     context.Context
	matcher transcript.Matcher
}

// FindAllStringIndex finds matches in a text.
func (s stoppable) FindAllStringIndex(text string, n int) [][]int {
	if s.ctx.Err() != nil {
		return nil
	}
	return s.matcher.FindAllStringIndex(text, n)
}
