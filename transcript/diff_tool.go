package transcript

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/clewdev/clew/internal/entrylex"
	"github.com/clewdev/clew/tooluse"
	"github.com/clewdev/clew/wire"
)

// parseHunks reads the hunks of a unified diff. It skips the lines before the first one.
func parseHunks(patch string) []tooluse.Hunk {
	var hunks []tooluse.Hunk
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
func parseHunkHeader(line string) (tooluse.Hunk, bool) {
	ranges, ok := strings.CutPrefix(line, "@@ -")
	if !ok {
		return tooluse.Hunk{}, false
	}
	ranges, _, _ = strings.Cut(ranges, " @@")
	before, after, ok := strings.Cut(ranges, " +")
	var h tooluse.Hunk
	if !ok || !parseRange(before, &h.OldStart, &h.OldLines) || !parseRange(after, &h.NewStart, &h.NewLines) {
		return tooluse.Hunk{}, false
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

// Diff returns what the call changed in a file: a call of Edit, MultiEdit, Write or NotebookEdit,
// or a command that the agent watched. It returns false if nothing was changed, and for a call that
// failed or has no result yet. A command can change several files: see [DisplayItem.Diffs].
func (i *DisplayItem) Diff() (*FileDiff, bool) {
	diffs := i.Diffs()
	if len(diffs) == 0 {
		return nil, false
	}
	return &diffs[0], true
}

// Diffs returns what the call changed, file by file. It returns nil where [DisplayItem.Diff]
// returns false. The diffs are computed at each call and belong to the caller.
func (i *DisplayItem) Diffs() []FileDiff {
	if !i.IsCall() || !i.HasResult || i.ToolError {
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

// fileDiff returns what the call changed, or nil. It uses the result, or else the patch, which is
// kept even if the result is too long, together with the input.
func (i *DisplayItem) fileDiff() *FileDiff {
	if d := i.patched(); d != nil {
		return d
	}
	if r, err := i.Result(); err == nil {
		if d, ok := i.resultDiff(r); ok {
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
	c := i.requested()
	c.patch, c.exact = decodeHunks(i.Patch), isExact(i.Patch)
	hunks, ok := c.hunks()
	if !ok {
		return proposed
	}
	d := newFileDiff(proposed.Path, hunks)
	d.Created = proposed.Created && hunks[0].OldLines == 0
	return d
}

// patched returns the change of a file that was there before, from its patch alone, or nil. Results
// have the whole file as well, which takes much longer to decode. A patch without the tabs of the
// file does not count.
func (i *DisplayItem) patched() *FileDiff {
	path := cmp.Or(firstMember(i.Structured, "filePath"), firstMember(i.ToolInput, "file_path"))
	if path == "" {
		return nil
	}
	hunks := decodeHunks(i.Patch)
	if len(hunks) == 0 || hunks[0].OldLines == 0 {
		return nil
	}
	if !isExact(i.Patch) && !hasAllTabs(hunks) && (hasTabs(i.Structured) || hasTabs(i.ToolInput)) {
		return nil
	}
	return newFileDiff(path, hunks)
}

// hasTabs reports whether a string in a JSON text may have a tab.
func hasTabs(text wire.JSON) bool {
	return strings.Contains(string(text), `\t`) || strings.Contains(string(text), `\u0009`)
}

// requested returns the change that the input asks for.
func (i *DisplayItem) requested() *reportedChange {
	c := new(reportedChange)
	in, err := i.Input()
	if err != nil {
		return c
	}
	switch in := in.(type) {
	case *tooluse.EditInput:
		c.edits = []tooluse.StringEdit{{OldString: in.OldString, NewString: in.NewString, ReplaceAll: in.ReplaceAll}}
	case *tooluse.MultiEditInput:
		c.edits = in.Edits
	case *tooluse.WriteInput:
		c.after = &in.Content
	}
	return c
}

// firstMember returns the first member of an object if it is a string of this name, without reading
// the rest.
func firstMember(object wire.JSON, name string) (text string) {
	rest, ok := strings.CutPrefix(string(object), `{"`+name+`":`)
	if !ok || json.NewDecoder(strings.NewReader(rest)).Decode(&text) != nil {
		return ""
	}
	return text
}

// decodeHunks decodes a patch.
func decodeHunks(list wire.JSON) []tooluse.Hunk {
	var hunks []tooluse.Hunk
	if entrylex.FirstByte(list) != '[' || entrylex.DecodeLoosely(list, &hunks) != nil {
		return nil
	}
	return patchHunks(hunks)
}

// patchHunks returns the hunks of a patch, without empty ones. The agent counts lines from 1 even
// if a file is empty. It reuses the memory of the list.
func patchHunks(patch []tooluse.Hunk) []tooluse.Hunk {
	hunks := withLines(patch)
	if len(hunks) == 1 {
		h := &hunks[0]
		if h.OldLines == 0 && h.OldStart == 1 {
			h.OldStart = 0
		}
		if h.NewLines == 0 && h.NewStart == 1 {
			h.NewStart = 0
		}
	}
	return hunks
}

// withLines removes the hunks that have no lines. It reuses the memory of the list.
func withLines(hunks []tooluse.Hunk) []tooluse.Hunk {
	kept := hunks[:0]
	for _, h := range hunks {
		if len(h.Lines) > 0 {
			kept = append(kept, h)
		}
	}
	return kept
}

// resultDiff returns the diff in a result, which is nil if the file is unchanged. It returns false
// if the result does not contain a diff.
func (i *DisplayItem) resultDiff(r tooluse.Result) (*FileDiff, bool) {
	switch r := r.(type) {
	case *tooluse.TextResult:
		return nil, r.Rejected() || r.Failure() != ""
	case *tooluse.EditResult:
		return editDiff(r)
	case *tooluse.WriteResult:
		return i.writeDiff(r)
	case *tooluse.NotebookEditResult:
		return notebookDiff(r)
	}
	return nil, false
}

// editDiff returns the change of an Edit or a MultiEdit: from the whole file and the edits, else from
// the patch, else from git.
func editDiff(r *tooluse.EditResult) (*FileDiff, bool) {
	c := reportedChange{before: cmp.Or(r.OriginalFile, r.OriginalFileContents), edits: r.Edits, patch: patchHunks(r.StructuredPatch)}
	if len(c.edits) == 0 {
		c.edits = []tooluse.StringEdit{{OldString: r.OldString, NewString: r.NewString, ReplaceAll: r.ReplaceAll}}
	}
	hunks, ok := c.hunks()
	if !ok {
		return gitDiff(r.GitDiff, r.FilePath)
	}
	d := newFileDiff(r.FilePath, hunks)
	d.Created = createsFile(r) && (len(hunks) == 0 || hunks[0].OldLines == 0)
	return d, true
}

// createsFile reports whether the edit makes a file: it replaces nothing.
func createsFile(r *tooluse.EditResult) bool { return r.OldString == "" && len(r.Edits) == 0 }

// writeDiff returns the change of a Write: from the whole file before and after, else from the patch,
// else from git. The content of a new file is its change. The agent may leave out the content of a
// file that was there before; the input has it.
func (i *DisplayItem) writeDiff(r *tooluse.WriteResult) (*FileDiff, bool) {
	c := reportedChange{before: r.OriginalFile, after: &r.Content, patch: patchHunks(r.StructuredPatch)}
	if r.Type == "create" && c.before == nil {
		if len(c.patch) == 0 || fits(c.patch, r.Content, '+') {
			return createdFile(r.FilePath, r.Content), true
		}
	} else if c.before == nil {
		if r.Content == "" {
			c.after = i.requested().after
		}
		if len(c.patch) == 0 {
			return gitDiff(r.GitDiff, r.FilePath)
		}
	}
	hunks, ok := c.hunks()
	if !ok {
		return gitDiff(r.GitDiff, r.FilePath)
	}
	d := newFileDiff(r.FilePath, hunks)
	d.Created = r.Type == "create"
	return d, true
}

// createdFile returns the diff of a file that was not there before.
func createdFile(path, content string) *FileDiff {
	d := newFileDiff(path, diffText("", content))
	d.Created = true
	return d
}

// notebookDiff returns the change of a NotebookEdit: of the whole notebook if both versions are
// there, else of the cell.
func notebookDiff(r *tooluse.NotebookEditResult) (*FileDiff, bool) {
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

// gitDiff returns the change of a file as git reported it. It returns false for nil, and for a
// patch without hunks.
func gitDiff(g *tooluse.GitDiff, path string) (*FileDiff, bool) {
	if g == nil {
		return nil, false
	}
	d := newFileDiff(path, parseHunks(g.Patch))
	d.Created = g.Status == "added"
	return d, len(d.Hunks) > 0
}

// commandDiffs returns what a command changed.
func (i *DisplayItem) commandDiffs() []FileDiff {
	var edits *tooluse.BashEditDiff
	if entrylex.FirstByte(i.Patch) == '{' {
		edits = new(tooluse.BashEditDiff)
		if entrylex.DecodeLoosely(i.Patch, edits) != nil {
			return nil
		}
	} else if !strings.Contains(string(i.Structured), `"bashEditDiff"`) {
		return nil
	} else if r, err := i.Result(); err == nil {
		if r, ok := r.(*tooluse.BashResult); ok {
			edits = r.EditDiff
		}
	}
	return editedFiles(edits)
}

// editedFiles returns what a command changed in each file. e may be nil. A file that is only named
// gets a diff that is Unknown.
func editedFiles(e *tooluse.BashEditDiff) []FileDiff {
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

// A CallDiff describes the changes of one call to a file. The embedded [FileDiff] is the change.
type CallDiff struct {
	FileDiff

	// ToolName is the name of the tool, such as "Edit".
	ToolName string
	// ToolID is the ID of the call, as in [DisplayItem.ToolID].
	ToolID string
	// Timestamp is the time of the call, or the zero time if its entry has none.
	Timestamp time.Time
	// Agent is the subagent that made the call, or nil for the session itself.
	Agent *Agent
}

// FileChanges are all changes of a file, in order. [Diffs] returns one for each file.
type FileChanges struct {
	// Path is the path of the file, as in [FileDiff.Path]. Two spellings of a path are two files.
	Path string
	// Calls are the changes in the order of the conversation. It has at least one element.
	Calls []CallDiff
	// Created reports whether the first call made the file.
	Created bool
	// Deleted reports whether the last call deleted the file.
	Deleted bool
	// Added is the sum of the lines that the calls add, including lines that a later call removes
	// again.
	Added int
	// Removed is the sum of the lines that the calls remove.
	Removed int
}

// ChunkDiffs returns what a chunk changed, call by call. The calls of a subagent follow the call
// that started it. It returns nil for a chunk that is not an AI chunk, or that changed nothing.
func ChunkDiffs(c *Chunk) []FileDiff {
	var diffs []FileDiff
	w := diffWalk{yield: func(d CallDiff) { diffs = append(diffs, d.FileDiff) }}
	w.items(c.Items, nil)
	return diffs
}

// Diffs returns what chunks changed, file by file, in the order in which the files were first
// changed. Subagents are included once they were linked: see [Link]. Pass [Transcript.Chunks];
// branches don't count unless their chunks are passed.
//
//	for _, file := range transcript.Diffs(t.Chunks) {
//		fmt.Printf("%s +%d -%d\n", file.Path, file.Added, file.Removed)
//	}
func Diffs(chunks []Chunk) []FileChanges {
	var files []FileChanges
	index := map[string]int{}
	w := diffWalk{yield: func(d CallDiff) {
		at, ok := index[d.Path]
		if !ok {
			at = len(files)
			index[d.Path] = at
			files = append(files, FileChanges{Path: d.Path, Created: d.Created})
		}
		files[at].add(d)
	}}
	w.chunks(chunks, nil)
	return files
}

// add takes the next change of the file. The last one decides whether the file is deleted.
func (f *FileChanges) add(d CallDiff) {
	f.Calls = append(f.Calls, d)
	f.Added += d.Added
	f.Removed += d.Removed
	f.Deleted = d.Deleted
}

// A diffWalk yields the diffs of a conversation and of its subagents, each of them once.
type diffWalk struct {
	yield func(CallDiff)
	seen  map[*Agent]bool
}

// chunks yields the diffs of chunks that an agent made; by is nil for the session itself.
func (w *diffWalk) chunks(chunks []Chunk, by *Agent) {
	for i := range chunks {
		w.items(chunks[i].Items, by)
	}
}

// items yields the diffs of items, each followed by the diffs of the subagents that it started.
func (w *diffWalk) items(items []DisplayItem, by *Agent) {
	for i := range items {
		item := &items[i]
		for _, d := range item.Diffs() {
			w.yield(CallDiff{d, item.ToolName, item.ToolID, item.Timestamp, by})
		}
		for _, agent := range item.Agents {
			w.agent(agent)
		}
	}
}

// agent yields the diffs of a subagent, unless they were yielded before.
func (w *diffWalk) agent(a *Agent) {
	if a == nil || w.seen[a] {
		return
	}
	if w.seen == nil {
		w.seen = map[*Agent]bool{}
	}
	w.seen[a] = true
	w.chunks(agentChunks(a), a)
}

// agentChunks returns the conversation of a subagent.
func agentChunks(a *Agent) []Chunk {
	if a.Transcript == nil {
		return nil
	}
	return a.Transcript.Chunks
}
