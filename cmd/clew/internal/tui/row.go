package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/clewdev/clew/cmd/clew/internal/keymap"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/rows"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// A rowScreen shows a single row of a session, unabridged, in several ways.
type rowScreen struct {
	base
	session  *sessionScreen
	id       rows.ID
	row      rows.Row
	revision int // of the row in the list
	tabs     []render.Tab
	tab      render.TabName
	places   map[render.TabName]render.Place // where one was in the other tabs
	pager    pager
	split    bool
	width    int      // for which the tabs are laid out
	spans    [][2]int // where their names are in the first line

	entries  [][]byte // as they were written, once they were read
	spilled  string   // the whole result, once it was read
	pending  map[render.TabName]bool
	failures map[render.TabName]string
}

// newRow returns the screen for a row of a session, with the given tab in front, or the first tab
// if it is "".
func newRow(s *sessionScreen, id rows.ID, tab render.TabName) screen {
	if tab == "" {
		tab = render.TabShown
	}
	r := &rowScreen{
		base: newBase(s.app), session: s, id: id, tab: tab, places: map[render.TabName]render.Place{},
		pending: map[render.TabName]bool{}, failures: map[render.TabName]string{},
	}
	r.pager.height = max(s.height-2, 1)
	r.lay(max(s.width, 1))
	return r
}

func (r *rowScreen) scope() keymap.Scope { return keymap.InRow }

func (r *rowScreen) start() tea.Cmd { return r.fill() }

// refresh takes the row from the session again if it changed there.
func (r *rowScreen) refresh() {
	i, ok := r.session.layout.rows.Index(r.id)
	if !ok || i >= len(r.session.list.items) || r.session.list.items[i].revision == r.revision {
		return
	}
	before := r.row
	r.row, r.revision = *r.session.layout.rows.At(i), r.session.list.items[i].revision
	r.tabs = nil
	if before.At() != r.row.At() || before.ResultAt() != r.row.ResultAt() {
		r.entries = nil // the result arrived
		delete(r.pending, render.TabRaw)
		delete(r.failures, render.TabRaw)
	}
}

// resized lays the row out again, and repeats the search in it.
func (r *rowScreen) resized() tea.Cmd {
	r.lay(max(r.app.width, 1))
	return r.pager.scan(r, r.pager.finder.started)
}

func (r *rowScreen) grown(s *sessionScreen) tea.Cmd {
	if r.session != s {
		return nil
	}
	return tea.Batch(r.resized(), r.fill())
}

// lay makes the tabs for a width.
func (r *rowScreen) lay(width int) {
	r.refresh()
	if r.tabs != nil && r.width == width {
		return
	}
	r.width = width
	row := r.row
	if r.spilled != "" {
		item := *row.Item
		item.ToolResult = r.spilled
		row.Item = &item
	}
	o := r.session.layout.options(width)
	r.tabs = o.RowTabs(&row)
	for i := range r.tabs {
		switch t := &r.tabs[i]; {
		case t.Name == render.TabDiff && r.split:
			t.Text = o.CallDiff(&row, true)
		case t.Name == render.TabRaw && r.entries != nil:
			t.Text = o.RawText(r.entries...)
		}
	}
	r.pager.replace(r.current().Text, width)
}

// current returns the tab in front.
func (r *rowScreen) current() render.Tab {
	for _, t := range r.tabs {
		if t.Name == r.tab {
			return t
		}
	}
	if len(r.tabs) == 0 {
		return render.Tab{}
	}
	return r.tabs[0]
}

// A filledMsg has the data that was read for a tab.
type filledMsg struct {
	tab     render.TabName
	entries [][]byte
	spilled string
	err     error
}

