package transcript

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/clewdev/clew/wire"
)

// A FileDiff tells what a call changed in a file.
type FileDiff struct {
	Path string
	// Created and Deleted say that the file is there only after or only before.
	Created bool
	Deleted bool
	Hunks   []Hunk
	// Added and Removed count the lines.
	Added   int
	Removed int
	// Relative says that the line numbers count from the piece that was replaced, since the file itself is not known.
	Relative bool
	// Unknown says that the file was changed, but not how: there are no hunks.
	Unknown bool
}

// A Hunk is a piece of a file that was changed, with some lines around it.
type Hunk struct {
	// OldStart and NewStart are the numbers of the first line, counted from 1, or the number of the line before if there
	// are no lines.
	OldStart int `json:"oldStart"`
	OldLines int `json:"oldLines"`
	NewStart int `json:"newStart"`
	NewLines int `json:"newLines"`
	// Lines begin with a space, a plus, a minus, or, for the remark that the line before has no end, a backslash.
	Lines []string `json:"lines"`
}

const noNewline = `\ No newline at end of file`

// newFileDiff returns the diff of a file with these hunks.
func newFileDiff(path string, hunks []Hunk) *FileDiff {
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

// String returns the change as a unified diff.
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

// Apply returns what a file with the text old holds after the change. It returns an error if the change does not fit.
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
		used, ok := h.apply(&b, lines[start:])
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

// apply writes what becomes of lines, and returns how many of them the hunk is about.
func (h *Hunk) apply(b *strings.Builder, lines []string) (used int, ok bool) {
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

// UnmarshalJSON takes an object. Members of another type count as absent, and lines that are no strings are left out.
func (h *Hunk) UnmarshalJSON(data []byte) error {
	var loose struct {
		OldStart, OldLines, NewStart, NewLines int
		Lines                                  []json.RawMessage
	}
	if err := decodeLoosely(wire.JSON(data), &loose); err != nil {
		return err
	}
	*h = Hunk{OldStart: loose.OldStart, OldLines: loose.OldLines, NewStart: loose.NewStart, NewLines: loose.NewLines}
	for _, raw := range loose.Lines {
		var line string
		if raw[0] == '"' && json.Unmarshal(raw, &line) == nil {
			h.Lines = append(h.Lines, line)
		}
	}
	return nil
}
