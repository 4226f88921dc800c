package transcript

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/clewdev/clew/tooluse"
)

// A FileDiff describes the changes of a call to a file.
type FileDiff struct {
	// Path is the path of the file as the call or its result names it, usually an absolute one. It
	// comes from the transcript and is not checked.
	Path string
	// Created reports whether the call made the file.
	Created bool
	// Deleted reports whether the call deleted the file. Only commands do.
	Deleted bool
	// Hunks are the changes in the order of the file, usually with three unchanged lines before and
	// after each. It is empty if an empty file was made, and if Unknown is set.
	Hunks []tooluse.Hunk
	// Added is the number of lines that the change adds.
	Added int
	// Removed is the number of lines that it removes. A changed line counts in both.
	Removed int
	// Relative reports whether line numbers count from the piece that was replaced, since the file
	// is not known. Such a diff can be shown, but [FileDiff.Apply] returns an error.
	Relative bool
	// Unknown reports whether it is only known that the file was changed. Then Hunks is empty.
	Unknown bool
}

const noNewline = `\ No newline at end of file`

// newFileDiff returns the diff of a file with these hunks.
func newFileDiff(path string, hunks []tooluse.Hunk) *FileDiff {
	d := &FileDiff{Path: path, Hunks: hunks}
	for _, h := range hunks {
		for _, line := range h.Lines {
			switch {
			case strings.HasPrefix(line, "+"):
				d.Added++
			case strings.HasPrefix(line, "-"):
				d.Removed++
			}
		}
	}
	return d
}

