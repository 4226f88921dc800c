package tui

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/rows"
	"github.com/clewdev/clew/internal/soak"
)

// A fakeRow is a row with a fixed number of lines, and more on a narrow screen.
type fakeRow struct {
	id     int
	depth  int
	lines  int
	open   bool
	hidden bool
}

type fakeLayout struct{ rows []fakeRow }

func (f *fakeLayout) count() int            { return len(f.rows) }
func (f *fakeLayout) id(i int) rows.ID      { return rows.ID(fmt.Sprint(f.rows[i].id)) }
func (f *fakeLayout) hidden(i int) bool     { return f.rows[i].hidden }
func (f *fakeLayout) startsOpen(i int) bool { return f.rows[i].open }

func (f *fakeLayout) parent(i int) int {
	for k := i - 1; k >= 0; k-- {
		if f.rows[k].depth < f.rows[i].depth {
			return k
		}
	}
	return -1
}

func (f *fakeLayout) below(i int) int {
	n := 0
	for n+i+1 < len(f.rows) && f.rows[n+i+1].depth > f.rows[i].depth {
		n++
	}
	return n
}

func (f *fakeLayout) lines(i, width int) []string {
	lines := make([]string, 1+f.rows[i].lines*100/(width+20))
	for k := range lines {
		lines[k] = fmt.Sprintf("%d.%d", f.rows[i].id, k)
	}
	return lines
}

func (f *fakeLayout) folded(i, _ int) string { return fmt.Sprintf("%d", f.rows[i].id) }
func (f *fakeLayout) estimate(i, _ int) int  { return 2 + f.rows[i].id%7 }

// flat returns all lines that the list can show.
func flat(l *rowList) (lines []string) {
	for i, item := range l.items {
		switch {
		case item.hidden:
		case item.open:
			lines = append(lines, l.layout.lines(i, l.width)...)
		default:
			lines = append(lines, l.layout.folded(i, l.width))
		}
	}
	return lines
}

// checkList draws the list, and checks everything that always holds.
func checkList(t *testing.T, l *rowList, width, height int) []string {
	t.Helper()
	lines, drawn := l.draw(width, height)
	all := flat(l)
	if want := min(height, len(all)); len(lines) != want || len(drawn) != want {
		t.Fatalf("%d lines, want %d of %d", len(lines), want, len(all))
	}
	if len(lines) == 0 {
		return nil
	}
	from := slices.Index(all, lines[0])
	if from < 0 || !slices.Equal(all[from:from+len(lines)], lines) {
		t.Fatalf("drawn: %q, which is no part of %q", lines, all)
	}
	sum := 0
	for i, item := range l.items {
		if got := l.tree.sum(i); got != sum {
			t.Fatalf("the tree has %d lines before row %d, want %d", got, i, sum)
		}
		sum += item.height
	}
	if l.items[l.selected].hidden {
		t.Fatalf("row %d is selected, which is hidden", l.selected)
	}
	if l.following && lines[len(lines)-1] != all[len(all)-1] {
		t.Fatalf("it follows, but the last line is %q, and not %q", lines[len(lines)-1], all[len(all)-1])
	}
	return lines
}

// randomRow returns a row. Its ID is larger than any before.
func randomRow(random *rand.Rand, next *int, depth int) fakeRow {
	*next++
	return fakeRow{
		id: *next, depth: depth, lines: random.IntN(12), open: random.IntN(2) == 0, hidden: depth > 0 && random.IntN(9) == 0,
	}
}

func randomRows(random *rand.Rand, next *int, n int) (all []fakeRow) {
	depth := 0
	for range n {
		all = append(all, randomRow(random, next, depth))
		depth = max(min(depth+random.IntN(3)-1, 3), 0)
	}
	return all
}

