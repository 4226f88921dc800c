//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
)

// peakOf returns how many bytes of a process that has ended were in memory at most.
func peakOf(p *os.ProcessState) int {
	usage, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int(usage.Maxrss)
	}
	return int(usage.Maxrss) << 10
}
