package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/clewdev/clew/internal/files"
	"github.com/clewdev/clew/wire"
)

// MarkDone marks a session as done: [SessionInfo.Done] is set from then on, until a prompt is sent in
// the session or [UnmarkDone] is called. The session stays where it is, and [List] returns it unless
// [ListOptions.Done] says otherwise. It is the mark of archived sessions in Claude Code and its SDKs.
//
// The mark is a file beside the transcript, so the session must be in the agent's own files or in a
// [Folder]. For any other store, MarkDone returns an error.
//
//	err := sessions.MarkDone(ctx, id, nil)
//
//	no := false
//	infos, err := sessions.List(ctx, &sessions.ListOptions{Done: &no})
func MarkDone(ctx context.Context, id string, opts *Options) error {
	return setDone(ctx, id, true, opts)
}

// UnmarkDone removes the mark that [MarkDone] set. It does nothing if the session is not marked.
func UnmarkDone(ctx context.Context, id string, opts *Options) error {
	return setDone(ctx, id, false, opts)
}

func setDone(ctx context.Context, id string, done bool, opts *Options) error {
	s, key, err := opts.findToChange(ctx, id)
	if err != nil {
		return err
	}
	verb := "mark"
	if !done {
		verb = "unmark"
	}
	folder, ok := s.store.(*Folder)
	if !ok {
		return fmt.Errorf("sessions: %s session %s: the store, a %T, does not keep files", verb, id, s.store)
	}
	if _, marked := folder.readMark(key); !marked && !done {
		return nil
	}
	if err := folder.writeMark(key, doneMark{Archived: &done, At: time.Now().UTC(), By: "sdk"}); err != nil {
		return fmt.Errorf("sessions: %s session %s: %w", verb, id, err)
	}
	return nil
}

// A doneMark is the content of the file that marks a session.
type doneMark struct {
	Archived *bool     `json:"archived"`
	At       time.Time `json:"at"`
	By       string    `json:"by,omitempty"`
}

const (
	markName     = "archived.json" // in the directory of the session
	maxMarkBytes = 4 << 10
)

// openProject opens the directory of a session's project, so that no link leads out of it.
func (f *Folder) openProject(key wire.SessionKey) (*os.Root, error) {
	return os.OpenRoot(filepath.Dir(f.path(key)))
}

// writeMark replaces the mark of a session.
func (f *Folder) writeMark(key wire.SessionKey, mark doneMark) error {
	text, err := json.Marshal(mark)
	if err != nil {
		return err
	}
	root, err := f.openProject(key)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // it was only read
	if err := root.Mkdir(key.SessionID, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	path := filepath.Join(key.SessionID, markName)
	// Without it, the session has no mark, as before.
	return files.WriteIn(root, path, text, files.WriteOptions{NoSync: true})
}

// readMark returns the mark of a session, or false if it has none that can be read.
func (f *Folder) readMark(key wire.SessionKey) (doneMark, bool) {
	var mark doneMark
	root, err := f.openProject(key)
	if err != nil {
		return mark, false
	}
	defer root.Close() //nolint:errcheck // it was only read
	text, err := files.ReadSmallIn(root, filepath.Join(key.SessionID, markName), maxMarkBytes)
	if err != nil || json.Unmarshal(text, &mark) != nil {
		return doneMark{}, false
	}
	return mark, mark.Archived != nil && !mark.At.IsZero()
}

// isDone reports whether a session is done: it is marked, and no prompt came since. Only a transcript
// that was written to since is read, from its end.
func (f *Folder) isDone(ctx context.Context, info *SessionInfo) bool {
	mark, ok := f.readMark(info.Key())
	if !ok || !*mark.Archived {
		return false
	}
	return !info.Modified.After(mark.At) || !f.hasPromptAfter(ctx, info.Key(), mark.At)
}

// hasPromptAfter reports whether a session has a prompt that is newer than a time. It reads as much
// of the end of the file as is newer. Text that can't be read is not a prompt.
func (f *Folder) hasPromptAfter(ctx context.Context, key wire.SessionKey, at time.Time) bool {
	root, err := f.project(key.Project)
	if err != nil || root == nil {
		return false
	}
	defer root.Close()
	file, size, err := f.open(root, key)
	if err != nil {
		return false
	}
	defer file.Close()
	for length := int64(window); ; length *= 4 {
		end := fileEnd{file: file, start: max(0, size-length), size: size}
		prompt, older := end.promptAfter(ctx, at)
		if prompt || older || end.start == 0 || ctx.Err() != nil {
			return prompt
		}
	}
}

// A fileEnd is the end of a transcript file, from an offset on.
type fileEnd struct {
	file        *os.File
	start, size int64
}

// promptAfter reports whether there is a prompt that is newer than a time, and whether the first
// message is older, so that the rest of the file need not be read.
func (e *fileEnd) promptAfter(ctx context.Context, at time.Time) (prompt, older bool) {
	b := batches{file: e.file, base: e.start, size: e.size}
	first := true
	for l, err := range readLines(io.NewSectionReader(e.file, e.start, e.size-e.start)) {
		if err != nil || ctx.Err() != nil {
			return false, false
		}
		if e.start > 0 && l.offset == 0 { // it may begin in the middle of a line
			continue
		}
		torn, err := b.unfinished(l)
		h, ok := readHead(l.text)
		if err != nil || torn || !ok || !h.isMessage() || h.created().IsZero() {
			continue
		}
		newer := h.created().After(at)
		if first {
			older, first = !newer, false
		}
		if newer && h.isPrompt() {
			return true, older
		}
	}
	return false, older
}

// isPrompt reports whether the entry is something that the user said.
func (h *head) isPrompt() bool {
	if h.kind != "user" {
		return false
	}
	var s Summary
	s.addPrompt(h)
	return s.FirstPrompt != "" || s.FirstCommand != ""
}
