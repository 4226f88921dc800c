package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/clewdev/clew/cmd/clew/internal/ask"
	"github.com/clewdev/clew/cmd/clew/internal/paint"
	"github.com/clewdev/clew/internal/tty"
)

// drawDock draws a question in at most maxRows rows. The cursor is nil unless a line is typed.
func (c *chat) drawDock(d *dock, width, maxRows int) ([]string, *paint.Cursor) {
	p := dockPainter{
		dock: d, width: width, color: c.opts.Color, lines: c.opts.Lines, focused: c.focus.asks(), aside: c.aside(), unfocused: "ctrl+g to answer",
	}
	return p.draw(maxRows)
}

// aside counts the questions.
func (c *chat) aside() string {
	total := 0
	for _, d := range c.docks {
		total += d.parts()
	}
	if total < 2 {
		return ""
	}
	return fmt.Sprintf("question %d of %d", c.question().part+1, total)
}

// A dockPainter draws a question.
type dockPainter struct {
	*dock
	width   int
	color   bool
	lines   bool
	focused bool
	aside   string
	cursor  *paint.Cursor // in the rows below the box

	unfocused string // the text below a box without the focus
}

func (p *dockPainter) draw(maxRows int) ([]string, *paint.Cursor) {
	sheet := p.layOut(ask.Surface{Columns: p.width + 1, Color: p.color, Lines: p.lines})
	p.partial = false
	below := p.below()
	const borders = 2
	if maxRows-borders-len(below) < min(3, len(sheet.body)) && p.mode == asking {
		below = p.compact(maxRows - 1 - min(2, len(sheet.body)))
	}
	if p.mode != asking && maxRows < borders+1+len(below) { // the line that is typed counts most
		return p.fitted(append([]string{sheet.Top(p.aside)}, below...), 1, maxRows)
	}
	lines := p.box(sheet, max(maxRows-len(below), 0))
	return p.fitted(append(lines, below...), len(lines), maxRows)
}

// box draws the rows that there is room for, and its borders if there is more. Only rows that are
// drawn count as seen.
func (p *dockPainter) box(sheet *laidOut, room int) []string {
	top, bottom := room > 1, room > 2
	if top {
		room--
	}
	if bottom {
		room--
	}
	p.page(len(sheet.body), room)
	if slices.ContainsFunc(sheet.body, func(row string) bool { return tty.PaintedWidth(row) > p.width }) {
		p.seen = 0 // a very narrow screen does not show all of it
	}
	count := ""
	if p.shown < p.rows {
		count = fmt.Sprintf("lines %d-%d of %d", p.top+1, p.top+p.shown, p.rows)
	}
	var lines []string
	switch {
	case bottom:
		lines = append(lines, sheet.Top(p.aside))
	case top:
		lines = append(lines, sheet.Top(cmp.Or(count, p.aside)))
	}
	lines = append(lines, sheet.body[p.top:p.top+p.shown]...)
	if bottom {
		lines = append(lines, sheet.Bottom(count))
	}
	return lines
}

// fitted returns as many of the lines as there is room for. The cursor is counted from an index on.
func (p *dockPainter) fitted(lines []string, from, maxRows int) ([]string, *paint.Cursor) {
	p.hidden = len(lines) > maxRows
	lines = lines[:min(len(lines), maxRows)]
	if p.cursor != nil {
		p.cursor.Y = min(p.cursor.Y+from, len(lines)-1)
	}
	return lines, p.cursor
}

// page chooses the rows to show, and records how many were shown.
func (d *dock) page(rows, shown int) {
	if d.rows != rows { // another width
		if !d.complete() {
			d.top, d.seen = 0, 0
		} else {
			d.seen = rows
		}
		d.rows = rows
	}
	d.shown = min(shown, rows)
	d.top = max(min(d.top, rows-d.shown), 0)
	if d.top <= d.seen {
		d.seen = max(d.seen, d.top+d.shown)
	}
}

// below returns the rows below the box: the choices, or the line that is typed.
func (p *dockPainter) below() []string {
	if !p.focused {
		return []string{p.dim("  " + p.unfocused)}
	}
	var rows []string
	switch p.mode {
	case asking:
		rows = p.choices()
	case explained:
		rows = p.explanation()
	case reasoning:
		rows = p.input("Tell the agent why, or what to do instead:", "enter sends it  esc goes back")
	case inWords:
		rows = p.input("Your answer:", "enter sends it  esc goes back")
	case narrowing:
		rows = p.rules()
	}
	if p.remark != "" {
		rows = append(rows, tty.Waiting.Paint(tty.Fit("  "+tty.Line(p.remark), p.width), p.color))
	}
	return rows
}

func (p *dockPainter) dim(text string) string { return tty.Dim.Paint(tty.Fit(text, p.width), p.color) }

func (p *dockPainter) key(name string) string { return "  " + tty.Strong.Paint(name, p.color) + "  " }

