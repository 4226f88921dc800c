package tui

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/clewdev/clew/cmd/clew/internal/fuzzy"
	"github.com/clewdev/clew/cmd/clew/internal/keymap"
	"github.com/clewdev/clew/cmd/clew/internal/view"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/sessions"
)

// A tab is one of the lists on the sessions screen.
type tab int

const (
	liveTab tab = iota
	recentTab
	projectsTab
	trashTab
	tabCount
)

var tabNames = [tabCount]string{"Live", "Recent", "Projects", "Trash"}

// A sessionsScreen lists sessions: those open in an agent, all by day, projects, and the trash.
type sessionsScreen struct {
	base
	data sessionData
	tab  tab
	pick pick

	// The list as it is shown now. It holds the tab's rows that match the filter, in order; only
	// one of these slices is in use.
	rows     []*view.Entry
	projects []*view.Project
	deleted  []sessions.TrashedSession
	total    int // of the tab, without the filter
	byDay    bool

	filter   field
	typing   bool // keys go into the filter
	query    fuzzy.Query
	filters  fuzzy.Filter
	prepared struct{ tab, revision int } // the state for which filters was made
	items    sessionItems
	revision int // of items
	known    int // the RowsRevision of the listing that the rows show
	matcher  fuzzy.Matcher
	places   [tabCount]string // the selection in each tab
	tabSpans [][2]int         // where the tabs are on the first line

	scopeAll bool   // sessions of all projects, and not only of this one
	scoped   bool   // the user chose scopeAll, or it was decided
	project  string // the project chosen in the project list, or ""

	preview previewState
}

// ShowSessions shows the session list until the user leaves it. If all is set, it starts with the
// sessions of all projects; otherwise with the sessions of this project, if there are any.
func ShowSessions(ctx context.Context, t Terminal, src Source, opts Options, all bool) error {
	return run(ctx, t, &app{opts: opts, src: src}, func(a *app) screen { return newSessions(a, all) })
}

// newSessions returns the screen. If all is set, it starts with the sessions of all projects.
func newSessions(a *app, all bool) *sessionsScreen {
	s := &sessionsScreen{base: newBase(a), tab: recentTab, scopeAll: all, scoped: all}
	s.data.Listing = view.NewListing(s.ctx, a.src, &a.mu, a.opts.Now, nil)
	s.data.Here = a.opts.Machine
	s.preview.glances = map[string]*glance{}
	return s
}

func (s *sessionsScreen) scope() keymap.Scope { return keymap.InSessions }

func (s *sessionsScreen) start() tea.Cmd {
	return tea.Batch(s.watch(), s.findTrash(), s.connect(s))
}

// refresh makes the rows again if more than figures was announced to have changed in the list. The rows share their entries
// with the list: without it, a frame before the message about a change would show new titles and ages in the old order.
func (s *sessionsScreen) refresh() {
	if s.data.listed && s.data.RowsRevision != s.known {
		s.changed()
	}
}

// sessionItems are the items of the tabs. The filter finds them by their indexes, so they stay as they are until its texts
// are made again: a session may learn meanwhile that it is not worth listing.
type sessionItems struct {
	live, recent []*view.Entry
	projects     []*view.Project
	trash        []sessions.TrashedSession
}

// count returns the number of items of a tab.
func (i *sessionItems) count(t tab) int {
	return [tabCount]int{len(i.live), len(i.recent), len(i.projects), len(i.trash)}[t]
}

// changed makes the rows again after the data changed.
func (s *sessionsScreen) changed() {
	s.known = s.data.RowsRevision
	s.revision++
	s.items = sessionItems{s.data.Live(), s.recentEntries(), s.data.Projects(), s.data.trash}
	s.rebuild()
}

