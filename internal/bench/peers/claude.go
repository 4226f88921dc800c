package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/clewdev/clew/clewtest"
)

// withClaude calls measure with Claude Code over a scripted model that always says hello, in an empty folder. Where
// there is no Claude Code it leaves a note in the report instead.
func (b *bench) withClaude(ctx context.Context, measure func(stage) error) error {
	t := &test{ctx: ctx, dir: b.dir}
	err := t.run(func() error { //nolint:contextcheck // clewtest takes the context from the test
		agent := clewtest.RealAgent(t)
		model := clewtest.NewModel(t).Reply("Hello.")
		return measure(stage{agent, model.Env(), t.TempDir()})
	})
	if t.skipped != "" {
		b.report.note("Claude Code is left out: %s", t.skipped)
		return nil
	}
	b.report.version("Claude Code %s", claudeVersion())
	return err
}

// claudeVersion says which Claude Code it is: the pinned one, or the one that whoever runs this has named.
func claudeVersion() string {
	if named := os.Getenv("CLEW_AGENT"); named != "" {
		return "at " + named
	}
	return clewtest.AgentVersion
}

// A test is the test that package clewtest wants, in a program that is none. It has the methods which that calls.
type test struct {
	testing.TB // nil
	ctx        context.Context
	dir        string // for temporary folders; its owner removes it
	skipped    string

	mu       sync.Mutex
	cleanups []func()
	errs     []error
}

// run calls body on a goroutine of its own, which Fatal and Skip end, and cleans up after it.
func (t *test) run(body func() error) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := body(); err != nil {
			t.add(err)
		}
	}()
	<-done
	for _, cleanup := range slices.Backward(t.cleanups) {
		cleanup()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return errors.Join(t.errs...)
}

func (t *test) add(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.errs = append(t.errs, err)
}

func (t *test) Helper()                           {}
func (t *test) Context() context.Context          { return t.ctx }
func (t *test) Cleanup(cleanup func())            { t.cleanups = append(t.cleanups, cleanup) }
func (t *test) Logf(format string, args ...any)   { fmt.Fprintf(os.Stderr, format+"\n", args...) }
func (t *test) Errorf(format string, args ...any) { t.add(fmt.Errorf(format, args...)) }

func (t *test) Fatalf(format string, args ...any) {
	t.Errorf(format, args...)
	runtime.Goexit()
}

func (t *test) Fatal(args ...any) {
	t.Fatalf("%s", fmt.Sprint(args...))
}

func (t *test) Skip(args ...any) {
	t.skipped = fmt.Sprint(args...)
	runtime.Goexit()
}

func (t *test) TempDir() string {
	dir, err := os.MkdirTemp(t.dir, "claude-")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
