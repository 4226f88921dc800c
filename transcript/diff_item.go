package transcript

import (
	"strings"

	"github.com/clewdev/clew/wire"
)

// Diff returns what the call changed in a file: a call of Edit, MultiEdit, Write or NotebookEdit, or a command that the
// agent has watched. It returns false if nothing was changed, and for a call that has failed or has no result yet. A
// command can change several files: see [DisplayItem.Diffs].
func (i *DisplayItem) Diff() (*FileDiff, bool) {
	diffs := i.Diffs()
	if len(diffs) == 0 {
		return nil, false
	}
	return &diffs[0], true
}

// Diffs returns what the call changed, file by file.
func (i *DisplayItem) Diffs() []FileDiff {
	if !i.isCall() || !i.HasResult || i.ToolError {
		return nil
	}
	switch i.ToolName {
	case "Bash", "PowerShell":
		return i.commandDiffs()
	case "Edit", "MultiEdit", "Write", "NotebookEdit":
		if d := i.fileDiff(); d != nil && (len(d.Hunks) > 0 || d.Created) {
			return []FileDiff{*d}
		}
	}
	return nil
}

// fileDiff returns what the call changed, or nil. The result tells most, then the patch, which is kept where the result
// is too long, and at last the input.
func (i *DisplayItem) fileDiff() *FileDiff {
	if r, err := i.Result(); err == nil {
		if d, ok := resultDiff(r); ok {
			return d
		}
	}
	proposed, ok := InputDiff(i.ToolName, i.ToolInput)
	if !ok {
		proposed = new(FileDiff)
	}
	if i.ToolName == "Write" && strings.Contains(i.ToolResult, "has been updated") {
		proposed.Created, proposed.Relative = false, true
	}
	hunks := decodeHunks(i.Patch)
	if len(hunks) == 0 {
		return proposed
	}
	d := newFileDiff(proposed.Path, hunks)
	d.Created = proposed.Created && hunks[0].OldLines == 0
	return d
}

// decodeHunks decodes a list of hunks, and leaves out those without lines.
func decodeHunks(list wire.JSON) []Hunk {
	var hunks []Hunk
	if firstByte(list) != '[' || decodeLoosely(list, &hunks) != nil {
		return nil
	}
	return withLines(hunks)
}

func withLines(hunks []Hunk) []Hunk {
	kept := hunks[:0]
	for _, h := range hunks {
		if len(h.Lines) > 0 {
			kept = append(kept, h)
		}
	}
	return kept
}

// resultDiff returns the diff that a result tells, which is nil if the file is as it was. It returns false if the
// result does not tell.
func resultDiff(r Result) (*FileDiff, bool) {
	switch r := r.(type) {
	case *TextResult:
		return nil, r.Rejected() || r.Failure() != ""
	case *EditResult:
		return r.diff()
	case *WriteResult:
		return r.diff()
	case *NotebookEditResult:
		return r.diff()
	}
	return nil, false
}

func (r *EditResult) diff() (*FileDiff, bool) {
	if hunks := withLines(r.StructuredPatch); len(hunks) > 0 {
		d := newFileDiff(r.FilePath, hunks)
		d.Created = r.creates() && hunks[0].OldLines == 0
		return d, true
	}
	if before, after, ok := r.texts(); ok {
		d := newFileDiff(r.FilePath, diffText(before, after))
		d.Created = r.creates()
		return d, true
	}
	return r.GitDiff.diff(r.FilePath)
}

// creates reports whether the edit makes a file: it replaces nothing.
func (r *EditResult) creates() bool { return r.OldString == "" && len(r.Edits) == 0 }

// texts returns the file before and after. It returns false if the edits are not found in it.
func (r *EditResult) texts() (before, after string, ok bool) {
	switch {
	case r.OriginalFile != nil:
		before = *r.OriginalFile
	case r.OriginalFileContents != nil:
		before = *r.OriginalFileContents
	default:
		return "", "", false
	}
	edits := r.Edits
	if len(edits) == 0 {
		edits = []StringEdit{{r.OldString, r.NewString, r.ReplaceAll}}
	}
	after = before
	for _, e := range edits {
		if after, ok = e.apply(after); !ok {
			return "", "", false
		}
	}
	return before, after, true
}

func (e StringEdit) apply(text string) (string, bool) {
	switch {
	case e.OldString == "":
		return e.NewString, text == ""
	case !strings.Contains(text, e.OldString):
		return "", false
	case e.ReplaceAll:
		return strings.ReplaceAll(text, e.OldString, e.NewString), true
	}
	return strings.Replace(text, e.OldString, e.NewString, 1), true
}

func (r *WriteResult) diff() (*FileDiff, bool) {
	if hunks := withLines(r.StructuredPatch); len(hunks) > 0 {
		d := newFileDiff(r.FilePath, hunks)
		d.Created = r.Type == "create"
		return d, true
	}
	switch {
	case r.Type == "create":
		return createdFile(r.FilePath, r.Content), true
	case r.OriginalFile != nil:
		return newFileDiff(r.FilePath, diffText(*r.OriginalFile, r.Content)), true
	}
	return r.GitDiff.diff(r.FilePath)
}

func createdFile(path, content string) *FileDiff {
	d := newFileDiff(path, diffText("", content))
	d.Created = true
	return d
}

func (r *NotebookEditResult) diff() (*FileDiff, bool) {
	switch {
	case r.Error != "":
		return nil, true
	case r.OriginalFile != "" && r.UpdatedFile != "":
		return newFileDiff(r.NotebookPath, diffText(r.OriginalFile, r.UpdatedFile)), true
	case r.OldSource != "" || r.NewSource != "":
		return replacedPiece(r.NotebookPath, r.OldSource, r.NewSource), true
	}
	return nil, false
}

// diff returns the change of a file as git told it. It returns false for nil, and if there are no hunks.
func (g *GitDiff) diff(path string) (*FileDiff, bool) {
	if g == nil {
		return nil, false
	}
	d := newFileDiff(path, parseHunks(g.Patch))
	d.Created = g.Status == "added"
	return d, len(d.Hunks) > 0
}

// commandDiffs returns what a command changed.
func (i *DisplayItem) commandDiffs() []FileDiff {
	var edits *BashEditDiff
	if firstByte(i.Patch) == '{' {
		edits = new(BashEditDiff)
		if decodeLoosely(i.Patch, edits) != nil {
			return nil
		}
	} else if r, err := i.Result(); err == nil {
		if r, ok := r.(*BashResult); ok {
			edits = r.EditDiff
		}
	}
	return edits.diffs()
}

func (e *BashEditDiff) diffs() []FileDiff {
	if e == nil {
		return nil
	}
	var diffs []FileDiff
	told := map[string]bool{}
	for _, f := range e.Files {
		d := newFileDiff(f.FilePath, withLines(f.Hunks))
		d.Created, d.Deleted = f.Created, f.Deleted
		d.Unknown = len(d.Hunks) == 0 && !f.Created
		diffs = append(diffs, *d)
		told[f.FilePath] = true
	}
	for _, path := range e.ChangedFiles {
		if !told[path] {
			diffs = append(diffs, FileDiff{Path: path, Unknown: true})
		}
	}
	return diffs
}
