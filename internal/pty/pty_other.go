//go:build !linux

// Package pty makes pseudo-terminals, on Linux only.
package pty

import (
	"errors"
	"os"
)

// Open fails: it works on Linux only.
func Open(int, int) (user, program *os.File, err error) {
	return nil, nil, errors.New("pseudo-terminals are made on Linux only")
}
