package statusline

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// detach makes a command outlive this process and its console, without a window.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.DETACHED_PROCESS}
}
