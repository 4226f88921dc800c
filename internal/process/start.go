package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// check says what is wrong with s before anything is started, where the system would blame something else.
func (s *Spec) check() error {
	switch {
	case !filepath.IsAbs(s.Path):
		return fmt.Errorf("process: the path of the agent is not absolute: %q", s.Path)
	case runtime.GOOS == "windows" && isBatch(s.Path):
		return fmt.Errorf("process: %s is a batch file, and a shell would read its arguments as commands; "+
			"name the .exe instead", s.Path)
	case s.Dir == "":
		return nil
	}
	info, err := os.Stat(s.Dir)
	if err == nil && !info.IsDir() {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return fmt.Errorf("process: working folder %s: %w", s.Dir, withoutPath(err))
	}
	return nil
}

// startError says why the agent did not start, and names it.
func (s *Spec) startError(err error) error {
	what, err := s.Path, withoutPath(err)
	if s.Dir != "" {
		what += " in " + s.Dir
	}
	if isTooLong(err) {
		return fmt.Errorf("process: start %s: its arguments and environment are %d bytes: %w", what, s.size(), syscall.E2BIG)
	}
	if _, missing := os.Stat(s.Path); missing == nil && errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("process: start %s: it is there, but not what the system needs to run it, "+
			"an interpreter or a loader: %w", what, err)
	}
	return fmt.Errorf("process: start %s: %w", what, err)
}

// size returns the bytes of the arguments and of the environment.
func (s *Spec) size() int {
	env := s.Env
	if env == nil {
		env = os.Environ()
	}
	size := len(s.Path)
	for _, list := range [][]string{s.Args, env} {
		for _, text := range list {
			size += len(text) + 1
		}
	}
	return size
}
