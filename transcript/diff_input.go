package transcript

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/clewdev/clew/tooluse"
	"github.com/clewdev/clew/wire"
)

// InputDiff returns the change that a call of Edit, MultiEdit, Write or NotebookEdit asks for, to
// show before the tool runs. The file is not known, so the diff is relative to the piece that is
// replaced, and the diff of a Write shows a new file. It returns false for other tools, and if the
// input names no file.
//
//	if diff, ok := transcript.InputDiff("Edit", input); ok {
//		fmt.Print(diff) // a unified diff
//	}
func InputDiff(name string, input wire.JSON) (*FileDiff, bool) {
	in, err := tooluse.DecodeInput(name, input)
	if err != nil {
		return nil, false
	}
	d := inputDiff(in)
	if d == nil || d.Path == "" || len(d.Hunks) == 0 && !d.Created {
		return nil, false
	}
	return d, true
}

// InputDiffOf is like [InputDiff] for a file whose content is known: line numbers are relative to
// the file, and unchanged lines are around each change. For a NotebookEdit, file is the notebook,
// and the lines are relative to the cell. It returns an error if the file would not change, or if
// it is not certain how: the error explains why.
func InputDiffOf(name string, input wire.JSON, file string) (*FileDiff, error) {
	in, err := tooluse.DecodeInput(name, input)
	if err != nil {
		return nil, err
	}
	var d *FileDiff
	switch in := in.(type) {
	case *tooluse.EditInput:
		edit := tooluse.StringEdit{OldString: in.OldString, NewString: in.NewString, ReplaceAll: in.ReplaceAll}
		d, err = editedFile(in.FilePath, file, edit)
	case *tooluse.MultiEditInput:
		d, err = editedFile(in.FilePath, file, in.Edits...)
	case *tooluse.WriteInput:
		d = DiffTexts(in.FilePath, file, in.Content)
	case *tooluse.NotebookEditInput:
		d, err = editedCell(in, file)
	default:
		err = errors.New("it is not a call that changes a file")
	}
	if err == nil && len(d.Hunks) == 0 {
		err = errors.New("it would not change the file")
	}
	return d, err
}

// DiffTexts returns the change of a file from one content to another. It has no hunks if they are
// the same.
func DiffTexts(path, before, after string) *FileDiff {
	return newFileDiff(path, diffText(before, after))
}

// editedFile returns the diff of a file after edits, one after the other.
func editedFile(path, file string, edits ...tooluse.StringEdit) (*FileDiff, error) {
	after := file
	for _, e := range edits {
		if !strings.Contains(after, e.OldString) && strings.Contains(file, "\r\n") { // the tool ignores how lines end
			file, after = strings.ReplaceAll(file, "\r\n", "\n"), strings.ReplaceAll(after, "\r\n", "\n")
		}
		if n := strings.Count(after, e.OldString); n > 1 && e.OldString != "" {
			return nil, fmt.Errorf("the old text is in the file %d times, first on lines %s", n, linesWith(after, e.OldString))
		}
		text, ok := replaceString(after, e)
		if !ok {
			return nil, errors.New("the old text is not in the file")
		}
		after = text
	}
	return DiffTexts(path, file, after), nil
}

// linesWith returns the numbers of the first lines on which a piece of a text starts.
func linesWith(text, piece string) string {
	const most = 5
	var numbers []string
	line, last := 1, 0
	for len(numbers) < most {
		at := strings.Index(text, piece)
		if at < 0 {
			break
		}
		if line += strings.Count(text[:at], "\n"); line != last {
			numbers, last = append(numbers, strconv.Itoa(line)), line
		}
		line += strings.Count(piece, "\n")
		text = text[at+len(piece):]
	}
	return strings.Join(numbers, ", ")
}

// editedCell returns the diff of a cell of a notebook.
func editedCell(in *tooluse.NotebookEditInput, file string) (*FileDiff, error) {
	var notebook struct {
		Cells []struct {
			ID     string    `json:"id"`
			Source wire.JSON `json:"source"`
		} `json:"cells"`
	}
	if json.Unmarshal([]byte(file), &notebook) != nil {
		return nil, errors.New("the file is not a notebook")
	}
	before, after := "", in.NewSource
	if in.EditMode != "insert" {
		found := false
		for i := range notebook.Cells {
			if c := &notebook.Cells[i]; c.ID == in.CellID || "cell-"+strconv.Itoa(i) == in.CellID {
				before, found = sourceText(c.Source), true
				break
			}
		}
		if !found {
			return nil, errors.New("the notebook has no such cell")
		}
	}
	if in.EditMode == "delete" {
		after = ""
	}
	return newFileDiff(in.NotebookPath, diffPiece(before, after)), nil
}

// sourceText returns the source of a cell, which is a text or a list of lines.
func sourceText(source wire.JSON) string {
	var text string
	var lines []string
	if json.Unmarshal([]byte(source), &text) == nil {
		return text
	}
	_ = json.Unmarshal([]byte(source), &lines) // another value is no source
	return strings.Join(lines, "")
}

// inputDiff returns the change that an input asks for, or nil for a tool that changes no file.
func inputDiff(in tooluse.Input) *FileDiff {
	switch in := in.(type) {
	case *tooluse.EditInput:
		if in.OldString == "" {
			return createdFile(in.FilePath, in.NewString)
		}
		return replacedPiece(in.FilePath, in.OldString, in.NewString)
	case *tooluse.MultiEditInput:
		var hunks []tooluse.Hunk
		for _, e := range in.Edits {
			hunks = append(hunks, diffPiece(e.OldString, e.NewString)...)
		}
		d := newFileDiff(in.FilePath, hunks)
		d.Relative = true
		return d
	case *tooluse.WriteInput:
		return createdFile(in.FilePath, in.Content)
	case *tooluse.NotebookEditInput:
		if in.EditMode == "delete" { // the source that is deleted is not known
			return nil
		}
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
func diffPiece(before, after string) []tooluse.Hunk {
	if hunks := diffText(endLine(before), endLine(after)); len(hunks) > 0 {
		return hunks
	}
	return diffText(before, after)
}

// endLine returns a text that ends with a line feed, unless it is empty.
func endLine(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}
