package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clewdev/clew/cmd/clew/internal/fuzzy"
	"github.com/clewdev/clew/cmd/clew/internal/keymap"
	"github.com/clewdev/clew/cmd/clew/internal/paint"
	"github.com/clewdev/clew/cmd/clew/internal/view"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/sessions"
)

func (a *app) now() time.Time { return a.inZone(a.opts.Now()) }

// across returns a dim line across the screen.
func (a *app) across(width int) string {
	return tty.Dim.Paint(strings.Repeat(a.sign("─", "-"), max(width, 0)), a.opts.Color)
}

// sign returns a character, or its replacement on a terminal that may not have it.
func (a *app) sign(char, ascii string) string {
	if a.opts.Lines {
		return char
	}
	return ascii
}

// foot returns the last line of a screen: the notice or else the keys, with something at its end.
// Keys are left out if there is no room for them, but the last one, which is the help, stays.
func (a *app) foot(hints []string, right string, width int) string {
	if a.notice != "" {
		return tty.Waiting.Paint(tty.Fit(" "+tty.Line(a.notice), width), a.opts.Color)
	}
	room := width - 1
	if right != "" && room-tty.Width(right)-2 > 12 {
		room -= tty.Width(right) + 2
	} else {
		right = ""
	}
	line := " " + a.hintLine(hints, room)
	if right == "" {
		return tty.CutPainted(line, width)
	}
	return joinColumns(line, tty.Dim.Paint(right, a.opts.Color)+" ", width)
}

// hintLine joins as many hints as fit.
func (a *app) hintLine(hints []string, width int) string {
	const gap = "  "
	if len(hints) == 0 {
		return ""
	}
	last := hints[len(hints)-1]
	var shown []string
	used := tty.Width(last)
	for _, h := range hints[:len(hints)-1] {
		if used += tty.Width(h) + len(gap); used > width {
			break
		}
		shown = append(shown, h)
	}
	shown = append(shown, last)
	for i, h := range shown {
		key, text, _ := strings.Cut(h, " ")
		shown[i] = key + tty.Dim.Paint(" "+text, a.opts.Color)
	}
	return strings.Join(shown, gap)
}

// mark returns the mark of the selected line.
func (a *app) mark(selected bool) string {
	if !selected {
		return " "
	}
	return tty.Prompt.Paint(a.sign("▌", ">"), a.opts.Color)
}

// minRuleHeight is the minimum height at which a rule is drawn below the tabs.
const minRuleHeight = 16

// listTop returns the first line of the list.
func (s *sessionsScreen) listTop() int {
	if s.height >= minRuleHeight {
		return 2
	}
	return 1
}

func (s *sessionsScreen) draw(width, height int) Frame {
	s.refresh()
	frame := Frame{Title: "clew"}
	head, cursor := s.head(width)
	frame.Lines = append(frame.Lines, head)
	frame.Cursor = cursor
	area := s.preview.place(width, height, s.listTop())
	if s.tab != liveTab && s.tab != recentTab || s.count() == 0 {
		area = noPreview(width, height, s.listTop())
	}
	if s.height >= minRuleHeight {
		frame.Lines = append(frame.Lines, s.across(width))
	}
	list := s.list(area.listWidth, area.listHeight)
	switch {
	case area.right > 0:
		list = beside(list, s.previewLines(area.right-2, area.listHeight), area, s.divider())
	case area.below > 0:
		list = append(padded(list, area.listHeight), s.across(width))
		list = append(list, indented(padded(s.previewLines(width-2, area.below-1), area.below-1))...)
	}
	frame.Lines = append(frame.Lines, padded(list, height-1-s.listTop())...)
	frame.Lines = append(frame.Lines, s.footer(width))
	frame.Lines = frame.Lines[max(len(frame.Lines)-height, 0):]
	return frame
}

func (a *app) divider() string { return tty.Dim.Paint(a.sign("│", "|"), a.opts.Color) }

