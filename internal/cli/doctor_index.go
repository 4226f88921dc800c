package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

type indexDetails struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
}

// checkIndex tells of the search index, which needs no care: what is wrong with it is put right by the next search.
func checkIndex(place func() (string, error)) []diagnosis {
	path, err := place()
	if err != nil {
		return []diagnosis{{
			State: noted, Found: "there is no place for it: " + err.Error(),
			Advice: "Set XDG_CACHE_HOME or HOME, or search with --no-index.",
		}}
	}
	d := indexDetails{Path: path}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []diagnosis{{State: healthy, Found: "not built yet; the first search does that", Details: d}}
	case err == nil && !info.Mode().IsRegular():
		err = errors.New("it is not a file")
	case err == nil:
		d.Bytes = info.Size()
		err = looksLikeSQLite(path)
	}
	if err != nil {
		return []diagnosis{{
			State: worrying, Found: fmt.Sprintf("%s: %v", path, cause(err)),
			Advice: "Delete it: the next search builds it anew.", Details: d,
		}}
	}
	found := fmt.Sprintf("%s, written %s, %s", formatSize(d.Bytes), info.ModTime().Local().Format(timeLayout), path)
	return []diagnosis{{State: healthy, Found: found, Details: d}}
}

func looksLikeSQLite(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	magic := []byte("SQLite format 3\x00")
	head := make([]byte, len(magic))
	if _, err := io.ReadFull(file, head); err != nil || !bytes.Equal(head, magic) {
		return errors.New("it is damaged")
	}
	return nil
}
