package program_test

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// detached runs a program without a console, so that it can't ask the person who runs the tests.
func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.DETACHED_PROCESS}
}
