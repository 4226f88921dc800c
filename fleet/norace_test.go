//go:build !race

package fleet_test

// raced says that the race detector is on, which makes a simulation several times as slow.
const raced = false