// indented puts a space before lines.
func indented(lines []string) []string {
	for i, line := range lines {
		if line != "" {
			lines[i] = " " + line
		}
	}
	return lines
}

// padded returns exactly height lines.
func padded(lines []string, height int) []string {
	out := make([]string, max(height, 0))
	copy(out, lines)
	return out
}

// beside puts the preview at the right of the list.
func beside(list, preview []string, area previewArea, divider string) []string {
	out := make([]string, area.listHeight)
	for i := range out {
		left := ""
		if i < len(list) {
			left = list[i]
		}
		out[i] = left + strings.Repeat(" ", max(area.listWidth-tty.PaintedWidth(left), 0)) + divider
		if i < len(preview) && preview[i] != "" {
			out[i] += " " + preview[i]
		}
	}
	return out
}

// head returns the first line: the tabs, and the filter at the right.
func (s *sessionsScreen) head(width int) (string, *paint.Cursor) {
	tabs, used := s.tabs(width)
	room := width - used - 2
	if s.typing || s.filter.String() != "" {
		return s.filterHead(tabs, used, room, width)
	}
	scope := s.scopeText()
	right := scope + "   " + s.keyFor(keymap.Find) + " to filter"
	if tty.Width(right) > room {
		right = scope
	}
	if tty.Width(right) > room {
		return tabs, nil
	}
	return joinColumns(tabs, tty.Dim.Paint(right, s.opts.Color)+" ", width), nil
}

// filterHead returns the first line with a filter. On a narrow screen it replaces the tabs.
func (s *sessionsScreen) filterHead(tabs string, used, room, width int) (string, *paint.Cursor) {
	const least = 16
	if room < least {
		tabs, used, room = "", 0, width
	}
	room = min(room, 40)
	text, x := s.filter.draw(max(room-3, 1))
	line := tty.Prompt.Paint("/", s.opts.Color) + " " + text
	line += strings.Repeat(" ", max(room-tty.PaintedWidth(line), 0))
	start := max(width-room, used)
	line = tty.CutPainted(tabs+strings.Repeat(" ", max(start-used, 0))+line, width)
	if !s.typing {
		return line, nil
	}
	return line, &paint.Cursor{X: min(start+2+x, max(width-1, 0)), Y: 0}
}

// keyFor returns the first key of an action on this screen.
func (s *sessionsScreen) keyFor(a keymap.Action) string {
	return s.opts.Keys.KeyFor(keymap.InSessions, a)
}

// scopeText names the listed sessions, and the key that shows others.
func (s *sessionsScreen) scopeText() string {
	key := s.keyFor(keymap.ShowAll)
	switch {
	case s.tab != recentTab:
		return ""
	case s.project != "":
		return "one project, " + key + " for all"
	case !s.scopeAll:
		return "this project, " + key + " for all"
	case len(s.data.here) > 0:
		return "all projects, " + key + " for this one"
	}
	return "all projects"
}

// tabs returns the names of the tabs with their counts, as far as there is room, and their width.
func (s *sessionsScreen) tabs(width int) (string, int) {
	for _, form := range []func(t tab) string{
		func(t tab) string { return tabNames[t] + " " + wording.Number(s.items.count(t)) },
		func(t tab) string {
			if t != s.tab {
				return tabNames[t]
			}
			return tabNames[t] + " " + wording.Number(s.items.count(t))
		},
		func(t tab) string { return tabNames[t] },
	} {
		var names []string
		used := 0
		for t := range tabCount {
			names = append(names, form(t))
			used += tty.Width(form(t)) + 2
		}
		if used <= width {
			return s.paintTabs(names), used
		}
	}
	name := tty.Cut(" "+tabNames[s.tab], width)
	s.tabSpans = nil
	return tty.Title.Paint(name, s.opts.Color), tty.Width(name)
}