// rebuild makes the tab's rows again. The selected row stays selected, in its place on the screen;
// if it is gone, the row that is there now is selected.
func (s *sessionsScreen) rebuild() {
	key, offset := s.selectedKey(), s.pick.offset()
	s.rows, s.projects, s.deleted = nil, nil, nil
	s.query = fuzzy.Parse(s.filter.String())
	s.byDay = false
	switch s.tab {
	case liveTab:
		s.rows = filtered(s, s.items.live, (*view.Entry).FilterText)
	case recentTab:
		s.byDay = s.query.Empty()
		s.rows = filtered(s, s.items.recent, (*view.Entry).FilterText)
	case projectsTab:
		s.projects = filtered(s, s.items.projects, (*view.Project).FilterText)
	case trashTab:
		s.deleted = filtered(s, s.items.trash, trashText)
	}
	s.pick.set(s.layoutLines())
	if i := s.indexOf(key); i >= 0 {
		s.pick.keep(i, offset)
	}
}

// filtered returns the items that match the filter, the best first.
func filtered[T any](s *sessionsScreen, items []T, text func(T) fuzzy.Text) []T {
	s.total = len(items)
	if s.query.Empty() {
		return items
	}
	if now := (struct{ tab, revision int }{int(s.tab), s.revision}); s.prepared != now {
		s.prepared = now
		texts := make([]fuzzy.Text, len(items))
		for i, item := range items {
			texts[i] = text(item)
		}
		s.filters.Set(texts)
	}
	var found []T
	for _, i := range s.filters.Find(s.query) {
		found = append(found, items[i])
	}
	return found
}

// layoutLines returns the items of the lines, with a heading before the first session of each day.
func (s *sessionsScreen) layoutLines() []int {
	n := s.count()
	lines := make([]int, 0, n+16)
	day := 0
	for i := range n {
		if s.byDay {
			if d := render.DayNumber(s.inZone(s.rows[i].Modified)); i == 0 || d != day {
				day = d
				lines = append(lines, -1)
			}
		}
		lines = append(lines, i)
	}
	return lines
}

// count returns the number of rows.
func (s *sessionsScreen) count() int { return len(s.rows) + len(s.projects) + len(s.deleted) }

// keyOf returns what identifies a row while others come and go.
func (s *sessionsScreen) keyOf(i int) string {
	switch {
	case i < 0 || i >= s.count():
		return ""
	case len(s.projects) > 0:
		return s.projects[i].Name
	case len(s.deleted) > 0:
		return s.deleted[i].Path
	}
	return s.rows[i].Key()
}

func (s *sessionsScreen) selectedKey() string { return s.keyOf(s.pick.selected) }

func (s *sessionsScreen) indexOf(key string) int {
	if key == "" {
		return -1
	}
	for i := range s.count() {
		if s.keyOf(i) == key {
			return i
		}
	}
	return -1
}

// selected returns the selected session, or nil if there is none.
func (s *sessionsScreen) selected() *view.Entry {
	if s.pick.selected >= len(s.rows) {
		return nil
	}
	return s.rows[s.pick.selected]
}

// show changes to a tab and restores its selection.
func (s *sessionsScreen) show(t tab) tea.Cmd {
	s.places[s.tab] = s.selectedKey()
	s.tab = (t + tabCount) % tabCount
	s.rows, s.projects, s.deleted = nil, nil, nil
	s.pick = pick{height: s.pick.height}
	s.rebuild()
	if i := s.indexOf(s.places[s.tab]); i >= 0 {
		s.pick.choose(i)
	}
	if s.tab == trashTab {
		return tea.Batch(s.findTrash(), s.more())
	}
	return s.more()
}

// do runs an action, and then reads missing data for the visible rows.
func (s *sessionsScreen) do(a keymap.Action) tea.Cmd {
	if s.pick.act(a) {
		return s.more()
	}
	switch a {
	case keymap.NextTab:
		return s.show(s.tab + 1)
	case keymap.PreviousTab:
		return s.show(s.tab - 1)
	case keymap.NextGroup:
		s.moveDay(1)
	case keymap.PreviousGroup:
		s.moveDay(-1)
	case keymap.Find:
		s.typing = true
	case keymap.ShowAll:
		s.scopeAll, s.scoped, s.project = !s.scopeAll || s.project != "", true, ""
		s.changed()
	case keymap.Preview:
		s.preview.toggle(s.width, s.height)
	case keymap.PreviewPlace:
		s.preview.move(s.width, s.height)
	case keymap.Back, keymap.Close:
		return s.goBack(a)
	case keymap.SearchAll:
		return s.push(newSearch(s.app, s.filter.String()))
	default:
		return s.act(a)
	}
	return s.more()
}

