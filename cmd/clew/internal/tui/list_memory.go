package tui

import (
	"container/list"

	"github.com/clewdev/clew/internal/rows"
)

// A heightTree is a Fenwick tree of the heights of rows: sums, changes and searches take time in
// proportion to the logarithm of their number.
type heightTree struct {
	sums []int // sums[i-1] is the sum of the heights of as many rows up to row i-1 as the lowest bit of i says
}

// lowest returns the lowest bit of a number.
func lowest(i int) int { return i & -i }

// cut removes the rows from an index on.
func (t *heightTree) cut(n int) { t.sums = t.sums[:n] }

// append adds a row.
func (t *heightTree) append(height int) {
	i := len(t.sums) + 1
	for k := i - 1; k > i-lowest(i); k -= lowest(k) {
		height += t.sums[k-1]
	}
	t.sums = append(t.sums, height)
}

// add makes a row higher by some lines, which may be negative.
func (t *heightTree) add(row, lines int) {
	if lines == 0 {
		return
	}
	for i := row + 1; i <= len(t.sums); i += lowest(i) {
		t.sums[i-1] += lines
	}
}

// sum returns the height of the first n rows.
func (t *heightTree) sum(n int) (lines int) {
	for i := n; i > 0; i -= lowest(i) {
		lines += t.sums[i-1]
	}
	return lines
}

// find returns the row that has a line, counted from the first row's, and the line in it. It returns
// the number of rows if there is none.
func (t *heightTree) find(line int) (row, in int) {
	step := 1
	for step <= len(t.sums) {
		step <<= 1
	}
	for ; step > 0; step >>= 1 {
		if next := row + step; next <= len(t.sums) && t.sums[next-1] <= line {
			row = next
			line -= t.sums[next-1]
		}
	}
	return row, line
}

// A lineKey identifies the lines of a row that was laid out.
type lineKey struct {
	id       rows.ID
	revision int
	width    int
	open     bool
}

// maxCached is the maximum size of the cached lines in bytes.
const maxCached = 16 << 20

// A lineCache keeps the lines of rows that were laid out last. The zero value is empty.
type lineCache struct {
	entries map[lineKey]*list.Element
	order   list.List // of *cachedLines, the last used one first
	size    int
}

type cachedLines struct {
	key   lineKey
	lines []string
	size  int
}

func (c *lineCache) get(key lineKey) ([]string, bool) {
	e, ok := c.entries[key]
	if !ok {
		return nil, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*cachedLines).lines, true //nolint:forcetypeassert // there are no others
}

func (c *lineCache) put(key lineKey, lines []string) {
	if c.entries == nil {
		c.entries = map[lineKey]*list.Element{}
	}
	const overhead = 200 // of an entry, about
	entry := &cachedLines{key, lines, overhead}
	for _, line := range lines {
		entry.size += len(line) + 16
	}
	c.size += entry.size
	c.entries[key] = c.order.PushFront(entry)
	for c.size > maxCached && c.order.Len() > 1 {
		last := c.order.Remove(c.order.Back()).(*cachedLines) //nolint:forcetypeassert // there are no others
		delete(c.entries, last.key)
		c.size -= last.size
	}
}