func (s *sessionsScreen) paintTabs(names []string) string {
	var b strings.Builder
	s.tabSpans = s.tabSpans[:0]
	x := 0
	for i, name := range names {
		switch {
		case tab(i) != s.tab:
			b.WriteString(" " + tty.Dim.Paint(name, s.opts.Color) + " ")
		default:
			b.WriteString(tty.Title.Paint("["+name+"]", s.opts.Color))
		}
		s.tabSpans = append(s.tabSpans, [2]int{x, x + tty.Width(name) + 2})
		x += tty.Width(name) + 2
	}
	return b.String()
}

// footer returns the last line.
func (s *sessionsScreen) footer(width int) string {
	hints := s.app.hints(keymap.InSessions)
	if key := s.keyFor(keymap.ShowJobs); s.fleet != nil && key != "" {
		hints = slices.Insert(hints, 1, key+" jobs")
	}
	if s.typing {
		hints = []string{"enter open", "tab list", "ctrl+f search all", "esc clear"}
	} else if s.tab == trashTab {
		hints = []string{s.keyFor(keymap.Rename) + " restore", s.keyFor(keymap.Help) + " help"}
	}
	return s.foot(hints, s.counted(), width)
}

// counted describes the number of items and the reads in progress.
func (s *sessionsScreen) counted() string {
	noun := "session"
	if s.tab == projectsTab {
		noun = "project"
	}
	if !s.data.listed && s.tab != trashTab {
		return "reading"
	}
	text := wording.Count(s.total, noun)
	if !s.query.Empty() {
		text = wording.Number(s.count()) + " of " + text
		if unread := s.data.CountUnread(); unread > 0 {
			text += fmt.Sprintf(", reading %s", wording.Number(unread))
		}
	}
	return text
}

// list returns the visible lines of the list.
func (s *sessionsScreen) list(width, height int) []string {
	from, to := s.pick.visible(height)
	if s.count() == 0 {
		return s.empty(width)
	}
	now := s.now()
	columns := s.columns(width - listMargin)
	var lines []string
	for line := from; line < to; line++ {
		item := s.pick.lines[line]
		if item < 0 {
			day := render.Day(s.rows[s.pick.lines[line+1]].Modified, now)
			lines = append(lines, tty.Heading.Paint(tty.Fit(" "+day, width), s.opts.Color))
			continue
		}
		lines = append(lines, tty.CutPainted(s.line(item, columns, now), width))
	}
	return lines
}

// empty explains why the list is empty.
func (s *sessionsScreen) empty(width int) []string {
	text := "There are no sessions yet. clew run \"PROMPT\" starts one, and clew demo shows what clew can do."
	switch {
	case !s.data.listed && s.tab != trashTab:
		text = "Reading the list of sessions ..."
	case !s.query.Empty():
		text = "Nothing matches. Press esc to clear the filter, or ctrl+f to search the text of all sessions."
	case s.tab == liveTab:
		text = "No agent has a session open."
	case s.tab == trashTab:
		text = "The trash is empty."
	case s.tab == recentTab && len(s.data.Order) > 0:
		text = "This project has no sessions. Press " + s.keyFor(keymap.ShowAll) + " for those of all projects."
	}
	var lines []string
	for _, line := range tty.Wrap(text, max(width-2, 1)) {
		lines = append(lines, tty.Dim.Paint(tty.Cut(" "+line, width), s.opts.Color))
	}
	return lines
}

// line returns an item's row.
func (s *sessionsScreen) line(item int, columns []column, now time.Time) string {
	selected := item == s.pick.selected
	switch s.tab {
	case projectsTab:
		return s.projectLine(s.projects[item], selected, columns, now)
	case trashTab:
		return s.trashLine(s.deleted[item], selected, columns, now)
	}
	return s.sessionLine(s.rows[item], selected, columns, now)
}

const (
	listMargin = 3 // for the marks of the selection and of live sessions
	columnGap  = 2
)

// A column is a part of the rows.
type column struct {
	name  string
	width int
	right bool
}

