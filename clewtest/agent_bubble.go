package clewtest

import (
	"runtime"
	"strings"
)

// bubble returns a name of the synctest bubble that the calling goroutine is in, or "". The runtime tells nobody but the
// reader of a stack trace, whose first line is "goroutine 7 [running, synctest bubble 1]:".
func bubble() string {
	buf := make([]byte, 128)
	line, _, _ := strings.Cut(string(buf[:runtime.Stack(buf, false)]), "\n")
	_, name, found := strings.Cut(line, "synctest bubble ")
	if !found {
		return ""
	}
	return strings.TrimSuffix(name, "]:")
}
