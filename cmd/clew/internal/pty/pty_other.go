//go:build !linux

// Package pty creates pseudo-terminals, only on Linux.
package pty

import (
	"errors"
	"os"
)

// Open fails: pseudo-terminals work only on Linux.
func Open(int, int) (user, program *os.File, err error) {
	return nil, nil, errors.New("pty: only Linux is supported")
}