// ranked are the columns beside the title, in the order in which they are chosen while there is room.
var ranked = [tabCount][]column{
	liveTab:     {{"state", 13, false}, {"age", 7, true}, {"id", 8, false}, {"known", 17, false}, {"project", 12, false}},
	recentTab:   append([]column{{"age", 7, true}, {"id", 8, false}}, facts(view.Chosen...)...),
	projectsTab: {{"age", 7, true}, {"count", 12, true}, {"live", 7, true}, {"directory", 48, false}},
	trashTab:    {{"age", 15, true}, {"id", 8, false}, {"project", 24, false}},
}

// shownOrder is the order of the columns on the screen.
var shownOrder = slices.Concat([]string{"id", "title", "directory", "state", "known"}, factNames(), []string{"live", "count", "age"})

// facts returns columns of [view.Columns].
func facts(names ...string) (columns []column) {
	for _, name := range names {
		c := view.ColumnOf(name)
		columns = append(columns, column{c.Name, c.Width, c.Right})
	}
	return columns
}

// factNames returns the names of [view.Columns].
func factNames() (names []string) {
	for _, c := range view.Columns {
		names = append(names, c.Name)
	}
	return names
}

const (
	// minTitle is the width that the columns leave to the title. The first column leaves less.
	minTitle = 24
	// enoughTitle is the width that the title keeps when a state needs more room.
	enoughTitle = 36
	maxState    = 60
)

// columns chooses columns for a width. The title gets the rest.
func (s *sessionsScreen) columns(room int) []column {
	chosen := map[string]column{}
	for i, c := range ranked[s.tab] {
		least := minTitle
		switch {
		case i == 0:
			least = 8
		case c.name == "project" && s.tab == liveTab:
			least = enoughTitle + minTitle // the thing that an agent waits for is more informative
		}
		if s.tab == recentTab && (c.name == "project" && !s.scopeAll || c.name == "machine" && !s.data.Machines()) {
			continue // it is the same in every row
		}
		if room-c.width-columnGap < least {
			break
		}
		room -= c.width + columnGap
		chosen[c.name] = c
	}
	return shareRoom(chosen, room, "state", maxState, shownOrder)
}

// shareRoom gives the room that is left to one of the chosen columns, up to a width, and to the title. It returns the
// columns in their order.
func shareRoom(chosen map[string]column, room int, wide string, most int, order []string) []column {
	if c, ok := chosen[wide]; ok && room > enoughTitle {
		more := min(room-enoughTitle, most-c.width)
		c.width += more
		room -= more
		chosen[wide] = c
	}
	chosen["title"] = column{name: "title", width: max(room, 0)}
	var columns []column
	for _, name := range order {
		if c, ok := chosen[name]; ok {
			columns = append(columns, c)
		}
	}
	return columns
}

// A listCell is a text of a row in its style, clean or, if it is painted, as it is.
type listCell struct {
	text    string
	style   tty.Style
	painted bool
}

// join returns a row: the mark of the selection, the mark of live sessions, and the cells.
func (s *sessionsScreen) join(selected, live bool, columns []column, cells func(c column) listCell) string {
	mark := " "
	if live {
		mark = tty.Success.Paint(s.sign("●", "*"), s.opts.Color)
	}
	return s.joinCells(s.mark(selected)+mark+" ", columns, cells)
}

// joinCells returns a list row: painted marks and the cells.
func (a *app) joinCells(marks string, columns []column, cells func(c column) listCell) string {
	var b strings.Builder
	b.WriteString(marks)
	for i, c := range columns {
		if i > 0 {
			b.WriteString(strings.Repeat(" ", columnGap))
		}
		x := cells(c)
		text, width := x.text, 0
		if x.painted {
			width = tty.PaintedWidth(text)
		} else {
			text = tty.Fit(text, c.width)
			width = tty.Width(text)
			text = x.style.Paint(text, a.opts.Color)
		}
		space := strings.Repeat(" ", max(c.width-width, 0))
		if c.right {
			b.WriteString(space + text)
		} else {
			b.WriteString(text + space)
		}
	}
	return b.String()
}

