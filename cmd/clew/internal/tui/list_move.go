package tui

import "github.com/clewdev/clew/internal/rows"

// scroll moves the screen by lines, as far as there are any. The selection stays on the screen.
func (l *rowList) scroll(n int) {
	if len(l.items) == 0 || n == 0 {
		return
	}
	l.settle()
	if n < 0 {
		l.following = false
	}
	l.move(n)
	l.settle()
	l.selectShown()
}

// move moves the position by lines.
func (l *rowList) move(n int) {
	for n < 0 {
		if l.line > 0 {
			step := min(l.line, -n)
			l.line, n = l.line-step, n+step
			continue
		}
		above := l.next(l.top, -1)
		if above < 0 {
			return
		}
		l.top = above
		l.line = l.exactHeight(above)
	}
	for n > 0 {
		rest := l.exactHeight(l.top) - 1 - l.line
		if n <= rest {
			l.line += n
			return
		}
		below := l.next(l.top, 1)
		if below < 0 {
			l.line += rest
			return
		}
		n -= rest + 1
		l.top, l.line = below, 0
	}
}

// selectShown selects a row that is on the screen, if the selected one is not.
func (l *rowList) selectShown() {
	first, last := l.top, l.bottom()
	switch {
	case l.selected < first:
		l.selected = first
	case l.selected > last:
		l.selected = last
	}
}

// bottom returns the last row with a line on the screen.
func (l *rowList) bottom() int {
	rest := l.height + l.line
	last := l.top
	for i := l.top; i >= 0 && rest > 0; i = l.next(i, 1) {
		last = i
		rest -= l.exactHeight(i)
	}
	return last
}

// screenLine returns the screen line at which a row starts, negative if that is above the screen.
// It is exact only for rows that start on the screen or just below it.
func (l *rowList) screenLine(row int) int {
	if row < l.top {
		return -1
	}
	y := -l.line
	for i := l.top; i >= 0 && i < row && y <= l.height; i = l.next(i, 1) {
		y += l.exactHeight(i)
	}
	return y
}

// down selects the next row, or shows another line of a row that continues below the screen.
func (l *rowList) down() {
	if len(l.items) == 0 {
		return
	}
	l.settle()
	y := l.screenLine(l.selected)
	if y+l.exactHeight(l.selected) > l.height {
		l.move(1)
		l.settle()
		return
	}
	below := l.next(l.selected, 1)
	if below < 0 {
		return
	}
	y += l.exactHeight(l.selected)
	l.selected = below
	l.move(max(y+1-l.height, 0))
}

// up selects the previous row, or shows another line of a row that starts above the screen.
func (l *rowList) up() {
	if len(l.items) == 0 {
		return
	}
	l.settle()
	l.following = false
	if l.selected == l.top && l.line > 0 {
		l.move(-1)
		return
	}
	above := l.next(l.selected, -1)
	if above < 0 {
		return
	}
	l.selected = above
	if above < l.top {
		l.top, l.line = above, l.exactHeight(above)-1
	}
}

// page moves by a number of screens, which may be a half. At an end it selects the last row there.
func (l *rowList) page(screens float64) {
	n := int(screens * float64(max(l.height-1, 1)))
	if n == 0 {
		n = 1
		if screens < 0 {
			n = -1
		}
	}
	top, line := l.top, l.line
	l.scroll(n)
	if top == l.top && line == l.line && len(l.items) > 0 {
		if n > 0 {
			l.selected = l.lastShown()
		} else {
			l.selected = max(l.next(-1, 1), 0)
		}
	}
}

// begin goes to the first row. end goes to the last one, which is followed from now on.
func (l *rowList) begin() {
	l.following = false
	l.top, l.line, l.selected = max(l.next(-1, 1), 0), 0, max(l.next(-1, 1), 0)
}

func (l *rowList) end() {
	l.following = true
	l.countFresh(-1)
	l.settle()
}

// unfollow stays where it is when rows come.
func (l *rowList) unfollow() {
	l.settle()
	l.following = false
}

// reveal selects a row, unfolds the rows that hide it, and brings one of its lines on the screen.
// If the list has to move, the line is put the given number of lines below the top.
func (l *rowList) reveal(row, line, below int) {
	if row < 0 || row >= len(l.items) {
		return
	}
	l.settle()
	l.following = false
	for p := l.layout.parent(row); p >= 0; p = l.layout.parent(p) {
		if !l.items[p].open {
			l.setOpen(p, true)
		}
	}
	l.selected = l.shown(row)
	line = max(min(line, l.exactHeight(l.selected)-1), 0)
	if y := l.screenLine(l.selected) + line; l.selected >= l.top && y >= 0 && y < l.height {
		return
	}
	l.top, l.line = l.selected, line
	l.move(-min(below, max(l.height-1, 0)))
	l.settle()
}

// restore goes back to a place: a line of a row at the top, and a row that is selected. Rows that are gone
// are left out.
func (l *rowList) restore(top rows.ID, line int, selected rows.ID) {
	for i := range l.items {
		switch l.items[i].id {
		case top:
			l.top, l.line = l.shown(i), 0
			if l.top == i && l.items[i].open {
				l.line = min(line, l.exactHeight(i)-1)
			}
		case selected:
			l.selected = l.shown(i)
		}
	}
	if top == selected {
		l.selected = l.top
	}
}

// jump goes to a line of the scrollbar.
func (l *rowList) jump(y, height int) {
	if len(l.items) == 0 || height <= 1 {
		return
	}
	l.settle()
	l.following = false
	total := l.tree.sum(len(l.items))
	l.top, l.line = l.tree.find(y * max(total-l.height, 0) / (height - 1))
	l.top = l.shown(min(l.top, len(l.items)-1))
	l.line = min(l.line, l.exactHeight(l.top)-1)
	l.settle()
	l.selectShown()
}
