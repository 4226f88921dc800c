package tui

import (
	"cmp"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/clewdev/clew/cmd/clew/internal/fuzzy"
	"github.com/clewdev/clew/cmd/clew/internal/keymap"
	"github.com/clewdev/clew/cmd/clew/internal/paint"
	"github.com/clewdev/clew/internal/tty"
)

// A palette finds an action of the screen below it by name, and runs it.
type palette struct {
	base
	below   screen
	actions []keymap.Binding
	texts   []fuzzy.Text
	field   field
	found   []int
	filters fuzzy.Filter
	pick    pick
	top     int // the first line of the list on the screen
}

// moves are the actions that the palette leaves out: one uses them by their keys.
var moves = map[keymap.Action]bool{
	keymap.Down: true, keymap.Up: true, keymap.HalfDown: true, keymap.HalfUp: true, keymap.PageDown: true, keymap.PageUp: true, keymap.Palette: true,
}

func newPalette(a *app, below screen) screen {
	p := &palette{base: newBase(a), below: below}
	all := a.opts.Keys.In(below.scope())
	slices.SortStableFunc(all, func(a, b keymap.Binding) int { return cmp.Compare(rank(a), rank(b)) })
	for _, b := range all {
		if !moves[b.Action] {
			p.actions = append(p.actions, b)
			p.texts = append(p.texts, fuzzy.Prepare(b.Text+"\n"+string(b.Action)))
		}
	}
	p.filters.Set(p.texts)
	p.filter()
	return p
}

// rank puts the actions that the last line of the screen shows before the others.
func rank(b keymap.Binding) int {
	if b.Hint == "" {
		return 1
	}
	return 0
}

func (p *palette) scope() keymap.Scope      { return 0 }
func (p *palette) do(keymap.Action) tea.Cmd { return nil }

func (p *palette) filter() {
	p.found = append(p.found[:0], p.filters.Find(fuzzy.Parse(p.field.String()))...)
	lines := make([]int, len(p.found))
	for i := range lines {
		lines[i] = i
	}
	p.pick.set(lines)
	p.pick.act(keymap.Top)
}

func (p *palette) typed(key tea.KeyPressMsg) (tea.Cmd, bool) {
	switch key.String() {
	case "esc", "ctrl+c":
		return p.pop(), true
	case "enter":
		return p.run(), true
	}
	if a, ok := movesWhileTyping[key.String()]; ok {
		p.pick.act(a)
		return nil, true
	}
	if p.field.press(key) {
		p.filter()
	}
	return nil, true
}

func (p *palette) paste(text string) tea.Cmd {
	p.field.insert(text)
	p.filter()
	return nil
}

// run runs the selected action on the screen below.
func (p *palette) run() tea.Cmd {
	if p.pick.selected >= len(p.found) {
		return nil
	}
	action := p.actions[p.found[p.pick.selected]].Action
	return tea.Batch(p.pop(), p.app.act(action))
}

func (p *palette) click(_, y int) tea.Cmd {
	item, ok := p.pick.at(y - p.top)
	if !ok {
		return nil
	}
	p.pick.choose(item)
	return p.run()
}

func (p *palette) wheel(lines int) tea.Cmd {
	p.pick.scroll(lines)
	return nil
}

// draw draws the palette over the lower part of the screen below.
func (p *palette) draw(width, height int) Frame {
	frame := p.below.draw(width, height)
	rows := max(min(height/2, len(p.actions)), 1)
	text, x := p.field.draw(max(width-3, 1))
	lines := []string{
		p.across(width), tty.CutPainted(tty.Prompt.Paint(":", p.opts.Color)+" "+text, width),
	}
	from, to := p.pick.visible(rows)
	var list []string
	for i := from; i < to; i++ {
		list = append(list, p.line(i, width))
	}
	if len(p.found) == 0 {
		list = []string{tty.Dim.Paint(tty.Fit("  No action matches.", width), p.opts.Color)}
	}
	lines = append(lines, padded(list, rows)...)
	lines = lines[:min(len(lines), height)]
	p.top = height - len(lines) + 2
	frame.Lines = replaceEnd(frame.Lines, lines, height)
	frame.Cursor = &paint.Cursor{X: min(2+x, max(width-1, 0)), Y: max(min(p.top-1, height-1), 0)}
	return frame
}

func (p *palette) line(i, width int) string {
	b := p.actions[p.found[i]]
	mark, style := p.mark(i == p.pick.selected)+" ", tty.Plain
	if i == p.pick.selected {
		style = tty.Title
	}
	keys := b.KeyNames()
	room := width - 2
	if room-tty.Width(keys)-2 >= min(tty.Width(b.Text), 20) {
		room -= tty.Width(keys) + 2
	} else {
		keys = ""
	}
	text := tty.Fit(b.Text, max(room, 0))
	line := mark + style.Paint(text, p.opts.Color)
	if keys != "" {
		line += strings.Repeat(" ", room-tty.Width(text)+2) + tty.Dim.Paint(keys, p.opts.Color)
	}
	return tty.CutPainted(line, width)
}
