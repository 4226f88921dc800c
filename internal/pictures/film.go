package main

import (
	"slices"
	"strings"
	"time"
)

// A frame is what is on the screen from a time on.
type frame struct {
	at    time.Duration
	lines [][]cell
}

const (
	quantum  = 120 * time.Millisecond // there is at most one frame in each stretch of this length
	longest  = 3 * time.Second        // what takes longer is cut to it
	lastHold = 5 * time.Second        // how long the last frame is seen
)

// filmOf returns the frames of a recording. They begin where the first command is on the screen, so that there is
// something to read.
func filmOf(pieces []piece) ([]frame, error) {
	pieces = withoutPauses(pieces)
	t := newTerminal()
	var frames []frame
	for i, p := range pieces {
		if err := t.write(p.text); err != nil {
			return nil, err
		}
		if i+1 < len(pieces) && pieces[i+1].at/quantum == p.at/quantum {
			continue
		}
		frames = append(frames, frame{p.at, t.snapshot()})
	}
	frames = frames[max(firstWith(frames, "$ "), 0):]
	first := frames[0].at
	for i := range frames {
		frames[i].at -= first
	}
	return frames, nil
}

// withoutPauses cuts what is too long to wait for.
func withoutPauses(pieces []piece) []piece {
	pieces = slices.Clone(pieces)
	var cut, before time.Duration
	for i := range pieces {
		at := pieces[i].at
		cut += max(at-before-longest, 0)
		pieces[i].at, before = at-cut, at
	}
	return pieces
}

// firstWith returns the index of the first frame with a line that begins so, or -1.
func firstWith(frames []frame, beginning string) int {
	return slices.IndexFunc(frames, func(f frame) bool {
		return slices.ContainsFunc(f.lines, func(line []cell) bool { return strings.HasPrefix(text(line), beginning) })
	})
}

func (t *terminal) snapshot() [][]cell {
	lines := make([][]cell, len(t.lines))
	for i, line := range t.lines {
		lines[i] = slices.Clone(line)
	}
	return lines
}

// text returns a line without its styles.
func text(line []cell) string {
	var b strings.Builder
	for _, c := range line {
		if c.char == 0 {
			c.char = ' '
		}
		b.WriteRune(c.char)
	}
	return strings.TrimRight(b.String(), " ")
}

// poster returns the index of the frame that stands for all of them: the one with the question, or the last.
func poster(frames []frame) int {
	if i := firstWith(frames, "Allow it?"); i >= 0 {
		return i
	}
	return len(frames) - 1
}
