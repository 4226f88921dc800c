//go:build !race

package soak

// Raced reports whether the race detector runs.
const Raced = false
