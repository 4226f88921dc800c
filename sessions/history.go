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
