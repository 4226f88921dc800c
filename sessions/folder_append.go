package sessions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/clewdev/clew/internal/sessionfile"
	"github.com/clewdev/clew/wire"
)

// Append adds entries to the file of a transcript, each as a line, by one write. Of those that stand for the file
// beside a subagent's transcript, the last one becomes that file. See [Store].
func (f *Folder) Append(ctx context.Context, key wire.SessionKey, entries []wire.JSON) error {
	if err := ready(ctx, key); err != nil {
		return err
	}
	addition, err := newAddition(key, entries)
	if err != nil || len(entries) == 0 {
		return err
	}
	if err := f.append(ctx, addition); err != nil {
		return fmt.Errorf("sessions: append to %s: %w", key, err)
	}
	return nil
}

func (f *Folder) append(ctx context.Context, a *addition) error {
	f.deletes.RLock()
	defer f.deletes.RUnlock()
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.MkdirAll(path.Dir(sessionfile.Path(a.key)), 0o700); err != nil {
		return err
	}
	t := f.tallies.take(a.key)
	defer f.tallies.release(a.key, t)
	if err := ctx.Err(); err != nil {
		return err
	}
	undo, err := f.appendLines(ctx, root, t, a)
	if err != nil || a.sidecar == nil {
		return err
	}
	if err := replace(root, sessionfile.SidecarPath(a.key), a.sidecar); err != nil {
		return errors.Join(err, undo())
	}
	return nil
}

// appendLines writes those lines that are not there yet, all or none. What it returns takes them off again.
func (f *Folder) appendLines(ctx context.Context, root *os.Root, t *tally, a *addition) (undo func() error, err error) {
	undo = func() error { return nil }
	if len(a.lines) == 0 {
		return undo, nil
	}
	name := sessionfile.Path(a.key)
	if err := absent(regular(root, name)); err != nil {
		return nil, err
	}
	file, err := root.OpenFile(name, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	size, ended, err := a.look(ctx, t, file)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	text := a.text(t, ended)
	n, err := f.writeAll(file, text)
	if err = errors.Join(err, file.Close()); err != nil {
		t.file = nil
		return nil, errors.Join(err, cut(root, name, size, n))
	}
	if a.named() {
		t.wrote(size, text)
	}
	return func() error {
		t.file = nil
		return cut(root, name, size, n)
	}, nil
}

func (f *Folder) writeAll(file *os.File, text []byte) (n int, err error) {
	if len(text) == 0 {
		return 0, nil
	}
	write := (*os.File).Write
	if f.write != nil {
		write = f.write
	}
	if n, err = write(file, text); err == nil && n < len(text) {
		err = io.ErrShortWrite
	}
	return n, err
}

// cut takes the last n bytes off a file that had size bytes before, unless somebody else has added to it since.
func cut(root *os.Root, name string, size int64, n int) error {
	file, err := root.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err == nil && info.Size() == size+int64(n) {
		err = file.Truncate(size)
	}
	return errors.Join(err, file.Close())
}

// replace writes a file so that a reader sees the old content or the new one.
func replace(root *os.Root, name string, content []byte) error {
	draft := name + ".new"
	err := root.WriteFile(draft, content, 0o600)
	if err == nil {
		err = root.Rename(draft, name)
	}
	if err != nil {
		return errors.Join(err, absent(root.Remove(draft)))
	}
	return nil
}

// An addition is what an append has to write.
type addition struct {
	key     wire.SessionKey
	lines   []wire.JSON
	uuids   []string // of each line
	sidecar []byte   // the new content of the file beside a subagent's transcript, or nil
}

func newAddition(key wire.SessionKey, entries []wire.JSON) (*addition, error) {
	uuids, err := entryUUIDs(key, entries)
	if err != nil {
		return nil, err
	}
	a := &addition{key: key}
	for i, entry := range entries {
		if len(entry) > maxEntry {
			return nil, fmt.Errorf("%w (entry %d for %s)", errTooLong, i, key)
		}
		if key.Subpath != "" {
			if content, ok := sessionfile.Sidecar(entry); ok {
				a.sidecar = content
				continue
			}
		}
		a.lines = append(a.lines, entry)
		a.uuids = append(a.uuids, uuids[i])
	}
	return a, nil
}

// named reports whether a line has a UUID, so that it may be there already.
func (a *addition) named() bool {
	return slices.ContainsFunc(a.uuids, func(uuid string) bool { return uuid != "" })
}

// look returns the size of the file, and whether its last line has an end, once nobody seems to be in the middle of it. It
// reads the file for UUIDs only if the addition has any: to rename a long session should not take long.
func (a *addition) look(ctx context.Context, t *tally, file *os.File) (size int64, ended bool, err error) {
	if a.named() {
		if size, ended, err = t.catchUp(ctx, file); ended || err != nil {
			return size, ended, err
		}
	}
	size, ended, err = awaitEnd(ctx, file)
	if a.named() && err == nil { // what was written meanwhile
		return t.catchUp(ctx, file)
	}
	return size, ended, err
}

// text returns the lines that a file does not have, and notes their UUIDs. A last line without an end gets one first,
// so that nothing is glued to it.
func (a *addition) text(t *tally, ended bool) []byte {
	var text []byte
	for i, entry := range a.lines {
		if a.uuids[i] != "" && t.has(a.uuids[i]) {
			continue
		}
		t.add(a.uuids[i])
		if !ended {
			text = append(text, '\n')
			ended = true
		}
		text = append(text, lineBreaks.Replace(string(entry))...)
		text = append(text, '\n')
	}
	return text
}

// lineBreaks replaces the line ends of an entry, which can only stand between its values.
var lineBreaks = strings.NewReplacer("\n", " ", "\r", " ")