// String returns the change as a unified diff. A file that was made or deleted has the name
// /dev/null on one side. Without hunks it is only the two lines with the names.
func (d *FileDiff) String() string {
	var b strings.Builder
	b.WriteString("--- " + diffName("a/", d.Path, d.Created) + "\n")
	b.WriteString("+++ " + diffName("b/", d.Path, d.Deleted) + "\n")
	for _, h := range d.Hunks {
		fmt.Fprintf(&b, "@@ -%d,%d +%d,%d @@\n", h.OldStart, h.OldLines, h.NewStart, h.NewLines)
		for _, line := range h.Lines {
			b.WriteString(line)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// diffName returns how a file is called in a unified diff.
func diffName(side, path string, absent bool) string {
	if absent {
		return "/dev/null"
	}
	name := side + strings.TrimPrefix(path, "/")
	if !isLine(name) {
		return strconv.Quote(name)
	}
	return name
}

var errMisfit = errors.New("transcript: the diff does not fit the file")

// Apply returns the content of a file after the change, if its content was old. It returns an error
// if the change does not fit, or is Relative or Unknown. old must be the whole file, with its line
// ends.
func (d *FileDiff) Apply(old string) (string, error) {
	if d.Relative || d.Unknown {
		return "", errMisfit
	}
	lines := splitLines(old)
	var b strings.Builder
	next := 0 // the first line that is not copied yet
	for _, h := range d.Hunks {
		start := h.OldStart - 1
		if h.OldLines == 0 {
			start = h.OldStart
		}
		if start < next || start > len(lines) {
			return "", errMisfit
		}
		for _, line := range lines[next:start] {
			b.WriteString(line)
		}
		used, ok := applyHunk(&h, &b, lines[start:])
		if !ok {
			return "", errMisfit
		}
		next = start + used
	}
	for _, line := range lines[next:] {
		b.WriteString(line)
	}
	return b.String(), nil
}

// applyHunk writes what becomes of lines, and returns how many of them the hunk is about. It
// returns false if the lines differ from the hunk's.
func applyHunk(h *tooluse.Hunk, b *strings.Builder, lines []string) (used int, ok bool) {
	for i, line := range h.Lines {
		if line == "" {
			return 0, false
		}
		text := line[1:] + "\n"
		if i+1 < len(h.Lines) && strings.HasPrefix(h.Lines[i+1], `\`) {
			text = line[1:]
		}
		switch line[0] {
		case ' ', '-':
			if used >= len(lines) || lines[used] != text {
				return 0, false
			}
			used++
		case '\\':
			continue
		case '+':
		default:
			return 0, false
		}
		if line[0] != '-' {
			b.WriteString(text)
		}
	}
	return used, true
}

// splitLines returns the lines of a text with their ends.
func splitLines(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// maxDiffSteps limits the time of a comparison, and maxDiffEdits its memory. Texts that need more
// are replaced as a whole.
const (
	maxDiffSteps = 20_000_000
	maxDiffEdits = 1_500
	contextLines = 3
)

// diffText returns the hunks that make the text after of the text before. It looks only at the lines
// around what differs.
func diffText(before, after string) []tooluse.Hunk {
	from, to := equalEnds(before, after)
	skipped := strings.Count(before[:from], "\n")
	a, b := splitLines(before[from:len(before)-to]), splitLines(after[from:len(after)-to])
	hunks := hunksOf(a, b, compareLines(a, b))
	for i := range hunks {
		hunks[i].OldStart += skipped
		hunks[i].NewStart += skipped
	}
	return hunks
}

// equalEnds returns how many bytes two texts have in common at the start and at the end: whole
// lines, without contextLines of them at each side of the difference.
func equalEnds(a, b string) (head, tail int) {
	const block = 256
	most := min(len(a), len(b))
	for head+block <= most && a[head:head+block] == b[head:head+block] {
		head += block
	}
	for head < most && a[head] == b[head] {
		head++
	}
	head = strings.LastIndexByte(a[:head], '\n') + 1
	most -= head
	for tail+block <= most && a[len(a)-tail-block:len(a)-tail] == b[len(b)-tail-block:len(b)-tail] {
		tail += block
	}
	for tail < most && a[len(a)-tail-1] == b[len(b)-tail-1] {
		tail++
	}
	for range contextLines {
		head = strings.LastIndexByte(a[:max(head-1, 0)], '\n') + 1
	}
	rest := a[len(a)-tail:]
	for range contextLines + 1 { // the first line may be only the end of one
		_, rest = cutLine(rest)
	}
	return head, len(rest)
}

// A change replaces the lines a[fromA:toA] by b[fromB:toB].
type change struct{ fromA, toA, fromB, toB int }

// compareLines returns what differs, in order. Equal lines at the beginning and the end are left
// out first, so little is left to compare after most edits.
func compareLines(a, b []string) []change {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	all := change{head, len(a) - tail, head, len(b) - tail}
	if all.fromA == all.toA && all.fromB == all.toB {
		return nil
	}
	if all.fromA == all.toA || all.fromB == all.toB {
		return []change{all}
	}
	changes, ok := shortestEdit(numberLines(a[all.fromA:all.toA], b[all.fromB:all.toB]))
	if !ok {
		return []change{all}
	}
	for i := range changes {
		c := &changes[i]
		*c = change{c.fromA + head, c.toA + head, c.fromB + head, c.toB + head}
	}
	return changes
}

// numberLines gives equal lines equal numbers.
func numberLines(a, b []string) (x, y []int32) {
	numbers := map[string]int32{}
	all := make([]int32, 0, len(a)+len(b))
	for _, lines := range [][]string{a, b} {
		for _, line := range lines {
			n, ok := numbers[line]
			if !ok {
				n = int32(len(numbers))
				numbers[line] = n
			}
			all = append(all, n)
		}
	}
	return all[:len(a)], all[len(a):]
}

// shortestEdit finds the smallest number of lines to remove and to add, by following the furthest
// paths that n edits can reach for n = 0, 1, 2, … (Myers, 1986). It returns false if that is too
// much work.
func shortestEdit(a, b []int32) ([]change, bool) {
	limit := min(len(a)+len(b), maxDiffEdits)
	furthest := make([]int32, 2*limit+3) // by diagonal x-y, shifted by limit+1: how far x goes
	var trace [][]int32                  // furthest before each number of edits, from diagonal -n to n
	steps := 0
	for n := range limit + 1 {
		trace = append(trace, append([]int32(nil), furthest[limit+1-n:limit+1+n+1]...))
		for k := -n; k <= n; k += 2 {
			x := advance(furthest, limit+1+k, n, k)
			from := x
			for x < len(a) && x-k < len(b) && x-k >= 0 && a[x] == b[x-k] {
				x++
			}
			furthest[limit+1+k] = int32(x)
			if x >= len(a) && x-k >= len(b) {
				return retrace(trace, len(a), len(b)), true
			}
			if steps += 1 + x - from; steps > maxDiffSteps {
				return nil, false
			}
		}
	}
	return nil, false
}

// advance returns where diagonal k starts with n edits: one down from the diagonal above, or one
// right from that below.
func advance(furthest []int32, at, n, k int) int {
	if n == 0 {
		return 0
	}
	if k == -n || k != n && furthest[at-1] < furthest[at+1] {
		return int(furthest[at+1])
	}
	return int(furthest[at-1]) + 1
}

// retrace follows the way back from the end, and returns its edits, those side by side as one.
func retrace(trace [][]int32, x, y int) []change {
	var edits []change // single lines, from the last to the first
	for n := len(trace) - 1; n > 0; n-- {
		before := trace[n] // from diagonal -n to n
		k := x - y
		down := k == -n || k != n && before[n+k-1] < before[n+k+1]
		if down {
			k++
		} else {
			k--
		}
		fromX := int(before[n+k])
		fromY := fromX - k
		if down {
			edits = append(edits, change{fromX, fromX, fromY, fromY + 1})
		} else {
			edits = append(edits, change{fromX, fromX + 1, fromY, fromY})
		}
		x, y = fromX, fromY
	}
	return join(edits)
}

// join makes one change of edits that touch each other. They come last first.
func join(edits []change) []change {
	var changes []change
	for i := len(edits) - 1; i >= 0; i-- {
		e := edits[i]
		if n := len(changes); n > 0 && changes[n-1].toA == e.fromA && changes[n-1].toB == e.fromB {
			changes[n-1].toA, changes[n-1].toB = e.toA, e.toB
			continue
		}
		changes = append(changes, e)
	}
	return changes
}

// hunksOf puts changes that are near each other into one hunk, with lines around them.
func hunksOf(a, b []string, changes []change) []tooluse.Hunk {
	var hunks []tooluse.Hunk
	for len(changes) > 0 {
		n := 1
		for n < len(changes) && changes[n].fromA-changes[n-1].toA <= 2*contextLines {
			n++
		}
		hunks = append(hunks, hunkOf(a, b, changes[:n]))
		changes = changes[n:]
	}
	return hunks
}

// hunkOf makes a hunk of changes, with up to contextLines unchanged lines before and after. A side
// without lines starts at the line before, as in a unified diff.
func hunkOf(a, b []string, changes []change) tooluse.Hunk {
	first, last := changes[0], changes[len(changes)-1]
	before, after := min(first.fromA, contextLines), min(len(a)-last.toA, contextLines)
	h := tooluse.Hunk{
		OldStart: first.fromA - before + 1, OldLines: last.toA + after - (first.fromA - before),
		NewStart: first.fromB - before + 1, NewLines: last.toB + after - (first.fromB - before),
	}
	if h.OldLines == 0 {
		h.OldStart--
	}
	if h.NewLines == 0 {
		h.NewStart--
	}
	same := first.fromA - before
	for _, c := range changes {
		addLines(&h, " ", a[same:c.fromA])
		addLines(&h, "-", a[c.fromA:c.toA])
		addLines(&h, "+", b[c.fromB:c.toB])
		same = c.toA
	}
	addLines(&h, " ", a[same:last.toA+after])
	return h
}

// addLines appends lines to a hunk, with a mark in front of each.
func addLines(h *tooluse.Hunk, mark string, lines []string) {
	for _, line := range lines {
		text, ended := strings.CutSuffix(line, "\n")
		h.Lines = append(h.Lines, mark+text)
		if !ended {
			h.Lines = append(h.Lines, noNewline)
		}
	}
}
