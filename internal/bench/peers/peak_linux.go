package main

import (
	"os"
	"syscall"
)

// peakOf returns how many bytes of a process that has ended were in memory at most.
func peakOf(state *os.ProcessState) int {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return int(usage.Maxrss) << 10
}
