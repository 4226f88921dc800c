package sessions

import (
	"cmp"
	"context"
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

	"github.com/clewdev/clew/internal/newid"
	"github.com/clewdev/clew/internal/sessionfile"
	"github.com/clewdev/clew/wire"
)

// A projectRoot is an open directory that has the files of a project. No name or symbolic link
// leads out of it. It is the directory of all projects, or, if the project is a symbolic link, the
// directory that the link leads to.
type projectRoot struct {
	*os.Root
	prefix string // the path of the project in it
}

// file returns the name of a transcript's file.
func (r *projectRoot) file(key wire.SessionKey) string { return r.name(key, sessionfile.Path(key)) }

// sidecar returns the name of the metadata file of a subagent.
func (r *projectRoot) sidecar(key wire.SessionKey) string {
	return r.name(key, sessionfile.SidecarPath(key))
}

// session returns the name of the directory of a session.
func (r *projectRoot) session(key wire.SessionKey) string { return path.Join(r.prefix, key.SessionID) }

// name turns a path in the directory of the projects into a name.
func (r *projectRoot) name(key wire.SessionKey, rel string) string {
	return path.Join(r.prefix, strings.TrimPrefix(rel, key.Project+"/"))
}

// project opens the directory that has the files of a project. It returns nil if the directory of
// the projects, or that which a link leads to, does not exist.
func (f *Folder) project(name string) (*projectRoot, error) {
	root, err := f.root()
	if root == nil {
		return nil, err
	}
	project, err := resolve(root, f.dir, name)
	if project == nil || project.Root != root {
		_ = root.Close() // it was only read
	}
	if ignoreNotExist(err) != nil {
		return nil, fmt.Errorf("sessions: %w", err)
	}
	return project, nil
}

// resolve returns the root for a project, given the root of all projects and its path. The caller
// has to close a root that it did not give.
func resolve(root *os.Root, dir, name string) (*projectRoot, error) {
	info, err := root.Lstat(name)
	if ignoreNotExist(err) != nil {
		return nil, err
	}
	if err != nil || info.Mode()&fs.ModeSymlink == 0 { // it may be created later
		return &projectRoot{root, name}, nil //nolint:nilerr // the error was that it does not exist
	}
	linked, err := os.OpenRoot(filepath.Join(dir, name)) // it follows links
	if err != nil {
		return nil, err
	}
	return &projectRoot{linked, "."}, nil
}

// projectDirs returns the names of the projects' directories that are wanted, sorted. A symbolic
// link to a directory counts as one. If several names lead to the same directory, it returns one of
// them: not a link, if there is such a name.
func (f *Folder) projectDirs(wants func(name string) bool) ([]string, error) {
	entries, err := os.ReadDir(f.dir)
	var names, links []string
	for _, entry := range entries {
		switch {
		case !wants(entry.Name()):
		case entry.IsDir():
			names = append(names, entry.Name())
		case entry.Type()&fs.ModeSymlink != 0:
			links = append(links, entry.Name())
		}
	}
	if len(links) == 0 {
		return names, ignoreNotExist(err)
	}
	top, topErr := filepath.EvalSymlinks(f.dir)
	known := map[string]bool{top: true} // a link to the directory of the projects is not a project
	for _, name := range names {
		known[filepath.Join(top, name)] = true
	}
	for _, link := range links {
		target, err := filepath.EvalSymlinks(filepath.Join(f.dir, link))
		if err != nil || known[target] {
			continue
		}
		if info, err := os.Stat(target); err == nil && info.IsDir() {
			known[target] = true
			names = append(names, link)
		}
	}
	slices.Sort(names)
	return names, ignoreNotExist(cmp.Or(err, topErr))
}

// root opens the directory. It returns nil if the directory does not exist.
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

