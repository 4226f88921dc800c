package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/tty"
)

// An outline is a column beside a session's rows: its prompts, commits, compactions and failures.
// The line of the selected row is marked.
type outline struct {
	off     bool // the user hid it
	width   int  // for which made is laid out
	made    []render.PanelLine
	stale   bool // made is outdated for the rows from changed on
	changed int
	top     int
}

// outlineColumns is the width of the outline.
const outlineColumns = 38

// columns returns the width of the outline, or 0 if it is not shown.
func (o *outline) columns(width int) int {
	if o.off || width < minForOutline {
		return 0
	}
	return outlineColumns
}

// toggle shows or hides the outline. On a narrow screen, it opens it as a panel.
func (o *outline) toggle(s *sessionScreen) tea.Cmd {
	if s.width < minForOutline {
		return s.push(newPanel(s, outlinePanel))
	}
	o.off = !o.off
	return nil
}

// forget makes the outline of the rows from an index on again when it is drawn.
func (o *outline) forget(from int) {
	if !o.stale || from < o.changed {
		o.changed = from
	}
	o.stale = true
}

// lines returns the part of the outline that fits, around the selected row.
func (o *outline) lines(s *sessionScreen, width, height int) []string {
	if o.width != width {
		o.width, o.made = width, nil
		o.forget(0)
	}
	if o.stale {
		o.made = s.layout.options(width-2).OutlineFrom(o.made, s.layout.rows, o.changed)
		o.stale = false
	}
	at := o.current(s)
	o.top = max(min(o.top, at), at-height+1)
	o.top = max(min(o.top, len(o.made)-height), 0)
	var lines []string
	for i := o.top; i < len(o.made) && len(lines) < height; i++ {
		lines = append(lines, s.mark(i == at)+o.made[i].Text)
	}
	return lines
}

// current returns the last line whose row is not after the selected one, or -1.
func (o *outline) current(s *sessionScreen) int {
	at := -1
	for i := range o.made {
		row, ok := s.layout.rows.Index(o.made[i].Row)
		if !ok || row > s.list.selected {
			break
		}
		at = i
	}
	return at
}

// click goes to the row that a line belongs to.
func (o *outline) click(s *sessionScreen, line int) {
	if i := o.top + line; line >= 0 && i < len(o.made) {
		if row, ok := s.layout.rows.Index(o.made[i].Row); ok {
			s.show(row, 0)
		}
	}
}

// paintTabs returns names beside each other, one of which is in front, with the start and end of
// each. If they don't fit, only the front one is drawn.
func (a *app) paintTabs(names []string, front, from, width int) (string, [][2]int) {
	var b strings.Builder
	var spans [][2]int
	x := from
	for i, name := range names {
		switch {
		case i != front:
			b.WriteString(" " + tty.Dim.Paint(name, a.opts.Color) + " ")
		case a.opts.Color:
			b.WriteString(" " + tty.Title.Paint(name, true) + " ")
		default:
			b.WriteString("[" + name + "]")
		}
		spans = append(spans, [2]int{x, x + tty.Width(name) + 2})
		x += tty.Width(name) + 2
	}
	if x <= width || front < 0 || front >= len(names) {
		return b.String(), spans
	}
	return tty.CutPainted(" "+tty.Title.Paint(names[front], a.opts.Color), width-from), nil
}
