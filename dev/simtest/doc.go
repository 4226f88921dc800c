// Package simtest tests the SDK from outside, with the simulated agent of package clewtest in place
// of Claude Code.
package simtest
