package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/clewdev/clew/cmd/clew/dev/bench/benchreport"
)

// patience is the time limit of each step.
const patience = time.Minute

// peakMemory returns the peak memory of a process so far, in megabytes.
func peakMemory(pid int) float64 { return float64(benchreport.Peak(pid)) / 1e6 }

// processorTime returns the processor time that a process has used. It is 0 if that is not known, as on
// other systems than Linux.
func processorTime(pid int) (used time.Duration) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if fields := strings.Fields(string(text)); err == nil && len(fields) > 0 {
			ns, _ := strconv.ParseInt(fields[0], 10, 64)
			used += time.Duration(ns)
		}
	}
	return used
}
