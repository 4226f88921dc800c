package web

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/rows"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/tooluse"
)

// A rowData is a session row.
type rowData struct {
	ID    rows.ID `json:"id"`
	Kind  string  `json:"kind"`
	State string  `json:"state"`
	Open  bool    `json:"open"`           // it starts open
	Below int     `json:"below"`          // rows below it, at any depth
	HTML  string  `json:"html"`           // its line
	Body  *string `json:"body,omitempty"` // of prompts and answers
}

// A rowsPage is a part of the rows with the same parent.
type rowsPage struct {
	Revision int       `json:"revision"`
	Total    int       `json:"total"`
	From     int       `json:"from"`
	Loading  bool      `json:"loading,omitempty"` // subagents are still being read
	Rows     []rowData `json:"rows"`
}

// rows answers with a session's rows below one of them.
func (s *Server) rows(w http.ResponseWriter, r *http.Request) error {
	from, n, err := window(r.URL.Query())
	if err != nil {
		return err
	}
	v, err := s.read(r)
	if err != nil {
		return err
	}
	defer v.close()
	children := v.Top
	if parent := r.URL.Query().Get("parent"); parent != "" {
		at, err := v.index(parent)
		if err != nil {
			return err
		}
		children = v.below(at)
	}
	from = min(from, len(children))
	page := rowsPage{Revision: v.Revision, Total: len(children), From: from, Loading: v.Snapshot.Loading, Rows: []rowData{}}
	d := s.rowDrawer(v)
	for _, i := range children[from:min(from+n, len(children))] {
		row, err := d.row(v.List.At(i))
		if err != nil {
			return err
		}
		page.Rows = append(page.Rows, row)
	}
	v.close()
	return reply(w, page)
}

// index returns the index of the row with an ID that a request names.
func (v *reading) index(id string) (int, error) {
	at, ok := v.List.Index(rows.ID(id))
	if line, isLine := strings.CutPrefix(id, linePrefix); isLine {
		at, ok = v.lineIndex(line)
	}
	if !ok {
		return 0, refused(http.StatusNotFound, "the session has no such row")
	}
	return at, nil
}

// linePrefix starts the ID of a transcript line, which stands for the row that shows it.
const linePrefix = "line:"

// lineID returns the ID of a line of the session, or of a subagent.
func lineID(agent string, line int) string {
	if agent != "" {
		agent += "/"
	}
	return linePrefix + agent + strconv.Itoa(line)
}

// lineIndex returns the index of the row that shows a line, or of the last one before it.
func (v *reading) lineIndex(id string) (int, bool) {
	agent, text := "", id
	if i := strings.LastIndexByte(id, '/'); i >= 0 {
		agent, text = id[:i], id[i+1:]
	}
	line, err := strconv.Atoi(text)
	if err != nil {
		return 0, false
	}
	found, best := -1, 0
	for i := range v.List.Len() {
		r := v.List.At(i)
		if r.Agent != agent {
			continue
		}
		for _, at := range entriesOf(r) {
			if at.Line <= line && at.Line > best {
				found, best = i, at.Line
			}
		}
	}
	return found, found >= 0
}

// row returns the row that a request names.
func (v *reading) row(r *http.Request) (*rows.Row, error) {
	at, err := v.index(r.URL.Query().Get("row"))
	if err != nil {
		return nil, err
	}
	return v.List.At(at), nil
}

// below returns the indexes of the rows whose parent is at an index.
func (v *reading) below(at int) (children []int) {
	end := at + 1 + v.List.At(at).Below
	for i := at + 1; i < end; i += 1 + v.List.At(i).Below {
		children = append(children, i)
	}
	return children
}

// A step is a row on the way to another one.
type step struct {
	Row   rows.ID `json:"row"`
	Index int     `json:"index"` // among the rows with the same parent
}

// path returns the rows from one at depth 0 to the one at an index.
func (v *reading) path(at int) []step {
	var path []step
	for i := at; i >= 0; i = v.List.At(i).Parent {
		path = append([]step{{Row: v.List.At(i).ID, Index: v.place(i)}}, path...)
	}
	return path
}

// place returns the place of a row among the rows with the same parent.
func (v *reading) place(at int) (n int) {
	parent := v.List.At(at).Parent
	if parent < 0 {
		return v.TopOf(at)
	}
	for i := parent + 1; i < at; i += 1 + v.List.At(i).Below {
		n++
	}
	return n
}

// where answers with the path to a row, or to the next or last row of a kind from there.
func (s *Server) where(w http.ResponseWriter, r *http.Request) error {
	v, err := s.readWhole(r)
	if err != nil {
		return err
	}
	defer v.close()
	query := r.URL.Query()
	at, err := v.index(query.Get("row"))
	if err != nil {
		return err
	}
	var match func(*rows.Row) bool
	switch query.Get("step") {
	case "":
	case "prompt":
		match = rows.IsPrompt
	case "failure":
		match = rows.IsFailure
	default:
		return refused(http.StatusBadRequest, "step must be prompt or failure")
	}
	if match != nil {
		if at = v.List.Next(at, match); isSet(query.Get("back")) {
			at, _ = v.index(query.Get("row"))
			at = v.List.Previous(at, match)
		}
	}
	if at < 0 {
		return refused(http.StatusNotFound, "there is no such row")
	}
	revision, path := v.Revision, v.path(at)
	v.close()
	return reply(w, struct {
		Revision int    `json:"revision"`
		Path     []step `json:"path"`
	}{revision, path})
}

