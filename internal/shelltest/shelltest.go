// Package shelltest writes shell scripts that tests run as programs.
package shelltest

import (
	"os"
	"syscall"
	"testing"
)

// Write writes a script of sh as a program that can be run at once.
//
// A file that is open for writing can't be run, and a process that is started meanwhile by another
// test has it open, too, until it runs its own program. So no process is started while the file is
// written.
func Write(tb testing.TB, path, script string) {
	tb.Helper()
	syscall.ForkLock.RLock()
	err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700)
	syscall.ForkLock.RUnlock()
	if err != nil {
		tb.Fatal(err)
	}
}
