package process

import (
	"bytes"
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// familyVariable marks an agent and all that descend from it.
const familyVariable = "CLEW_FAMILY"

// A family is an agent and what descends from it, also what has left its group, as the agent's tools do. It is known by
// a variable that its members inherit.
type family struct{ mark string }

// newFamily marks the agent that cmd is going to start.
func newFamily(cmd *exec.Cmd) *family {
	f := &family{familyVariable + "=" + rand.Text()}
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(slices.Clip(cmd.Env), f.mark)
	return f
}

// kill kills the family of an agent that could not do so itself. It looks again, since one may have started another
// before it was killed.
func (f *family) kill() {
	for range 3 {
		if f.killOnce() == 0 {
			return
		}
	}
}

func (f *family) killOnce() (found int) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is a good one
	for _, file := range files {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil || pid == os.Getpid() || !f.has(file) {
			continue
		}
		if syscall.Kill(pid, syscall.SIGKILL) == nil {
			found++
		}
	}
	return found
}

// has reports whether the process with that environment is of the family. One that is gone, or another user's, is not.
func (f *family) has(environ string) bool {
	data, err := os.ReadFile(environ)
	return err == nil && bytes.Contains(data, []byte(f.mark))
}
