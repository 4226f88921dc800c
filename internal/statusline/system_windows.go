package statusline

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// tryLock locks a file until it is closed, at the latest by the end of this process. It locks a byte
// behind the end, so that others can read the file.
func tryLock(f *os.File) bool {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	at := &windows.Overlapped{Offset: 1 << 30}
	return windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, at) == nil
}

// detach makes a command outlive this process and its console, without a window.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.DETACHED_PROCESS}
}
