package archive

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/clewdev/clew/internal/files"
	"github.com/clewdev/clew/internal/sessionfile"
)

// RestoreOptions configure where a session is restored. Nil and the zero value mean the directory
// of the user's agent.
type RestoreOptions struct {
	// Root is the agent's directory. Empty means the first of sessions.Roots.
	Root string
	// Project is the name of the project to restore the session in, as sessions.ProjectName returns
	// it. Empty means its original one.
	Project string
	// Force restores over files with another content. These are renamed first.
	Force bool

	step func(name string)                          // for tests: called before each step
	link func(root *os.Root, from, to string) error // for tests
}

// A RestoreReport is the report of [Archive.Restore].
type RestoreReport struct {
	// Path is the path of the transcript.
	Path string
	// Written is the number of files that were written, and Same how many were already there.
	Written, Same int
	// Bytes is the size of the files that were written.
	Bytes int64
	// Aside are files that were renamed because their content was another one, by their new paths.
	Aside []string
	// Problems are files other than the transcript that are damaged in the archive. They were not
	// written.
	Problems []Problem
}

// A ConflictError reports that a session can't be restored, since its files exist with another
// content. Nothing was written.
type ConflictError struct {
	// Paths are the paths of the files. If the transcript is one of them, it is the first.
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
// a [*ConflictError] and writes nothing, unless Force is set. Everything is written under other names
// and compared with its checksums before the first file gets its name, and the transcript, which makes
// it a session, comes last. A damaged transcript is a [*DamageError]; other files that are damaged are
// left out, and among the problems of the report.
//
// If an error comes after files got their names, the report covers the work until then; it is nil
// only if nothing was done. The directory of a project may be a symbolic link, as for Save.
func (a *Archive) Restore(ctx context.Context, s *Session, opts *RestoreOptions) (*RestoreReport, error) {
	if opts == nil {
		opts = new(RestoreOptions)
	}
	key := s.Key
	key.Project = cmp.Or(opts.Project, s.Project)
	if err := errors.Join(s.check(s.Key), key.Check()); err != nil { // the caller may have made it
		return nil, fmt.Errorf("archive: session %s can't be restored: %w", s.Session, err)
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
	r := &restoring{
		fileWriter: fileWriter{&reader{archive: a, session: s}}, places: places{dir: dir, project: key.Project}, session: s,
		now: time.Now(), changed: map[rootedDir]bool{}, step: opts.step, link: opts.link,
	}
	if r.step == nil {
		r.step = func(string) {}
	}
	if r.link == nil {
		r.link = (*os.Root).Link
	}
	r.report.Path = r.path(s.mainPath())
	defer r.close()
	if err := r.run(ctx, opts.Force); err != nil {
		if r.report.Written+len(r.report.Aside) == 0 {
			return nil, err
		}
		return &r.report, err
	}
	return &r.report, nil
}

// The places of a session's files are directories in the agent's directory: the project's, and the
// directories of the files beside it. Each may be a symbolic link of the user, but nothing in it
// leads out of it.
type places struct {
	dir     string
	project string // its name
	open    map[string]*os.Root
}

// split returns the place of a file of the session, and its path there. A checked path has as many parts.
func (p *places) split(name string) (base, rel string) {
	if rest, ok := strings.CutPrefix(name, sessionfile.Folder+"/"); ok {
		_, rel, _ = strings.Cut(rest, "/")
		return filepath.Join(sessionfile.Folder, p.project), rel
	}
	base, rel, _ = strings.Cut(name, "/")
	return base, rel
}

// path returns the path of a file of the session.
func (p *places) path(name string) string {
	base, rel := p.split(name)
	return filepath.Join(p.dir, base, filepath.FromSlash(rel))
}

// at returns the directory of a file and its path there. If the directory does not exist, it is
// created, or the error wraps fs.ErrNotExist.
func (p *places) at(name string, create bool) (*os.Root, string, error) {
	place, rel := p.split(name)
	if root := p.open[place]; root != nil {
		return root, rel, nil
	}
	base := filepath.Join(p.dir, place)
	if create {
		if err := mkdirAll(base); err != nil {
			return nil, "", err
		}
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return nil, "", err
	}
	if p.open == nil {
		p.open = map[string]*os.Root{}
	}
	p.open[place] = root
	return root, rel, nil
}

func (p *places) close() {
	for _, root := range p.open {
		_ = root.Close() // what was written is on disk
	}
}

// A restoring is one call of Restore.
type restoring struct {
	fileWriter
	places
	session *Session
	now     time.Time
	drafts  []draftFile
	changed map[rootedDir]bool // directories with new names
	step    func(name string)
	link    func(root *os.Root, from, to string) error
	report  RestoreReport
}

// A draftFile is a file that was written under another name.
type draftFile struct {
	*File
	root      *os.Root
	rel, name string // its path and that of the draft, in the root
}

func (r *restoring) run(ctx context.Context, force bool) error {
	missing, present, err := r.compareAll(force)
	if err != nil {
		return err
	}
	defer r.removeDrafts()
	for _, f := range missing {
		if err := r.stage(ctx, f); err != nil {
			return err
		}
	}
	for _, f := range present {
		root, rel, err := r.at(f.Path, false)
		if err == nil {
			err = root.Chtimes(rel, r.now, r.now)
		}
		if err != nil {
			return fmt.Errorf("archive: %w", err)
		}
		r.report.Same++
	}
	for len(r.drafts) > 0 {
		if err := r.put(&r.drafts[0]); err != nil {
			return fmt.Errorf("archive: %w", err)
		}
		r.drafts = r.drafts[1:]
	}
	if err := r.sync(); err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	return nil
}

// compareAll returns the files that have to be written, the transcript last, and the files that are
// already there.
func (r *restoring) compareAll(force bool) (missing, present []*File, err error) {
	var conflict ConflictError
	main := r.session.Main()
	states := map[*File]fileState{}
	for i := range r.session.Files {
		f := &r.session.Files[i]
		if states[f], err = r.compare(f); err != nil {
			return nil, nil, fmt.Errorf("archive: %w", err)
		}
		if f == main {
			continue
		}
		missing, present = r.assign(f, states[f], missing, present, &conflict)
	}
	missing, present = r.assign(main, states[main], missing, present, &conflict)
	if len(conflict.Paths) > 0 && !force {
		if states[main] >= longerFile {
			last := len(conflict.Paths) - 1
			conflict.Paths = slices.Insert(conflict.Paths[:last], 0, conflict.Paths[last])
		}
		conflict.Longer = states[main] == longerFile
		return nil, nil, &conflict
	}
	return missing, present, nil
}

// assign adds a file to one of the lists.
func (r *restoring) assign(f *File, state fileState, missing, present []*File, conflict *ConflictError) (m, p []*File) {
	switch state {
	case sameFile:
		return missing, append(present, f)
	case longerFile, otherFile:
		conflict.Paths = append(conflict.Paths, r.path(f.Path))
	}
	return append(missing, f), present
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
	root, rel, err := r.at(f.Path, false)
	if errors.Is(err, fs.ErrNotExist) {
		return missingFile, nil
	}
	if err != nil {
		return 0, err
	}
	info, err := root.Lstat(rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return missingFile, nil
	case err != nil:
		return 0, err
	case !info.Mode().IsRegular():
		return otherFile, nil
	case isNothing(f.Path, r.session, info):
		return missingFile, nil
	case info.Size() < f.Size:
		return otherFile, nil
	}
	file, err := root.Open(rel)
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

// isNothing reports whether a file is an empty transcript, which is none.
func isNothing(name string, s *Session, info fs.FileInfo) bool {
	return info.Mode().IsRegular() && info.Size() == 0 && name == s.mainPath()
}

// stage writes a file under another name. One that is damaged in the archive is left out, unless it is
// the transcript.
func (r *restoring) stage(ctx context.Context, f *File) error {
	root, rel, err := r.at(f.Path, true)
	if err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	name, err := r.draft(ctx, root, rel, draftOptions{f, r.now, true})
	if damage, ok := errors.AsType[*DamageError](err); ok && f != r.session.Main() {
		r.report.Problems = append(r.report.Problems, Problem{f.Path, damage})
		return nil
	}
	if err != nil {
		return err
	}
	r.drafts = append(r.drafts, draftFile{f, root, rel, name})
	return nil
}

// removeDrafts removes what got no name.
func (r *restoring) removeDrafts() {
	for _, d := range r.drafts {
		_ = d.root.Remove(d.name) // the first error says more
	}
}

// put gives a draft its name. A file that has the name by now is renamed. The names of all others
// survive a crash before the transcript gets its own.
//
// The agent or another restore may create or write the file at the same time. A link never replaces
// a file, so what they write stays: in the file that was renamed, or in the one for which put returns
// an error. Only where the file system has no hard links, a file that is created between the two
// renames is lost.
func (r *restoring) put(d *draftFile) error {
	if d.File == r.session.Main() {
		if err := r.sync(); err != nil {
			return err
		}
	}
	if err := r.moveAside(d); err != nil {
		return err
	}
	r.step("name")
	switch err := r.link(d.root, d.name, d.rel); {
	case err == nil:
		if err := d.root.Remove(d.name); err != nil {
			return err
		}
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("another process has created %s in the meantime; it stays as it is", r.path(d.Path))
	default:
		if err := d.root.Rename(d.name, d.rel); err != nil {
			return err
		}
	}
	r.report.Written++
	r.report.Bytes += d.Size
	for dir := path.Dir(d.rel); ; dir = path.Dir(dir) {
		r.changed[rootedDir{d.root, dir}] = true
		if dir == "." {
			return nil
		}
	}
}

// moveAside renames the file that has the name of a draft, if there is one. It removes an empty
// transcript, which is none, unless somebody wrote to it in the meantime.
func (r *restoring) moveAside(d *draftFile) error {
	if _, err := d.root.Lstat(d.rel); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	// Two restores at once must not choose the same name.
	end := ".before-restore-" + r.now.UTC().Format("20060102T150405.000000000Z")
	r.step("move aside")
	if err := d.root.Rename(d.rel, d.rel+end); err != nil {
		return err
	}
	r.step("look aside")
	if info, err := d.root.Lstat(d.rel + end); err == nil && isNothing(d.Path, r.session, info) {
		return d.root.Remove(d.rel + end)
	}
	r.report.Aside = append(r.report.Aside, r.path(d.Path)+end)
	return nil
}

// sync makes the names in changed directories survive a crash.
func (r *restoring) sync() error {
	for dir := range r.changed {
		if err := files.SyncDirIn(dir.root, dir.path); err != nil {
			return err
		}
	}
	clear(r.changed)
	return nil
}

// A rootedDir is a directory below a root that nothing can leave.
type rootedDir struct {
	root *os.Root
	path string
}
