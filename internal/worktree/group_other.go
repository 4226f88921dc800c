//go:build unix && !linux

package worktree

import "syscall"

func groupAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
