//go:build unix

package program_test

import "syscall"

// detached has a program run without a terminal: those who run the tests are not asked.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
