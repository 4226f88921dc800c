package web

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clewdev/clew/cmd/clew/internal/fuzzy"
	"github.com/clewdev/clew/cmd/clew/internal/view"
	"github.com/clewdev/clew/internal/clip"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/sessions"
)

// maxWindow is the maximum number of rows per request.
const maxWindow = 200

// maxFilter is the length of the longest filter.
const maxFilter = 1000

// A listRow is a row in the session list. The ID of a heading starts with "day:", and the ID of a
// project with "project:". The ID of a session is the one in addresses, which may have more than the
// session's own.
type listRow struct {
	ID      string `json:"id"`
	Session string `json:"session,omitempty"` // the session's own ID
	HTML    string `json:"html"`
	Resume  string `json:"resume,omitempty"` // the command that resumes the session

	entry   *view.Entry
	project *view.Project
	deleted *sessions.TrashedSession
	heading string
}

// listCounts holds the number of rows in each tab, without headings.
type listCounts struct {
	Live     int `json:"live"`
	Recent   int `json:"recent"`
	Projects int `json:"projects"`
	Trash    int `json:"trash"`
}

// A listPage is a part of the list.
type listPage struct {
	Revision int        `json:"revision"`
	Total    int        `json:"total"`
	Counts   listCounts `json:"counts"`
	Note     string     `json:"note,omitempty"`   // why the list is not complete
	Unread   int        `json:"unread,omitempty"` // sessions that a filter does not know yet
	Rows     []listRow  `json:"rows"`
}

// A listQuery is a request for a part of the list.
type listQuery struct {
	tab, project string
	filter       fuzzy.Query
	from, n      int
}

// sessions answers with a part of the list.
func (s *Server) sessions(w http.ResponseWriter, r *http.Request) error {
	query, err := parseListQuery(r.URL.Query())
	if err != nil {
		return err
	}
	page, err := s.listPage(r.Context(), query)
	if err != nil {
		return err
	}
	return reply(w, page)
}

func parseListQuery(values url.Values) (*listQuery, error) {
	q := &listQuery{tab: cmp.Or(values.Get("tab"), "recent"), project: values.Get("project")}
	if !slices.Contains([]string{"live", "recent", "projects", "trash"}, q.tab) {
		return nil, refused(http.StatusBadRequest, "tab must be live, recent, projects or trash")
	}
	filter := values.Get("filter")
	if len(filter) > maxFilter {
		return nil, refused(http.StatusBadRequest, "the filter is too long")
	}
	q.filter = fuzzy.Parse(filter)
	var err error
	q.from, q.n, err = window(values)
	return q, err
}

// window reads which rows are asked for.
func window(values url.Values) (from, n int, err error) {
	if from, err = number(values, "from", 0); err != nil {
		return 0, 0, err
	}
	if n, err = number(values, "n", maxWindow/2); err != nil {
		return 0, 0, err
	}
	return from, min(n, maxWindow), nil
}

// number reads a number that is not negative.
func number(values url.Values, name string, otherwise int) (int, error) {
	text := values.Get(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, refused(http.StatusBadRequest, "%s must be a number that is not negative", name)
	}
	return n, nil
}

// listPage returns a part of the list. Sessions that are shown are read first, which may take some of
// them out of the list.
func (s *Server) listPage(ctx context.Context, q *listQuery) (*listPage, error) {
	l := s.listing
	defer l.Hurry()()
	trash, trashErr := s.opts.Source.Trash(ctx)
	if err := l.open(ctx); err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	l.Look()
	var all, part []listRow
	var shown []*view.Entry
	for range 3 {
		all = s.listRows(q, trash)
		from := min(q.from, len(all))
		part, shown = all[from:min(from+q.n, len(all))], nil
		for i := range part {
			if e := part[i].entry; e != nil {
				shown = append(shown, e)
			}
		}
		if !l.Complete(ctx, shown) {
			break
		}
	}
	l.Want(shown)
	page := &listPage{Revision: l.Revision, Total: len(all), Counts: s.listCounts(trash), Rows: part}
	if err := cmp.Or(l.Err, trashErr); err != nil {
		page.Note = "the list is not complete: " + tty.Line(err.Error())
	}
	if !q.filter.Empty() {
		page.Unread = l.CountUnread()
	}
	s.drawList(q, part)
	return page, nil
}

