package tui

import (
	"slices"

	"github.com/clewdev/clew/internal/rows"
)

// A rowLayout provides the rows of a rowList, in reading order, and lays each of them out. Rows
// change only with a call of [rowList.changed].
type rowLayout interface {
	count() int
	// id returns the identity of a row, which stays the same when other rows are inserted or
	// removed.
	id(i int) rows.ID
	// parent returns the row that a row is below, or -1, and below the number of rows below it, which
	// follow it. Rows below a folded one are hidden.
	parent(i int) int
	below(i int) int
	// hidden reports whether a row is left out.
	hidden(i int) bool
	// startsOpen reports whether a row is open until the user folds it.
	startsOpen(i int) bool
	// lines returns the painted lines of an open row, at least one. folded returns the line of a
	// folded row.
	lines(i, width int) []string
	folded(i, width int) string
	// estimate quickly returns the approximate number of lines that lines would return.
	estimate(i, width int) int
}

// A foldMode selects the rows that are open, apart from rows that the user folded or unfolded
// individually.
type foldMode int

const (
	foldUsual foldMode = iota // rows that start open
	foldAll
	foldNone
)

// A rowList is a scrolling list of rows, some of which are open and have several lines. Its
// position is a row and a line in it, so that no change above it moves the visible text. Only rows
// near the screen are laid out; the heights of others are estimated.
type rowList struct {
	layout        rowLayout
	width, height int
	items         []listItem // by row
	tree          heightTree
	cache         lineCache
	mode          foldMode
	opened        map[rows.ID]bool // rows that the user unfolded, or folded
	revision      int

	top, line int // the row at the top of the screen, and its first line there
	selected  int
	following bool // the end of the list stays at the end of the screen
	fresh     int  // rows below the screen that came since it was left, and were not seen yet
}

// A listItem is the list's record of a row.
type listItem struct {
	id       rows.ID
	revision int  // of the list when the row came or changed
	open     bool // if it is not hidden, its lines are shown
	hidden   bool
	exact    bool // the height is the number of its lines
	fresh    bool // it came while the end was not followed, and was not on the screen yet
	height   int
}

func newRowList(layout rowLayout) *rowList {
	l := &rowList{layout: layout, width: 80, height: 24, opened: map[rows.ID]bool{}, following: true}
	l.changed(0)
	return l
}

// changed updates the list after rows from an index on were changed, inserted or removed. The
// position stays with the row that is read or, if that was removed, with the nearest row before it.
func (l *rowList) changed(from int) {
	from = min(max(from, 0), len(l.items), l.layout.count())
	old := slices.Clone(l.items[from:])
	l.revision++
	l.items = l.items[:from]
	l.tree.cut(from)
	for i := from; i < l.layout.count(); i++ {
		item := listItem{id: l.layout.id(i), revision: l.revision}
		l.items = append(l.items, item)
		l.measure(i)
		l.tree.append(l.items[i].height)
	}
	if from < len(l.items) {
		l.measureParents(from)
	}
	l.moveTo(from, old)
	l.count(from, old)
}

// measureParents measures the rows before an index of which rows from there on are below.
func (l *rowList) measureParents(from int) {
	for p := l.layout.parent(from); p >= 0; p = l.layout.parent(p) {
		l.items[p].revision = l.revision
		l.setHeight(p)
	}
}

// moveTo finds the top and the selected row again after rows from an index on were replaced.
func (l *rowList) moveTo(from int, old []listItem) {
	if l.top < from && l.selected < from {
		return
	}
	index := make(map[rows.ID]int, len(l.items)-from)
	for i := from; i < len(l.items); i++ {
		index[l.items[i].id] = i
	}
	find := func(i int) (int, bool) {
		for was := i; i >= from; i-- {
			if i-from < len(old) {
				if now, ok := index[old[i-from].id]; ok {
					return now, i == was
				}
			}
		}
		return max(i, 0), false
	}
	if l.top >= from {
		same := false
		if l.top, same = find(l.top); !same {
			l.line = 0
		}
	}
	if l.selected >= from {
		l.selected, _ = find(l.selected)
	}
	l.top, l.selected = l.shown(l.top), l.shown(l.selected)
	if l.line > 0 && l.top < len(l.items) {
		l.line = min(l.line, l.exactHeight(l.top)-1)
	}
}

// at returns the item of a row, or the zero value if there is no such row.
func (l *rowList) at(i int) listItem {
	if i < 0 || i >= len(l.items) {
		return listItem{}
	}
	return l.items[i]
}

