package cli

import (
	"runtime"
	"runtime/debug"
)

const (
	// maxProcessors bounds what the runtime sets aside: its caches of free memory,
	// and how much is allocated while it collects, grow with the processors.
	maxProcessors = 4
	// softLimit is where the collector begins to work harder. Nothing fails when a
	// long frame needs more.
	softLimit = 32 << 20
)

// beFrugal makes the process use little memory, whatever the machine has, and
// returns what undoes it. Stricter settings stay as they are.
func beFrugal() (undo func()) {
	processors := runtime.GOMAXPROCS(0)
	if processors > maxProcessors {
		runtime.GOMAXPROCS(maxProcessors)
	}
	limit := debug.SetMemoryLimit(-1)
	debug.SetMemoryLimit(min(limit, softLimit))
	return func() {
		debug.SetMemoryLimit(limit)
		if processors > maxProcessors {
			runtime.GOMAXPROCS(processors)
		}
	}
}