// isSet reports whether a parameter is on.
func isSet(value string) bool { return value == "1" || value == "true" }

// A rowDrawer makes the HTML of rows.
type rowDrawer struct {
	*reading
	options render.Options
	zone    *time.Location
	day     int // the day of which times are shown without the date
	facts   *rows.Facts
}

func (s *Server) rowDrawer(v *reading) *rowDrawer {
	t := v.Snapshot.Transcript
	d := &rowDrawer{
		reading: v, options: render.Options{Zone: s.opts.Zone, Dir: t.CWD}, zone: s.opts.Zone,
		day: render.DayNumber(t.Created.In(s.opts.Zone)), facts: v.Facts(),
	}
	return d
}

// row returns a row with its line, and with its body if people read that first.
func (d *rowDrawer) row(r *rows.Row) (rowData, error) {
	var m markup
	d.line(&m, r)
	row := rowData{
		ID: r.ID, Kind: r.Kind.String(), State: r.State.String(), Open: startsOpen(r), Below: r.Below, HTML: m.String(),
	}
	if r.Kind == rows.Prompt || r.Kind == rows.Answer {
		body, err := d.body(r, false)
		if err != nil {
			return row, err
		}
		row.Body = &body
	}
	return row, nil
}

const (
	maxOpenDiff  = 40       // lines of a change that starts open
	maxOpenInput = 32 << 10 // bytes of one input, so that it is not decoded in vain
)

// startsOpen reports whether a row is open before someone folds it: texts are, and small changes of
// files.
func startsOpen(r *rows.Row) bool {
	if r.Kind == rows.Prompt || r.Kind == rows.Answer {
		return true
	}
	if r.Kind != rows.Call || r.State != rows.Done || len(r.Item.ToolInput)+len(r.Item.Patch) > maxOpenInput {
		return false
	}
	switch r.Item.ToolName {
	case "Edit", "MultiEdit", "Write", "NotebookEdit":
		n := 0
		for _, diff := range r.Item.Diffs() {
			n += hunkLines(diff.Hunks)
		}
		return n > 0 && n <= maxOpenDiff
	}
	return false
}

func hunkLines(hunks []tooluse.Hunk) (n int) {
	for i := range hunks {
		n += len(hunks[i].Lines)
	}
	return n
}

// line writes the line of a row.
func (d *rowDrawer) line(m *markup, r *rows.Row) {
	switch r.Kind {
	case rows.Prompt:
		d.promptLine(m, r)
		return
	case rows.Answer:
		d.answerLine(m, r)
		return
	}
	parts := d.options.RowParts(r)
	name := "name"
	if parts.Style == tty.Failure {
		name = "name bad"
	}
	m.span(name, parts.Name)
	m.span("what", parts.Text)
	if r.Kind != rows.Compaction { // its only note is the time
		m.notes(parts.Notes)
	}
	d.time(m, r)
}

// promptLine writes the line of a prompt, which is a heading, and its beginning for when it is folded.
func (d *rowDrawer) promptLine(m *markup, r *rows.Row) {
	tag, who := "h2", "You"
	if r.Depth > 0 {
		tag, who = "h3", "Prompt"
	}
	m.raw("<", tag, ` class="who">`)
	if r.Depth == 0 {
		m.raw(`<span class="turn">`, strconv.Itoa(r.Turn), "</span> ")
	}
	m.raw(who, "</", tag, ">")
	m.span("what", d.options.RowParts(r).Text)
	m.span("note", render.Attached(r.Chunk))
	if r.Depth == 0 {
		m.span("note cost", wording.CostOfCalls(d.facts.Turns[r.Turn]).Note())
	}
	d.time(m, r)
}

// answerLine writes the line of a text: its author if it is the first one of its chunk, and the
// text itself, for when it is folded.
func (d *rowDrawer) answerLine(m *markup, r *rows.Row) {
	if r.Item == nil || len(r.Chunk.Items) > 0 && r.Item.At == r.Chunk.At {
		m.span("who", strings.TrimSpace(render.ShortModel(r.Chunk.Model)))
	}
	m.span("what", d.options.RowParts(r).Text)
	d.time(m, r)
}

// time writes when something was said.
func (d *rowDrawer) time(m *markup, r *rows.Row) {
	at := r.Time.In(d.zone)
	layout := "15:04:05"
	if render.DayNumber(at) != d.day {
		layout = "2 Jan 15:04"
	}
	m.time(r.Time, at.Format(layout))
}
