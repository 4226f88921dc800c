package sessions

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/clewdev/clew/internal/sessionfile"
)

// historyFile is where the agent notes all prompts that were typed, beside the folder of the projects.
const historyFile = "history.jsonl"

// A HistoryEntry is a prompt that a user has typed. The agent keeps it when it deletes old sessions.
type HistoryEntry struct {
	// Display is the prompt as it was shown, with marks in place of what was pasted: see [HistoryEntry.Text].
	Display string
	Time    time.Time
	// Project is the path of the working folder.
	Project string
	// SessionID is empty for prompts of older agents.
	SessionID string
	// Pasted is what was pasted into the prompt, in order, as far as the agent has kept it there.
	Pasted []Pasted
}

// Pasted is something that was pasted into a prompt.
type Pasted struct {
	ID      int
	Type    string
	Content string
}

// Text returns the prompt with the texts that were pasted in place of their marks.
func (e HistoryEntry) Text() string {
	return pasteMark.ReplaceAllStringFunc(e.Display, func(mark string) string {
		id := pasteMark.FindStringSubmatch(mark)[1]
		for _, p := range e.Pasted {
			if strconv.Itoa(p.ID) == id && p.Content != "" {
				return p.Content
			}
		}
		return mark
	})
}

var pasteMark = regexp.MustCompile(`\[Pasted text #(\d+)[^\]]*\]`)

// HistoryOptions say which prompts to read. Nil and the zero value mean all of the agent's own files.
type HistoryOptions struct {
	// Roots are the folders of the agents' settings. None means those of [Roots].
	Roots []string
	// Project is the path of the working folder. Empty means any.
	Project string
	// Skipped is called for each line that is left out since it is not a prompt. Its key is empty. Nil means that
	// [slog.Default] gets a warning of it, unless it is torn.
	Skipped func(SkippedLine)
}

func (o *HistoryOptions) roots() ([]string, error) {
	if len(o.Roots) > 0 {
		return o.Roots, nil
	}
	return Roots()
}

// History returns the prompts that were typed, in the order of the files. An error is the last pair.
func History(ctx context.Context, opts *HistoryOptions) iter.Seq2[HistoryEntry, error] {
	if opts == nil {
		opts = new(HistoryOptions)
	}
	return func(yield func(HistoryEntry, error) bool) {
		roots, err := opts.roots()
		if err != nil {
			yield(HistoryEntry{}, err)
			return
		}
		for _, root := range roots {
			if !opts.read(ctx, filepath.Join(root, historyFile), yield) {
				return
			}
		}
	}
}

// read yields the prompts of a file. It reports whether the loop goes on.
func (o *HistoryOptions) read(ctx context.Context, name string, yield func(HistoryEntry, error) bool) bool {
	fail := func(err error) bool {
		yield(HistoryEntry{}, fmt.Errorf("sessions: the history: %w", err))
		return false
	}
	file, size, err := openFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil {
		return fail(err)
	}
	defer file.Close()
	project := o.Project
	if project != "" {
		if project, err = realPath(project); err != nil {
			return fail(err)
		}
	}
	for l, err := range readLines(io.NewSectionReader(file, 0, size)) {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return fail(err)
		}
		if l.blank() {
			continue
		}
		entry, err := readHistory(l)
		if err != nil {
			o.skip(name, SkippedLine{Line: l.number, Offset: l.offset, Torn: !l.ended, Err: err})
			continue
		}
		if (project == "" || project == entry.Project) && !yield(entry, nil) {
			return false
		}
	}
	return true
}

func (o *HistoryOptions) skip(name string, l SkippedLine) {
	switch {
	case o.Skipped != nil:
		o.Skipped(l)
	case !l.Torn:
		slog.Warn("a line of the history was left out", "file", name, "line", l.Line, "error", l.Err)
	}
}

