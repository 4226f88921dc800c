package tui

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/clewdev/clew/cmd/clew/internal/keymap"
	"github.com/clewdev/clew/cmd/clew/internal/paint"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/rows"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
)

// The sizes from which on parts of the screen are shown.
const (
	minForBar     = 24  // columns, for the scrollbar
	minForGutter  = 12  // columns, for the mark of the selected row
	minForOutline = 140 // columns
)

func (s *sessionScreen) draw(width, height int) Frame {
	frame := newFrame(s.title(), height)
	s.listTop = frame.top()
	body := s.columnsOf(width, frame.room()) // before the header, which shows the position
	line, cursor := s.footer(&s.finder, keymap.InSession, width)
	return frame.fill(s.header(width), body, line, cursor)
}

// A newFrame is a frame of a line at the top, a body, and a line at the bottom. A screen with less than
// three lines does without the last one, and with one line without the first one.
func newFrame(title string, height int) framing { return framing{title, height} }

type framing struct {
	title  string
	height int
}

// top returns the first line of the body, and room the number of its lines.
func (f framing) top() int  { return min(max(f.height-1, 0), 1) }
func (f framing) room() int { return max(f.height-min(f.height-1, 2), 0) }

// fill returns the frame. cursor is the column of the cursor in the last line, or -1.
func (f framing) fill(head string, body []string, foot string, cursor int) Frame {
	frame := Frame{Title: f.title, Lines: make([]string, 0, f.height)}
	if f.height > 1 {
		frame.Lines = append(frame.Lines, head)
	}
	frame.Lines = append(frame.Lines, body[:min(len(body), f.room())]...)
	for len(frame.Lines) < f.top()+f.room() {
		frame.Lines = append(frame.Lines, "")
	}
	if f.height > 2 {
		if frame.Lines = append(frame.Lines, foot); cursor >= 0 {
			frame.Cursor = &paint.Cursor{X: cursor, Y: f.height - 1}
		}
	}
	return frame
}

// columnsOf returns the rows, with the outline beside them if there is room.
func (s *sessionScreen) columnsOf(width, height int) []string {
	beside := s.outline.columns(width)
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

// besides puts lines to the right of others.
func (s *sessionScreen) besides(left, right []string, columns, height int) []string {
	rule := s.divider()
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

// header returns the first line: what session it is, and at the right where one is in it.
func (s *sessionScreen) header(width int) string {
	right := s.where(width)
	for len(right) > 0 && partsWidth(right) > max(width-12, width/2) {
		right = right[1:]
	}
	facts, title := s.headerFacts(), s.title()
	room := max(width-partsWidth(right)-2, 1)
	for len(facts) > 0 && partsWidth(facts) > max(room-min(tty.Width(title), 24), 0) {
		facts = facts[:len(facts)-1]
	}
	left := " " + tty.Title.Paint(tty.Fit(title, max(room-partsWidth(facts), 1)), s.opts.Color)
	for _, fact := range facts {
		left += tty.Dim.Paint(" · ", s.opts.Color) + fact.style.Paint(fact.text, s.opts.Color)
	}
	line := ""
	for _, part := range right {
		line += "  " + part.style.Paint(part.text, s.opts.Color)
	}
	return joinColumns(left, line+" ", width)
}

// A part is a piece of a line with its meaning.
type part struct {
	style tty.Style
	text  string
}

// partsWidth returns the number of columns that parts take, with their separators.
func partsWidth(parts []part) (n int) {
	for _, p := range parts {
		n += tty.Width(p.text) + 3
	}
	return n
}

// headerFacts returns the known facts about the session beside its title, the most important first.
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
		add(tty.Dim, "context "+wording.Percent(float64(s.facts.context)))
	}
	add(tty.Cost, s.facts.cost.Known())
	if day := t.Created; !day.IsZero() && !s.isToday(day) {
		add(tty.Dim, s.inZone(day).Format("2 Jan 2006"))
	}
	return facts
}

// where returns the agent's activity and the position in the session, the most important last.
func (s *sessionScreen) where(width int) (parts []part) {
	if number, count := s.list.place(); count > 0 {
		parts = append(parts, part{tty.Dim, fmt.Sprintf("%d/%d", number, count)})
	}
	if s.list.fresh > 0 {
		parts = append(parts, part{tty.Waiting, fmt.Sprintf("%d new", s.list.fresh)})
	}
	if s.running == nil {
		return parts
	}
	if s.list.following {
		parts = append([]part{{tty.Dim, "following"}}, parts...)
	}
	mark := s.sign("●", "*") + " "
	switch status := tty.Line(s.running.Status); status {
	case "waiting":
		text := mark + "waits for you"
		if width >= 2*minForWhat {
			text += ofWhat(tty.Line(s.running.WaitingFor))
		}
		return append(parts, part{tty.Waiting, text})
	case "busy":
		return append(parts, part{tty.Success, mark + "working"})
	default:
		return append(parts, part{tty.Success, mark + cmp.Or(tty.Fit(status, 20), "open")})
	}
}