// Whatever happens, a part of the list is drawn; and whatever happens above, the same part.
func TestRowListRandomly(t *testing.T) {
	t.Parallel()
	for seed := range soak.Size(100, 3000) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(uint64(seed), 2)) //nolint:gosec // a test
			next := 0
			f := &fakeLayout{rows: randomRows(random, &next, random.IntN(60))}
			l := newRowList(f)
			width, height := 1+random.IntN(200), 1+random.IntN(60)
			for range 60 {
				switch random.IntN(3) {
				case 0:
					moveRandomly(random, l)
				case 1:
					width, height = changeRandomly(random, l, f, &next, width, height)
				default:
					checkAbove(t, random, l, f, &next, width, height)
				}
				checkList(t, l, width, height)
			}
		})
	}
}

// moveRandomly does something that the user may do.
func moveRandomly(random *rand.Rand, l *rowList) {
	row := random.IntN(max(len(l.items), 1))
	switch random.IntN(12) {
	case 0:
		l.down()
	case 1:
		l.up()
	case 2:
		l.page(1)
	case 3:
		l.page(-0.5)
	case 4:
		l.scroll(random.IntN(40) - 20)
	case 5:
		l.begin()
	case 6:
		l.end()
	case 7:
		l.reveal(row, random.IntN(10), random.IntN(10))
	case 8:
		l.setOpen(row, random.IntN(2) == 0)
	case 9:
		l.toggle()
	case 10:
		l.setMode(foldMode(random.IntN(3)))
	case 11:
		l.jump(random.IntN(20), 20)
	}
}

// changeRandomly appends, removes or changes rows, or changes the size.
func changeRandomly(random *rand.Rand, l *rowList, f *fakeLayout, next *int, width, height int) (int, int) {
	from := random.IntN(len(f.rows) + 1)
	switch random.IntN(4) {
	case 0:
		from = len(f.rows)
		f.rows = append(f.rows, randomRows(random, next, random.IntN(5))...)
	case 1:
		f.rows = f.rows[:from]
	case 2:
		return 1 + random.IntN(200), 1 + random.IntN(60)
	default:
		f.rows = append(slices.Clone(f.rows[:from]), randomRows(random, next, random.IntN(20))...)
	}
	l.changed(from)
	return width, height
}

// checkAbove changes something above the line at the top. The line at the top stays, and so does the selection.
func checkAbove(t *testing.T, random *rand.Rand, l *rowList, f *fakeLayout, next *int, width, height int) {
	t.Helper()
	before := checkList(t, l, width, height)
	root := l.top // a row without a parent, so that nothing above hides it
	for root > 0 && f.rows[root].depth > 0 {
		root--
	}
	if l.following || root == 0 || len(before) < height { // all that there is stays at the top
		return
	}
	selected := l.items[l.selected].id
	row := random.IntN(root)
	switch random.IntN(3) {
	case 0:
		f.rows = slices.Insert(slices.Clone(f.rows), row, randomRows(random, next, 1+random.IntN(9))...)
		l.changed(row)
	case 1:
		f.rows = slices.Delete(slices.Clone(f.rows), row, row+1)
		l.changed(row)
	default:
		if last := row + f.below(row); last >= l.top {
			return
		}
		l.setOpen(row, !l.items[row].open)
	}
	if diff := cmp.Diff(before, checkList(t, l, width, height)); diff != "" {
		t.Fatalf("a change of row %d moved what is read (-before +after):\n%s", row, diff)
	}
	if l.items[l.selected].id != selected {
		t.Fatalf("row %s is selected, and not %s", l.items[l.selected].id, selected)
	}
}