// Projects returns the names of the projects that have sessions, sorted. It includes projects that
// the user may not read; for these, Sessions returns the error. See [ProjectLister].
func (f *Folder) Projects(ctx context.Context) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	root, err := f.root()
	if root == nil {
		return nil, err
	}
	defer root.Close()
	names, err := f.projectDirs(func(name string) bool { return projectKey(name).Check() == nil })
	if err != nil {
		return nil, fmt.Errorf("sessions: %w", err)
	}
	var projects []string
	for _, name := range names {
		found, err := hasSessions(root, f.dir, name)
		if err != nil && !errors.Is(err, fs.ErrPermission) {
			return nil, err
		}
		if found || err != nil {
			projects = append(projects, name)
		}
	}
	return projects, ctx.Err()
}

// hasSessions reports whether a project has a session. root is the directory dir of the projects.
func hasSessions(root *os.Root, dir, name string) (found bool, err error) {
	project, err := resolve(root, dir, name)
	if err != nil {
		return false, fmt.Errorf("sessions: %w", err)
	}
	if project.Root != root {
		defer project.Close()
	}
	err = eachSession(project, name, func(string, fs.FileInfo) bool {
		found = true
		return false
	})
	return found, err
}

// Sessions returns the sessions of a project with the modification times of their files. Empty
// files are left out. See [Store].
func (f *Folder) Sessions(ctx context.Context, project string) (map[string]time.Time, error) {
	var times map[string]time.Time
	err := f.eachSession(ctx, project, func(id string, info fs.FileInfo) {
		if times == nil {
			times = map[string]time.Time{}
		}
		times[id] = info.ModTime()
	})
	return times, err
}

// eachSession calls visit with the ID and the file of each session of a project, in no particular
// order.
func (f *Folder) eachSession(ctx context.Context, project string, visit func(id string, info fs.FileInfo)) error {
	if err := checkKey(ctx, projectKey(project)); err != nil {
		return err
	}
	root, err := f.project(project)
	if root == nil {
		return err
	}
	defer root.Close()
	return eachSession(root, project, func(id string, info fs.FileInfo) bool {
		visit(id, info)
		return ctx.Err() == nil
	})
}

// eachSession calls visit with the ID and the file of each session of a project, in no particular
// order, until visit returns false. It then reads no more of the directory.
func eachSession(root *projectRoot, project string, visit func(id string, info fs.FileInfo) bool) error {
	// The first batch is small: each entry costs a system call, and one session may be enough.
	const maxAtOnce = 256
	atOnce := 4
	dir, err := root.Open(root.prefix)
	if err != nil {
		if ignoreNotExist(err) != nil {
			return fmt.Errorf("sessions: %w", err)
		}
		return nil
	}
	defer dir.Close()
	for {
		entries, err := dir.ReadDir(atOnce)
		atOnce = min(8*atOnce, maxAtOnce)
		for _, entry := range entries {
			id, ok := strings.CutSuffix(entry.Name(), transcriptExtension)
			key := wire.SessionKey{Project: project, SessionID: id}
			if !ok || !newid.IsUUID(id) && key.Check() != nil {
				continue
			}
			if info := listedFile(root, key, entry); info != nil && !visit(key.SessionID, info) {
				return nil
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("sessions: %w", err)
		}
	}
}

// listedFile is sessionFile for an entry of the directory. An entry that a root listed comes with
// the information about the file, unless it is a link.
func listedFile(root *projectRoot, key wire.SessionKey, entry fs.DirEntry) fs.FileInfo {
	if !entry.Type().IsRegular() {
		info, _ := sessionFile(root, key)
		return info
	}
	info, err := entry.Info()
	if err != nil || info.Size() == 0 {
		return nil
	}
	return info
}

// sessionFile returns the file of a session, or nil if there is none. It ignores empty files, since
// the agent sometimes leaves one.
func sessionFile(root *projectRoot, key wire.SessionKey) (fs.FileInfo, error) {
	info, err := root.Stat(root.file(key))
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return nil, err
	}
	return info, nil
}
