package process

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
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

func startCommand(cmd *exec.Cmd, closeFiles func()) error { return agents.start(cmd, closeFiles) }

// commandGone is called when a started command and its leftovers ended: until then the watcher must
// be there.
func commandGone() { agents.exited() }

// wait waits until the agent exits, and calls endGroup before the system can give its ID to another
// process, which may lead another group.
func wait(cmd *exec.Cmd, endGroup func()) {
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

// awaitFile blocks until the process of a process file exits, without occupying a thread. It closes
// the file.
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

// awaitExit blocks until the process exits. With WNOHANG it does not block, and returns errRunning
// if the process still runs. The process must be waited for as usual after that.
func awaitExit(kind, id, options int) error {
	var info [128]byte // a siginfo_t, which starts with the number of a signal
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

// agents starts all agents of this process.
var agents starter

// A starter starts agents, all on one thread, which it keeps while any of them runs: the kernel
// signals an agent when the thread that started it ends, and the Go runtime ends threads at any
// time. A [watcher] runs beside the agents and their leftovers. Without agents there is no thread,
// no goroutine and no watcher.
type starter struct {
	mu       sync.Mutex
	running  int
	requests chan startRequest
	done     chan struct{} // closed when the goroutine that serves requests ends
}

type startRequest struct {
	cmd        *exec.Cmd
	closeFiles func()
	started    chan error
}

// start starts cmd. Unless it fails, exited must be called when the process and its leftovers
// ended. It calls closeFiles, which closes the files of the process, before it starts anything
// else: a process that is started meanwhile also has them, until it runs its own program, and would
// keep an input open that the agent closes.
func (s *starter) start(cmd *exec.Cmd, closeFiles func()) error {
	s.mu.Lock()
	if s.running++; s.running == 1 {
		s.requests, s.done = make(chan startRequest), make(chan struct{})
		go serve(s.requests, s.done)
	}
	requests := s.requests
	s.mu.Unlock()

	request := startRequest{cmd, closeFiles, make(chan error)}
	requests <- request
	err := <-request.started
	if err != nil {
		s.exited()
	}
	return err
}

// exited records the end of a process. After the last one it returns when the watcher is gone.
func (s *starter) exited() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running--; s.running == 0 {
		close(s.requests)
		<-s.done
	}
}

// serve starts the requested processes on one thread.
func serve(requests <-chan startRequest, done chan<- struct{}) {
	defer close(done)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var watch watcher
	defer watch.stop()
	for r := range requests {
		err := r.cmd.Start()
		r.closeFiles()
		r.started <- err
		if err == nil {
			watch.start()
		}
	}
}
