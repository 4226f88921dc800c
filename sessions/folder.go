package sessions

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clewdev/clew/internal/sessionfile"
	"github.com/clewdev/clew/wire"
)

// A Folder is a [Store] of files, laid out as the agent does it: a folder for each project, in it a file of lines for
// each session, and beside that a folder for the transcripts below it. So a Folder can stand on the agent's own files,
// see [AgentFolder], and is a [ProjectLister], too.
//
// Files and folders are made for the user alone. Nothing outside the folder is touched: a symbolic link that leads out
// is an error. Several goroutines may use one Folder. Other processes may add to the same files, as the agent does, as
// long as they write whole lines; to one file, only one of them should write at a time.
//
// An append is one write, and one that fails is cut off again. A Folder does not wait until the disk has it: as with
// the agent's own files, a machine that crashes may lose the last seconds. To know the UUIDs that are there, it reads a
// file when it first appends to it, and later what others have added; it remembers about a million UUIDs besides those
// of the last file.
type Folder struct {
	// Skipped is called for each line that Load leaves out since it is not an entry, from the goroutine that loads. Nil
	// means that [slog.Default] gets a warning of it, unless it is torn. It must not be changed once the Folder is used.
	Skipped func(SkippedLine)

	dir     string
	deletes sync.RWMutex // held for writing while files go, and for reading while they are made
	tallies tallies
	write   func(*os.File, []byte) (int, error) // for tests; nil means Write
}

// NewFolder returns a store in dir, which is made when something is appended.
func NewFolder(dir string) *Folder { return &Folder{dir: dir} }

// String returns the folder's path.
func (f *Folder) String() string { return f.dir }

// path returns where a transcript lies.
func (f *Folder) path(key wire.SessionKey) string {
	return filepath.Join(f.dir, filepath.FromSlash(sessionfile.Path(key)))
}

func (f *Folder) skip(l SkippedLine) {
	switch {
	case f.Skipped != nil:
		f.Skipped(l)
	case !l.Torn:
		slog.Warn("a line of a transcript was left out", "file", f.path(l.Key),
			"line", l.Line, "offset", l.Offset, "error", l.Err)
	}
}

// root opens the folder. It returns nil if there is none.
func (f *Folder) root() (*os.Root, error) {
	root, err := os.OpenRoot(f.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("sessions: %w", err)
	}
	return root, nil
}

// Projects returns the projects that have sessions, sorted, and those that the user may not read, of which Sessions says
// so. See [ProjectLister].
func (f *Folder) Projects(ctx context.Context) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	root, err := f.root()
	if root == nil {
		return nil, err
	}
	defer root.Close()
	folders, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("sessions: %w", err)
	}
	var projects []string
	for _, folder := range folders {
		if !folder.IsDir() || anyKey(folder.Name()).Check() != nil {
			continue
		}
		found := false
		err := eachSession(root, folder.Name(), func(string, fs.FileInfo) bool {
			found = true
			return false
		})
		if err != nil && !errors.Is(err, fs.ErrPermission) {
			return nil, err
		}
		if found || err != nil {
			projects = append(projects, folder.Name())
		}
	}
	return projects, ctx.Err()
}

// Sessions returns the sessions of a project with the times of their files. See [Store].
func (f *Folder) Sessions(ctx context.Context, project string) (map[string]time.Time, error) {
	if err := ready(ctx, anyKey(project)); err != nil {
		return nil, err
	}
	root, err := f.root()
	if root == nil {
		return nil, err
	}
	defer root.Close()
	times := map[string]time.Time{}
	err = eachSession(root, project, func(id string, info fs.FileInfo) bool {
		times[id] = info.ModTime()
		return true
	})
	return times, err
}

// eachSession calls visit with the files of a project's sessions, by ID, as long as it returns true.
func eachSession(root *os.Root, project string, visit func(id string, info fs.FileInfo) bool) error {
	entries, err := fs.ReadDir(root.FS(), project)
	if absent(err) != nil {
		return fmt.Errorf("sessions: %w", err)
	}
	for _, entry := range entries {
		key, err := sessionfile.Key(path.Join(project, entry.Name()))
		if err != nil {
			continue
		}
		if info, _ := sessionFile(root, key); info != nil && !visit(key.SessionID, info) {
			break
		}
	}
	return nil
}

// sessionFile returns the file of a session, or nil. One without content is not there: the agent leaves such files
// behind.
func sessionFile(root *os.Root, key wire.SessionKey) (fs.FileInfo, error) {
	info, err := root.Stat(sessionfile.Path(key))
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return nil, err
	}
	return info, nil
}

// modified returns the time of a session's file, or the zero time if there is none.
func (f *Folder) modified(key wire.SessionKey) (time.Time, error) {
	root, err := f.root()
	if root == nil {
		return time.Time{}, err
	}
	defer root.Close()
	info, err := sessionFile(root, key)
	switch {
	case info != nil:
		return info.ModTime(), nil
	case errors.Is(err, fs.ErrPermission):
		return time.Time{}, fmt.Errorf("sessions: %w", err)
	}
	return time.Time{}, nil
}

// Subpaths returns the subpaths below a session, sorted. See [Store].
func (f *Folder) Subpaths(ctx context.Context, key wire.SessionKey) ([]string, error) {
	key.Subpath = ""
	if err := ready(ctx, key); err != nil {
		return nil, err
	}
	root, err := f.root()
	if root == nil {
		return nil, err
	}
	defer root.Close()
	found, err := subpaths(ctx, root, key)
	if err != nil {
		return nil, fmt.Errorf("sessions: %w", err)
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

func subpaths(ctx context.Context, root *os.Root, session wire.SessionKey) ([]string, error) {
	var found []string
	err := fs.WalkDir(root.FS(), session.String(), func(name string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !entry.Type().IsRegular() {
			return errors.Join(err, ctx.Err())
		}
		rel := strings.TrimPrefix(name, session.String()+"/")
		subpath, ok := sessionfile.Subpath(rel)
		info, err := entry.Info()
		if ok && err == nil && info.Size() > 0 {
			found = append(found, subpath)
		}
		return nil
	})
	return found, err
}

// Delete removes the file of a transcript, or with a session's own the folder beside it, too. See [Store].
func (f *Folder) Delete(ctx context.Context, key wire.SessionKey) error {
	if err := ready(ctx, key); err != nil {
		return err
	}
	f.deletes.Lock()
	defer f.deletes.Unlock()
	root, err := f.root()
	if root == nil {
		return err
	}
	defer root.Close()
	f.tallies.forgetSession(key)
	err = absent(root.Remove(sessionfile.Path(key)))
	if key.Subpath == "" {
		err = errors.Join(err, root.RemoveAll(key.String()))
	} else {
		err = errors.Join(err, absent(root.Remove(sessionfile.SidecarPath(key))))
	}
	if err != nil {
		return fmt.Errorf("sessions: delete %s: %w", key, err)
	}
	return nil
}

// absent returns nil in place of the error that something is not there.
func absent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
