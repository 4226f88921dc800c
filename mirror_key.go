package clew

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/clewdev/clew/internal/sessionfile"
	"github.com/clewdev/clew/wire"
)

// A keyFinder knows which transcript a file of the agent is.
type keyFinder struct {
	project string          // of all keys, unless it is empty
	roots   func() []string // the folders of projects, or nil if they are not on this machine
}

func newKeyFinder(opts *Options) *keyFinder {
	f := &keyFinder{project: opts.StoreProject}
	if opts.onThisMachine() {
		f.roots = sync.OnceValue(opts.projectFolders) // the agent makes them first
	}
	return f
}

// projectFolders returns the folder of projects as it is named, and as it is really.
func (o *Options) projectFolders() []string {
	folder := filepath.Join(o.configPlace().dir, sessionfile.Folder)
	if real, err := filepath.EvalSymlinks(folder); err == nil && real != folder {
		return []string{folder, real}
	}
	return []string{folder}
}

// find returns the key of the transcript in a file.
func (f *keyFinder) find(file string) (wire.SessionKey, error) {
	rel, ok := f.relative(file)
	if !ok {
		return wire.SessionKey{}, fmt.Errorf("the file %q is not in the folder of the agent's transcripts", file)
	}
	key, err := sessionfile.Key(rel)
	if err == nil && f.project != "" {
		key.Project = f.project
	}
	return key, err
}

// onThisMachine reports whether the files can be read.
func (f *keyFinder) onThisMachine() bool { return f.roots != nil }

// relative returns the path of a file in the folder of projects, with slashes. Of an agent on another machine, which
// may have another system, that is the last folder of that name.
func (f *keyFinder) relative(file string) (rel string, ok bool) {
	if !f.onThisMachine() {
		file = strings.ReplaceAll(file, `\`, "/")
		const folder = "/" + sessionfile.Folder + "/"
		i := strings.LastIndex(file, folder)
		if i < 0 {
			return "", false
		}
		return file[i+len(folder):], true
	}
	for _, root := range f.roots() {
		if rel, err := filepath.Rel(root, file); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel), true
		}
	}
	return "", false
}
