package clewtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// Outside calls f outside of a test, for a program that shows something without network and key: agents in memory and
// models work with its tb as they do with that of a test, and end when f returns. It blocks until then. What would have
// failed a test is the error, and tb's context is ctx.
//
// An agent as a process needs a test binary. Of tb there is what this package uses; calling another method panics.
func Outside(ctx context.Context, f func(tb testing.TB)) error {
	o := &outside{ctx: ctx}
	done := make(chan struct{})
	go func() { // Fatalf ends the goroutine
		defer close(done)
		defer o.cleanUp()
		f(o)
	}()
	<-done
	if !o.Failed() {
		return nil
	}
	return errors.New(strings.Join(o.failures, "\n"))
}

// An outside is a [testing.TB] without a test.
type outside struct {
	testing.TB
	ctx context.Context

	mu       sync.Mutex
	failures []string
	cleanups []func()
}

// Helper does nothing.
func (o *outside) Helper() {}

// Context returns that of the caller.
func (o *outside) Context() context.Context { return o.ctx }

// Skipped is false: nothing skips.
func (o *outside) Skipped() bool { return false }

// Logf drops what is only of interest in a test.
func (o *outside) Logf(string, ...any) {}

// Failed reports whether there is an error.
func (o *outside) Failed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.failures) > 0
}

// Errorf keeps an error.
func (o *outside) Errorf(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failures = append(o.failures, fmt.Sprintf(format, args...))
}

// Fatalf keeps an error and ends the function.
func (o *outside) Fatalf(format string, args ...any) {
	o.Errorf(format, args...)
	runtime.Goexit()
}

// Fatal is Fatalf without a format.
func (o *outside) Fatal(args ...any) { o.Fatalf("%s", fmt.Sprint(args...)) }

// TempDir makes a folder that is removed at the end.
func (o *outside) TempDir() string {
	dir, err := os.MkdirTemp("", "clewtest-")
	if err != nil {
		o.Fatalf("clewtest: %v", err)
	}
	o.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			o.Errorf("clewtest: %v", err)
		}
	})
	return dir
}

// Cleanup keeps a function for the end.
func (o *outside) Cleanup(f func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.cleanups = append(o.cleanups, f)
}

// cleanUp calls what was left to be called at the end, the last one first, even if one of them leaves more or fails.
func (o *outside) cleanUp() {
	f := o.lastCleanup()
	if f == nil {
		return
	}
	defer o.cleanUp()
	f()
}

// lastCleanup takes out the function that was left last, or returns nil.
func (o *outside) lastCleanup() func() {
	o.mu.Lock()
	defer o.mu.Unlock()
	last := len(o.cleanups) - 1
	if last < 0 {
		return nil
	}
	f := o.cleanups[last]
	o.cleanups = o.cleanups[:last]
	return f
}
