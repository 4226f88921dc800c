//go:build !linux

package main

import (
	"errors"
	"os/exec"
	"time"
)

// A seat is a program at a terminal, which there is only on Linux.
type seat struct{}

var errNoSeat = errors.New("there is no terminal to measure at")

func newSeat(*exec.Cmd) (*seat, error)                 { return nil, errNoSeat }
func (*seat) until(func(string) bool) (float64, error) { return 0, errNoSeat }
func (*seat) press(string) (float64, error)            { return 0, errNoSeat }
func (*seat) write(string) error                       { return errNoSeat }
func (*seat) settle() error                            { return errNoSeat }
func (*seat) memory() float64                          { return 0 }
func (*seat) cpu() time.Duration                       { return 0 }
func (*seat) leave() error                             { return errNoSeat }
