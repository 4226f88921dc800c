package archive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/clewdev/clew/internal/files"
)

// A Dir is an archive in a directory that only the user can read:
//
//	clew-archive.json                       {"format":1}
//	blobs/9f/9f86d081…0a08.zst              zstd frames; the name is their SHA-256
//	sessions/MACHINE.json                   when the machine was last saved
//	sessions/MACHINE/PROJECT/SESSION.json   the manifest of a session
//	locks/                                  empty files
//
// Files are written under another name, synced and renamed, and so are visible only as a whole. The
// directory may be synced to another machine by a program that copies files.
type Dir struct {
	path string
	made sync.Map // directories that exist and are on disk
	step func()   // for tests: called before each step of a write; may be nil
}

const (
	dirMark        = "clew-archive.json"
	blobFolder     = "blobs"
	manifestFolder = "sessions"
	lockFolder     = "locks"
	blobEnd        = ".zst"
	manifestEnd    = ".json"
)

type dirHead struct {
	Format int `json:"format"`
}

// OpenDir opens the archive in a directory. If the directory does not exist or is empty, it creates
// an archive. It returns an error if the directory has other files, except files whose names start
// with a dot, such as the files of programs that sync directories.
func OpenDir(path string) (*Dir, error) {
	d, err := openDir(path)
	if !errors.Is(err, ErrNotFound) {
		return d, err
	}
	isOther := func(entry fs.DirEntry) bool { return !strings.HasPrefix(entry.Name(), ".") }
	if entries, err := os.ReadDir(path); err == nil && slices.ContainsFunc(entries, isOther) {
		return nil, fmt.Errorf("archive: %s is not an archive, and not empty: give an empty directory, or one that does not exist", path)
	}
	d = &Dir{path: filepath.Clean(path)}
	if err := mkdirAll(d.path); err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	text, err := json.Marshal(dirHead{format})
	if err == nil {
		err = d.write(filepath.Join(path, dirMark), text)
	}
	if err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	return d, nil
}

// OpenExistingDir is like [OpenDir], but creates nothing: if there is no archive, the error wraps
// [ErrNotFound].
func OpenExistingDir(path string) (*Dir, error) { return openDir(path) }

func openDir(path string) (*Dir, error) {
	text, err := files.ReadSmall(filepath.Join(path, dirMark), 1<<10)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no archive in %s: %w", path, ErrNotFound)
	}
	var head dirHead
	if err == nil {
		err = json.Unmarshal(text, &head)
	}
	if err != nil {
		return nil, fmt.Errorf("archive: %s: %w", filepath.Join(path, dirMark), err)
	}
	if head.Format != format {
		return nil, fmt.Errorf("archive: %s has format %d, and this version of clew reads %d: use a newer one", path, head.Format, format)
	}
	return &Dir{path: filepath.Clean(path)}, nil
}

// Path returns the path of the directory.
func (d *Dir) Path() string { return d.path }

// Close does nothing.
func (d *Dir) Close() error { return nil }

func (d *Dir) blobPath(name string) string {
	return filepath.Join(d.path, blobFolder, name[:2], name+blobEnd)
}

func (d *Dir) manifestPath(key Key) string {
	return filepath.Join(d.path, manifestFolder, filepath.FromSlash(key.String())+manifestEnd)
}

// Put implements [Target].
func (d *Dir) Put(ctx context.Context, name string, data []byte) error {
	if err := errors.Join(CheckBlob(name), ctx.Err()); err != nil {
		return err
	}
	path := d.blobPath(name)
	if info, err := os.Lstat(path); err == nil && info.Size() == int64(len(data)) {
		return files.SyncDir(filepath.Dir(path)) // a process that crashed may have written it
	}
	if err := d.write(path, data); err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	return nil
}

// Get implements [Target].
func (d *Dir) Get(ctx context.Context, name string) ([]byte, error) {
	if err := errors.Join(CheckBlob(name), ctx.Err()); err != nil {
		return nil, err
	}
	data, err := files.ReadSmall(d.blobPath(name), maxBlob)
	return data, targetError("blob "+name, err)
}

// targetError describes an error of the file system.
func targetError(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: %w", what, ErrNotFound)
	}
	return fmt.Errorf("archive: %w", err)
}

