// Package polltest waits in tests for other goroutines and processes. It is the only place where a
// test sleeps: a test that waits for a time instead of a condition depends on luck.
package polltest

import (
	"testing"
	"time"
)

// Limit is the time after which a condition will not become true. It is not a measurement: it is
// long enough for a machine that is busy with other things.
const Limit = 5 * time.Minute

const (
	// Again is the time after which a request without an answer is sent again.
	Again = 5 * time.Second
	// ToPass is a limit that is to pass, for a test of the behavior after it.
	ToPass = time.Second
)

// interval is the time between two looks.
const interval = 2 * time.Millisecond

// Until waits until done returns true. It fails the test if that takes longer than [Limit].
func Until(tb testing.TB, what string, done func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(Limit); !done(); time.Sleep(interval) {
		if time.Now().After(deadline) {
			tb.Fatalf("%s: not within %s", what, Limit)
		}
	}
}

// Eventually is [Until] for callers without a test, such as a process that a test starts. It reports
// whether done returned true within [Limit].
func Eventually(done func() bool) bool {
	for deadline := time.Now().Add(Limit); !done(); time.Sleep(interval) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// Forever never returns. It is for processes that a test kills.
func Forever() {
	for {
		time.Sleep(time.Hour)
	}
}
