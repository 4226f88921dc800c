package lineedit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

const (
	maxEntries    = 1000
	maxEntryBytes = 32 << 10
)

// A History is a list of earlier texts, oldest first. The zero value is empty and has no file.
type History struct {
	path    string
	entries []string
}

// OpenHistory reads a history from a file with one JSON string per line, and skips other lines. The
// first Add creates a missing file. The history can be used even if there is an error.
func OpenHistory(path string) (*History, error) {
	h := &History{path: path}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return h, nil
	}
	if err != nil {
		return h, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 8*maxEntryBytes)
	read := 0
	for ; lines.Scan(); read++ {
		var entry string
		if json.Unmarshal(lines.Bytes(), &entry) == nil && entry != "" {
			h.entries = append(h.entries, entry)
		}
		if len(h.entries) >= 2*maxEntries {
			h.forget()
		}
	}
	h.forget()
	if err = lines.Err(); err != nil {
		return h, err
	}
	if read > maxEntries+maxEntries/10 {
		err = h.rewrite()
	}
	return h, err
}

// forget removes the oldest entries if there are too many.
func (h *History) forget() {
	if n := len(h.entries) - maxEntries; n > 0 {
		h.entries = slices.Delete(h.entries, 0, n)
	}
}

// Len returns the number of entries.
func (h *History) Len() int { return len(h.entries) }

// Newest returns the nth newest entry, counted from 1.
func (h *History) Newest(n int) string { return h.entries[len(h.entries)-n] }

// Add adds an entry, also to the file, which only the user can read. It does not add an entry equal
// to the newest one, and does not write very long entries to the file.
func (h *History) Add(entry string) error {
	if entry == "" || h.Len() > 0 && h.Newest(1) == entry {
		return nil
	}
	h.entries = append(h.entries, entry)
	h.forget()
	if h.path == "" || len(entry) > maxEntryBytes {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(h.path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(h.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(encode(entry))
	return errors.Join(err, file.Close())
}

// rewrite replaces the file with one that contains only the entries.
func (h *History) rewrite() error {
	var all bytes.Buffer
	for _, entry := range h.entries {
		all.Write(encode(entry))
	}
	file, err := os.CreateTemp(filepath.Dir(h.path), ".history-*")
	if err != nil {
		return err
	}
	_, err = file.Write(all.Bytes())
	err = errors.Join(err, file.Close())
	if err == nil {
		err = os.Rename(file.Name(), h.path)
	}
	if err != nil {
		_ = os.Remove(file.Name()) // the first error is returned
	}
	return err
}

func encode(entry string) []byte {
	line, _ := json.Marshal(entry) // a string can't fail
	return append(line, '\n')
}
