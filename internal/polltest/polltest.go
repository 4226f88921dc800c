// Package polltest waits in tests for other goroutines and processes. It is the only place where a
// test sleeps: a test that waits for a time instead of a condition depends on luck.
package polltest

import (
	"flag"
	"strconv"
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

// AtOnce lets n parallel tests run at once, unless the flag -parallel has another number. It is for the TestMain
// of packages whose tests mostly wait for other processes.
func AtOnce(n int) error {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if given {
		return nil
	}
	return flag.Set("test.parallel", strconv.Itoa(n))
}

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