// fill reads the data for the tab in front.
func (r *rowScreen) fill() tea.Cmd {
	tab := r.tab
	if r.pending[tab] {
		return nil
	}
	row, info := r.row, r.session.info
	switch {
	case tab == render.TabRaw && r.entries == nil:
		r.pending[tab] = true
		return background(r, func() tea.Msg {
			entries, err := r.readEntries(&row)
			return filledMsg{tab: tab, entries: entries, err: err}
		})
	case tab == render.TabResult && r.spilled == "" && row.Item != nil:
		path, ok := transcript.SpillPath(row.Item)
		if !ok {
			return nil
		}
		r.pending[tab] = true
		return background(r, func() tea.Msg {
			data, err := r.src.Spill(r.ctx, info, path)
			return filledMsg{tab: tab, spilled: string(data), err: err}
		})
	}
	return nil
}

// readEntries reads the entries of a row.
func (r *rowScreen) readEntries(row *rows.Row) (entries [][]byte, err error) {
	last := wire.Position{}
	for _, at := range []wire.Position{row.At(), row.ResultAt()} {
		if at.Line == 0 || at == last {
			continue
		}
		last = at
		entry, err := r.src.Entry(r.ctx, r.session.info, row.Agent, at)
		if err != nil {
			return entries, err
		}
		entries = append(entries, []byte(entry))
	}
	return entries, nil
}

func (r *rowScreen) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case filledMsg:
		delete(r.pending, msg.tab)
		if msg.err != nil {
			r.pending[msg.tab] = true // it is not tried again
			r.failures[msg.tab] = tty.Line(msg.err.Error())
		}
		if msg.entries != nil {
			r.entries = msg.entries
		}
		if msg.spilled != "" {
			r.spilled = msg.spilled
		}
		r.tabs = nil
		return r.resized()
	case scanMsg:
		return r.pager.scan(r, msg.started)
	case sayMsg:
		r.say(string(msg))
	case copyMsg:
		r.copy(msg.text, msg.what)
	}
	return nil
}

func (r *rowScreen) do(a keymap.Action) tea.Cmd {
	if r.pager.move(a) {
		return nil
	}
	switch a {
	case keymap.Back, keymap.Close:
		if r.pager.finder.text != "" {
			r.pager.finder.clear()
			return nil
		}
		return r.leave(a)
	case keymap.NextTab:
		return r.next(1)
	case keymap.NextHunk, keymap.PreviousHunk:
		r.stop(render.StopHunk, a == keymap.PreviousHunk, "change")
	case keymap.NextGroup, keymap.PreviousGroup:
		r.stop(render.StopFile, a == keymap.PreviousGroup, "file")
	case keymap.Preview:
		r.split = !r.split
		r.tabs = nil
		return r.resized()
	case keymap.Find:
		r.pager.beginFind()
	case keymap.NextMatch:
		r.pager.nextMatch(1)
	case keymap.PreviousMatch:
		r.pager.nextMatch(-1)
	case keymap.Copy:
		r.copy(r.plain(), r.what())
	case keymap.CopyMore:
		return r.session.copyMarkdown(&r.row)
	case keymap.OpenOutside:
		return r.showText(r, r.plain, "row.txt")
	}
	return nil
}

// stop goes to the next change or file of a diff.
func (r *rowScreen) stop(stop render.Stop, back bool, noun string) {
	if !r.pager.stop(stop, back) {
		r.say("no other " + noun)
	}
}

// next shows the next tab.
func (r *rowScreen) next(by int) tea.Cmd {
	if len(r.tabs) == 0 {
		return nil
	}
	at := 0
	for i, t := range r.tabs {
		if t.Name == r.current().Name {
			at = i
		}
	}
	r.places[r.tab] = r.pager.at()
	n := len(r.tabs)
	return r.choose(r.tabs[((at+by)%n+n)%n].Name)
}

// choose shows a tab.
func (r *rowScreen) choose(tab render.TabName) tea.Cmd {
	r.tab = tab
	r.pager.set(r.current().Text)
	r.pager.goTo(r.places[tab])
	return tea.Batch(r.fill(), r.pager.scan(r, r.pager.finder.started))
}