// openFile opens a file, and returns its size. What is not a regular file is an error: to open a pipe would block.
func openFile(name string) (*os.File, int64, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%s is not a regular file", name)
	}
	file, err := os.Open(name)
	return file, info.Size(), err
}

func readHistory(l *line) (HistoryEntry, error) {
	if l.long {
		return HistoryEntry{}, errTooLong
	}
	var value struct {
		Display        *string
		Timestamp      json.Number
		Project        string
		SessionID      string
		PastedContents map[string]json.RawMessage
	}
	if err := json.Unmarshal(bytes.TrimSpace(l.text), &value); err != nil {
		return HistoryEntry{}, fmt.Errorf("sessions: a prompt of the history: %w", err)
	}
	if value.Display == nil {
		return HistoryEntry{}, errors.New("sessions: a line of the history has no prompt")
	}
	entry := HistoryEntry{Display: *value.Display, Project: value.Project, SessionID: value.SessionID}
	if ms, err := value.Timestamp.Int64(); err == nil {
		entry.Time = time.UnixMilli(ms).UTC()
	}
	for _, raw := range value.PastedContents {
		var p Pasted
		if json.Unmarshal(raw, &p) == nil {
			entry.Pasted = append(entry.Pasted, p)
		}
	}
	slices.SortFunc(entry.Pasted, func(a, b Pasted) int { return a.ID - b.ID })
	return entry, nil
}

// A LostSession is one whose transcript is gone. What the user typed there is left.
type LostSession struct {
	ID string
	// Project is the path of the working folder.
	Project string
	// Prompts are in the order in which they were typed.
	Prompts []HistoryEntry
	// Trashed says that the session is in the trash: see [Restore].
	Trashed bool
}

// Lost returns the sessions of which there are prompts in the history, but no transcript in any of the roots, the last
// one first. Prompts that don't name their session are left out.
func Lost(ctx context.Context, opts *HistoryOptions) ([]LostSession, error) {
	if opts == nil {
		opts = new(HistoryOptions)
	}
	there, trashed, err := opts.kept(ctx)
	if err != nil {
		return nil, err
	}
	lost := map[string]*LostSession{}
	var all []*LostSession
	for entry, err := range History(ctx, opts) {
		if err != nil {
			return nil, err
		}
		if entry.SessionID == "" || there[entry.SessionID] {
			continue
		}
		s := lost[entry.SessionID]
		if s == nil {
			s = &LostSession{ID: entry.SessionID, Project: entry.Project, Trashed: trashed[entry.SessionID]}
			lost[entry.SessionID] = s
			all = append(all, s)
		}
		s.Prompts = append(s.Prompts, entry)
	}
	var sorted []LostSession
	for _, s := range all {
		slices.SortStableFunc(s.Prompts, func(a, b HistoryEntry) int { return a.Time.Compare(b.Time) })
		sorted = append(sorted, *s)
	}
	slices.SortStableFunc(sorted, func(a, b LostSession) int { return b.last().Compare(a.last()) })
	return sorted, nil
}

func (s *LostSession) last() time.Time { return s.Prompts[len(s.Prompts)-1].Time }

// kept returns the IDs of the sessions that there are, and of those in the trash.
func (o *HistoryOptions) kept(ctx context.Context) (there, trashed map[string]bool, err error) {
	there, trashed = map[string]bool{}, map[string]bool{}
	roots, err := o.roots()
	if err != nil {
		return nil, nil, err
	}
	for _, root := range roots {
		folder := NewFolder(filepath.Join(root, sessionfile.Folder))
		found, err := places{{store: folder}}.sessions(ctx)
		if err != nil {
			return nil, nil, err
		}
		for _, s := range found {
			there[s.ID] = true
		}
		deleted, err := folder.trashed(ctx)
		if err != nil {
			return nil, nil, err
		}
		for _, t := range deleted {
			trashed[t.ID] = true
		}
	}
	return there, trashed, nil
}
