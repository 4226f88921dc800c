package tui

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/clewdev/clew/internal/paint"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/rows"
	"github.com/clewdev/clew/internal/tty"
)

// The sizes from which on parts of the screen are shown.
const (
	leastForBar     = 24  // columns, for the scrollbar
	leastForGutter  = 12  // columns, for the mark of the selected row
	leastForOutline = 140 // columns
)

func (s *sessionScreen) draw(width, height int) Frame {
	frame := Frame{Title: s.title(), Lines: make([]string, 0, height)}
	room := height
	if height > 1 {
		s.listTop = 1
		room--
	}
	if height > 2 {
		room--
	}
	body := s.columnsOf(width, room) // before the header, which says where it is
	if height > 1 {
		frame.Lines = append(frame.Lines, s.header(width))
	}
	frame.Lines = append(frame.Lines, body...)
	if height > 2 {
		line, cursor := s.footer(&s.finder, InSession, width)
		if frame.Lines = append(frame.Lines, line); cursor >= 0 {
			frame.Cursor = &paint.Cursor{X: cursor, Y: height - 1}
		}
	}
	return frame
}

// columnsOf returns the rows, with the outline beside them if there is room.
func (s *sessionScreen) columnsOf(width, height int) []string {
	beside := s.outline.columns(s, width)
	columns := width
	if beside > 0 {
		columns -= beside + 1
	}
	body := s.body(columns, height)
	if beside > 0 {
		body = s.besides(body, s.outline.lines(s, beside, height), columns, height)
	}
	for len(body) < height {
		body = append(body, "")
	}
	return body
}

// besides puts lines at the right of others.
func (s *sessionScreen) besides(left, right []string, columns, height int) []string {
	rule := tty.Dim.Paint(s.rule(), s.opts.Color)
	lines := make([]string, height)
	for i := range lines {
		a, b := "", ""
		if i < len(left) {
			a = left[i]
		}
		if i < len(right) {
			b = right[i]
		}
		lines[i] = a + strings.Repeat(" ", max(columns-tty.PaintedWidth(a), 0)) + rule + b
	}
	return lines
}

// rule is a part of a vertical line.
func (a *app) rule() string {
	if a.opts.Lines {
		return "│"
	}
	return "|"
}

// header returns the first line: what session it is, and at the right where one is in it.
func (s *sessionScreen) header(width int) string {
	right := s.where()
	for len(right) > 0 && notesWidth(right) > width/2 {
		right = right[:len(right)-1]
	}
	facts := s.headerFacts()
	title := s.title()
	room := max(width-notesWidth(right)-2, 1)
	for len(facts) > 0 && notesWidth(facts) > max(room-min(tty.Width(title), 16), 0) {
		facts = facts[:len(facts)-1]
	}
	left := " " + tty.Title.Paint(tty.Fit(title, max(room-notesWidth(facts), 1)), s.opts.Color)
	for _, fact := range facts {
		left += tty.Dim.Paint(" · ", s.opts.Color) + fact.style.Paint(fact.text, s.opts.Color)
	}
	return joinColumns(left, s.paintNotes(right), width)
}

// A part is a piece of a line with its meaning.
type part struct {
	style tty.Style
	text  string
}

// notesWidth returns how many columns parts take with what separates them.
func notesWidth(parts []part) (n int) {
	for _, p := range parts {
		n += tty.Width(p.text) + 3
	}
	return n
}

// paintNotes returns parts in reverse order, so that the most important one is the last to be left out
// and at the edge of the screen.
func (s *sessionScreen) paintNotes(parts []part) string {
	line := ""
	for i := len(parts) - 1; i >= 0; i-- {
		line += "  " + parts[i].style.Paint(parts[i].text, s.opts.Color)
	}
	return line + " "
}

// headerFacts returns what is known of the session beside its title, the most important first.
func (s *sessionScreen) headerFacts() (facts []part) {
	add := func(style tty.Style, text string) {
		if text != "" {
			facts = append(facts, part{style, text})
		}
	}
	if s.snapshot == nil || s.snapshot.Transcript == nil {
		return nil
	}
	t := s.snapshot.Transcript
	add(tty.Dim, render.ShortModel(t.Model))
	if t.PermissionMode != "" && t.PermissionMode != "default" {
		add(tty.Dim, tty.Line(t.PermissionMode))
	}
	if s.facts.revision > 0 && s.facts.context >= 0 {
		add(tty.Dim, fmt.Sprintf("context %d %%", s.facts.context))
	}
	if s.facts.cost > 0 {
		text := render.Money(s.facts.cost)
		if s.facts.atLeast {
			text = "at least " + text
		}
		add(tty.Cost, text)
	}
	if day := t.Created; !day.IsZero() && !s.isToday(day) {
		add(tty.Dim, s.inZone(day).Format("2 Jan 2006"))
	}
	return facts
}

// where returns where one is in the session and what the agent does, the most important first.
func (s *sessionScreen) where() (parts []part) {
	number, count := s.list.place()
	if count > 0 {
		parts = append(parts, part{tty.Dim, fmt.Sprintf("%d/%d", number, count)})
	}
	if s.list.fresh > 0 {
		parts = append(parts, part{tty.Waiting, fmt.Sprintf("%d new", s.list.fresh)})
	}
	if r := s.running; r != nil {
		switch r.Status {
		case "waiting":
			parts = append(parts, part{tty.Waiting, s.liveMark() + " waits for you" + ofWhat(tty.Line(r.WaitingFor))})
		case "busy":
			parts = append(parts, part{tty.Success, s.liveMark() + " working"})
		case "":
			parts = append(parts, part{tty.Success, s.liveMark() + " open"})
		default:
			parts = append(parts, part{tty.Success, s.liveMark() + " " + tty.Line(r.Status)})
		}
		if s.list.following {
			parts = append(parts, part{tty.Dim, "following"})
		}
	}
	return parts
}

