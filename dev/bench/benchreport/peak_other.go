//go:build !unix

package benchreport

import "os"

// PeakOf returns 0: the system does not report the peak memory of a process.
func PeakOf(*os.ProcessState) int { return 0 }
