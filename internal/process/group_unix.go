//go:build unix

package process

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A group is the process group of an agent: the agent and the processes that it started, unless
// they left the group.
type group struct{ id int }

func newGroup(p *os.Process) *group { return &group{p.Pid} }

func (g *group) terminate() { g.send(syscall.SIGTERM) }

func (g *group) kill() { g.send(syscall.SIGKILL) }

// send ignores errors: a dead process needs no signal.
func (g *group) send(sig syscall.Signal) { _ = syscall.Kill(-g.id, sig) }

func (g *group) release() {}

func isTooLong(err error) bool { return errors.Is(err, syscall.E2BIG) }

// hasNoReader reports whether nobody can read what is written to a pipe.
func hasNoReader(f *os.File) bool {
	conn, err := f.SyscallConn()
	if err != nil {
		return false
	}
	closed := false
	err = conn.Control(func(fd uintptr) {
		list := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}} //nolint:gosec // a file descriptor is small
		n, err := unix.Poll(list, 0)
		closed = err == nil && n > 0 && list[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
	})
	return err == nil && closed
}

// readNow reads what is in the pipe without waiting for more. It returns [io.EOF] if the pipe is
// empty.
func readNow(f *os.File, b []byte) (n int, err error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	if err := f.SetReadDeadline(time.Time{}); err != nil {
		return 0, err
	}
	err = conn.Read(func(fd uintptr) bool {
		n, _ = syscall.Read(int(fd), b)
		return true
	})
	if n <= 0 && err == nil {
		return 0, io.EOF
	}
	return max(n, 0), err
}
