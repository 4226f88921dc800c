//go:build linux || darwin

package process

import (
	"bytes"
	"crypto/rand"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"
)

// markVariable marks an agent and the processes that descend from it.
const markVariable = "CLEW_FAMILY"

// hostMark begins the marks of all agents of this process.
var hostMark = rand.Text() + "."

// leftoverTimeout is how long a process that an agent has left behind may take to exit after
// SIGTERM.
const leftoverTimeout = 2 * time.Second

// descendants are the processes that descend from an agent. Some have left its group, as the
// agent's tools do, so they are recognized by a variable that they inherit. A process that was
// started without the variable is not found.
type descendants struct{ mark string }

// markDescendants sets the variable for the agent that cmd is going to start. With keep, it does
// not name this process: then the descendants outlive it.
func markDescendants(cmd *exec.Cmd, keep bool) *descendants {
	host := hostMark
	if keep {
		host = "kept."
	}
	d := &descendants{markVariable + "=" + host + rand.Text()}
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(slices.Clip(cmd.Env), d.mark)
	return d
}

// end ends what an agent that has exited has left running: with SIGTERM, and after leftoverTimeout
// with SIGKILL.
func (d *descendants) end() {
	deadline := time.Now().Add(leftoverTimeout)
	terminated := make(map[int]bool)
	for pause := time.Millisecond; time.Now().Before(deadline); pause = min(2*pause, 50*time.Millisecond) {
		found := d.each(func(p *os.Process) {
			if !terminated[p.Pid] {
				terminated[p.Pid] = true
				_ = p.Signal(syscall.SIGTERM)
			}
		})
		if found == 0 {
			return
		}
		time.Sleep(pause)
	}
	d.kill()
}

// kill kills the descendants of an agent. It searches again after each round, since a process may
// have started another one before it was killed.
func (d *descendants) kill() {
	for range 3 {
		if d.each(func(p *os.Process) { _ = p.Kill() }) == 0 {
			return
		}
	}
}

// each calls do for each descendant, and returns how many there are. A process that has ended, or
// that belongs to another user, is not found.
func (d *descendants) each(do func(*os.Process)) (found int) {
	for _, pid := range processes() {
		if pid == os.Getpid() || !bytes.Contains(environment(pid), []byte(d.mark)) {
			continue
		}
		p, err := os.FindProcess(pid)
		if err != nil {
			continue
		}
		// From here on p stays the same process where the system has process files. It may have got
		// the ID of another one before that.
		if bytes.Contains(environment(pid), []byte(d.mark)) {
			found++
			do(p)
		}
		_ = p.Release()
	}
	return found
}
