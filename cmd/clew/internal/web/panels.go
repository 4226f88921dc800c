package web

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/clewdev/clew/export"
	"github.com/clewdev/clew/internal/clip"
	"github.com/clewdev/clew/internal/pricelist"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/rows"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/usage"
)

// panel answers with a panel of a session.
func (s *Server) panel(w http.ResponseWriter, r *http.Request, write func(*markup, *reading) error) error {
	v, err := s.readWhole(r)
	if err != nil {
		return err
	}
	defer v.close()
	var m markup
	if err := write(&m, v); err != nil {
		return err
	}
	v.close()
	return reply(w, fragment{m.String()})
}

// renderOptions returns the options for texts that the terminal shows as well.
func (s *Server) renderOptions(v *reading) render.Options {
	t := v.Snapshot.Transcript
	return render.Options{Zone: s.opts.Zone, Dir: t.CWD, Day: t.Created}
}

// maxOutline is the number of outline lines per request: a session can have tens of thousands.
const maxOutline = 1000

// outline answers with some of the turns in a session, and with the number of lines.
func (s *Server) outline(w http.ResponseWriter, r *http.Request) error {
	from, err := number(r.URL.Query(), "from", 0)
	if err != nil {
		return err
	}
	v, err := s.readWhole(r)
	if err != nil {
		return err
	}
	defer v.close()
	entries := s.renderOptions(v).OutlineEntries(&v.List)
	v.close()
	var m markup
	m.raw(`<p class="navhead">Turns</p><ol>`)
	first := min(from, len(entries))
	for i := range entries[first:min(first+maxOutline, len(entries))] {
		outlineEntry(&m, &entries[first+i])
	}
	m.raw("</ol>")
	return reply(w, struct {
		fragment

		Total int `json:"total"`
	}{fragment{m.String()}, len(entries)})
}

// outlineEntry writes a line of the outline. Prompts have their number in place of the mark that the
// terminal has.
func outlineEntry(m *markup, e *render.PanelEntry) {
	words, isPrompt := strings.CutPrefix(e.Words, "> ")
	m.raw("<li")
	if !isPrompt {
		m.raw(` class="cut"`)
	}
	m.raw(">")
	end := m.rowLink(string(e.Row))
	if isPrompt {
		m.raw(`<span class="num">`, strconv.Itoa(e.Turn), "</span> ")
	}
	m.element("span", styleClasses[e.Style], clip.Marked(words, 200))
	m.raw(end, "</li>")
}

// entryTable writes entries of a panel as a table. The first column has their texts.
func entryTable(m *markup, caption string, columns []column, entries []render.PanelEntry) {
	m.tableHead(caption, columns)
	for i := range entries {
		e := &entries[i]
		m.raw("<tr>", `<th scope="row" class="d`, strconv.Itoa(min(e.Depth, 8)), `">`)
		end := m.rowLink(string(e.Row))
		m.span(styleClasses[e.Style], clip.Marked(e.Words, 300))
		m.raw(end, "</th>")
		for k := range columns[1:] {
			cell(m, e, k, columns[k+1].right)
		}
		m.raw("</tr>")
	}
	m.tableEnd()
}

// cell writes a cell of an entry, which may have fewer of them.
func cell(m *markup, e *render.PanelEntry, k int, right bool) {
	class := ""
	if right {
		class = "r"
	}
	m.open("td", class)
	if k < len(e.Cells) {
		m.span(styleClasses[e.Cells[k].Style], e.Cells[k].Text)
	}
	m.raw("</td>")
}

// subagents answers with the tree of subagents.
func (s *Server) subagents(w http.ResponseWriter, r *http.Request) error {
	return s.panel(w, r, func(m *markup, v *reading) error {
		columns := []column{
			{"Agent", false}, {"State", false}, {"Calls", true}, {"Tokens", true}, {"Cost", true}, {"Duration", true}, {"Model", false},
		}
		entryTable(m, "Subagents, and what they did and cost", columns, s.renderOptions(v).AgentEntries(v.Snapshot.Transcript, &v.List))
		return nil
	})
}