// count notes which rows from an index on came while the end was not followed.
func (l *rowList) count(from int, old []listItem) {
	known := make(map[rows.ID]bool, len(old)) // and whether they are fresh
	for i := range old {
		known[old[i].id] = old[i].fresh
	}
	for i := from; i < len(l.items); i++ {
		fresh, ok := known[l.items[i].id]
		l.items[i].fresh = !l.following && (fresh || !ok)
	}
	l.countFresh(-1)
}

// countFresh counts the fresh rows that are shown. Those up to the last one on the screen are not
// fresh any more.
func (l *rowList) countFresh(last int) {
	l.fresh = 0
	for i := range l.items {
		item := &l.items[i]
		if item.fresh = item.fresh && i > last && !l.following; item.fresh && !item.hidden {
			l.fresh++
		}
	}
}

// measure finds out whether a row is hidden and open, and its height as far as it is known.
func (l *rowList) measure(i int) {
	item := &l.items[i]
	parent := l.layout.parent(i)
	item.hidden = l.layout.hidden(i) || parent >= 0 && (l.items[parent].hidden || !l.items[parent].open)
	open, ok := l.opened[item.id]
	if !ok {
		open = l.mode == foldNone || l.mode == foldUsual && l.layout.startsOpen(i)
	}
	item.open, item.exact = open, false
	switch {
	case item.hidden:
		item.height = 0
	case item.open:
		item.height = max(l.layout.estimate(i, l.width), 1)
	default:
		item.height, item.exact = 1, true
	}
}

// setHeight measures a row again, and corrects the tree.
func (l *rowList) setHeight(i int) {
	before := l.items[i].height
	l.measure(i)
	l.tree.add(i, l.items[i].height-before)
}

// measureAll measures all rows again.
func (l *rowList) measureAll() {
	l.tree.cut(0)
	for i := range l.items {
		l.measure(i)
		l.tree.append(l.items[i].height)
	}
}

// lines returns the lines of a row that is shown, and corrects its height.
func (l *rowList) lines(i int) []string {
	item := &l.items[i]
	if item.hidden {
		return nil
	}
	key := lineKey{item.id, item.revision, l.width, item.open}
	lines, ok := l.cache.get(key)
	if !ok {
		if item.open {
			lines = l.layout.lines(i, l.width)
		} else {
			lines = []string{l.layout.folded(i, l.width)}
		}
		l.cache.put(key, lines)
	}
	if item.height != len(lines) {
		l.tree.add(i, len(lines)-item.height)
		item.height = len(lines)
	}
	item.exact = true
	return lines
}

// exactHeight returns the height of a row, which is laid out for it if need be.
func (l *rowList) exactHeight(i int) int {
	if !l.items[i].exact {
		l.lines(i)
	}
	return l.items[i].height
}

// resize sets the size. The line that was at the top stays there as nearly as a different width
// allows, unless the selected row would leave the screen.
func (l *rowList) resize(width, height int) {
	width, height = max(width, 1), max(height, 0)
	if width == l.width && height == l.height {
		return
	}
	seen := l.isOnScreen()
	if width != l.width {
		before := 0
		if l.top < len(l.items) && l.line > 0 {
			before = l.exactHeight(l.top)
		}
		l.width = width
		l.measureAll()
		if before > 0 {
			l.line = min(l.line*l.exactHeight(l.top)/before, l.exactHeight(l.top)-1)
		}
	}
	l.height = height
	if y := l.height - 1; seen && height > 0 && !l.following && !l.isOnScreen() {
		l.top, l.line = l.selected, 0
		l.move(-y)
	}
}

// isOnScreen reports whether a line of the selected row is on the screen.
func (l *rowList) isOnScreen() bool {
	return len(l.items) > 0 && l.selected >= l.top && l.screenLine(l.selected) < l.height
}

// A drawnRow identifies the row that a line of the screen shows, and the line in that row.
type drawnRow struct{ row, line int }

// draw lays out what fits into the screen. It returns its lines, and for each the row that it shows.
func (l *rowList) draw(width, height int) ([]string, []drawnRow) {
	l.resize(width, height)
	if len(l.items) == 0 || height <= 0 {
		return nil, nil
	}
	l.layFew()
	l.settle()
	lines, drawn := make([]string, 0, height), make([]drawnRow, 0, height)
	for i, from := l.top, l.line; i < len(l.items) && len(lines) < height; i, from = i+1, 0 {
		for k, line := range l.lines(i) {
			if k >= from && len(lines) < height {
				lines, drawn = append(lines, line), append(drawn, drawnRow{i, k})
			}
		}
	}
	if l.fresh > 0 && len(drawn) > 0 {
		l.countFresh(drawn[len(drawn)-1].row)
	}
	return lines, drawn
}