// what names the copied text.
func (r *rowScreen) what() string {
	if r.tab == render.TabShown {
		return rowName(&r.row)
	}
	return "the " + strings.ToLower(string(r.tab)) + " of " + strings.TrimPrefix(rowName(&r.row), "the ")
}

// plain returns the text of the tab in front without colors.
func (r *rowScreen) plain() string {
	item := r.row.Item
	switch {
	case r.tab == render.TabInput && item != nil:
		return string(item.ToolInput)
	case r.tab == render.TabResult && r.spilled != "":
		return r.spilled
	case r.tab == render.TabResult && item != nil:
		return item.ShownResult()
	case r.tab == render.TabRaw && r.entries != nil:
		var b strings.Builder
		for _, entry := range r.entries {
			b.Write(entry)
			b.WriteByte('\n')
		}
		return b.String()
	}
	o := r.session.layout.plain()
	if r.tab == render.TabDiff {
		text := o.CallDiff(&r.row, false)
		return strings.Join(text.Lines(0, text.Count()), "\n")
	}
	return rowText(o, &r.row)
}

func (r *rowScreen) typed(key tea.KeyPressMsg) (tea.Cmd, bool) { return r.pager.typed(r, key) }

func (r *rowScreen) paste(text string) tea.Cmd {
	if !r.pager.finder.typing {
		return nil
	}
	r.pager.finder.field.insert(strings.TrimSpace(text))
	return r.pager.retype(r)
}

func (r *rowScreen) wheel(lines int) tea.Cmd {
	r.pager.top += lines
	r.pager.clamp()
	return nil
}

// click chooses a tab.
func (r *rowScreen) click(x, y int) tea.Cmd {
	for i, span := range r.spans {
		if y == 0 && x >= span[0] && x < span[1] && i < len(r.tabs) {
			r.places[r.tab] = r.pager.at()
			return r.choose(r.tabs[i].Name)
		}
	}
	return nil
}

// label names the row in the header.
func (r *rowScreen) label() string {
	label := r.row.Kind.String()
	if r.row.IsCall() {
		label = tty.Line(r.row.Item.ToolName)
	}
	return tty.Fit(label, 20)
}

func (r *rowScreen) draw(width, height int) Frame {
	r.lay(width)
	frame := newFrame(r.session.title(), height)
	body := r.body(frame.room()) // before the header, which shows the position
	line, cursor := r.footer(&r.pager.finder, keymap.InRow, width)
	return frame.fill(r.header(width), body, line, cursor)
}

// body returns the lines between header and footer.
func (r *rowScreen) body(height int) []string {
	tab := r.current()
	switch {
	case height <= 0:
		return nil
	case r.failures[tab.Name] != "":
		line := tty.Failure.Paint(tty.Fit("can't read it: "+r.failures[tab.Name], r.width), r.opts.Color)
		return append([]string{line}, r.pager.draw(height-1, r.opts.Color)...)
	case r.pending[tab.Name]:
		return []string{tty.Waiting.Paint(tty.Fit("reading …", r.width), r.opts.Color)}
	}
	return r.pager.draw(height, r.opts.Color)
}

// header returns the first line: what row it is, its tabs, and the place in it.
func (r *rowScreen) header(width int) string {
	label := r.label()
	names, front := make([]string, len(r.tabs)), 0
	for i, t := range r.tabs {
		if names[i] = string(t.Name); t.Name == r.current().Name {
			front = i
		}
	}
	from := tty.Width(label) + 2
	var tabs string
	tabs, r.spans = r.paintTabs(names, front, from, width)
	line := " " + tty.Title.Paint(label, r.opts.Color) + " " + tabs
	return joinColumns(tty.CutPainted(line, width), tty.Dim.Paint(r.pager.where(), r.opts.Color)+" ", width)
}
