package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// RestoreOptions say where to restore a session. Nil and the zero value mean the directory of the
// user's agent.
type RestoreOptions struct {
	// Root is the agent's directory. Empty means the first of sessions.Roots.
	Root string
	// Force restores over files with another content. These are renamed first.
	Force bool
}

// A RestoreReport says what [Archive.Restore] has done.
type RestoreReport struct {
	// Path is the path of the transcript.
	Path string
	// Written is the number of files that were written, and Same how many were already there.
	Written, Same int
	// Bytes is the size of the files that were written.
	Bytes int64
	// Aside are files that were renamed because their content was another one, by their new paths.
	Aside []string
}

// A ConflictError says that a session can't be restored, since its files exist with another
// content. Nothing was written.
type ConflictError struct {
	// Paths are the paths of the files.
	Paths []string
	// Longer reports whether the transcript that exists has all of the archived one, and more.
	Longer bool
}

// Error names the first file.
func (e *ConflictError) Error() string {
	what := "differs from the archive"
	if e.Longer {
		what = "already has all that the archive has, and more"
	}
	return fmt.Sprintf("archive: %s %s", e.Paths[0], what)
}

// Restore writes the files of a session back to where they were in the agent's directory, so that
// "claude --resume" continues it in the directory that it belongs to. Their times are set to now:
// by them the agent decides what is old enough to be deleted.
//
// Files that exist with the same content stay. If one exists with another content, Restore returns
// a [*ConflictError] and writes nothing, unless Force is set. Everything is compared with its
// checksums before it gets its name, and the transcript, which makes it a session, comes last.
func (a *Archive) Restore(ctx context.Context, s *Session, opts *RestoreOptions) (*RestoreReport, error) {
	if opts == nil {
		opts = new(RestoreOptions)
	}
	if s.Main() == nil {
		return nil, fmt.Errorf("archive: there is no transcript of session %s", s.Session)
	}
	dir := opts.Root
	if dir == "" {
		roots, err := rootsOr(nil)
		if err != nil {
			return nil, err
		}
		dir = roots[0]
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	defer root.Close()
	r := &restoring{
		fileWriter: fileWriter{root, &reader{archive: a, session: s}}, session: s, now: time.Now(),
		report: RestoreReport{Path: filepath.Join(dir, filepath.FromSlash(s.mainPath()))},
	}
	if err := r.run(ctx, opts.Force); err != nil {
		return nil, err
	}
	return &r.report, nil
}

// A restoring is one call of Restore.
type restoring struct {
	fileWriter
	session *Session
	now     time.Time
	report  RestoreReport
}

func (r *restoring) run(ctx context.Context, force bool) error {
	var missing, present []*File
	var conflict ConflictError
	main := r.session.Main()
	for i := range r.session.Files {
		f := &r.session.Files[i]
		switch state, err := r.compare(f); {
		case err != nil:
			return fmt.Errorf("archive: %w", err)
		case state == missingFile:
			missing = append(missing, f)
		case state == sameFile:
			present = append(present, f)
		default:
			conflict.Paths = append(conflict.Paths, filepath.Join(r.root.Name(), filepath.FromSlash(f.Path)))
			conflict.Longer = conflict.Longer || f == main && state == longerFile
			missing = append(missing, f)
		}
	}
	if len(conflict.Paths) > 0 && !force {
		return &conflict
	}
	for _, f := range present {
		if err := r.root.Chtimes(f.Path, r.now, r.now); err != nil {
			return fmt.Errorf("archive: %w", err)
		}
		r.report.Same++
	}
	var last *File
	for _, f := range missing {
		if f == main {
			last = f
			continue
		}
		if err := r.put(ctx, f); err != nil {
			return err
		}
	}
	if last != nil {
		return r.put(ctx, last)
	}
	return nil
}

// The states of a file that is to be restored.
type fileState int

const (
	missingFile fileState = iota
	sameFile
	longerFile // it begins with the archived content
	otherFile
)

// compare compares a file with the archive.
func (r *restoring) compare(f *File) (fileState, error) {
	info, err := r.root.Lstat(f.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return missingFile, nil
	case err != nil:
		return 0, err
	case !info.Mode().IsRegular():
		return otherFile, nil
	case info.Size() == 0 && f.Path == r.session.mainPath():
		return missingFile, r.root.Remove(f.Path) // an empty transcript is none
	case info.Size() < f.Size:
		return otherFile, nil
	}
	file, err := r.root.Open(f.Path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	for _, seg := range f.Segments {
		h := sha256.New()
		if _, err := io.CopyN(h, file, seg.Size); err != nil {
			return otherFile, nil
		}
		if hex.EncodeToString(h.Sum(nil)) != seg.SHA256 {
			return otherFile, nil
		}
	}
	if info.Size() > f.Size {
		return longerFile, nil
	}
	return sameFile, nil
}

// put writes a file. One that has the name by now is renamed.
func (r *restoring) put(ctx context.Context, f *File) error {
	name, err := r.draft(ctx, f, r.now, true)
	if err != nil {
		return err
	}
	if _, err := r.root.Lstat(f.Path); err == nil {
		aside := f.Path + ".before-restore-" + r.now.UTC().Format("20060102T150405Z")
		if err := r.root.Rename(f.Path, aside); err != nil {
			_ = r.root.Remove(name)
			return fmt.Errorf("archive: %w", err)
		}
		r.report.Aside = append(r.report.Aside, filepath.Join(r.root.Name(), filepath.FromSlash(aside)))
	}
	if err := r.root.Rename(name, f.Path); err != nil {
		_ = r.root.Remove(name)
		return fmt.Errorf("archive: %w", err)
	}
	r.report.Written++
	r.report.Bytes += f.Size
	return nil
}