// compact returns the choices in a row, or as many options as there is room for.
func (p *dockPainter) compact(room int) []string {
	text := "  y yes  n no  e no, why  ? help"
	switch {
	case !p.focused:
		return []string{p.dim("  " + p.unfocused)}
	case p.remark != "":
		return []string{tty.Waiting.Paint(tty.Fit("  "+tty.Line(p.remark), p.width), p.color)}
	case len(p.Choices) > 0:
		rows := p.options()
		room = min(max(room, 1), len(rows))
		p.partial = room < len(rows)-1
		from := min(max(p.at-room/2, 0), len(rows)-room)
		return rows[from : from+room]
	case len(p.Always) > 0:
		text = "  y yes  a always  n no  e no, why  ? help"
	}
	return []string{tty.Fit(text, p.width)}
}

// choices returns what can be answered.
func (p *dockPainter) choices() []string {
	if len(p.Choices) > 0 {
		return p.options()
	}
	rows := []string{p.key("y") + "yes, once"}
	if len(p.Always) > 0 {
		more := ""
		if n := len(p.Always) - 1; n > 0 {
			more = fmt.Sprintf(" (%d more)", n)
		}
		room := max(p.width-len("  a  always     ")-len(more), 1)
		rows = append(rows, p.key("a")+"always     "+tty.Fit(tty.CleanLine(p.Always[0].Text), room)+more)
	}
	last := p.key("n") + "no" + strings.Repeat(" ", 7) + p.key("e") + "no, and say why   " + p.key("?") + "help"
	return append(rows, last)
}

// options returns the options to choose from, with the one under the cursor marked.
func (p *dockPainter) options() []string {
	c := &p.Choices[p.part]
	rows := make([]string, 0, len(c.Options)+1)
	for i := range len(c.Options) + 1 {
		text, note := "in your own words", ""
		if i < len(c.Options) {
			text, note = c.Options[i].Label, c.Options[i].Description
		}
		mark, style := "  ", tty.Plain
		if i == p.at {
			mark, style = "> ", tty.Strong
		}
		if c.MultiSelect && i < len(c.Options) {
			box := "[ ] "
			if p.marked[i] {
				box = "[x] "
			}
			text = box + text
		}
		line := style.Paint(tty.Fit(fmt.Sprintf("%s%d  %s", mark, i+1, tty.CleanLine(text)), p.width), p.color)
		if room := p.width - tty.PaintedWidth(line) - 2; note != "" && room > 3 {
			line += "  " + tty.Dim.Paint(tty.Fit(tty.CleanLine(note), room), p.color)
		}
		rows = append(rows, line)
	}
	help := "  number or enter answers  n no answer  esc back"
	if c.MultiSelect {
		help = "  space marks  enter answers  n no answer  esc back"
	}
	return append(rows, p.dim(help))
}

// explanation describes the possible answers.
func (p *dockPainter) explanation() []string {
	texts := []string{
		"y allows this call. The agent asks again before the next one.",
		"a allows this call, and adds a rule, so that calls like it need no answer. The rule is shown first.",
		"n denies this call. The agent is told so, and continues.",
		"e denies this call, and tells the agent why, or what to do instead.",
		"s shows the next question. esc goes back to the text, and answers nothing.",
	}
	var rows []string
	for _, text := range texts {
		for i, row := range tty.Wrap(text, max(p.width-4, 1)) {
			indent := "  "
			if i > 0 {
				indent = "    "
			}
			rows = append(rows, tty.Fit(indent+row, p.width))
		}
	}
	return rows
}

// input returns the line that is typed, below a title.
func (p *dockPainter) input(title, help string) []string {
	text, x, _ := p.line.Lines(max(p.width-len("  > "), 1), 1)
	p.cursor = &paint.Cursor{X: min(x+len("  > "), p.width), Y: 1}
	return []string{tty.Fit("  "+title, p.width), "  > " + text[0], p.dim("  " + help)}
}

// rules returns what "always" changes, verbatim, and the rule as it may be edited.
func (p *dockPainter) rules() []string {
	var rows []string
	for i, change := range p.Always {
		head := "  "
		if i == p.at && len(p.Always) > 1 {
			head = "> "
		}
		if len(p.Always) > 1 {
			head += map[bool]string{true: "[x] ", false: "[ ] "}[p.marked[i]]
		}
		for n, row := range tty.Break(tty.CleanLine(change.Text), max(p.width-len(head), 1)) {
			if n > 0 {
				head = strings.Repeat(" ", len(head))
			}
			rows = append(rows, head+tty.Strong.Paint(strings.TrimRight(row, " "), p.color))
		}
	}
	help := "enter confirms  esc goes back"
	if len(p.Always) > 1 {
		help += "  tab marks"
	}
	if p.Rule == "" || p.at > 0 {
		return append(rows, p.dim("  "+help))
	}
	input := p.input("The rule, which you can narrow:", help)
	p.cursor.Y += len(rows)
	return append(rows, input...)
}
