package tui

import (
	"cmp"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/clewdev/clew/internal/fuzzy"
	"github.com/clewdev/clew/internal/paint"
	"github.com/clewdev/clew/internal/tty"
)

// A page is a screen of lines that one scrolls.
type page struct {
	base
	title string // clean
	hints []string
	lines func(width int) []string
	top   int
	rows  int // of the text, when it was last drawn
	all   int // lines of the text
}

func (p *page) scope() Scope { return InHelp }

func (p *page) do(a Action) tea.Cmd {
	switch a {
	case Down:
		p.top++
	case Up:
		p.top--
	case HalfDown:
		p.top += max(p.rows/2, 1)
	case HalfUp:
		p.top -= max(p.rows/2, 1)
	case PageDown:
		p.top += max(p.rows-1, 1)
	case PageUp:
		p.top -= max(p.rows-1, 1)
	case Top:
		p.top = 0
	case Bottom:
		p.top = p.all
	case Back, Close, Inspect:
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

// A helpScreen lists the keys of the screen below it, then those of the others. A typed text filters
// the list.
type helpScreen struct {
	page
	below  Scope
	filter field
}

func newHelp(a *app, below screen) screen {
	h := &helpScreen{below: below.scope()}
	h.page = page{base: newBase(a), hints: []string{"type to filter", "esc back"}, lines: h.keys}
	h.title = "Keys"
	return h
}

// scopeNames name the screens in the help, in its order.
var scopeNames = []struct {
	scope Scope
	name  string
}{
	{InSessions, "Sessions"}, {InSession, "Session"}, {InRow, "Row"}, {InPanel, "Panels"}, {InSearch, "Search"},
	{InJobs, "Jobs"}, {InJob, "Job"},
	{InChat, "Chat"}, {InQuestion, "Questions"},
}

// ScopeName returns the name of a screen, or "".
func ScopeName(s Scope) string {
	for _, n := range scopeNames {
		if n.scope == s {
			return n.name
		}
	}
	return ""
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
	section := func(scope Scope, name string) {
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
	section(h.below, cmp.Or(ScopeName(h.below), "Here"))
	for _, n := range scopeNames {
		if n.scope != h.below {
			section(n.scope, n.name)
		}
	}
	if len(lines) == 0 {
		return []string{tty.Dim.Paint(tty.Fit(" No key matches.", width), h.opts.Color)}
	}
	return lines
}

// keyColumn is the width of the keys in the help.
const keyColumn = 22

func (h *helpScreen) keyLine(b Binding, query fuzzy.Query, width int) (string, bool) {
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
