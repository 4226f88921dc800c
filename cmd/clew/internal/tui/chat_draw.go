package tui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clewdev/clew/cmd/clew/internal/keymap"
	"github.com/clewdev/clew/cmd/clew/internal/paint"
	"github.com/clewdev/clew/internal/clip"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
)

// Sizes of the part that is redrawn.
const (
	maxLive    = 12  // rows
	maxColumns = 100 // of the boxes
	minBoxed   = 20  // columns and
	minBoxRows = 6   // rows for a box around the composer
	minApart   = 12  // rows of a screen with an empty row above the box
	maxQueued  = 3
)

func (c *chat) draw(width, height int) Frame {
	if width != c.columns || height != c.rows {
		c.columns, c.rows = width, height
		c.driver.Resize(width, height)
	}
	f := Frame{Inline: true, Above: c.above}
	c.above = nil
	if c.news.Ended {
		return f
	}
	l := c.layOut(width, height)
	f.Lines, f.Cursor = l.lines, l.cursor
	return f
}

// A chatLayout holds the rows to draw, in order, and the room left for more.
type chatLayout struct {
	width  int // of the rows
	room   int // rows that are left
	color  bool
	lines  []string
	cursor *paint.Cursor
}

func (l *chatLayout) add(lines ...string) {
	for _, line := range lines {
		l.lines = append(l.lines, tty.CutPainted(line, l.width))
	}
}

// layOut decides what there is room for: the composer first, then the status, the question, what runs,
// the queue and the end of the answer.
func (c *chat) layOut(width, height int) *chatLayout {
	l := &chatLayout{width: max(min(width-1, maxColumns), 1), color: c.opts.Color}
	l.room = max(min(maxLive, height/2), min(height-1, 3), 1)
	composer := c.composer(l)
	var question, queued, work []string
	var questionCursor *paint.Cursor
	rows := min(max(height/2, 1), height-1-len(composer.lines))
	if d := c.question(); d != nil && rows > 0 {
		question, questionCursor = c.drawDock(d, l.width, rows)
		l.room = min(l.room, height-1-len(composer.lines)-len(question))
	}
	if l.room > 0 && c.news.Work.Doing != "" {
		work = []string{c.workLine(l.width)}
		l.room--
	}
	queued = c.queueLines(l)
	open := c.news.Open
	if len(open) == 0 && l.room > 1 && height >= minApart {
		l.add("")
	}
	if l.room > 2 && len(open) > 0 {
		l.add(append(slices.Clone(open[max(0, len(open)-l.room+1):]), "")...)
	} else if l.room > 0 && len(open) > 0 {
		l.add(open[max(0, len(open)-l.room):]...)
	}
	l.add(work...)
	if questionCursor != nil {
		l.cursor = &paint.Cursor{X: questionCursor.X, Y: questionCursor.Y + len(l.lines)}
	}
	l.add(question...)
	l.add(queued...)
	if !c.focus.asks() {
		l.cursor = &paint.Cursor{X: composer.cursor.X, Y: composer.cursor.Y + len(l.lines)}
	}
	l.add(composer.lines...)
	return l
}

// composer lays out the text being written and the lines below it.
func (c *chat) composer(of *chatLayout) *chatLayout {
	l := &chatLayout{width: of.width, color: of.color}
	frame := boxOf(c.opts.Lines)
	boxed := of.width >= minBoxed && of.room >= minBoxRows
	below := 0
	if of.room >= 2 {
		below = 1
	}
	room, indent := of.room-below, len("> ")
	if boxed {
		room -= 2
	}
	if c.news.Work.Doing != "" && room > 2 {
		room--
	}
	if of.width < 4 {
		indent = 0
	}
	columns := of.width - indent
	if boxed {
		columns = of.width - len("|  |")
	}
	menu := c.editor.HasMenu()
	if menu {
		room = max(min(room, 3), 1)
	}
	text, x, y := c.editor.Lines(columns, max(room, 1))
	style := tty.Plain
	if c.focus.asks() {
		style = tty.Dim
	}
	edge := tty.Dim
	if boxed {
		l.add(edge.Paint(frame.topLeft+strings.Repeat(frame.across, l.width-2)+frame.topRight, l.color))
	}
	for i, line := range text {
		switch {
		case boxed:
			pad := strings.Repeat(" ", max(columns-tty.Width(line), 0))
			side := edge.Paint(frame.side, l.color)
			l.add(side + " " + style.Paint(line, l.color) + pad + " " + side)
		case indent > 0 && i == 0:
			l.add("> " + style.Paint(line, l.color))
		default:
			l.add(strings.Repeat(" ", indent) + style.Paint(line, l.color))
		}
	}
	l.cursor = &paint.Cursor{X: min(x+indent, max(l.width, 1)), Y: y}
	if boxed {
		l.cursor.Y++
		l.add(edge.Paint(frame.bottomLeft+strings.Repeat(frame.across, l.width-2)+frame.bottomRight, l.color))
	}
	of.room -= len(l.lines)
	if menu && of.room > 0 {
		lines := c.editor.MenuLines(l.width, of.room, l.color)
		l.add(lines...)
		of.room -= len(lines)
	} else if below > 0 {
		l.add(c.statusLine(l.width))
		of.room--
	}
	return l
}

// A boxFrame has the characters that a box is made of.
type boxFrame struct{ topLeft, topRight, bottomLeft, bottomRight, across, side string }

func boxOf(lines bool) boxFrame {
	if lines {
		return boxFrame{"┌", "┐", "└", "┘", "─", "│"}
	}
	return boxFrame{"+", "+", "+", "+", "-", "|"}
}

