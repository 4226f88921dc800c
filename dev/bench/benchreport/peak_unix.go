//go:build unix

package benchreport

import (
	"os"
	"runtime"
	"syscall"
)

// PeakOf returns the peak memory of a process that has ended, in bytes, or 0 if it is not known.
func PeakOf(p *os.ProcessState) int {
	usage, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int(usage.Maxrss)
	}
	return int(usage.Maxrss) << 10
}