// branches answers with the messages that rewinds removed.
func (s *Server) branches(w http.ResponseWriter, r *http.Request) error {
	return s.panel(w, r, func(m *markup, v *reading) error {
		columns := []column{{"Rewound", false}, {"Rows", true}, {"Time", true}}
		entryTable(m, "Messages that rewinds have removed from the conversation", columns, s.renderOptions(v).BranchEntries(&v.List))
		return nil
	})
}

// sessionUsage answers with the tokens and the cost of a session, by model and by turn.
func (s *Server) sessionUsage(w http.ResponseWriter, r *http.Request) error {
	return s.panel(w, r, func(m *markup, v *reading) error {
		t := v.Snapshot.Transcript
		prices := pricelist.Current()
		report := usage.NewReport(t.Calls(), &usage.ReportOptions{By: []usage.Dimension{usage.ByModel}, Prices: &prices})
		if report.Total.Calls == 0 {
			m.element("p", "missing", "The transcript does not say what was used.")
			return nil
		}
		columns := []column{
			{"Model", false}, {"Answers", true}, {"In", true}, {"Out", true}, {"Cache read", true}, {"Cache write", true}, {"Cost", true},
		}
		entryTable(m, "Usage by model", columns, render.ModelEntries(report)[1:])
		for _, text := range render.UsageRemarks(t, report) {
			m.element("p", "note", text)
		}
		turns := s.renderOptions(v).TurnCosts(t, &v.List)[1:]
		entryTable(m, "Usage by turn", []column{{"Turn", false}, {"Tokens", true}, {"Cost", true}}, turns)
		return nil
	})
}

// contextUse answers with the growth of the context, turn by turn.
func (s *Server) contextUse(w http.ResponseWriter, r *http.Request) error {
	return s.panel(w, r, func(m *markup, v *reading) error {
		report := v.Snapshot.Transcript.Context()
		if len(report.Turns) == 0 {
			m.element("p", "missing", "The transcript does not say what filled the context.")
			return nil
		}
		contextPlot(&report).write(m)
		last := &report.Turns[len(report.Turns)-1]
		contextTable(m, last)
		entries := s.renderOptions(v).ContextTurns(&report, &v.List)[1:]
		for i := range entries {
			if e := &entries[i]; len(e.Cells) > 0 {
				e.Cells = e.Cells[1:] // the plot is the bar
			}
		}
		entryTable(m, "Context by turn", []column{{"Turn", false}, {"Full", true}, {"Tokens", true}}, entries)
		return nil
	})
}

// contextTable writes what fills the context at the end, by class.
func contextTable(m *markup, last *transcript.ContextTurn) {
	m.tableHead(render.ContextTitle(last), []column{{"Class", false}, {"Tokens", true}, {"Share", true}})
	for i, class := range render.ContextClasses() {
		tokens := last.By[class]
		if tokens == 0 {
			continue
		}
		m.raw(`<tr><th scope="row"><span class="key k`, strconv.Itoa(i), `" aria-hidden="true"></span> `)
		m.text(render.ClassName(class))
		m.raw("</th>")
		m.element("td", "r", wording.Rounded(tokens))
		m.element("td", "r", render.Percent(tokens, last.Tokens))
		m.raw("</tr>")
	}
	m.tableEnd()
}

// contextPlot returns a bar for each turn, of parts by class.
func contextPlot(report *transcript.ContextReport) *plot {
	p := &plot{title: "Context by turn"}
	turns := report.Turns
	first := max(len(turns)-maxBars, 0)
	for i := range turns[first:] {
		turn := &turns[first+i]
		b := bar{label: strconv.Itoa(first + i + 1), value: int64(turn.Tokens), text: wording.Tokens(turn.Tokens)}
		for k, class := range render.ContextClasses() {
			if n := turn.By[class]; n > 0 {
				b.parts = append(b.parts, barPart{class: k, value: int64(n), text: render.ClassName(class) + " " + wording.Rounded(n)})
			}
		}
		p.bars = append(p.bars, b)
	}
	return p
}

