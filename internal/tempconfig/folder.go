// Package tempconfig makes a directory for the agent's settings that exists as long as one session.
// It has the transcripts to resume from, and the part of the user's settings that the agent needs,
// including its credentials, or settings that would otherwise be on the command line. Anybody who
// can read it can act as the user. So only the user can, and it is removed completely.
//
// It has neither refresh tokens nor plugins. It is locked while in use, and the next resume removes
// directories that killed hosts left.
package tempconfig

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/clewdev/clew/internal/files"
)

const (
	// prefix begins the names of the directories. Claude Code does not let its tools read
	// directories with this prefix.
	prefix = "claude-resume-clew-"
	// lockName is a file in the directory that is locked while the directory is in use.
	lockName = ".clew-lock"

	dirMode  = 0o700
	fileMode = 0o600
)

// A Folder is a directory for the agent's settings. Only one goroutine at a time may call its
// methods.
type Folder struct {
	path string
	lock *os.File
}

// New makes an empty directory for temporary files, and removes the directories of processes that
// were killed. The caller has to call Remove.
func New() (*Folder, error) { return newIn(os.TempDir()) }

func newIn(parent string) (*Folder, error) {
	sweep(parent)
	path, err := os.MkdirTemp(parent, prefix)
	if err != nil {
		return nil, fmt.Errorf("tempconfig: %w", err)
	}
	lock, err := files.TryLock(filepath.Join(path, lockName))
	if err != nil {
		_ = os.RemoveAll(path) // it is empty
		return nil, fmt.Errorf("tempconfig: %w", err)
	}
	return &Folder{path, lock}, nil
}

// Path returns the path of the directory.
func (f *Folder) Path() string { return f.path }

// Removing is repeated, since a process that the agent has started may still write to the
// directory.
const (
	removeAttempts = 10
	removePause    = 50 * time.Millisecond
)

// Remove removes the directory and everything in it. It may be called any number of times, also on
// nil. If it fails, the next call of New removes the directory.
func (f *Folder) Remove() error {
	if f == nil {
		return nil
	}
	_ = files.Unlock(f.lock) // on Windows, open files can't be removed
	var err error
	for range removeAttempts {
		if err = os.RemoveAll(f.path); err == nil {
			return nil
		}
		time.Sleep(removePause)
	}
	return fmt.Errorf("tempconfig: %w", err)
}

// sweepAge is the minimum age of a directory to be swept. A younger one may not be locked yet. A
// process that takes longer to lock its own, since it or the machine was suspended, loses an empty
// directory, and New returns an error. A lock is never taken again: a directory that is not locked
// stays so, and two processes may remove it at once.
const sweepAge = time.Minute

// sweep removes the directories of this user that are no longer in use. Those that can't be removed
// are left for the next time.
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

// abandoned reports whether path is a directory of this user that is not in use.
func abandoned(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() || !own(info) || time.Since(info.ModTime()) < sweepAge {
		return false
	}
	return files.RemoveUnlocked(filepath.Join(path, lockName))
}
