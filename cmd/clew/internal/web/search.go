package web

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/clewdev/clew/cmd/clew/internal/view"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/sqlite/search"
)

const (
	maxWords   = 1000 // bytes
	maxHits    = 500
	maxExcerpt = 300 // bytes
)

// search answers with the matches in the texts of all sessions.
func (s *Server) search(w http.ResponseWriter, r *http.Request) error {
	words := r.URL.Query().Get("q")
	if len(words) > maxWords {
		return refused(http.StatusBadRequest, "the search is too long")
	}
	from, n, err := window(r.URL.Query())
	if err != nil {
		return err
	}
	result, err := s.opts.Source.Search(r.Context(), words, min(from+n, maxHits), nil)
	if err != nil {
		if r.Context().Err() != nil {
			return err
		}
		return refused(http.StatusBadRequest, "%s", tty.Line(err.Error()))
	}
	names, err := s.sessionNames(r)
	if err != nil {
		return err
	}
	return reply(w, s.drawFound(result, names, from, n))
}

// A drawnFound is an answer with results.
type drawnFound struct {
	fragment
	Total int    `json:"total"` // the hits that can be asked for
	Note  string `json:"note"`
	// Indexing is the share of the transcripts that the index has, in percent, while it is being
	// built, and absent otherwise.
	Indexing *int64 `json:"indexing,omitempty"`
}

// drawFound returns n results from one on. names are the IDs of sessions in addresses.
func (s *Server) drawFound(found *view.Found, names map[string]string, from, n int) *drawnFound {
	d := foundDrawer{s: s, names: names, skip: from, left: n}
	for i := range found.Sessions {
		d.session(&found.Sessions[i])
	}
	drawn := &drawnFound{fragment: fragment{d.String()}, Total: min(d.total+found.More, maxHits), Note: found.Note}
	if found.Indexing != nil {
		percent := found.Indexing.Percent()
		drawn.Indexing = &percent
	}
	return drawn
}

// sessionNames returns the IDs of sessions in addresses by their paths.
func (s *Server) sessionNames(r *http.Request) (map[string]string, error) {
	if err := s.listing.open(r.Context()); err != nil {
		return nil, err
	}
	defer s.listing.mu.Unlock()
	names := make(map[string]string, len(s.listing.names))
	for e, name := range s.listing.names {
		names[e.Path] = name
	}
	return names, nil
}

// A foundDrawer writes results by session.
type foundDrawer struct {
	markup
	s          *Server
	names      map[string]string
	skip, left int
	total      int
}

// session writes the requested results of a session.
func (d *foundDrawer) session(f *view.FoundSession) {
	var hits []*search.Hit
	for i := range f.Hits {
		d.total++
		switch {
		case d.skip > 0:
			d.skip--
		case d.left > 0:
			d.left--
			hits = append(hits, &f.Hits[i])
		}
	}
	if len(hits) == 0 {
		return
	}
	address := "/s/" + url.PathEscape(cmp.Or(d.names[f.Info.Path], f.Info.ID))
	d.raw(`<section class="found"><h2><a`)
	d.attr("href", address)
	d.raw(">")
	d.text(cmp.Or(view.TitleOf(&f.Info.Summary), view.ShortID(f.Info.ID)))
	d.raw("</a></h2>")
	d.raw(`<p class="facts">`)
	d.span("project", render.ProjectName(f.Info.Directory(), f.Info.Project))
	d.time(f.Info.Modified, wording.Age(f.Info.Modified, d.s.now()))
	if f.More > 0 {
		d.span("note", strconv.Itoa(f.More)+" more")
	}
	d.raw("</p><ul>")
	for _, h := range hits {
		d.hit(address, h)
	}
	d.raw("</ul></section>")
}

// inLine returns a part of a text for one line, with spaces where lines end.
func inLine(text string) string { return tty.CleanLine(strings.ReplaceAll(text, "\n", " ")) }

// hit writes a result: where it is, and an excerpt with marks.
func (d *foundDrawer) hit(address string, h *search.Hit) {
	if h.Line > 0 && (h.File == nil || !h.File.Spill) {
		address += "#row=" + escapeFragment(lineID(h.AgentID, h.Line))
	}
	d.raw("<li><a")
	d.attr("href", address)
	d.raw(">")
	d.span("where", view.HitPlace(h))
	d.raw(`<span class="excerpt">`)
	e := view.ExcerptOf(h, maxExcerpt).Plain()
	if !e.Begins {
		d.raw("… ")
	}
	at := 0
	for _, m := range e.Matches {
		from, to := min(max(m[0], at), len(e.Text)), min(max(m[1], at), len(e.Text))
		d.clean(inLine(e.Text[at:from]))
		d.raw("<mark>")
		d.clean(inLine(e.Text[from:to]))
		d.raw("</mark>")
		at = to
	}
	d.clean(inLine(e.Text[at:]))
	if !e.Ends {
		d.raw(" …")
	}
	d.raw("</span></a></li>")
}
