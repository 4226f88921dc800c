package transcript

import (
	"strconv"
	"strings"

	"github.com/clewdev/clew/wire"
)

// InputDiff returns what a call of Edit, MultiEdit, Write or NotebookEdit asks for: what to show before it is made. The
// file is not known, so the diff is relative to the piece that is replaced, and that of a Write shows a new file. It
// returns false for other tools, and if the input does not tell.
func InputDiff(name string, input wire.JSON) (*FileDiff, bool) {
	in, err := DecodeInput(name, input)
	if err != nil {
		return nil, false
	}
	d := inputDiff(in)
	if d == nil || d.Path == "" || len(d.Hunks) == 0 && !d.Created {
		return nil, false
	}
	return d, true
}

func inputDiff(in Input) *FileDiff {
	switch in := in.(type) {
	case *EditInput:
		if in.OldString == "" {
			return createdFile(in.FilePath, in.NewString)
		}
		return replacedPiece(in.FilePath, in.OldString, in.NewString)
	case *MultiEditInput:
		var hunks []Hunk
		for _, e := range in.Edits {
			hunks = append(hunks, diffPiece(e.OldString, e.NewString)...)
		}
		d := newFileDiff(in.FilePath, hunks)
		d.Relative = true
		return d
	case *WriteInput:
		return createdFile(in.FilePath, in.Content)
	case *NotebookEditInput:
		return replacedPiece(in.NotebookPath, "", in.NewSource)
	}
	return nil
}

// replacedPiece returns the diff of a file of which only a piece is known.
func replacedPiece(path, before, after string) *FileDiff {
	d := newFileDiff(path, diffPiece(before, after))
	d.Relative = true
	return d
}

// diffPiece compares two pieces of a file. That the last line of a piece has no end means nothing.
func diffPiece(before, after string) []Hunk {
	if hunks := diffText(endLine(before), endLine(after)); len(hunks) > 0 {
		return hunks
	}
	return diffText(before, after)
}

func endLine(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// parseHunks reads the hunks of a unified diff. What stands before the first one is left out.
func parseHunks(patch string) []Hunk {
	var hunks []Hunk
	for line := range strings.Lines(patch) {
		line = strings.TrimSuffix(line, "\n")
		if h, ok := parseHunkHeader(line); ok {
			hunks = append(hunks, h)
			continue
		}
		if n := len(hunks); n > 0 && line != "" && strings.Contains(" +-\\", line[:1]) {
			hunks[n-1].Lines = append(hunks[n-1].Lines, line)
		}
	}
	return withLines(hunks)
}

// parseHunkHeader reads a line like "@@ -1,2 +1,3 @@ func main".
func parseHunkHeader(line string) (Hunk, bool) {
	ranges, ok := strings.CutPrefix(line, "@@ -")
	if !ok {
		return Hunk{}, false
	}
	ranges, _, _ = strings.Cut(ranges, " @@")
	before, after, ok := strings.Cut(ranges, " +")
	var h Hunk
	if !ok || !parseRange(before, &h.OldStart, &h.OldLines) || !parseRange(after, &h.NewStart, &h.NewLines) {
		return Hunk{}, false
	}
	return h, true
}

// parseRange reads "1,2", or "1", which means one line.
func parseRange(text string, start, lines *int) bool {
	first, count, ok := strings.Cut(text, ",")
	if !ok {
		count = "1"
	}
	var err1, err2 error
	*start, err1 = strconv.Atoi(first)
	*lines, err2 = strconv.Atoi(count)
	return err1 == nil && err2 == nil
}