func ofWhat(what string) string {
	if what == "" {
		return ""
	}
	return ": " + tty.Fit(what, 40)
}

func (a *app) liveMark() string {
	if a.opts.Lines {
		return "●"
	}
	return "*"
}

// body returns the lines between header and footer.
func (s *sessionScreen) body(width, height int) []string {
	trouble := s.trouble()
	loading := s.loading()
	notes := 0
	if trouble != "" && height > 1 {
		notes++
	}
	if loading != "" && height > notes+1 {
		notes++
	}
	lines := s.rowLines(width, height-notes)
	if len(lines) == 0 && loading == "" && trouble == "" {
		lines = append(lines, "", "  "+tty.Dim.Paint(tty.Fit("nothing was said in this session", max(width-2, 1)), s.opts.Color))
	}
	if loading != "" {
		lines = append(lines, "  "+tty.Waiting.Paint(tty.Fit(loading, max(width-2, 1)), s.opts.Color))
	}
	if trouble != "" {
		lines = append(lines, "  "+tty.Failure.Paint(tty.Fit(trouble, max(width-2, 1)), s.opts.Color))
	}
	for i := range lines {
		if tty.PaintedWidth(lines[i]) > width {
			lines[i] = tty.CutPainted(lines[i], width)
		}
	}
	return lines[:min(len(lines), max(height, 0))]
}

// loading says how much was read, or "" when everything was.
func (s *sessionScreen) loading() string {
	switch {
	case s.err != nil:
		return ""
	case s.snapshot == nil:
		return "reading …"
	case s.snapshot.Loading && s.snapshot.Total > 0 && s.snapshot.Done < s.snapshot.Total:
		return fmt.Sprintf("reading %s of %s", size(s.snapshot.Done), size(s.snapshot.Total))
	case s.snapshot.Loading:
		return "reading …"
	}
	return ""
}

// size returns a number of bytes for people.
func size(n int64) string {
	const unit = 1000.0
	switch f := float64(n); {
	case f < unit:
		return fmt.Sprintf("%d B", n)
	case f < unit*unit:
		return fmt.Sprintf("%.0f kB", f/unit)
	case f < unit*unit*unit:
		return fmt.Sprintf("%.1f MB", f/unit/unit)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/unit/unit/unit)
}

// rowLines returns the rows with the mark of the selected one at the left and a scrollbar at the
// right.
func (s *sessionScreen) rowLines(width, height int) []string {
	gutter, bar := 0, 0
	if width >= leastForGutter {
		gutter = 1
	}
	if width >= leastForBar {
		bar = 1
	}
	s.columns = width - bar
	var lines []string
	lines, s.drawn = s.list.draw(width-gutter-bar, height)
	from, to := s.list.thumb(height)
	painted := make([]string, len(lines))
	for i, line := range lines {
		line = s.finder.mark(line, s.opts.Color)
		if gutter > 0 {
			line = s.gutter(s.drawn[i].row, line == "") + line
		}
		if bar > 0 && to > 0 {
			line += strings.Repeat(" ", max(width-1-tty.PaintedWidth(line), 0)) + s.barAt(i >= from && i < to)
		}
		painted[i] = line
	}
	return painted
}

// gutter marks the lines of the selected row, except for the one that sets it apart.
func (s *sessionScreen) gutter(row int, blank bool) string {
	switch {
	case row != s.list.selected || blank && s.layout.apart(row):
		return " "
	case s.opts.Lines:
		return tty.Prompt.Paint("▌", s.opts.Color)
	}
	return tty.Prompt.Paint("*", s.opts.Color)
}

func (s *sessionScreen) barAt(thumb bool) string {
	switch {
	case thumb && s.opts.Lines:
		return tty.Dim.Paint("┃", s.opts.Color)
	case thumb:
		return tty.Dim.Paint("#", s.opts.Color)
	}
	return tty.Dim.Paint(s.rule(), s.opts.Color)
}

// footer returns the last line, and the column of the cursor or -1.
func (a *app) footer(f *finder, scope Scope, width int) (string, int) {
	switch {
	case f.typing:
		return f.line(width, a.opts.Color)
	case a.notice != "":
		return tty.Cut(" "+tty.Fit(tty.Line(a.notice), max(width-1, 1)), width), -1
	case f.text != "":
		line, _ := f.line(width, a.opts.Color)
		return line, -1
	}
	return a.hints(scope, width), -1
}

// hints returns the keys of a screen, as many as fit.
func (a *app) hints(scope Scope, width int) string {
	line := ""
	for _, hint := range a.opts.Keys.Hints(scope) {
		if tty.Width(line)+2+tty.Width(hint) > width {
			break
		}
		line += "  " + hint
	}
	return tty.Dim.Paint(strings.TrimPrefix(line, " "), a.opts.Color)
}

// rowName names a row for a notice.
func rowName(r *rows.Row) string {
	switch {
	case r.IsCall():
		return "the call of " + tty.Fit(tty.Line(r.Item.ToolName), 40)
	case r.Kind == rows.Unlinked:
		return "the subagent"
	}
	return "the " + r.Kind.String()
}

// inZone returns a time in the zone of the screen.
func (a *app) inZone(t time.Time) time.Time { return t.In(cmp.Or(a.opts.Zone, time.Local)) }

// isToday reports whether a time is of this day.
func (a *app) isToday(t time.Time) bool {
	return a.inZone(t).Format(time.DateOnly) == a.inZone(a.opts.Now()).Format(time.DateOnly)
}