func (s *sessionsScreen) sessionLine(e *view.Entry, selected bool, columns []column, now time.Time) string {
	state := s.data.State(e)
	return s.join(selected, state.Live, columns, func(c column) listCell {
		switch c.name {
		case "id":
			return listCell{text: view.ShortID(e.ID), style: tty.Dim}
		case "title":
			return s.titleCell(e, selected, c.width)
		case "state":
			text := state.Whole(s.callOf(e))
			if c.width < minTitle && tty.Width(text) > c.width {
				text = state.Text
			}
			return listCell{text: text, style: state.Style()}
		case "known":
			return listCell{text: state.How, style: tty.Dim}
		case "age":
			return listCell{text: s.data.Age(e, now, s.byDay), style: tty.Dim}
		}
		fact := view.ColumnOf(c.name)
		return listCell{text: fact.Text(&s.data.List, e), style: fact.Style(&s.data.List, e)}
	})
}

// titleCell returns the title, with the filter's matches marked.
func (s *sessionsScreen) titleCell(e *view.Entry, selected bool, width int) listCell {
	style := tty.Plain
	switch {
	case e.Err != nil:
		style = tty.Failure
	case selected:
		style = tty.Title
	}
	title := e.Name
	if title == "" {
		return listCell{text: s.sign("…", "..."), style: tty.Dim}
	}
	fitted := tty.Fit(title, width)
	if s.query.Empty() || !s.opts.Color {
		return listCell{text: fitted, style: style}
	}
	return listCell{text: paintSpans(fitted, title, s.matcher.Spans(s.query, e.FilterText()), style), painted: true}
}

// paintSpans paints the parts of a line that matched. The line is a prefix of text, perhaps with an
// ellipsis, and the spans are offsets in text.
func paintSpans(line, text string, spans []fuzzy.Span, style tty.Style) string {
	same := 0
	for same < len(line) && same < len(text) && line[same] == text[same] {
		same++
	}
	var b strings.Builder
	at := 0
	for _, span := range spans {
		from, to := min(span.Start, same), min(span.End, same)
		if from >= to {
			break
		}
		b.WriteString(style.Paint(line[at:from], true) + tty.Match.Paint(line[from:to], true))
		at = to
	}
	return b.String() + style.Paint(line[at:], true)
}

func (s *sessionsScreen) projectLine(p *view.Project, selected bool, columns []column, now time.Time) string {
	return s.join(selected, p.Live > 0, columns, func(c column) listCell {
		switch c.name {
		case "title":
			style := tty.Plain
			if selected {
				style = tty.Title
			}
			fitted := tty.Fit(p.Shown(), c.width)
			if s.query.Empty() || !s.opts.Color {
				return listCell{text: fitted, style: style}
			}
			return listCell{text: paintSpans(fitted, p.Shown(), s.matcher.Spans(s.query, p.FilterText()), style), painted: true}
		case "directory":
			return listCell{text: tty.Line(p.Directory), style: tty.Path}
		case "live":
			if p.Live > 0 {
				return listCell{text: fmt.Sprintf("%d live", p.Live), style: tty.Success}
			}
		case "count":
			return listCell{text: wording.Count(p.Count, "session")}
		case "age":
			return listCell{text: wording.Age(p.Newest, now), style: tty.Dim}
		}
		return listCell{}
	})
}

func (s *sessionsScreen) trashLine(t sessions.TrashedSession, selected bool, columns []column, now time.Time) string {
	return s.join(selected, false, columns, func(c column) listCell {
		switch c.name {
		case "id":
			return listCell{text: view.ShortID(t.ID), style: tty.Dim}
		case "title":
			title := tty.Line(t.Title)
			if title == "" {
				title = "(no title)"
			}
			style := tty.Plain
			if selected {
				style = tty.Title
			}
			return listCell{text: title, style: style}
		case "project":
			return listCell{text: tty.Line(t.Project), style: tty.Path}
		case "age":
			return listCell{text: "deleted " + wording.Age(t.Deleted, now), style: tty.Dim}
		}
		return listCell{}
	})
}
