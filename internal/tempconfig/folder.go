// Package tempconfig makes a folder for the agent's settings that lasts as long as one session: with transcripts to
// resume from, and with those settings of the user that the agent needs, its credentials among them. Whoever may read
// the folder may act as the user, so nobody else can, and nothing is left of it.
package tempconfig

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	// prefix begins the names of the folders. Claude Code keeps its tools out of folders that begin like this.
	prefix = "claude-resume-clew-"
	// lockName is a file in the folder that is locked as long as the folder is in use.
	lockName = ".clew-lock"

	dirMode  = 0o700
	fileMode = 0o600
)

// A Folder is a folder for the agent's settings. Its methods are for one goroutine at a time.
type Folder struct {
	path string
	lock *os.File
}

// New makes an empty folder among the temporary files, and removes those that hosts have left behind which were killed.
// Whoever makes a folder must remove it.
func New() (*Folder, error) { return newIn(os.TempDir()) }

func newIn(parent string) (*Folder, error) {
	sweep(parent)
	path, err := os.MkdirTemp(parent, prefix)
	if err != nil {
		return nil, fmt.Errorf("tempconfig: %w", err)
	}
	lock, err := lockFile(filepath.Join(path, lockName))
	if err != nil {
		_ = os.RemoveAll(path) // there is nothing in it
		return nil, fmt.Errorf("tempconfig: %w", err)
	}
	return &Folder{path, lock}, nil
}

// Path returns where the folder is.
func (f *Folder) Path() string { return f.path }

// A process that the agent has left behind may still write into the folder while it is removed.
const (
	removeAttempts = 10
	removePause    = 50 * time.Millisecond
)

// Remove removes the folder with all that is in it. It may be called any number of times, also on nil. If it fails, the
// folder is removed when the next one is made.
func (f *Folder) Remove() error {
	if f == nil {
		return nil
	}
	_ = f.lock.Close() // on Windows nothing can be removed that is open
	var err error
	for range removeAttempts {
		if err = os.RemoveAll(f.path); err == nil {
			return nil
		}
		time.Sleep(removePause)
	}
	return fmt.Errorf("tempconfig: %w", err)
}

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