func (s *Server) listCounts(trash []sessions.TrashedSession) listCounts {
	list := &s.listing.List
	n := listCounts{Live: len(list.Live()), Projects: len(list.Projects()), Trash: len(trash)}
	for _, e := range list.Order {
		if !e.Hidden() {
			n.Recent++
		}
	}
	return n
}

// listRows returns all rows in a tab that the filter accepts, not drawn yet.
func (s *Server) listRows(q *listQuery, trash []sessions.TrashedSession) []listRow {
	list := &s.listing.List
	var found []listRow
	switch q.tab {
	case "live":
		for _, e := range filtered(q.filter, list.Live(), (*view.Entry).FilterText) {
			found = append(found, s.entryRow(e))
		}
	case "projects":
		for _, p := range filtered(q.filter, list.Projects(), (*view.Project).FilterText) {
			found = append(found, listRow{ID: "project:" + p.Name, project: p})
		}
	case "trash":
		for i := range trash {
			found = append(found, listRow{ID: trashID(&trash[i]), Session: trash[i].ID, deleted: &trash[i]})
		}
		found = filtered(q.filter, found, func(r listRow) fuzzy.Text { return trashText(r.deleted) })
	default:
		return s.recentRows(q)
	}
	return found
}

// trashID returns the ID of a deleted session in addresses.
func trashID(t *sessions.TrashedSession) string { return t.ID + "@" + t.Project }

func trashText(t *sessions.TrashedSession) fuzzy.Text {
	return fuzzy.Prepare(strings.Join([]string{tty.Line(t.Title), tty.Line(t.Project), tty.Line(t.ID)}, "\n"))
}

// entryRow returns a session's row.
func (s *Server) entryRow(e *view.Entry) listRow {
	return listRow{ID: cmp.Or(s.listing.names[e], e.ID), Session: e.ID, entry: e}
}

// recentRows returns the live sessions, then the others by day. With a filter, the best matches
// come first and there are no headings.
func (s *Server) recentRows(q *listQuery) []listRow {
	list := &s.listing.List
	var recent []*view.Entry
	for _, e := range list.Order {
		if !e.Hidden() && (q.project == "" || e.Home() == q.project) {
			recent = append(recent, e)
		}
	}
	found := make([]listRow, 0, len(recent)+64)
	if !q.filter.Empty() {
		for _, e := range filtered(q.filter, recent, (*view.Entry).FilterText) {
			found = append(found, s.entryRow(e))
		}
		return found
	}
	found = append(found, s.liveRows(q.project)...)
	day := 0
	now := s.now()
	for _, e := range recent {
		if list.State(e).Live {
			continue
		}
		at := e.Modified.In(s.opts.Zone)
		if d := render.DayNumber(at); d != day {
			day = d
			found = append(found, listRow{ID: "day:" + at.Format(time.DateOnly), heading: render.Day(at, now)})
		}
		found = append(found, s.entryRow(e))
	}
	return found
}

// liveRows returns the live sessions of a project, or of all, below a heading.
func (s *Server) liveRows(project string) []listRow {
	var found []listRow
	for _, e := range s.listing.Live() {
		if project == "" || e.Home() == project {
			found = append(found, s.entryRow(e))
		}
	}
	if len(found) > 0 {
		found = append([]listRow{{ID: "day:live", heading: "Live"}}, found...)
	}
	return found
}

// now returns the time in the zone of the server.
func (s *Server) now() time.Time { return s.opts.Now().In(s.opts.Zone) }

// filtered returns the items that match a filter, the best first.
func filtered[T any](q fuzzy.Query, items []T, text func(T) fuzzy.Text) []T {
	if q.Empty() {
		return items
	}
	texts := make([]fuzzy.Text, len(items))
	for i, item := range items {
		texts[i] = text(item)
	}
	var f fuzzy.Filter
	f.Set(texts)
	var found []T
	for _, i := range f.Find(q) {
		found = append(found, items[i])
	}
	return found
}

// drawList makes the HTML of rows.
func (s *Server) drawList(q *listQuery, part []listRow) {
	now := s.now()
	d := listDrawer{list: &s.listing.List, query: q.filter, now: now, byDay: q.tab == "recent" && q.filter.Empty()}
	for i := range part {
		row := &part[i]
		var m markup
		switch {
		case row.entry != nil:
			d.session(&m, row.ID, row.entry)
			row.Resume = view.ResumeCommand(row.entry.ID, row.entry.CWD, row.entry.Path)
		case row.project != nil:
			d.project(&m, row.project)
		case row.deleted != nil:
			d.deleted(&m, row.deleted)
		default:
			m.element("h2", "day", row.heading)
		}
		row.HTML = m.String()
	}
}

