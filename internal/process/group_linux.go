package process

import (
	"errors"
	"os"
	"os/exec"
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
