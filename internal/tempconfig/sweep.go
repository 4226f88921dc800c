package tempconfig

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// sweepAge is how old a folder is that is looked at: a younger one may not be locked yet.
const sweepAge = time.Minute

// sweep removes the folders of this user that nobody uses any more. What can't be removed is left for the next time.
func sweep(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, entry := range entries {
		path := filepath.Join(parent, entry.Name())
		if strings.HasPrefix(entry.Name(), prefix) && abandoned(path) {
			_ = os.RemoveAll(path)
		}
	}
}

// abandoned reports whether path is a folder of this user that nobody uses.
func abandoned(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() || !own(info) || time.Since(info.ModTime()) < sweepAge {
		return false
	}
	return unlocked(filepath.Join(path, lockName))
}
