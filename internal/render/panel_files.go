package render

import (
	"fmt"
	"strconv"

	"github.com/clewdev/clew/internal/rows"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/transcript"
)

// FilesPanel returns the files that a session changed. Each line points to the row of the last
// change.
func (o Options) FilesPanel(t *transcript.Transcript, l *rows.List) []PanelLine {
	files := transcript.Diffs(t.Chunks)
	if len(files) == 0 {
		return o.remark("no file was changed")
	}
	calls := CallRows(l)
	entries := []PanelEntry{o.changesHeading(files)}
	for i := range files {
		entries = append(entries, o.fileEntry(&files[i], calls, 0))
	}
	return o.panel(entries, 1, 2, 0)
}

// TurnsPanel returns the files that a session changed, turn by turn.
func (o Options) TurnsPanel(t *transcript.Transcript, l *rows.List) []PanelLine {
	calls, prompts := CallRows(l), promptRows(l)
	var entries []PanelEntry
	for turn := 0; turn <= l.Turns(); turn++ {
		files := transcript.Diffs(transcript.InTurns(t.Chunks, turn, turn))
		if len(files) == 0 {
			continue
		}
		e := o.changesHeading(files)
		e.Turn, e.Style, e.Words = turn, tty.Prompt, "before the first prompt"
		if r := prompts[turn]; r != nil {
			e.Row, e.Words = r.ID, fmt.Sprintf("#%d > %s", turn, tty.Line(head(r.Text, o.headBytes())))
		}
		entries = append(entries, e)
		for i := range files {
			e := o.fileEntry(&files[i], calls, 1)
			e.Turn = turn
			entries = append(entries, e)
		}
	}
	if len(entries) == 0 {
		return o.remark("no file was changed")
	}
	return o.panel(entries, 1, 2, 0)
}

// changesHeading returns a line that counts files and lines.
func (o Options) changesHeading(files []transcript.FileChanges) PanelEntry {
	added, removed := 0, 0
	for i := range files {
		added, removed = added+files[i].Added, removed+files[i].Removed
	}
	return heading(wording.Count(len(files), "file"), Note{}, Note{tty.Addition, signed("+", added)}, Note{tty.Removal, signed("-", removed)})
}

// signed returns a number with its sign, or "" for 0.
func signed(sign string, n int) string {
	if n == 0 {
		return ""
	}
	return sign + strconv.Itoa(n)
}

// fileEntry returns the entry of a file.
func (o Options) fileEntry(f *transcript.FileChanges, calls map[string]rows.ID, depth int) PanelEntry {
	last := &f.Calls[len(f.Calls)-1]
	e := PanelEntry{PanelLine: PanelLine{Path: f.Path, Row: calls[last.ToolID]}, Depth: depth, Style: tty.Path}
	e.Words = tty.CleanLine(RelativePath(o.Dir, f.Path))
	switch {
	case f.Deleted:
		e.Words += " (deleted)"
	case f.Created:
		e.Words += " (new)"
	}
	if last.Agent != nil {
		e.Agent = last.Agent.ID
	}
	e.Cells = []Note{
		{tty.Dim, wording.Count(len(f.Calls), "change")}, {tty.Addition, signed("+", f.Added)}, {tty.Removal, signed("-", f.Removed)},
	}
	return e
}

// CallRows returns the call rows by the IDs of the calls.
func CallRows(l *rows.List) map[string]rows.ID {
	calls := map[string]rows.ID{}
	for i := range l.Len() {
		if r := l.At(i); r.IsCall() && r.Item.ToolID != "" {
			calls[r.Item.ToolID] = r.ID
		}
	}
	return calls
}

// promptRows returns the prompt rows of a session by turn.
func promptRows(l *rows.List) map[int]*rows.Row {
	prompts := map[int]*rows.Row{}
	for i := l.Next(-1, rows.IsPrompt); i >= 0; i = l.Next(i, rows.IsPrompt) {
		prompts[l.At(i).Turn] = l.At(i)
	}
	return prompts
}

// Changes returns the changes of a session, in the order of the files, for [Options.DiffText]. turn
// and path choose the changes of one turn and of one file; 0 and "" mean all.
func Changes(t *transcript.Transcript, turn int, path string) []transcript.FileDiff {
	chunks := t.Chunks
	if turn > 0 {
		chunks = transcript.InTurns(t.Chunks, turn, turn)
	}
	var diffs []transcript.FileDiff
	files := transcript.Diffs(chunks)
	for i := range files {
		if path != "" && files[i].Path != path {
			continue
		}
		for k := range files[i].Calls {
			diffs = append(diffs, files[i].Calls[k].FileDiff)
		}
	}
	return diffs
}
