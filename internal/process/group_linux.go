package process

import (
	"bytes"
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"unsafe"
)

// groupAttributes makes an agent the leader of a group. SIGTERM lets it finish its transcript when this process dies.
// The agent is watched by a file of the kernel's: a system call that waits for it would cost a thread.
func groupAttributes() *syscall.SysProcAttr {
	watch := -1
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM, PidFD: &watch}
}

func fork(cmd *exec.Cmd) error { return agents.start(cmd) }

// reap waits until the agent has exited and calls disband before the system gives its ID to another process, which may
// then lead another group.
func reap(cmd *exec.Cmd, disband func()) {
	defer agents.left()
	err := awaitFile(*cmd.SysProcAttr.PidFD)
	if err != nil {
		err = awaitExit(byPID, cmd.Process.Pid, 0)
	}
	if err == nil {
		disband()
		_ = cmd.Wait()
		return
	}
	_ = cmd.Wait()
	disband()
}

// awaitFile blocks until the process of a process file has exited, without a thread. It closes the file.
func awaitFile(fd int) error {
	if fd < 0 {
		return errors.ErrUnsupported // an older kernel
	}
	if err := syscall.SetNonblock(fd, true); err != nil {
		return errors.Join(err, syscall.Close(fd))
	}
	file := os.NewFile(uintptr(fd), "agent")
	defer file.Close()
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Read(func(fd uintptr) (done bool) {
		failed = awaitExit(byFile, int(fd), syscall.WNOHANG)
		return !errors.Is(failed, errRunning)
	})
	return errors.Join(err, failed)
}

// How awaitExit is told which process is meant.
const (
	byPID  = 1
	byFile = 3
)

var errRunning = errors.New("process: still running")

// awaitExit blocks until the process has exited, or, with WNOHANG, returns errRunning if it has not. It leaves the
// process to be waited for.
func awaitExit(kind, id, options int) error {
	var info [128]byte // a siginfo_t, which begins with the number of a signal
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, uintptr(kind), uintptr(id), uintptr(unsafe.Pointer(&info)),
			uintptr(options|syscall.WEXITED|syscall.WNOWAIT), 0, 0)
		switch {
		case errno == syscall.EINTR:
		case errno != 0:
			return errno
		case options&syscall.WNOHANG != 0 && [4]byte(info[:]) == [4]byte{}:
			return errRunning
		default:
			return nil
		}
	}
}

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

// agents is where all agents of this process come from.
var agents nursery

// A nursery starts agents, all on one thread, which it keeps while any of them lives: the kernel tells an agent to
// terminate when the thread that has started it is gone, and threads come and go. Without agents there is no thread and
// no goroutine.
type nursery struct {
	mu     sync.Mutex
	alive  int
	births chan birth
}

type birth struct {
	cmd     *exec.Cmd
	started chan error
}

// start starts cmd. Unless it fails, left must be called when the process has ended.
func (n *nursery) start(cmd *exec.Cmd) error {
	n.mu.Lock()
	if n.alive++; n.alive == 1 {
		n.births = make(chan birth)
		go tend(n.births)
	}
	births := n.births
	n.mu.Unlock()

	b := birth{cmd, make(chan error)}
	births <- b
	err := <-b.started
	if err != nil {
		n.left()
	}
	return err
}

// left says that a process has ended.
func (n *nursery) left() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.alive--; n.alive == 0 {
		close(n.births)
	}
}

func tend(births <-chan birth) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for b := range births {
		b.started <- b.cmd.Start()
	}
}
