// Package timelimit lifts the time limits of the program in tests. A user does not wait for ever for a
// server that does not answer; a test has to pass on a machine that is busy with other things.
package timelimit

import "time"

var limits []*time.Duration

// Register registers limits, which are variables of a package, when the program starts.
func Register(more ...*time.Duration) struct{} {
	limits = append(limits, more...)
	return struct{}{}
}

// Lift makes the registered limits so long that no machine is too busy for them. A test calls it before
// anything else.
func Lift() {
	for _, limit := range limits {
		*limit = time.Hour
	}
}
