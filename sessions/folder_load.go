package sessions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"

	"github.com/clewdev/clew/internal/sessionfile"
	"github.com/clewdev/clew/wire"
)

// Load returns the entries of a transcript as they are when the loop begins, and before those of a subagent the one
// that stands for the file beside it. Lines that are not entries are left out, see [Folder.Skipped]. See [Store].
func (f *Folder) Load(ctx context.Context, key wire.SessionKey) iter.Seq2[wire.JSON, error] {
	return f.load(ctx, key, f.skip)
}

func (f *Folder) load(ctx context.Context, key wire.SessionKey, skipped func(SkippedLine)) iter.Seq2[wire.JSON, error] {
	return func(yield func(wire.JSON, error) bool) {
		if err := ready(ctx, key); err != nil {
			yield("", err)
			return
		}
		root, err := f.root()
		if err != nil {
			yield("", err)
		}
		if root == nil {
			return
		}
		defer root.Close()
		loading := &loading{ctx: ctx, key: key, skipped: skipped, yield: yield}
		if key.Subpath == "" || loading.sidecar(root) {
			loading.file(f, root)
		}
	}
}

// A loading is one loop over a transcript.
type loading struct {
	ctx     context.Context
	key     wire.SessionKey
	skipped func(SkippedLine)
	yield   func(wire.JSON, error) bool
}

func (l *loading) fail(err error) { l.yield("", fmt.Errorf("sessions: load %s: %w", l.key, err)) }

// sidecar yields the entry for the file beside a subagent's transcript. It reports whether the loop goes on.
func (l *loading) sidecar(root *os.Root) bool {
	content, err := root.ReadFile(sessionfile.SidecarPath(l.key))
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil {
		l.fail(err)
		return false
	}
	entry, ok := sessionfile.SidecarEntry(content)
	if !ok {
		l.skipped(SkippedLine{Key: l.key, Err: errors.New("sessions: the file beside the transcript is not a JSON object")})
		return true
	}
	return l.yield(entry, nil)
}

// file yields the entries of the transcript's file.
func (l *loading) file(f *Folder, root *os.Root) {
	file, size, err := f.open(root, l.key)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		l.fail(err)
		return
	}
	defer file.Close()
	for text, err := range readLines(io.NewSectionReader(file, 0, size)) {
		if err = errors.Join(err, l.ctx.Err()); err != nil {
			l.fail(err)
			return
		}
		if text.blank() {
			continue
		}
		if _, err := text.entry(); err != nil {
			l.skipped(SkippedLine{Key: l.key, Line: text.number, Offset: text.offset, Torn: !text.ended, Err: err})
			continue
		}
		if !l.yield(wire.JSON(text.text), nil) {
			return
		}
	}
}

// open opens a transcript, and returns its size while nobody appends to it.
func (f *Folder) open(root *os.Root, key wire.SessionKey) (*os.File, int64, error) {
	t := f.tallies.take(key)
	defer f.tallies.release(key, t)
	if err := regular(root, sessionfile.Path(key)); err != nil {
		return nil, 0, err
	}
	file, err := root.Open(sessionfile.Path(key))
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return nil, 0, err
	}
	return file, info.Size(), nil
}

// regular returns an error unless name is a file: to open a pipe would block.
func regular(root *os.Root, name string) error {
	info, err := root.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", name)
	}
	return err
}