// goBack clears the filter, then the choice of a project, then leaves the screen.
func (s *sessionsScreen) goBack(a keymap.Action) tea.Cmd {
	switch {
	case s.filter.String() != "":
		s.filter.set("")
		s.rebuild()
	case s.project != "":
		s.project = ""
		s.changed()
		return s.show(projectsTab)
	default:
		return s.leave(a)
	}
	return s.more()
}

// moveDay selects the first session of the next or the previous day.
func (s *sessionsScreen) moveDay(by int) {
	if !s.byDay {
		s.pick.move(by)
		return
	}
	line := s.pick.lineOf(s.pick.selected)
	if by < 0 { // first to the start of this day, which has a heading before it
		line--
		if line >= 0 && s.pick.lines[line] < 0 {
			line--
		}
		for line > 0 && s.pick.lines[line] >= 0 {
			line--
		}
	} else {
		for line < len(s.pick.lines) && s.pick.lines[line] >= 0 {
			line++
		}
	}
	if line >= 0 && line+1 < len(s.pick.lines) {
		s.pick.choose(s.pick.lines[line+1])
	}
}

// typed handles keys while the filter is typed.
func (s *sessionsScreen) typed(key tea.KeyPressMsg) (tea.Cmd, bool) {
	if !s.typing {
		return nil, false
	}
	switch key.String() {
	case "esc":
		s.typing = false
		s.filter.set("")
		s.rebuild()
		return s.more(), true
	case "tab":
		s.typing = false
		return nil, true
	case "enter":
		s.typing = false
		return s.do(keymap.Open), true
	}
	if a, ok := movesWhileTyping[key.String()]; ok {
		s.pick.act(a)
		return s.more(), true
	}
	before := s.filter.String()
	if !s.filter.press(key) {
		return nil, false
	}
	if s.filter.String() != before {
		s.narrowed()
	}
	return s.more(), true
}

// movesWhileTyping are the keys that move in a list while its filter is typed, as in fzf.
var movesWhileTyping = map[string]keymap.Action{
	"down": keymap.Down, "ctrl+j": keymap.Down, "ctrl+n": keymap.Down, "up": keymap.Up, "ctrl+k": keymap.Up, "ctrl+p": keymap.Up,
	"pgdown": keymap.PageDown, "pgup": keymap.PageUp,
}

// narrowed shows what matches the changed filter, and selects the best.
func (s *sessionsScreen) narrowed() {
	s.rebuild()
	s.pick.act(keymap.Top)
}

func (s *sessionsScreen) paste(text string) tea.Cmd {
	if !s.typing {
		return nil
	}
	s.filter.insert(text)
	s.narrowed()
	return s.more()
}

// click selects a row or a tab. A click on the selected one opens it.
func (s *sessionsScreen) click(x, y int) tea.Cmd {
	if y == 0 {
		for i, span := range s.tabSpans {
			if x >= span[0] && x < span[1] {
				return s.show(tab(i))
			}
		}
		return nil
	}
	item, ok := s.pick.at(y - s.listTop())
	switch {
	case !ok || s.preview.shows(x, y):
		return nil
	case item == s.pick.selected:
		return s.do(keymap.Open)
	}
	s.pick.choose(item)
	return s.more()
}

func (s *sessionsScreen) wheel(lines int) tea.Cmd {
	s.pick.scroll(lines)
	return s.more()
}

// trashText returns the text that the filter searches.
func trashText(t sessions.TrashedSession) fuzzy.Text {
	return fuzzy.Prepare(strings.Join([]string{tty.Line(t.Title), tty.Line(t.Project), t.ID}, "\n"))
}

// resized reads the data for rows that a larger screen shows.
func (s *sessionsScreen) resized() tea.Cmd { return s.more() }
