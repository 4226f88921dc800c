//go:build unix

package polltest

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// Running reports whether a process runs. A negative ID stands for the processes of a group, as in
// kill(2). A process that ended does not run, even if its parent did not wait for it yet: the test
// is not the parent of most of them, and the first process of a container may never wait.
func Running(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	if pid < 0 {
		return groupRunning(strconv.Itoa(-pid))
	}
	state, _, ok := describe("/proc/" + strconv.Itoa(pid) + "/stat")
	if !ok { // it ended meanwhile, or the system has no /proc
		return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
	}
	return !ended(state)
}

// groupRunning reports whether a process of a group runs.
func groupRunning(group string) bool {
	files, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is valid
	for _, file := range files {
		if state, of, ok := describe(file); ok && of == group && !ended(state) {
			return true
		}
	}
	return len(files) == 0 // a system without /proc
}

func ended(state string) bool { return state == "Z" || state == "X" }

// describe returns the state and the group of the process of a file such as /proc/7/stat. The name
// of the program, in parentheses, may contain any character.
func describe(file string) (state, group string, ok bool) {
	stat, err := os.ReadFile(file)
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if err != nil || len(fields) < 3 {
		return "", "", false
	}
	return string(fields[0]), string(fields[2]), true
}

// UntilEnded waits until a process, or with a negative ID a group, does not run. See [Running].
func UntilEnded(tb testing.TB, pid int) {
	tb.Helper()
	Until(tb, "process "+strconv.Itoa(pid)+" ends", func() bool { return !Running(pid) })
}
