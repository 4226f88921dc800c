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

	"github.com/clewdev/clew/internal/sessionfile"
	"github.com/clewdev/clew/wire"
)

const (
	// recentEntries is how many entries of each file are remembered.
	recentEntries = 64
	// missedBytes is how much of the end of a file is looked at.
	missedBytes = 8 << 20
)

// recent remembers the newest entries of each file that the agent has mirrored. An agent that ends, or dies, writes its
// last entries to the file and does not always mirror them: those behind, and between, the ones that are remembered.
type recent struct {
	seed     maphash.Seed
	files    map[string][]uint64 // hashes, the newest last
	sidecars map[string]string   // what the agent has said of the file beside another
}

func newRecent() *recent {
	return &recent{maphash.MakeSeed(), make(map[string][]uint64), make(map[string]string)}
}

func (r *recent) note(file string, entries []wire.JSON) {
	hashes := r.files[file]
	for _, entry := range entries[max(0, len(entries)-recentEntries):] {
		hashes = append(hashes, maphash.String(r.seed, string(entry)))
	}
	r.files[file] = hashes[max(0, len(hashes)-recentEntries):]
}

// noteSidecar is for the entries of a subagent, some of which may be about the file beside its own.
func (r *recent) noteSidecar(file string, entries []wire.JSON) {
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

// mirrored reports which lines are the entries with these hashes. Of lines that are alike, such as a title that is
// written again and again, it is the last one.
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

// lastLines returns the lines at the end of a file. The first may be a part of one. The last is not there if it is cut.
func lastLines(file string) ([]string, error) {
	f, size, err := openRegular(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.NewSectionReader(f, max(0, size-missedBytes), missedBytes))
	if err != nil {
		return nil, err
	}
	lines := strings.Split(string(text), "\n")
	return lines[:len(lines)-1], nil
}

// openRegular opens a file, and does not wait for a pipe.
func openRegular(path string) (f *os.File, size int64, err error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%s is not a regular file", path)
	}
	f, err = os.Open(path)
	return f, info.Size(), err
}

// missedSidecar returns an entry for the file beside a transcript, if that has changed since the agent mirrored it.
func (r *recent) missedSidecar(file string) []wire.JSON {
	said, ok := r.sidecars[file]
	if !ok {
		return nil
	}
	f, _, err := openRegular(strings.TrimSuffix(file, ".jsonl") + ".meta.json")
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, missedBytes))
	if err != nil {
		return nil
	}
	entry, ok := sessionfile.SidecarEntry(text)
	if content, _ := sessionfile.Sidecar(entry); !ok || string(content) == said {
		return nil
	}
	return []wire.JSON{entry}
}

// isMirrored reports whether an entry is of a kind that the agent mirrors: copies of its requests are not.
func isMirrored(entry wire.JSON) bool {
	var head struct {
		Type string `json:"type"`
	}
	return entry.Decode(&head) == nil && !strings.HasPrefix(head.Type, "api-request")
}

// missed returns what the agent, which is gone, has written to its files and not mirrored. Nothing else copies now.
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
			m.recent.note(file, entries)
			m.recent.noteSidecar(file, entries)
			b.add(key, entries)
		}
	}
	return b
}

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
