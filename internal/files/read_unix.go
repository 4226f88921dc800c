//go:build unix

package files

import "syscall"

// nonblock keeps the opening of a file from blocking if a pipe took its place.
const nonblock = syscall.O_NONBLOCK
