package tui

import (
	"cmp"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/clewdev/clew/cmd/clew/internal/fuzzy"
	"github.com/clewdev/clew/cmd/clew/internal/keymap"
	"github.com/clewdev/clew/cmd/clew/internal/paint"
	"github.com/clewdev/clew/internal/tty"
)

// A page is a screen of scrollable lines.
type page struct {
	base
	title string // clean
	hints []string
	lines func(width int) []string
	top   int
	rows  int // of the text, when it was last drawn
	all   int // lines of the text
}

func (p *page) scope() keymap.Scope { return keymap.InHelp }

func (p *page) do(a keymap.Action) tea.Cmd {
	switch a {
	case keymap.Down:
		p.top++
	case keymap.Up:
		p.top--
	case keymap.HalfDown:
		p.top += max(p.rows/2, 1)
	case keymap.HalfUp:
		p.top -= max(p.rows/2, 1)
	case keymap.PageDown:
		p.top += max(p.rows-1, 1)
	case keymap.PageUp:
		p.top -= max(p.rows-1, 1)
	case keymap.Top:
		p.top = 0
	case keymap.Bottom:
		p.top = p.all
	case keymap.Back, keymap.Close, keymap.Inspect:
		return p.pop()
	}
	p.settle()
	return nil
}

func (p *page) settle() { p.top = max(min(p.top, p.all-p.rows), 0) }

func (p *page) wheel(lines int) tea.Cmd {
	p.top += lines
	p.settle()
	return nil
}

func (p *page) draw(width, height int) Frame {
	lines := p.lines(width)
	p.all, p.rows = len(lines), max(height-2, 0)
	p.settle()
	frame := Frame{Lines: []string{tty.Title.Paint(tty.Fit(" "+p.title, width), p.opts.Color)}}
	frame.Lines = append(frame.Lines, padded(lines[p.top:min(p.top+p.rows, len(lines))], p.rows)...)
	frame.Lines = append(frame.Lines, p.foot(p.hints, "", width))
	frame.Lines = frame.Lines[max(len(frame.Lines)-height, 0):]
	return frame
}

// A helpScreen lists the keys of the screen below it, then all other keys. Typing filters the list.
type helpScreen struct {
	page
	below  keymap.Scope
	filter field
}

func newHelp(a *app, below screen) screen {
	h := &helpScreen{below: below.scope()}
	h.page = page{base: newBase(a), hints: []string{"type to filter", "esc back"}, lines: h.keys}
	h.title = "Keys"
	return h
}

// typed takes letters for the filter.
func (h *helpScreen) typed(key tea.KeyPressMsg) (tea.Cmd, bool) {
	name := key.String()
	switch {
	case h.filter.String() == "" && (name == "?" || name == "q"):
		return h.pop(), true
	case name == "esc" && h.filter.String() != "":
		h.filter.set("")
		return nil, true
	case name == "left" || name == "right" || name == "home" || name == "end" || name == "ctrl+d" || name == "ctrl+u":
		return nil, false
	}
	used := h.filter.press(key)
	if used {
		h.top = 0
	}
	return nil, used
}

func (h *helpScreen) paste(text string) tea.Cmd {
	h.filter.insert(text)
	return nil
}

func (h *helpScreen) draw(width, height int) Frame {
	frame := h.page.draw(width, height)
	if len(frame.Lines) == 0 {
		return frame
	}
	head := tty.Title.Paint(" Keys  ", h.opts.Color)
	text, x := h.filter.draw(max(width-10, 1))
	frame.Lines[0] = tty.CutPainted(head+tty.Prompt.Paint("/", h.opts.Color)+" "+text, width)
	frame.Cursor = &paint.Cursor{X: min(9+x, max(width-1, 0))}
	return frame
}

// keys returns the lines of the help.
func (h *helpScreen) keys(width int) []string {
	query, listed := fuzzy.Parse(h.filter.String()), map[string]bool{}
	var lines []string
	section := func(scope keymap.Scope, name string) {
		var found []string
		for _, b := range h.opts.Keys.In(scope) {
			id := string(b.Action) + b.Text
			if listed[id] {
				continue
			}
			listed[id] = true
			if line, ok := h.keyLine(b, query, width); ok {
				found = append(found, line)
			}
		}
		if len(found) > 0 {
			if len(lines) > 0 {
				lines = append(lines, "")
			}
			lines = append(lines, tty.Heading.Paint(tty.Fit(" "+name, width), h.opts.Color))
			lines = append(lines, found...)
		}
	}
	section(h.below, cmp.Or(keymap.ScopeName(h.below), "Here"))
	for _, n := range keymap.Scopes {
		if n.Scope != h.below {
			section(n.Scope, n.Name)
		}
	}
	if len(lines) == 0 {
		return []string{tty.Dim.Paint(tty.Fit(" No key matches.", width), h.opts.Color)}
	}
	return lines
}

// keyColumn is the width of the keys in the help.
const keyColumn = 22

func (h *helpScreen) keyLine(b keymap.Binding, query fuzzy.Query, width int) (string, bool) {
	text := fuzzy.Prepare(b.Text + "\n" + b.KeyNames() + "\n" + string(b.Action))
	if _, ok := new(fuzzy.Matcher).Match(query, text); !ok {
		return "", false
	}
	keys := b.KeyNames()
	column := min(keyColumn, max(width*2/5-2, 4))
	for tty.Width(keys) > column && strings.Contains(keys, ", ") {
		keys = keys[:strings.LastIndex(keys, ", ")]
	}
	keys = tty.Fit(keys, column)
	pad := strings.Repeat(" ", max(column-tty.Width(keys), 0))
	line := "  " + tty.Strong.Paint(keys, h.opts.Color) + pad + "  " + tty.Fit(b.Text, max(width-column-4, 0))
	return tty.CutPainted(line, width), true
}
