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

// groupAttributes makes an agent the leader of a group. If this process dies, the agent gets
// SIGTERM, on which it finishes its transcript. The exit is awaited with a process file, since a
// system call that waits would cost a thread.
func groupAttributes() *syscall.SysProcAttr {
	watch := -1
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM, PidFD: &watch}
}

func startCommand(cmd *exec.Cmd) error { return agents.start(cmd) }

// wait waits until the agent has exited, and calls endGroup before the system can give its ID to
// another process, which may lead another group.
func wait(cmd *exec.Cmd, endGroup func()) {
	defer agents.exited()
	err := awaitFile(*cmd.SysProcAttr.PidFD)
	if err != nil {
		err = awaitExit(byPID, cmd.Process.Pid, 0)
	}
	if err == nil {
		endGroup()
		_ = cmd.Wait()
		return
	}
	_ = cmd.Wait()
	endGroup()
}

// awaitFile blocks until the process of a process file has exited, without occupying a thread. It
// closes the file.
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

// The kinds of IDs that awaitExit takes.
const (
	byPID  = 1
	byFile = 3
)

var errRunning = errors.New("process: still running")

// awaitExit blocks until the process has exited. With WNOHANG it does not block, and returns
// errRunning if the process still runs. The process must be waited for as usual after that.
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

// markVariable marks an agent and the processes that descend from it.
const markVariable = "CLEW_FAMILY"

// descendants are an agent and the processes that descend from it. Some have left its group, as the
// agent's tools do, so they are recognized by a variable that they inherit.
type descendants struct{ mark string }

// markDescendants sets the variable for the agent that cmd is going to start.
func markDescendants(cmd *exec.Cmd) *descendants {
	d := &descendants{markVariable + "=" + rand.Text()}
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(slices.Clip(cmd.Env), d.mark)
	return d
}

// kill kills the descendants of an agent that was killed before it could end them itself. It
// searches again after each round, since a process may have started another one before it was
// killed.
func (d *descendants) kill() {
	for range 3 {
		if d.killOnce() == 0 {
			return
		}
	}
}

func (d *descendants) killOnce() (found int) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is valid
	for _, file := range files {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil || pid == os.Getpid() || !d.has(file) {
			continue
		}
		if syscall.Kill(pid, syscall.SIGKILL) == nil {
			found++
		}
	}
	return found
}

// has reports whether the process with that environment is one of the descendants. A process that
// has ended, or that belongs to another user, is not.
func (d *descendants) has(environ string) bool {
	data, err := os.ReadFile(environ)
	return err == nil && bytes.Contains(data, []byte(d.mark))
}

// agents starts all agents of this process.
var agents starter

// A starter starts agents, all on one thread, which it keeps while any of them runs: the kernel
// signals an agent when the thread that started it ends, and the Go runtime ends threads at any
// time. Without agents there is no thread and no goroutine.
type starter struct {
	mu       sync.Mutex
	running  int
	requests chan startRequest
}

type startRequest struct {
	cmd     *exec.Cmd
	started chan error
}

// start starts cmd. Unless it fails, exited must be called when the process has ended.
func (s *starter) start(cmd *exec.Cmd) error {
	s.mu.Lock()
	if s.running++; s.running == 1 {
		s.requests = make(chan startRequest)
		go serve(s.requests)
	}
	requests := s.requests
	s.mu.Unlock()

	request := startRequest{cmd, make(chan error)}
	requests <- request
	err := <-request.started
	if err != nil {
		s.exited()
	}
	return err
}

// exited records that a process has ended.
func (s *starter) exited() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running--; s.running == 0 {
		close(s.requests)
	}
}

// serve starts the requested processes on one thread.
func serve(requests <-chan startRequest) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for r := range requests {
		r.started <- r.cmd.Start()
	}
}
