package clew

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/clewdev/clew/internal/files"
	"github.com/clewdev/clew/internal/sessionfile"
	"github.com/clewdev/clew/wire"
)

const (
	// recentEntries is the number of entries of each file that are kept for comparison.
	recentEntries = 64
	// missedBytes is the number of bytes that are read at the end of a file.
	missedBytes = 8 << 20
)

// recent holds the newest entries of each file that the agent mirrored. An agent that exits or dies
// writes its last entries to the file and does not always mirror them. They are missing after, or
// between, the entries held here.
type recent struct {
	seed     maphash.Seed
	files    map[string][]uint64 // hashes, the newest last
	sidecars map[string]string   // the mirrored content of the sidecar of each subagent's file
}

func newRecent() *recent {
	return &recent{maphash.MakeSeed(), make(map[string][]uint64), make(map[string]string)}
}

// add adds entries that were mirrored.
func (r *recent) add(file string, entries []wire.JSON) {
	hashes := r.files[file]
	for _, entry := range entries[max(0, len(entries)-recentEntries):] {
		hashes = append(hashes, maphash.String(r.seed, string(entry)))
	}
	r.files[file] = hashes[max(0, len(hashes)-recentEntries):]
}

// addSidecars adds those entries of a subagent that hold the content of its sidecar.
func (r *recent) addSidecars(file string, entries []wire.JSON) {
	for _, entry := range entries {
		if content, ok := sessionfile.Sidecar(entry); ok {
			r.sidecars[file] = string(content)
		}
	}
}

// missed returns the entries at the end of a file that the agent has not mirrored.
func (r *recent) missed(file string) ([]wire.JSON, error) {
	lines, err := lastLines(file)
	if err != nil {
		return nil, err
	}
	mirrored := r.mirrored(lines, r.files[file])
	var missed []wire.JSON
	for i := slices.Index(mirrored, true); i >= 0 && i < len(lines); i++ {
		if entry := wire.JSON(lines[i]); !mirrored[i] && isMirrored(entry) {
			missed = append(missed, entry)
		}
	}
	return missed, nil
}

// mirrored reports which lines are the entries with these hashes. If several lines are equal, such
// as a title that is written repeatedly, it is the last of them.
func (r *recent) mirrored(lines []string, hashes []uint64) []bool {
	left := make(map[uint64]int)
	for _, hash := range hashes {
		left[hash]++
	}
	found := make([]bool, len(lines))
	for i, line := range slices.Backward(lines) {
		hash := maphash.String(r.seed, line)
		found[i] = left[hash] > 0
		left[hash]--
	}
	return found
}

// lastLines returns the lines at the end of a file. The first one may be cut off. A last line
// without an end is left out.
func lastLines(file string) ([]string, error) {
	root, err := os.OpenRoot(filepath.Dir(file)) // the agent's file may have become a link to anything
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := files.OpenRegularIn(root, filepath.Base(file))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-missedBytes), missedBytes))
	if err != nil {
		return nil, err
	}
	lines := strings.Split(string(text), "\n")
	return lines[:len(lines)-1], nil
}

// missedSidecar returns an entry for the sidecar of a transcript, if that changed since the agent
// mirrored it.
func (r *recent) missedSidecar(file string) []wire.JSON {
	mirrored, ok := r.sidecars[file]
	if !ok {
		return nil
	}
	root, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return nil
	}
	defer root.Close()
	name := strings.TrimSuffix(filepath.Base(file), ".jsonl") + ".meta.json"
	text, err := files.ReadSmallIn(root, name, missedBytes)
	if err != nil {
		return nil
	}
	entry, ok := sessionfile.SidecarEntry(text)
	if content, _ := sessionfile.Sidecar(entry); !ok || string(content) == mirrored {
		return nil
	}
	return []wire.JSON{entry}
}

// isMirrored reports whether an entry is of a kind that the agent mirrors. It does not mirror
// copies of its requests.
func isMirrored(entry wire.JSON) bool {
	var head struct {
		Type string `json:"type"`
	}
	return entry.Decode(&head) == nil && !strings.HasPrefix(head.Type, "api-request")
}

// missed returns the entries that the agent, which is gone, has written to its files and not
// mirrored. It must not run while entries are copied.
func (m *mirror) missed() batch {
	var b batch
	if !m.keys.onThisMachine() {
		return b
	}
	for file := range m.recent.files {
		key, err := m.keys.find(file)
		if err != nil {
			continue
		}
		entries, err := m.recent.missed(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			m.lose(&StoreError{Method: "Append", Key: key, Err: fmt.Errorf("the end of the transcript can't be read: %w", err)})
		}
		entries = append(entries, m.recent.missedSidecar(file)...)
		if len(entries) > 0 {
			m.recent.add(file, entries)
			m.recent.addSidecars(file, entries)
			b.add(key, entries)
		}
	}
	return b
}

// A keyFinder finds the key of the transcript in a file of the agent.
type keyFinder struct {
	project string          // the project of all keys, unless it is empty
	roots   func() []string // the directories of projects, or nil if they are not on this machine
}

func newKeyFinder(opts *Options) *keyFinder {
	f := &keyFinder{project: opts.Store.Project}
	if opts.onThisMachine() {
		f.roots = sync.OnceValue(opts.projectDirs) // not yet: the agent has to create them
	}
	return f
}

// projectDirs returns the directory of projects, and its real path if that differs.
func (o *Options) projectDirs() []string {
	dir := filepath.Join(o.configDirs().settings, sessionfile.Folder)
	if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
		return []string{dir, real}
	}
	return []string{dir}
}

// find returns the key of the transcript in a file.
func (f *keyFinder) find(file string) (wire.SessionKey, error) {
	rel, ok := f.relative(file)
	if !ok {
		return wire.SessionKey{}, fmt.Errorf("the file %q is not in the directory of the agent's transcripts", file)
	}
	key, err := sessionfile.Key(rel)
	if err == nil && f.project != "" {
		key.Project = f.project
	}
	return key, err
}

// onThisMachine reports whether the files can be read.
func (f *keyFinder) onThisMachine() bool { return f.roots != nil }

// relative returns the path of a file below the directory of projects, with slashes. For an agent
// on another machine, which may run another system, that is the last directory with that name in
// the path.
func (f *keyFinder) relative(file string) (rel string, ok bool) {
	if !f.onThisMachine() {
		file = strings.ReplaceAll(file, `\`, "/")
		const dir = "/" + sessionfile.Folder + "/"
		i := strings.LastIndex(file, dir)
		if i < 0 {
			return "", false
		}
		return file[i+len(dir):], true
	}
	for _, root := range f.roots() {
		if rel, err := filepath.Rel(root, file); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel), true
		}
	}
	return "", false
}