// minForWhat is half the minimum width of a screen that shows what an agent waits for.
const minForWhat = 35

func ofWhat(what string) string {
	if what == "" {
		return ""
	}
	return ": " + tty.Fit(what, 40)
}

// body returns the lines between header and footer.
func (s *sessionScreen) body(width, height int) []string {
	trouble := s.trouble()
	loading := s.loading()
	notes := s.remark(tty.Waiting, loading, width, height)
	notes = append(notes, s.remark(tty.Failure, trouble, width, height-len(notes))...)
	lines := s.rowLines(width, height-len(notes))
	if len(lines) == 0 && len(notes) == 0 {
		notes = s.remark(tty.Dim, "nothing was said in this session", width, 2*height)
	}
	return append(lines, notes...)
}

// remark returns a text below the rows, which has at most half of the height.
func (s *sessionScreen) remark(style tty.Style, text string, width, height int) (lines []string) {
	if text == "" {
		return nil
	}
	for _, line := range tty.Wrap(text, max(width-2, 1)) {
		if len(lines) < max(height/2, min(height, 1)) {
			lines = append(lines, tty.CutPainted("  "+style.Paint(line, s.opts.Color), width))
		}
	}
	return lines
}

// loading describes the progress of reading, or returns "" when everything was read.
func (s *sessionScreen) loading() string {
	switch {
	case s.err != nil:
		return ""
	case s.snapshot == nil:
		return "reading …"
	case s.snapshot.Loading && s.snapshot.Total > 0 && s.snapshot.Done < s.snapshot.Total:
		return fmt.Sprintf("reading %s of %s", wording.Size(s.snapshot.Done), wording.Size(s.snapshot.Total))
	case s.snapshot.Loading && s.snapshot.Transcript == nil:
		return "reading …"
	}
	return ""
}

// rowLines returns the rows with the mark of the selected one at the left and a scrollbar at the
// right.
func (s *sessionScreen) rowLines(width, height int) []string {
	gutter, bar := 0, 0
	if width >= minForGutter {
		gutter = 1
	}
	if width >= minForBar {
		bar = 1
	}
	s.columns = width - bar
	var lines []string
	lines, s.drawn = s.list.draw(width-gutter-bar, height)
	from, to := s.list.thumb(height)
	painted := make([]string, len(lines))
	s.markMatches(lines)
	for i, line := range lines {
		mark, rest := "", ""
		if gutter > 0 {
			apart := line == "" && s.layout.apart(s.drawn[i].row)
			mark = s.mark(s.drawn[i].row == s.list.selected && !apart)
		}
		if bar > 0 && to > 0 {
			rest = strings.Repeat(" ", max(width-1-gutter-tty.PaintedWidth(line), 0)) + s.barAt(i >= from && i < to)
		}
		painted[i] = mark + line + rest
	}
	return painted
}

// markMatches marks the matches in the lines that were drawn.
func (s *sessionScreen) markMatches(lines []string) {
	if s.finder.matcher == nil {
		return
	}
	for i := 0; i < len(lines); {
		row, from := s.drawn[i].row, s.drawn[i].line
		n := 1
		for i+n < len(lines) && s.drawn[i+n].row == row {
			n++
		}
		all, before := s.list.lines(row), min(from, findContext)
		around := all[from-before : min(from+n+findContext, len(all))]
		copy(lines[i:i+n], s.finder.marked(around, s.list.width, s.opts.Color)[before:])
		i += n
	}
}

func (s *sessionScreen) barAt(thumb bool) string {
	if thumb {
		return tty.Dim.Paint(s.sign("┃", "#"), s.opts.Color)
	}
	return s.divider()
}

// footer returns the last line, and the column of the cursor or -1.
func (a *app) footer(f *finder, scope keymap.Scope, width int) (string, int) {
	switch {
	case f.typing:
		return f.line(width, a.opts.Color)
	case a.notice != "":
		return tty.Cut(" "+tty.Fit(tty.Line(a.notice), max(width-1, 1)), width), -1
	case f.text != "":
		line, _ := f.line(width, a.opts.Color)
		return line, -1
	}
	return a.foot(a.hints(scope), "", width), -1
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
