//go:build unix

package worktree

import "golang.org/x/sys/unix"

// nonblock keeps the opening of a file from blocking if a pipe took its place.
const nonblock = unix.O_NONBLOCK