// statusLine describes the conversation, or the effect of the last key.
func (c *chat) statusLine(width int) string {
	color := c.opts.Color
	if words := c.editor.Searching(); words != "" {
		return tty.Fit("  "+words, width)
	}
	if c.hint != "" {
		return tty.Waiting.Paint(tty.Fit("  "+c.hint, width), color)
	}
	left := "  " + c.news.Status.line(width-2)
	if n := len(c.docks); n > 0 && !c.focus.asks() {
		return joinColumns(tty.Waiting.Paint(tty.Fit("  ctrl+g: "+wording.Count(n, "question"), width), color),
			tty.Dim.Paint(strings.TrimSpace(left), color), width)
	}
	right := "shift+tab mode  ? keys"
	if tty.Width(left)+tty.Width(right)+2 > width {
		right = "? keys"
	}
	if tty.Width(left)+tty.Width(right)+2 > width {
		right = ""
	}
	gap := strings.Repeat(" ", max(width-tty.Width(left)-tty.Width(right), 0))
	return tty.Dim.Paint(tty.Fit(strings.TrimRight(left+gap+right, " "), width), color)
}

// line returns what fits into a width. The default mode is left out first.
func (s Status) line(width int) string {
	mode := s.Mode
	if mode != "" && mode != "default" {
		mode += " mode"
	}
	parts := []string{s.Model, mode, s.Context, s.Cost}
	if mode == "default" && tty.Width(strings.Join(parts, " · ")) > width {
		parts[1] = ""
	}
	line := ""
	for _, part := range parts {
		switch {
		case part == "":
		case line == "":
			line = part
		case tty.Width(line+" · "+part) <= width:
			line += " · " + part
		}
	}
	return line
}

// workLine shows the agent's current activity and its duration.
func (c *chat) workLine(width int) string {
	w := c.news.Work
	left := "  " + wording.Seconds(c.opts.Now().Sub(w.Since)) + " · "
	doing, right, style := w.Doing, "esc to interrupt", tty.Plain
	if c.focus.asks() { // esc leaves the question
		right = "ctrl+c to interrupt"
	}
	switch {
	case c.stopping || w.Stopping:
		doing, right = "interrupting", "ctrl+c ends the chat"
	case len(c.docks) > 0: // the clock stands still
		left, doing, style = "  ", "waits for you", tty.Waiting
	}
	room := width - tty.Width(left) - len(right) - 2
	if room < 10 {
		right = ""
		room = width - tty.Width(left)
	}
	left += tty.Fit(tty.Line(doing), max(room, 1))
	gap := max(width-tty.Width(left)-len(right), 0)
	return style.Paint(tty.Fit(left, width), c.opts.Color) + tty.Dim.Paint(strings.Repeat(" ", gap)+right, c.opts.Color)
}

// queueLines lists the prompts that wait.
func (c *chat) queueLines(l *chatLayout) []string {
	var lines []string
	for i, text := range c.queue {
		if l.room <= 0 {
			break
		}
		line := "  queued: " + tty.Line(text)
		if i == maxQueued-1 && len(c.queue) > maxQueued || l.room == 1 && i < len(c.queue)-1 {
			line = fmt.Sprintf("  and %d more in the queue", len(c.queue)-i)
			lines = append(lines, tty.Dim.Paint(tty.Fit(line, l.width), l.color))
			l.room--
			break
		}
		lines = append(lines, tty.Dim.Paint(tty.Fit(line, l.width), l.color))
		l.room--
	}
	return lines
}

// maxPromptLines is the number of prompt lines that are printed.
const maxPromptLines = 40

// promptLines returns a prompt as it is printed.
func (c *chat) promptLines(text string) []string {
	lines := []string{""}
	begin := clip.Bytes(text, 1<<16)
	rest := text[len(begin):]
	rows := tty.Wrap(tty.Clean(strings.TrimRight(begin, "\n")), max(c.columns-3, 1))
	for i, row := range rows {
		if i == maxPromptLines {
			lines = append(lines, tty.Dim.Paint(fmt.Sprintf("  … %s more", wording.Count(len(rows)-i+strings.Count(rest, "\n"), "line")), c.opts.Color))
			break
		}
		mark := "  "
		if i == 0 {
			mark = "> "
		}
		lines = append(lines, tty.Strong.Paint(strings.TrimRight(mark+row, " "), c.opts.Color))
	}
	return append(lines, "")
}

// listKeys prints the table of keys.
func (c *chat) listKeys() {
	width := max(min(c.columns-1, maxColumns), 1)
	for _, part := range []struct {
		title string
		scope keymap.Scope
	}{{"Keys", keymap.InChat}, {"Keys of a question, when it has the focus", keymap.InQuestion}} {
		c.above = append(c.above, "", tty.Title.Paint(tty.Fit(part.title, width), c.opts.Color))
		for _, b := range c.opts.Keys.In(part.scope) {
			const column = 24
			names := "  " + b.KeyNames()
			names += strings.Repeat(" ", max(column-tty.Width(names), 2))
			for i, row := range tty.Wrap(b.Text, max(width-tty.Width(names), 10)) {
				if i > 0 {
					names = strings.Repeat(" ", tty.Width(names))
				}
				c.above = append(c.above, tty.CutPainted(names+tty.Dim.Paint(row, c.opts.Color), width))
			}
		}
	}
	c.above = append(c.above, "  /command, @file and !command do more: /help lists the commands.", "")
}
