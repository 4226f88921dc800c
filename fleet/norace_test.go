//go:build !race

package fleet_test

// raced reports whether the race detector is on, which makes a simulation several times as slow.
const raced = false
