package record

import (
	"fmt"
	"strconv"
	"strings"
)

// A Direction is the first character of a line of a dialogue.
type Direction byte

// The directions of a dialogue.
const (
	fromHost  Direction = '>'
	fromAgent Direction = '<'
	prose     Direction = '#'
)

// A Line is a frame, or a line of prose.
type Line struct {
	Direction Direction
	Text      string
}

// A Recording is a dialogue as it was, or was read.
type Recording struct {
	Lines []Line
}

func (r *Recording) add(d Direction, text string) { r.Lines = append(r.Lines, Line{d, text}) }

// header adds the lines that stand before the first frame.
func (r *Recording) header(s *Scenario, version string) {
	r.add(prose, "CLI "+version+" (Claude Code)")
	args := "args"
	for _, arg := range s.arguments() {
		args += " " + strconv.Quote(arg)
	}
	r.add(prose, args)
}

// Frames returns the frames of one direction, in order.
func (r *Recording) Frames(d Direction) []string {
	var frames []string
	for _, line := range r.Lines {
		if line.Direction == d {
			frames = append(frames, line.Text)
		}
	}
	return frames
}

// String returns the text of the dialogue file.
func (r *Recording) String() string {
	var b strings.Builder
	for _, line := range r.Lines {
		fmt.Fprintf(&b, "%c %s\n", line.Direction, line.Text)
	}
	return b.String()
}

// Parse reads the text of a dialogue file. Lines that are none of a dialogue are left out.
func Parse(text string) *Recording {
	r := new(Recording)
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if rest, ok := strings.CutPrefix(line[min(1, len(line)):], " "); ok && strings.ContainsRune("<>#", rune(line[0])) {
			r.add(Direction(line[0]), rest)
		}
	}
	return r
}
