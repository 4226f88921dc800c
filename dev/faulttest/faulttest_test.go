//go:build linux

package faulttest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/internal/soak"
)

// Whatever an agent does, callers get the answer or an error that names the cause, and every
// message that was sent whole, and nothing is left.
func TestFaults(t *testing.T) {
	m := &matrix{callers: callers, runs: soak.Size(1, 20), limit: long, report: t.Errorf}
	soak.Figure(t, "%v", m.run(t, allFaults()))
}

// A fault has one name, and there are at least a hundred of them.
func TestFaultsAreMany(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, f := range allFaults() {
		if seen[f.name] {
			t.Errorf("two faults are named %q", f.name)
		}
		seen[f.name] = true
	}
	if len(seen) < 100 {
		t.Errorf("%d faults", len(seen))
	}
}

// The matrix would be worth nothing if it saw nothing.
func TestMatrixSeesProblems(t *testing.T) {
	stay := make(chan struct{})
	defer close(stay)
	answer := outcome{words: []int{1, 2}, result: "done"}
	for name, test := range map[string]struct {
		call func(ctx context.Context, opts *clew.Options) outcome
		want figures
	}{
		"nothing": {func(context.Context, *clew.Options) outcome { return answer }, figures{}},
		"a lost message": {func(context.Context, *clew.Options) outcome {
			return outcome{words: []int{2}, result: "done"}
		}, figures{lost: 1}},
		"a message twice": {func(context.Context, *clew.Options) outcome {
			return outcome{words: []int{1, 2, 2}, result: "done"}
		}, figures{wrong: 1}},
		"another result": {func(context.Context, *clew.Options) outcome {
			return outcome{words: []int{1, 2}, result: "no"}
		}, figures{wrong: 1}},
		"an error": {func(context.Context, *clew.Options) outcome {
			return outcome{words: []int{1, 2}, result: "done", err: errors.New("oh")}
		}, figures{wrong: 1}},
		"a call that does not return": {func(context.Context, *clew.Options) outcome {
			<-stay
			return answer
		}, figures{hung: 1, goroutines: 1}},
		"a goroutine": {func(context.Context, *clew.Options) outcome {
			go func() { <-stay }()
			return answer
		}, figures{goroutines: 1}},
		"a descriptor": {func(context.Context, *clew.Options) outcome {
			keep(t, must(os.Open(os.DevNull))(t))
			return answer
		}, figures{files: 1}},
		"a temporary file": {func(context.Context, *clew.Options) outcome {
			file := must(os.CreateTemp("", "left"))(t) //nolint:usetesting // it must be left
			_ = file.Close()
			return answer
		}, figures{temporary: 1}},
		"a process": {func(_ context.Context, opts *clew.Options) outcome {
			leaveSleeper(t, opts)
			return answer
		}, figures{family: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			m := &matrix{
				callers: []caller{{name: name, reads: true, call: func(ctx context.Context, opts *clew.Options, _ *reader) outcome {
					return test.call(ctx, opts)
				}}},
				runs: 1, limit: long, known: test.want, report: t.Logf,
			}
			if test.want.hung > 0 {
				m.limit = time.Millisecond
			}
			test.want.faults, test.want.runs = 1, 1
			got := m.run(t, []*fault{{name: "does nothing", words: 2}})
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(figures{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A fault that has an error is not one without.
func TestMatrixWantsErrors(t *testing.T) {
	t.Parallel()
	f := &fault{want: "exited with code 1"}
	for _, err := range []error{nil, errors.New("exited with code 2")} {
		if _, problem := f.judge(outcome{err: err}, caller{}); problem == "" {
			t.Errorf("error %v will do", err)
		}
	}
	if _, problem := f.judge(outcome{err: errors.New("the agent exited with code 1")}, caller{}); problem != "" {
		t.Error(problem)
	}
}

func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
		return value
	}
}

// keep keeps a file open until the test ends.
func keep(t *testing.T, file *os.File) {
	t.Helper()
	t.Cleanup(func() { _ = file.Close() })
}

// leaveSleeper starts a process with the environment of an agent. It ends with the test.
func leaveSleeper(t *testing.T, opts *clew.Options) {
	t.Helper()
	cmd := &exec.Cmd{Path: opts.AgentPath, Env: append(opts.Env, faultVariable+"="+sleeper)}
	if err := cmd.Start(); err != nil {
		t.Error(err)
		return
	}
	pid := cmd.Process.Pid
	_ = cmd.Process.Release() // it would hold a descriptor
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
}
