// Package soak sizes tests that find more the longer they run: kill loops, floods, random
// operations. A test run takes the usual size, and "make soak", which sets CLEW_SOAK, the large
// one.
package soak

import "os"

// Variable is the environment variable that asks for the large sizes. Any value will do.
const Variable = "CLEW_SOAK"

// Size returns usual, or large if the environment asks for a soak.
func Size(usual, large int) int {
	if os.Getenv(Variable) != "" {
		return large
	}
	return usual
}