func TestRowListFollows(t *testing.T) {
	t.Parallel()
	f := &fakeLayout{rows: []fakeRow{{id: 1}, {id: 2}, {id: 3}, {id: 4}}}
	l := newRowList(f)
	grow := func(ids ...int) {
		from := len(f.rows)
		for _, id := range ids {
			f.rows = append(f.rows, fakeRow{id: id})
		}
		l.changed(from)
	}
	steps := []struct {
		name  string
		do    func()
		want  []string
		fresh int
	}{
		{"begins at the end", func() {}, []string{"3", "4"}, 0},
		{"stays at the end", func() { grow(5) }, []string{"4", "5"}, 0},
		{"is left by moving up", l.up, []string{"4", "5"}, 0},
		{"counts what comes", func() { grow(6, 7) }, []string{"4", "5"}, 2},
		{"counts on", func() { grow(8) }, []string{"4", "5"}, 3},
		{"counts what is below the screen", func() { l.scroll(1) }, []string{"5", "6"}, 2},
		{"counts nothing twice", func() { l.scroll(-2) }, []string{"3", "4"}, 2},
		{"counts nothing at the end", func() { l.page(9) }, []string{"7", "8"}, 0},
		{"is not entered by moving down", func() { grow(9) }, []string{"7", "8"}, 1},
		{"does not count what comes on the screen", func() { l.page(1) }, []string{"8", "9"}, 0},
		{"counts on after that", func() { grow(10) }, []string{"8", "9"}, 1},
		{"is entered at the end", l.end, []string{"9", "10"}, 0},
		{"follows again", func() { grow(11) }, []string{"10", "11"}, 0},
	}
	for _, step := range steps {
		step.do()
		if got, _ := l.draw(80, 2); !slices.Equal(got, step.want) || l.fresh != step.fresh {
			t.Errorf("%s: %q with %d new, want %q with %d", step.name, got, l.fresh, step.want, step.fresh)
		}
	}
}

// A long row is read line by line, and then the next one is selected.
func TestRowListLongRow(t *testing.T) {
	t.Parallel()
	f := &fakeLayout{rows: []fakeRow{{id: 1}, {id: 2, lines: 4, open: true}, {id: 3}, {id: 4}}}
	l := newRowList(f)
	l.begin()
	type state struct {
		Lines    []string
		Selected rows.ID
	}
	var got []state
	record := func() {
		lines, _ := l.draw(80, 3)
		got = append(got, state{lines, l.items[l.selected].id})
	}
	record()
	for range 6 {
		l.down()
		record()
	}
	for range 3 {
		l.up()
		record()
	}
	want := []state{
		{[]string{"1", "2.0", "2.1"}, "1"},
		{[]string{"1", "2.0", "2.1"}, "2"},
		{[]string{"2.0", "2.1", "2.2"}, "2"},
		{[]string{"2.1", "2.2", "2.3"}, "2"},
		{[]string{"2.2", "2.3", "2.4"}, "2"},
		{[]string{"2.3", "2.4", "3"}, "3"},
		{[]string{"2.4", "3", "4"}, "4"},
		{[]string{"2.4", "3", "4"}, "3"},
		{[]string{"2.4", "3", "4"}, "2"},
		{[]string{"2.3", "2.4", "3"}, "2"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestHeightTree(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test
	var tree heightTree
	var heights []int
	for range 2000 {
		switch n := len(heights); {
		case n > 0 && random.IntN(20) == 0:
			n = random.IntN(n)
			tree.cut(n)
			heights = heights[:n]
		case n > 0 && random.IntN(2) == 0:
			i, by := random.IntN(n), random.IntN(5)
			tree.add(i, by)
			heights[i] += by
		default:
			h := random.IntN(4)
			tree.append(h)
			heights = append(heights, h)
		}
		sum := 0
		for i, h := range heights {
			if got := tree.sum(i); got != sum {
				t.Fatalf("sum(%d) = %d, want %d", i, got, sum)
			}
			if h > 0 {
				if row, in := tree.find(sum + h - 1); row != i || in != h-1 {
					t.Fatalf("find(%d) = %d, %d, want %d, %d", sum+h-1, row, in, i, h-1)
				}
			}
			sum += h
		}
	}
}

func TestLineCacheIsBounded(t *testing.T) {
	t.Parallel()
	var c lineCache
	line := []string{string(make([]byte, 1<<20))}
	for i := range 40 {
		c.put(lineKey{revision: i}, line)
		c.get(lineKey{revision: 0})
	}
	if _, ok := c.get(lineKey{revision: 0}); !ok {
		t.Error("what is used most was dropped")
	}
	if _, ok := c.get(lineKey{revision: 5}); ok || c.size > maxCached || len(c.entries) > 16 {
		t.Errorf("%d entries of %d bytes", len(c.entries), c.size)
	}
}
