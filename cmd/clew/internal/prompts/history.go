package prompts

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/clewdev/clew/cmd/clew/internal/compose"
	"github.com/clewdev/clew/internal/files"
)

const (
	maxHistory      = 1000     // entries in the file
	maxHistoryBytes = 32 << 10 // of an entry in the file
)

// A History is the history of prompts, and the file in which it is kept: one JSON string per line.
// Several processes may use the file. Each locks it to append a line or to shorten it, so that none
// loses what another one saved. Only on Windows, a prompt that is saved at the moment of the
// replacement is lost. A process that is killed while it saves leaves a part of a line, which costs
// the next prompt as well.
type History struct {
	*compose.History
	path string // "" if there is no file
	last string // the prompt that was saved last
}

// OpenHistory reads a history from a file, and skips lines that are not strings. The first prompt
// creates a missing file. If the file can't be read, or path is "", the history is empty and is not
// saved.
func OpenHistory(path string) *History {
	if path != "" {
		if h, err := readHistory(path); err == nil {
			return h
		}
	}
	return &History{History: compose.NewHistory(nil)}
}

func readHistory(path string) (*History, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &History{History: compose.NewHistory(nil), path: path}, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	entries, lines, err := historyEntries(file)
	if err != nil {
		return nil, err
	}
	if lines > maxHistory+maxHistory/10 {
		err = shortenHistory(path)
	}
	return &History{History: compose.NewHistory(entries), path: path}, err
}

// historyEntries reads the last entries of a file, and counts its lines.
func historyEntries(r io.Reader) (entries []string, lines int, err error) {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, 8*maxHistoryBytes)
	for ; scanner.Scan(); lines++ {
		var entry string
		if json.Unmarshal(scanner.Bytes(), &entry) == nil && entry != "" {
			entries = append(entries, entry)
		}
		if len(entries) >= 2*maxHistory {
			entries = append(entries[:0], entries[len(entries)-maxHistory:]...)
		}
	}
	return entries[max(0, len(entries)-maxHistory):], lines, scanner.Err()
}

// Save adds a prompt to the file, which only the user can read. It leaves out very long ones, and one
// equal to the last.
func (h *History) Save(entry string) error {
	if h.path == "" || entry == "" || entry == h.last || len(entry) > maxHistoryBytes {
		return nil
	}
	h.last = entry
	if err := os.MkdirAll(filepath.Dir(h.path), 0o700); err != nil {
		return err
	}
	file, err := files.Open(h.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(historyLine(entry))
	return errors.Join(err, files.Unlock(file))
}

// shortenHistory replaces the file with its last entries. It reads the file once more, since another
// process may have saved a prompt before the file was locked.
func shortenHistory(path string) error {
	old, err := files.Open(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { _ = files.Unlock(old) }() // it was only read
	entries, _, err := historyEntries(old)
	if err != nil {
		return err
	}
	var all bytes.Buffer
	for _, entry := range entries {
		all.Write(historyLine(entry))
	}
	if runtime.GOOS == "windows" { // it does not replace an open file
		_ = old.Close()
	}
	return files.Write(path, all.Bytes(), files.WriteOptions{})
}

func historyLine(entry string) []byte {
	line, _ := json.Marshal(entry) // a string can't fail
	return append(line, '\n')
}
