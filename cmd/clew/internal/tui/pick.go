package tui

import "github.com/clewdev/clew/cmd/clew/internal/keymap"

// A pick is a scrolled list of items, one of which is selected. Headings are lines without an item,
// and an item may have several lines.
type pick struct {
	lines    []int // the item of each line, or one below 0 for a heading
	first    []int // the first line of each item
	selected int
	top      int // the first line on the screen
	height   int // of the screen when it was last drawn
}

// set replaces the lines. The selected item stays in its line of the screen if the caller selects it
// again.
func (p *pick) set(lines []int) {
	p.lines = lines
	p.first = p.first[:0]
	for i, item := range lines {
		if item >= len(p.first) {
			p.first = append(p.first, i)
		}
	}
	p.choose(p.selected)
}

// offset returns the line of the screen that has the selected item.
func (p *pick) offset() int { return p.lineOf(p.selected) - p.top }

// lineOf returns the first line of an item.
func (p *pick) lineOf(item int) int {
	if item < 0 || item >= len(p.first) {
		return 0
	}
	return p.first[item]
}

// keep selects an item, and scrolls so that it is in a line of the screen.
func (p *pick) keep(item, offset int) {
	p.choose(item)
	p.top = p.lineOf(p.selected) - offset
}

// len returns the number of items.
func (p *pick) len() int { return len(p.first) }

// choose selects an item, or the nearest one.
func (p *pick) choose(item int) { p.selected = max(min(item, len(p.first)-1), 0) }

// move selects another item.
func (p *pick) move(by int) { p.choose(p.selected + by) }

// act runs a move action, and reports whether a is one.
func (p *pick) act(a keymap.Action) bool {
	half := max(p.height/2, 1)
	switch a {
	case keymap.Down:
		p.move(1)
	case keymap.Up:
		p.move(-1)
	case keymap.HalfDown:
		p.move(half)
	case keymap.HalfUp:
		p.move(-half)
	case keymap.PageDown:
		p.move(max(p.height-1, 1))
	case keymap.PageUp:
		p.move(-max(p.height-1, 1))
	case keymap.Top:
		p.choose(0)
		p.top = 0
	case keymap.Bottom:
		p.choose(len(p.first) - 1)
	default:
		return false
	}
	return true
}

// scroll moves the list on the screen. The selection goes along so that it can be seen.
func (p *pick) scroll(by int) {
	p.top = max(min(p.top+by, len(p.lines)-p.height), 0)
	for line := p.top; line < len(p.lines); line++ { // the first item on the screen
		if item := p.lines[line]; item >= 0 && p.first[item] >= p.top {
			p.choose(max(p.selected, item))
			break
		}
	}
	for line := min(p.top+p.height, len(p.lines)) - 1; line >= p.top; line-- {
		if item := p.lines[line]; item >= 0 {
			p.choose(min(p.selected, item))
			break
		}
	}
}

// visible returns the lines to show at a height, including the selected item, and the heading above
// it if that is the line before.
func (p *pick) visible(height int) (from, to int) {
	p.height = height
	if len(p.lines) == 0 || height <= 0 {
		p.top = 0
		return 0, 0
	}
	first := p.lineOf(p.selected)
	last := first
	for last+1 < len(p.lines) && p.lines[last+1] == p.selected {
		last++
	}
	for first > 0 && p.lines[first-1] < 0 && last-first+1 < height {
		first--
	}
	p.top = min(p.top, first)
	p.top = max(p.top, last-height+1)
	p.top = max(min(p.top, len(p.lines)-height), 0)
	return p.top, min(p.top+height, len(p.lines))
}

// at returns the item in a line of the screen.
func (p *pick) at(y int) (item int, ok bool) {
	line := p.top + y
	if y < 0 || y >= p.height || line < 0 || line >= len(p.lines) || p.lines[line] < 0 {
		return 0, false
	}
	return p.lines[line], true
}
