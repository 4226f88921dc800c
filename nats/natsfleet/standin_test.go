package natsfleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/nats/natsfleet"
)

// releaseName is the name of a file in the directory of the server. Jobs end when it is there.
const releaseName = "release"

// A gatedRunner has jobs that run until a file is there.
type gatedRunner struct{ path string }

func (gatedRunner) Ready(context.Context) error { return nil }

func (gatedRunner) Check(*fleet.Job) error { return nil }

func (gatedRunner) Look(context.Context, *fleet.Job) (*fleet.Traces, error) {
	return &fleet.Traces{Stored: true}, nil
}

func (r gatedRunner) Prepare(context.Context, *fleet.Task) (fleet.Run, error) {
	return gatedRun(r), nil
}

type gatedRun struct{ path string }

func (gatedRun) IDs() (session, prompt, base string) { return "session", "prompt", "" }

func (gatedRun) Close() {}

func (r gatedRun) Do(ctx context.Context) fleet.Event {
	if !isThere(ctx, r.path) {
		return fleet.Lose{Cause: fleet.ByExit, Text: context.Cause(ctx).Error()}
	}
	return fleet.Finish{Cause: fleet.ByResult, Result: fleet.Result{Text: "released"}}
}

// isThere waits until a file is there, and reports whether it is before the context ends.
func isThere(ctx context.Context, path string) bool {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := os.Stat(path); err == nil {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
}

// work runs a worker that may have the server.
func (s *serverSetup) work(ctx context.Context) (stop func() error, err error) {
	e, err := natsfleet.Open(ctx, &natsfleet.Options{Dir: s.Dir})
	if err != nil {
		return nil, err
	}
	w := fleet.NewWorker(e, gatedRunner{filepath.Join(s.Dir, releaseName)}, &fleet.WorkerOptions{
		Slots: 2, Queues: []string{s.Queue}, Lease: 2 * polltest.Limit, // longer than a server that is not there
	})
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	return func() error { //nolint:contextcheck // Close takes none
		w.Drain()
		return errors.Join(<-ended, e.Close())
	}, nil
}

// serverOf returns the process that has the server of a directory, and where it is.
func serverOf(t *testing.T, dir string) (pid int, url string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "fleet.json"))
	var n struct {
		PID int
		URL string
	}
	if err == nil {
		err = json.Unmarshal(text, &n)
	}
	if err != nil {
		t.Fatal(err)
	}
	return n.PID, n.URL
}

// reach waits until a job has a state.
func reach(t *testing.T, f *fleet.Fleet, id string, state fleet.State) *fleet.Job {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), polltest.Limit)
	defer cancel()
	for u, err := range f.Watch(ctx, id) {
		if err != nil {
			t.Fatalf("job %s is not %s: %v", id, state, err)
		}
		if u.Job != nil && u.Job.State == state {
			return u.Job
		}
	}
	t.Fatalf("job %s has ended, and was not %s", id, state)
	return nil
}

