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

// hostMark starts the marks of all agents of this process.
var hostMark = rand.Text() + "."

// leftoverTimeout is the time that an agent's leftover process has to exit after SIGTERM.
const leftoverTimeout = 2 * time.Second

// descendants are the processes that descend from an agent. Some leave its group, as the agent's
// tools do, so they are recognized by a variable that they inherit. A process that was started
// without the variable is not found.
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

// end ends the leftover processes of an agent that exited: with SIGTERM, and after leftoverTimeout
// with SIGKILL.
func (d *descendants) end() {
	terminated := make(map[int]bool)
	ended := d.signal(func(p *os.Process) {
		if !terminated[p.Pid] {
			terminated[p.Pid] = true
			_ = p.Signal(syscall.SIGTERM)
		}
	})
	if !ended {
		d.kill()
	}
}

// kill kills the descendants of an agent.
func (d *descendants) kill() {
	d.signal(func(p *os.Process) { _ = p.Kill() })
}

// signal calls send for each descendant, again and again until there is none, since a process may
// start another one before it gets a signal. It reports whether all were gone within
// leftoverTimeout.
func (d *descendants) signal(send func(*os.Process)) (ended bool) {
	deadline := time.Now().Add(leftoverTimeout)
	for pause := time.Millisecond; time.Now().Before(deadline); pause = min(2*pause, 50*time.Millisecond) {
		if !d.each(send) {
			return true
		}
		time.Sleep(pause)
	}
	return false
}

// each calls do for each descendant, and reports whether there may be any. A process that ended, or
// that belongs to another user, is not found. A process that is just starting may be a descendant.
func (d *descendants) each(do func(*os.Process)) (found bool) {
	for _, pid := range processes() {
		if pid == os.Getpid() {
			continue
		}
		env, starting := environment(pid)
		found = found || starting
		if !bytes.Contains(env, []byte(d.mark)) {
			continue
		}
		p, err := os.FindProcess(pid)
		if err != nil { // too many open files, say
			found = true
			continue
		}
		// From here on p stays the same process where the system has process files. Before that,
		// another process may get its ID.
		if env, _ := environment(pid); bytes.Contains(env, []byte(d.mark)) {
			found = true
			do(p)
		}
		_ = p.Release()
	}
	return found
}
