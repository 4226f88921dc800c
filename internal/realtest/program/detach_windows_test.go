package program_test

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// detached has a program run without a console: those who run the tests are not asked.
func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.DETACHED_PROCESS}
}