// TestWorkerWithServerKilled kills the worker that has the server. The other worker's job continues
// undisturbed, and a waiting client gets its answer.
func TestWorkerWithServerKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, second := &serverProcess{setup: serverSetup{Dir: dir, Queue: "one"}}, &serverProcess{setup: serverSetup{Dir: dir, Queue: "two"}}
	first.run(t)
	second.run(t)
	client := open(t, find(t, dir))
	f := fleet.Open(client, "test")
	jobs := map[string]string{}
	for _, queue := range []string{"one", "two"} {
		j, err := f.Submit(t.Context(), &fleet.Spec{Prompt: "wait", Queue: queue})
		if err != nil {
			t.Fatal(err)
		}
		jobs[queue] = j.ID
		reach(t, f, j.ID, fleet.Running)
	}
	waiter := fleet.Open(open(t, find(t, dir)), "waiter")
	answer := make(chan error, 1)
	go func() {
		j, err := waiter.Wait(t.Context(), jobs["two"])
		if err == nil && j.State != fleet.Done {
			err = fmt.Errorf("the job is %s", j.State)
		}
		answer <- err
	}()

	if pid, _ := serverOf(t, dir); pid != first.cmd.Process.Pid {
		t.Fatalf("process %d has the server, and not the first one", pid)
	}
	first.kill(t)
	killed := time.Now()
	reconnect(t, client)
	t.Logf("the next server answers after %v", time.Since(killed))
	polltest.Until(t, "the second process has the server", func() bool { // it answers before it writes that
		pid, _ := serverOf(t, dir)
		return pid == second.cmd.Process.Pid
	})
	if err := os.WriteFile(filepath.Join(dir, releaseName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if j := reach(t, f, jobs["two"], fleet.Done); len(j.Attempts) != 1 {
		t.Errorf("the job of the second worker has %d attempts", len(j.Attempts))
	}
	if err := <-answer; err != nil {
		t.Errorf("the client that waits: %v", err)
	}
	second.end(t)
}

// TestFollow starts the server again at another port, where the engines that are open find it.
func TestFollow(t *testing.T) {
	t.Parallel()
	for name, secure := range map[string]bool{"plain": false, "TLS": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			opts := func() *natsfleet.Options {
				o := &natsfleet.Options{Dir: dir, Listen: "127.0.0.1:0"}
				if secure {
					o.Certificate, o.Key = certificate(t) // another one each time
				}
				return o
			}
			first, err := natsfleet.Open(t.Context(), opts())
			if err != nil {
				t.Fatal(err)
			}
			before := first.URL()
			set(t, first, "a", "data")
			found, near := open(t, find(t, dir)), open(t, &natsfleet.Options{Dir: dir})
			store, err := near.Store(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
			takePort(t, strings.SplitN(before, "://", 2)[1])
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			if _, err := near.Get(ctx, fleet.Jobs, "a"); err == nil || near.Serves() {
				t.Error("an engine with other settings has started the server")
			}
			cancel()
			second := open(t, opts())
			if second.URL() == before || !second.Serves() {
				t.Fatalf("the server is at %s, where another program is", before)
			}
			reconnect(t, found, near)
			check(t, found, "a", "data")
			check(t, near, "a", "data")
			if found.URL() != second.URL() || near.URL() != second.URL() {
				t.Errorf("engines are connected to %s and %s, and the server is at %s", found.URL(), near.URL(), second.URL())
			}
			polltest.Until(t, "the store, which has a connection of its own, follows", func() bool {
				_, err := store.Sessions(t.Context(), "p")
				return err == nil
			})
		})
	}
}

// TestFollowNot starts the server again in ways that are not what the engines that are open were started with.
func TestFollowNot(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(t *testing.T, o *natsfleet.Options)
		want   string
	}{
		"users": {func(_ *testing.T, o *natsfleet.Options) {
			o.Users = []natsfleet.User{{Name: "anna", Password: "0123456789abcdef", Role: natsfleet.Work}}
		}, "users that it did not have"},
		"certificate": {func(t *testing.T, o *natsfleet.Options) {
			o.Listen = "127.0.0.1:0"
			o.Certificate, o.Key = certificate(t)
		}, "a certificate"},
		"secret": {func(t *testing.T, o *natsfleet.Options) {
			if err := os.Remove(filepath.Join(o.Dir, "fleet.json")); err != nil {
				t.Fatal(err)
			}
		}, "another secret"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := &natsfleet.Options{Dir: t.TempDir()}
			first, err := natsfleet.Open(t.Context(), opts)
			if err != nil {
				t.Fatal(err)
			}
			found := open(t, find(t, opts.Dir))
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
			test.change(t, opts)
			open(t, opts)
			polltest.Until(t, "the error has "+test.want, func() bool {
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				_, err = found.Get(ctx, fleet.Jobs, "a")
				if err == nil || errors.Is(err, fleet.ErrNotFound) {
					t.Fatalf("got %v, want %q", err, test.want)
				}
				return strings.Contains(err.Error(), test.want)
			})
		})
	}
}

// TestNoticeRemoved removes the notice while the server runs: the engine that takes over knows the
// secret.
func TestNoticeRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := natsfleet.Open(t.Context(), &natsfleet.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	set(t, first, "a", "data")
	second, found := open(t, &natsfleet.Options{Dir: dir}), open(t, find(t, dir))
	if err := os.Remove(filepath.Join(dir, "fleet.json")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	reconnect(t, second, found)
	check(t, second, "a", "data")
	check(t, found, "a", "data")
}
