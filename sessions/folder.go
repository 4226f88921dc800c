package sessions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
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

const (
	// maxWrite is how long another process may take for the rest of a line: an agent writes long ones in pieces.
	maxWrite = time.Second
	// endInterval is how often the end of a file is looked at.
	endInterval = 5 * time.Millisecond
)

// awaitEnd returns the size of a file, and whether its last line has an end. If it has none, somebody may be in the middle
// of it, and a line that is put there would break theirs: it waits until the end comes, or nothing does for a while. Then
// the line was torn by a crash, and the next one has to end it.
func awaitEnd(ctx context.Context, file *os.File) (size int64, ended bool, err error) {
	for {
		info, err := file.Stat()
		if err != nil {
			return 0, false, err
		}
		size = info.Size()
		if ended, err = endsLine(file, size); ended || err != nil {
			return size, ended, err
		}
		if quiet := time.Since(info.ModTime()); quiet > maxWrite || quiet < -maxWrite {
			return size, false, nil
		}
		select {
		case <-ctx.Done():
			return 0, false, ctx.Err()
		case <-time.After(endInterval):
		}
	}
}

// endsLine reports whether a file of that size ends with a line.
func endsLine(file *os.File, size int64) (bool, error) {
	if size == 0 {
		return true, nil
	}
	var last [1]byte
	text, err := readAt(file, last[:], size-1)
	return len(text) == 1 && text[0] == '\n', err
}