const (
	maxShownFiles = 500
	maxPanelLines = 6000 // of all changes
)

// files answers with the files that a session, or one of its turns, changed, and their changes.
func (s *Server) files(w http.ResponseWriter, r *http.Request) error {
	turn, err := number(r.URL.Query(), "turn", 0)
	if err != nil {
		return err
	}
	path := r.URL.Query().Get("path")
	return s.panel(w, r, func(m *markup, v *reading) error {
		t := v.Snapshot.Transcript
		chunks := t.Chunks
		if r.URL.Query().Get("turn") != "" {
			chunks = transcript.InTurns(t.Chunks, turn, turn)
		}
		changes := transcript.Diffs(chunks)
		if len(changes) == 0 {
			m.element("p", "missing", "No file was changed.")
			return nil
		}
		d := fileDrawer{markup: m, view: &export.View{Zone: s.opts.Zone, More: moreInParts}, dir: t.CWD, calls: render.CallRows(&v.List), left: maxPanelLines}
		d.summary(changes)
		for i := range changes[:min(len(changes), maxShownFiles)] {
			if path == "" || changes[i].Path == path {
				if err := d.file(&changes[i]); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// A fileDrawer writes the changes of files.
type fileDrawer struct {
	*markup
	view  *export.View
	dir   string
	calls map[string]rows.ID
	left  int // lines of changes that fit
}

// summary counts the files and the lines.
func (d *fileDrawer) summary(changes []transcript.FileChanges) {
	added, removed := 0, 0
	for i := range changes {
		added, removed = added+changes[i].Added, removed+changes[i].Removed
	}
	d.raw(`<p class="facts">`)
	d.span("", wording.Count(len(changes), "file")+" changed")
	d.lines(added, removed)
	d.raw("</p>")
}

func (d *fileDrawer) lines(added, removed int) {
	if added > 0 {
		d.element("span", "plus", "+"+wording.Number(added))
	}
	if removed > 0 {
		d.element("span", "minus", "−"+wording.Number(removed))
	}
}

const (
	maxOpenFile = 60  // lines of the changes of a file that starts open
	maxCalls    = 200 // changes of one file
)

// file writes the changes of a file, call by call.
func (d *fileDrawer) file(f *transcript.FileChanges) error {
	n := 0
	for i := range f.Calls {
		n += hunkLines(f.Calls[i].Hunks)
	}
	isShown := n <= d.left
	if isShown {
		d.left -= n
	}
	d.raw(`<details class="tool"`)
	if n <= maxOpenFile {
		d.raw(" open")
	}
	d.raw(`><summary><span class="name">`)
	d.text(render.RelativePath(d.dir, f.Path))
	d.raw("</span>")
	switch {
	case f.Deleted:
		d.span("note", "deleted")
	case f.Created:
		d.span("note", "new")
	}
	d.lines(f.Added, f.Removed)
	d.span("note", wording.Count(len(f.Calls), "change"))
	d.raw(`</summary><div class="body">`)
	for i := range f.Calls[:min(len(f.Calls), maxCalls)] {
		call := &f.Calls[i]
		if id, ok := d.calls[call.ToolID]; ok {
			d.raw(`<p class="note">`, d.callLink(string(id), i), "</p>")
		}
		if !isShown {
			continue
		}
		if err := export.WriteDiff(d, &call.FileDiff, d.view); err != nil {
			return err
		}
	}
	if !isShown {
		d.element("p", "missing", "The changes are not shown here, since there are many. Each call shows its own.")
	}
	if more := len(f.Calls) - maxCalls; more > 0 {
		d.element("p", "missing", wording.Count(more, "more change")+" not shown")
	}
	d.raw("</div></details>")
	return nil
}

// callLink returns a link to the call that made a change.
func (d *fileDrawer) callLink(row string, i int) string {
	var m markup
	end := m.rowLink(row)
	m.text("change " + strconv.Itoa(i+1))
	m.raw(end)
	return m.String()
}