// layFew lays all rows out if that is little work. Then the scrollbar is exact.
func (l *rowList) layFew() {
	const fewRows, fewItems = 40, 1000
	if len(l.items) > fewItems {
		return
	}
	var few []int
	for i, item := range l.items {
		if !item.hidden && !item.exact {
			few = append(few, i)
		}
	}
	if len(few) <= fewRows {
		for _, i := range few {
			l.lines(i)
		}
	}
}

// settle makes the position valid: no room is left below the end if there is something above, and
// the end is at the end of the screen while it is followed.
func (l *rowList) settle() {
	if len(l.items) == 0 {
		return
	}
	endTop, endLine := l.endPosition()
	switch {
	case l.following:
		l.top, l.line = endTop, endLine
		l.selected = l.lastShown()
	case l.after(endTop, endLine):
		l.top, l.line = endTop, endLine
	}
}

// after reports whether the position is after another one.
func (l *rowList) after(top, line int) bool { return l.top > top || l.top == top && l.line > line }

// endPosition returns the position at which the end of the list is at the end of the screen.
func (l *rowList) endPosition() (top, line int) {
	rest := max(l.height, 1)
	for i := len(l.items) - 1; i >= 0; i-- {
		if l.items[i].hidden {
			continue
		}
		h := l.exactHeight(i)
		if top = i; h >= rest {
			return i, h - rest
		}
		rest -= h
	}
	return top, 0
}

// next returns the next row that is shown, in a direction, or -1.
func (l *rowList) next(i, direction int) int {
	for i += direction; i >= 0 && i < len(l.items); i += direction {
		if !l.items[i].hidden {
			return i
		}
	}
	return -1
}

// shown returns a row that is shown: row i itself, its parent, or the nearest row.
func (l *rowList) shown(i int) int {
	i = max(min(i, len(l.items)-1), 0)
	for i < len(l.items) && l.items[i].hidden && l.layout.parent(i) >= 0 {
		i = l.layout.parent(i)
	}
	if !l.at(i).hidden {
		return i
	}
	if before := l.next(i, -1); before >= 0 {
		return before
	}
	return max(l.next(i, 1), 0)
}

func (l *rowList) lastShown() int { return max(l.next(len(l.items), -1), 0) }

// setOpen folds or unfolds a row. The position stays, unless it is hidden now.
func (l *rowList) setOpen(row int, open bool) {
	if row < 0 || row >= len(l.items) || l.items[row].open == open {
		return
	}
	l.opened[l.items[row].id] = open
	last := row + l.layout.below(row)
	for i := row; i <= last && i < len(l.items); i++ {
		l.setHeight(i)
	}
	if l.top >= row && l.top <= last && (l.top == row && !open || l.items[l.top].hidden) {
		l.top, l.line = l.shown(l.top), 0
	}
	l.selected = l.shown(l.selected)
}

// toggle folds or unfolds the selected row. As much as possible of the unfolded row is shown.
func (l *rowList) toggle() {
	if len(l.items) == 0 {
		return
	}
	l.settle()
	row := l.selected
	open := !l.items[row].open
	l.setOpen(row, open)
	if !open || l.following {
		return
	}
	end := l.exactHeight(row)
	for i := l.next(row, 1); i >= 0 && i <= row+l.layout.below(row) && end < l.height; i = l.next(i, 1) {
		end += l.exactHeight(i)
	}
	if y := l.screenLine(row); y+end > l.height {
		l.move(min(y+end-l.height, max(y, 0)))
	}
}

// setMode folds or unfolds all rows.
func (l *rowList) setMode(mode foldMode) {
	l.settle()
	l.mode = mode
	clear(l.opened)
	l.remeasure()
}

// remeasure lays all rows out again, after others of them are hidden or open. The screen stays at the
// selected row, as far as that is possible.
func (l *rowList) remeasure() {
	y := max(l.screenLine(l.selected), 0)
	l.measureAll()
	if len(l.items) == 0 {
		return
	}
	l.selected = l.shown(l.selected)
	if !l.following {
		l.top, l.line = l.selected, 0
		l.move(-min(y, max(l.height-1, 0)))
	}
}

// place returns the number of the selected row among the shown rows, and the number of shown rows.
func (l *rowList) place() (number, count int) {
	for i := range l.items {
		if l.items[i].hidden {
			continue
		}
		count++
		if i <= l.selected {
			number++
		}
	}
	return number, count
}

// thumb returns the lines of a scrollbar of some height that are marked, or an empty range if
// everything is on the screen.
func (l *rowList) thumb(height int) (from, to int) {
	total := l.tree.sum(len(l.items))
	if height <= 0 || total <= l.height {
		return 0, 0
	}
	offset := l.tree.sum(l.top) + l.line
	size := max(height*l.height/total, 1)
	from = (height - size) * offset / max(total-l.height, 1)
	from = max(min(from, height-size), 0)
	return from, from + size
}
