package clewtest_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clewdev/clew/clewtest"
)

// A host is a simple program that drives an agent, in memory or as a process.
type host struct {
	t      testing.TB
	stdin  io.WriteCloser
	stdout *bufio.Reader
	stderr io.Reader
	signal func(os.Signal) error
	wait   func() error
}

func memoryHost(t testing.TB, a *clewtest.Agent) *host {
	c := a.Conn()
	return &host{t, c.Stdin, bufio.NewReader(c.Stdout), c.Stderr, c.Signal, c.Wait}
}

func processHost(t testing.TB, a *clewtest.Agent) *host {
	t.Helper()
	cmd := a.Command(context.Background(), "--verbose", "two words")
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	stderr, err3 := cmd.StderrPipe()
	if err := errors.Join(err1, err2, err3, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	wait := sync.OnceValue(cmd.Wait)
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = wait()
	})
	return &host{t, stdin, bufio.NewReader(stdout), stderr, cmd.Process.Signal, wait}
}

var forms = map[string]func(testing.TB, *clewtest.Agent) *host{"memory": memoryHost, "process": processHost}

// inBothForms plays the scenario to f, in memory and as a process.
func inBothForms(t *testing.T, s *clewtest.Scenario, f func(h *host)) {
	t.Helper()
	for _, form := range []string{"memory", "process"} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			f(forms[form](t, clewtest.NewAgent(t, s)))
		})
	}
}

// say writes lines.
func (h *host) say(lines ...string) {
	h.t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(h.stdin, line+"\n"); err != nil {
			h.t.Fatalf("writing %s: %v", line, err)
		}
	}
}

// hear reads one line and removes its end.
func (h *host) hear() string {
	h.t.Helper()
	line, err := h.stdout.ReadString('\n')
	if err != nil {
		h.t.Fatalf("reading: %v after %q", err, line)
	}
	return strings.TrimSuffix(line, "\n")
}

// expect reads lines and compares them.
func (h *host) expect(lines ...string) {
	h.t.Helper()
	for _, want := range lines {
		if got := h.hear(); got != want {
			h.t.Fatalf("read %s, want %s", got, want)
		}
	}
}

// rest reads the output to its end.
func (h *host) rest() string {
	h.t.Helper()
	data, err := io.ReadAll(h.stdout)
	if err != nil {
		h.t.Fatalf("reading the rest: %v", err)
	}
	return string(data)
}

func (h *host) close() {
	h.t.Helper()
	if err := h.stdin.Close(); err != nil {
		h.t.Fatal(err)
	}
}

// ends checks that the output ends here, and how the agent ends, in the words of os/exec. "" stands
// for code 0.
func (h *host) ends(want string) {
	h.t.Helper()
	if rest := h.rest(); rest != "" {
		h.t.Errorf("the output goes on with %.200q", rest)
	}
	h.ended(want)
}

func (h *host) ended(want string) {
	h.t.Helper()
	got := ""
	if err := h.wait(); err != nil {
		got = err.Error()
	}
	if got != want {
		h.t.Errorf("the agent ended with %q, want %q", got, want)
	}
}

// A fakeTB is a test that records its failures and logs.
type fakeTB struct {
	testing.TB
	mu       sync.Mutex
	errors   []string
	logs     []string
	cleanups []func()
}

func (f *fakeTB) Helper() {}

func (f *fakeTB) Cleanup(c func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cleanups = append(f.cleanups, c)
}

func (f *fakeTB) Errorf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.errors = append(f.errors, fmt.Sprintf(format, args...))
}

func (f *fakeTB) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	runtime.Goexit()
}

func (f *fakeTB) Logf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.logs = append(f.logs, fmt.Sprintf(format, args...))
}

func (f *fakeTB) Failed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.errors) > 0
}

// end runs the cleanups, as at the end of a test. It returns the failures.
func (f *fakeTB) end() string {
	f.mu.Lock()
	cleanups := slices.Clone(f.cleanups)
	f.mu.Unlock()
	for _, c := range slices.Backward(cleanups) {
		c()
	}
	return strings.Join(f.errors, "\n")
}

// run runs f as a test function, which Fatalf may end.
func (f *fakeTB) run(test func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		test()
	}()
	<-done
}

// eventually waits until done returns true. It reports false after two minutes, which even a busy
// machine does not need.
func eventually(done func() bool) bool {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(2 * time.Minute); !done(); <-tick.C {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// exitCode returns the exit code in an error of Wait.
func exitCode(err error) int {
	var inMemory *clewtest.ExitError
	var process *exec.ExitError
	switch {
	case errors.As(err, &inMemory):
		return inMemory.Code
	case errors.As(err, &process):
		return process.ExitCode()
	}
	return 0
}
