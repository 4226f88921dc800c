package files

import (
	"cmp"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/clewdev/clew/internal/clip"
)

// WriteOptions are the settings of a write. The zero value is right for a file that its owner alone
// may read and does not want to lose.
type WriteOptions struct {
	// Mode is the permissions of the file. 0 means 0600.
	Mode fs.FileMode
	// New makes an existing file an error, which wraps [fs.ErrExist]. The file stays as it is.
	New bool
	// NoSync is for files that need not survive a crash of the machine, after which they may be
	// empty. Otherwise the content and the name are on disk when the write returns.
	NoSync bool
}

// Write writes a file as a whole: a reader sees the old content or the new one at any time, and so
// does the next process if this one is killed. That leaves a draft beside the file at worst, whose
// name starts with a dot. If Write fails, the old file stays.
func Write(path string, data []byte, opts WriteOptions) error {
	return WriteFunc(path, opts, writeAll(data))
}

// WriteIn is like [Write] for a file in a directory that no link leads out of.
func WriteIn(root *os.Root, name string, data []byte, opts WriteOptions) error {
	return replace(root, name, opts, writeAll(data))
}

// WriteFunc is like [Write] for content that a function writes. If the function returns an error, so
// does WriteFunc.
func WriteFunc(path string, opts WriteOptions, write func(io.Writer) error) error {
	return replace(system{}, path, opts, write)
}

func writeAll(data []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}
}

// A tree has the files that a path names. An [os.Root] is one.
type tree interface {
	Open(name string) (*os.File, error)
	OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error)
	Lstat(name string) (fs.FileInfo, error)
	Link(from, to string) error
	Rename(from, to string) error
	Remove(name string) error
}

// system is the tree of all files.
type system struct{}

// Open is [os.Open].
func (system) Open(name string) (*os.File, error) { return os.Open(name) }

// OpenFile is [os.OpenFile].
func (system) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(name, flag, perm)
}

// Lstat is [os.Lstat].
func (system) Lstat(name string) (fs.FileInfo, error) { return os.Lstat(name) }

// Link is [os.Link].
func (system) Link(from, to string) error { return os.Link(from, to) }

// Rename is [os.Rename].
func (system) Rename(from, to string) error { return os.Rename(from, to) }

// Remove is [os.Remove].
func (system) Remove(name string) error { return os.Remove(name) }

func replace(t tree, name string, opts WriteOptions, write func(io.Writer) error) error {
	dir := filepath.Dir(name)
	draft := filepath.Join(dir, draftPrefix(name)+rand.Text())
	err := writeDraft(t, draft, opts, write)
	if err == nil {
		err = publish(t, draft, name, opts.New)
	}
	if err != nil {
		_ = t.Remove(draft) // the first error says more
		return err
	}
	if opts.NoSync {
		return nil
	}
	return syncDir(t, dir)
}

const privateMode fs.FileMode = 0o600

func writeDraft(t tree, draft string, opts WriteOptions, write func(io.Writer) error) error {
	file, err := t.OpenFile(draft, os.O_WRONLY|os.O_CREATE|os.O_EXCL, privateMode)
	if err != nil {
		return err
	}
	err = write(file)
	if mode := cmp.Or(opts.Mode, privateMode); err == nil && mode != privateMode {
		err = file.Chmod(mode)
	}
	if err == nil && !opts.NoSync {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// publish gives a draft its name. Unlike a rename, a link never replaces a file that another
// process created in the meantime.
func publish(t tree, draft, name string, isNew bool) error {
	if isNew {
		err := t.Link(draft, name)
		if err == nil {
			_ = t.Remove(draft) // the file is there
			return nil
		}
		if _, present := t.Lstat(name); present == nil || errors.Is(err, fs.ErrExist) {
			return &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
		}
		// Some file systems have no links.
	}
	limit := time.Duration(0)
	if runtime.GOOS == "windows" { // it does not replace a file that another process has open
		limit = renameLimit
	}
	return retry(limit, func() error { return t.Rename(draft, name) })
}

const (
	// renameLimit is the time for which the replacement of a file that others read is tried.
	renameLimit    = 500 * time.Millisecond
	renameInterval = 20 * time.Millisecond
)

// retry calls f until it succeeds, or until the limit.
func retry(limit time.Duration, f func() error) error {
	for deadline := time.Now().Add(limit); ; time.Sleep(renameInterval) {
		if err := f(); err == nil || !time.Now().Before(deadline) {
			return err
		}
	}
}

// draftPrefix returns how the names of the drafts of a file start.
func draftPrefix(path string) string {
	const most = 100 // system calls refuse names of more than 255 bytes
	return ".new-" + clip.Bytes(filepath.Base(path), most) + "-"
}

// RemoveDrafts removes the drafts of a file that killed processes left. The caller must keep other
// processes from writing the file. Drafts that can't be removed stay for the next time.
func RemoveDrafts(path string) {
	dir := filepath.Dir(path)
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), draftPrefix(path)) {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// SyncDir makes the names in a directory survive a crash of the machine, where the system can do
// that.
func SyncDir(dir string) error { return syncDir(system{}, dir) }

// SyncDirIn is like [SyncDir] for a directory that no link leads out of.
func SyncDirIn(root *os.Root, dir string) error { return syncDir(root, dir) }

func syncDir(t tree, dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := t.Open(dir)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) { // as on some network file systems
		err = nil
	}
	return errors.Join(err, f.Close())
}