// Manifest implements [Target].
func (d *Dir) Manifest(ctx context.Context, key Key) (Manifest, error) {
	if err := errors.Join(key.Check(), ctx.Err()); err != nil {
		return Manifest{}, err
	}
	data, err := files.ReadSmall(d.manifestPath(key), maxManifest)
	if err != nil {
		return Manifest{}, targetError("manifest of "+key.String(), err)
	}
	return Manifest{Key: key, Data: data, Revision: hashOf(data)}, nil
}

// Manifests implements [Target].
func (d *Dir) Manifests(ctx context.Context, machine string) iter.Seq2[Manifest, error] {
	return func(yield func(Manifest, error) bool) {
		var keys []Key
		if err := d.keys(machine, &keys); err != nil {
			yield(Manifest{}, fmt.Errorf("archive: %w", err))
			return
		}
		for _, key := range keys {
			m, err := d.Manifest(ctx, key)
			if ctx.Err() != nil {
				yield(Manifest{}, ctx.Err())
				return
			}
			if err != nil {
				m = Manifest{Key: key, Err: err}
			}
			if !yield(m, nil) {
				return
			}
		}
	}
}

// keys finds the manifests. It ignores files of other names, such as files that are being written.
func (d *Dir) keys(machine string, keys *[]Key) error {
	root := filepath.Join(d.path, manifestFolder)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		parts := strings.Split(filepath.ToSlash(rel), "/")
		if entry.IsDir() {
			if machine != "" && parts[0] != machine || len(parts) > 2 {
				return fs.SkipDir
			}
			return nil
		}
		name, ok := strings.CutSuffix(parts[len(parts)-1], manifestEnd)
		parts[len(parts)-1] = name
		key := Key{Machine: parts[0]}
		if len(parts) == 3 {
			key.Project, key.Session = parts[1], parts[2]
		}
		if ok && len(parts) != 2 && key.Check() == nil && (machine == "" || key.Machine == machine) {
			*keys = append(*keys, key)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Swap implements [Target]. A lock keeps other processes of this machine from doing the same; other
// machines don't write its manifests.
func (d *Dir) Swap(ctx context.Context, key Key, data []byte, old string) error {
	if err := errors.Join(key.Check(), ctx.Err()); err != nil {
		return err
	}
	err := d.swap(ctx, key, data, old)
	if err != nil && !errors.Is(err, ErrChanged) {
		return fmt.Errorf("archive: %w", err)
	}
	return err
}

func (d *Dir) swap(ctx context.Context, key Key, data []byte, old string) error {
	locks := filepath.Join(d.path, lockFolder)
	if err := d.mkdir(locks); err != nil {
		return err
	}
	// A few locks are enough, and let several sessions be written at once.
	lock, err := files.Open(filepath.Join(locks, hashOf([]byte(key.String()))[:1]), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = files.Unlock(lock) }() // nothing was written
	present, err := d.Manifest(ctx, key)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	if present.Revision != old {
		return fmt.Errorf("%s: %w", key, ErrChanged)
	}
	return d.write(d.manifestPath(key), data)
}

// write replaces a file, and returns when that would survive a crash. A crash before that leaves the
// old content or the new one, and perhaps a file whose name starts with a dot.
func (d *Dir) write(path string, data []byte) error {
	dir := filepath.Dir(path)
	if err := d.mkdir(dir); err != nil {
		return err
	}
	d.at()
	err := files.WriteFunc(path, files.WriteOptions{}, func(w io.Writer) error {
		d.at()
		_, err := w.Write(data)
		d.at()
		return err
	})
	d.at()
	return err
}

// at tells a test that the next step follows.
func (d *Dir) at() {
	if d.step != nil {
		d.step()
	}
}

// mkdir creates a directory below the archive's directory, and syncs the ones above it. It does so
// once for each directory that exists as well: a process that crashed may have created it.
func (d *Dir) mkdir(dir string) error {
	if _, ok := d.made.Load(dir); ok {
		return nil
	}
	if dir != d.path {
		if err := d.mkdir(filepath.Dir(dir)); err != nil {
			return err
		}
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := files.SyncDir(filepath.Dir(dir)); err != nil {
			return err
		}
	}
	d.made.Store(dir, true)
	return nil
}

// mkdirAll creates a directory and those above it that are missing, and syncs the one above each.
func mkdirAll(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() || filepath.Dir(dir) == dir {
		return err
	}
	if err := mkdirAll(filepath.Dir(dir)); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return files.SyncDir(filepath.Dir(dir))
}
