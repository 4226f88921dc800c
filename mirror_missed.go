package clew

import (
	"bufio"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"strings"

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
		if content, ok := sessionfile.Sidecar(entry); ok {
			r.sidecars[file] = string(content)
		}
	}
	r.files[file] = hashes[max(0, len(hashes)-recentEntries):]
}

// missed returns the entries at the end of a file that the agent has not mirrored.
func (r *recent) missed(file string) ([]wire.JSON, error) {
	f, size, err := openRegular(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := f.Seek(max(0, size-missedBytes), io.SeekStart); err != nil {
		return nil, err
	}
	return r.missedIn(bufio.NewReader(f), r.files[file])
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
	text, err := io.ReadAll(f)
	if err != nil {
		return nil
	}
	entry, ok := sessionfile.SidecarEntry(text)
	if content, _ := sessionfile.Sidecar(entry); !ok || string(content) == said {
		return nil
	}
	return []wire.JSON{entry}
}

// missedIn reads lines. The first may be a part of one, and the last may be cut: neither counts.
func (r *recent) missedIn(lines *bufio.Reader, mirrored []uint64) (missed []wire.JSON, err error) {
	hashes := make(map[uint64]bool)
	for _, hash := range mirrored {
		hashes[hash] = true
	}
	found := false
	for {
		line, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return missed, nil
		}
		if err != nil {
			return missed, err
		}
		entry := wire.JSON(strings.TrimSuffix(line, "\n"))
		switch {
		case hashes[maphash.String(r.seed, string(entry))]:
			found = true
		case found && isMirrored(entry):
			missed = append(missed, entry)
		}
	}
}

// isMirrored reports whether an entry is of a kind that the agent mirrors: copies of its requests are not.
func isMirrored(entry wire.JSON) bool {
	var head struct {
		Type string `json:"type"`
	}
	return entry.Decode(&head) == nil && !strings.HasPrefix(head.Type, "api-request")
}

// addMissed copies what the agent, which is gone, has written to its files and not mirrored. Nothing else copies now.
func (m *mirror) addMissed() {
	if !m.keys.onThisMachine() {
		return
	}
	var b batch
	for file := range m.recent.files {
		key, err := m.keys.find(file)
		if err != nil {
			continue
		}
		entries, err := m.recent.missed(file)
		if err != nil {
			m.log.Warn("the end of a transcript can't be read", "file", file, "error", err)
		}
		entries = append(entries, m.recent.missedSidecar(file)...)
		if len(entries) > 0 {
			m.recent.note(file, entries)
			b.add(key, entries)
		}
	}
	m.append(&b)
}
