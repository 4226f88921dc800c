//go:build !linux

package main

import "os"

// peakOf returns 0: only Linux reports it.
func peakOf(*os.ProcessState) int { return 0 }
