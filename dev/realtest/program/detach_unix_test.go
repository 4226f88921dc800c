//go:build unix

package program_test

import "syscall"

// detached runs a program without a terminal, so that it can't ask the person who runs the tests.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