// A listDrawer makes the HTML of rows.
type listDrawer struct {
	list    *view.List
	query   fuzzy.Query
	matcher fuzzy.Matcher
	now     time.Time
	byDay   bool
}

// The longest texts of a row, in bytes.
const (
	maxShownTitle = 240
	maxShownName  = 80
)

// session writes a session's row: a link, unless it has no transcript yet.
func (d *listDrawer) session(m *markup, id string, e *view.Entry) {
	state := d.list.State(e)
	tag, class := "a", "session"
	if e.Path == "" {
		tag = "div"
	}
	if state.Live {
		class += " live"
	}
	if e.Err != nil {
		class += " bad"
	}
	m.raw("<", tag)
	m.attr("class", class)
	if tag == "a" {
		m.attr("href", "/s/"+url.PathEscape(id))
	}
	m.raw(">")
	m.raw(`<span class="title">`)
	d.marked(m, clip.Marked(cmp.Or(e.Name, "…"), maxShownTitle), e.FilterText())
	m.raw("</span>")
	if state.Live {
		m.span("state "+styleClasses[state.Style()], clip.Marked(state.Whole(""), maxShownTitle))
	}
	for _, c := range view.Columns {
		text := clip.Marked(c.Text(d.list, e), maxShownName)
		switch {
		case c.Name == "turns" && state.Live: // the state is above
			text = e.Turns()
		case c.Name == "time" && text != "":
			text = "took " + text
		case c.Name == "cost" && text == "?": // which says nothing without the heading that the terminal has
			text = "cost unknown"
		}
		m.span("fact-"+c.Name, text)
		if c.Name == "branch" {
			m.span("tag", clip.Marked(tty.Line(e.Tag), maxShownName))
		}
	}
	m.span("id", view.ShortID(e.ID))
	m.time(e.Modified, d.list.Age(e, d.now, d.byDay))
	m.raw("</", tag, ">")
}

// marked writes a text with the filter's matches marked.
func (d *listDrawer) marked(m *markup, text string, prepared fuzzy.Text) {
	at := 0
	if !d.query.Empty() {
		for _, span := range d.matcher.Spans(d.query, prepared) {
			from, to := min(span.Start, len(text)), min(span.End, len(text))
			if from >= to || from < at {
				break
			}
			m.clean(text[at:from])
			m.raw("<mark>")
			m.clean(text[from:to])
			m.raw("</mark>")
			at = to
		}
	}
	m.clean(text[at:])
}

func (d *listDrawer) project(m *markup, p *view.Project) {
	m.raw(`<a class="project"`)
	m.attr("href", "/?project="+url.QueryEscape(p.Name))
	m.raw(`><span class="title">`)
	d.marked(m, p.Shown(), p.FilterText())
	m.raw("</span>")
	m.span("path", p.Directory)
	if p.Live > 0 {
		m.span("state good", strconv.Itoa(p.Live)+" live")
	}
	m.span("count", wording.Count(p.Count, "session"))
	m.time(p.Newest, wording.Age(p.Newest, d.now))
	m.raw("</a>")
}

func (d *listDrawer) deleted(m *markup, t *sessions.TrashedSession) {
	m.raw(`<div class="session deleted"><span class="title">`)
	d.marked(m, clip.Marked(cmp.Or(tty.Line(t.Title), "(no title)"), maxShownTitle), trashText(t))
	m.raw("</span>")
	m.span("project", t.Project)
	m.span("id", view.ShortID(t.ID))
	m.time(t.Deleted, "deleted "+wording.Age(t.Deleted, d.now))
	m.raw("</div>")
}

// listPace is the minimum time between two list changes that are sent.
const listPace = 200 * time.Millisecond

// followList calls changed with each new state of the list until ctx ends. The event stream calls it
// once, while someone looks at a page.
func (s *Server) followList(ctx context.Context, changed func(listChange)) error {
	return s.listing.Watch(ctx, listPace, func(revision int) { changed(listChange{Revision: revision}) })
}
