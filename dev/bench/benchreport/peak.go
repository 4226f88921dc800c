package benchreport

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Peak returns the peak memory of a running process so far, in bytes, or 0 where the system has no such
// file.
func Peak(pid int) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	number, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	kilobytes, _ := strconv.Atoi(number)
	return kilobytes << 10
}
