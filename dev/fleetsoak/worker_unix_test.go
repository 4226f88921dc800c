//go:build unix

package fleetsoak

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/fleet/agents"
	"github.com/clewdev/clew/internal/newid"
	"github.com/clewdev/clew/nats/natsfleet"
)

// engineDir is the directory of the server.
func (s *setup) engineDir() string { return filepath.Join(s.Dir, "engine") }

// serve runs the server until the input ends.
func (s *setup) serve() error {
	e, err := natsfleet.Open(context.Background(), &natsfleet.Options{Dir: s.engineDir()})
	if err != nil {
		return err
	}
	<-ready()
	return e.Close()
}

// open connects to the server, through the proxy if there is one. It tries until the server is there.
func (s *setup) open(ctx context.Context) (*natsfleet.Engine, error) {
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		opts, err := natsfleet.Find(ctx, s.engineDir())
		var e *natsfleet.Engine
		if err == nil {
			if s.URL != "" {
				opts.URL = s.URL
			}
			e, err = natsfleet.Open(ctx, opts)
		}
		if err == nil {
			return e, nil
		}
		fmt.Fprintln(os.Stderr, err)
		select {
		case <-ctx.Done():
			return nil, err
		case <-again.C:
		}
	}
}

// work runs a worker until the input ends. Then the worker ends when its jobs have.
func (s *setup) work() error {
	ended := ready()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	starting, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		<-ended
		stop()
	}()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	e, claude := s.begin(starting, log)
	if e == nil {
		return nil // it was ended before it could begin
	}
	defer e.Close() //nolint:errcheck // the process ends
	w := fleet.NewWorker(&observed{Engine: e, setup: s}, mixed{&runner{s}, claude}, &fleet.WorkerOptions{
		Host: s.Name, PID: os.Getpid(), Slots: s.Slots, Lease: s.Lease, Logger: log, Queues: []string{fleet.DefaultQueue, claudeQueue},
	})
	go func() {
		<-ended
		w.Drain()
	}()
	return w.Run(ctx)
}

// begin connects to the server and makes the runner that needs it. It tries until the server is there, and
// returns nil if the context ends before.
func (s *setup) begin(ctx context.Context, log *slog.Logger) (*natsfleet.Engine, *agents.Runner) {
	for {
		e, err := s.open(ctx)
		if err != nil {
			return nil, nil
		}
		claude, err := s.newClaude(ctx, e, log)
		if err == nil {
			return e, claude
		}
		log.Warn("the worker can't begin", "error", errors.Join(err, e.Close())) //nolint:contextcheck // Close takes none
	}
}

// observed is an engine that writes to the ledger when the worker has renewed its lease. It does not
// depend on the worker's own view of its lease.
type observed struct {
	fleet.Engine
	setup *setup

	mu     sync.Mutex
	unsure entry // a renewal of which it is not known whether it was written
}

// Set implements [fleet.Engine].
func (o *observed) Set(ctx context.Context, t fleet.Table, records ...fleet.Record) ([]uint64, error) {
	if t != fleet.Workers {
		return o.Engine.Set(ctx, t, records...)
	}
	e := entry{Worker: records[0].Key, Beat: beatOf(records[0])}
	e.Kind, e.Time = renewed, time.Now()
	revisions, err := o.Engine.Set(ctx, t, records...)
	if err != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.unsure = e
		return revisions, err
	}
	return revisions, o.setup.note(&e)
}

// Get implements [fleet.Engine]. A worker reads its record if a renewal may have been written.
func (o *observed) Get(ctx context.Context, t fleet.Table, key string) (fleet.Record, error) {
	r, err := o.Engine.Get(ctx, t, key)
	if err != nil || t != fleet.Workers {
		return r, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if e := o.unsure; e.Worker == key && e.Beat == beatOf(r) {
		o.unsure = entry{}
		return r, o.setup.note(&e)
	}
	return r, nil
}

func beatOf(r fleet.Record) int {
	var info fleet.WorkerInfo
	if json.Unmarshal(r.Data, &info) != nil {
		return -1
	}
	return info.Beat
}

// A runner runs agents that are processes.
type runner struct{ setup *setup }

// Ready implements [fleet.Runner].
func (*runner) Ready(context.Context) error { return nil }

// Check implements [fleet.Runner].
func (*runner) Check(*fleet.Job) error { return nil }

// Look implements [fleet.Runner].
func (r *runner) Look(_ context.Context, j *fleet.Job) (*fleet.Traces, error) {
	return r.setup.traces(j.Attempt().Session, j.Attempt().Number)
}

// Prepare implements [fleet.Runner].
func (r *runner) Prepare(_ context.Context, t *fleet.Task) (fleet.Run, error) {
	n := &run{task: t, setup: &setup{Role: agentRole, Dir: r.setup.Dir, Job: t.Job.ID, Attempt: t.Number, Session: newid.UUID()}}
	n.setup.Tools, n.setup.Think = r.setup.pace(t.Job.ID)
	var err error
	if n.cmd, err = n.setup.command(); err != nil {
		return nil, err
	}
	n.cmd.Stderr = os.Stderr
	in, err := n.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := n.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := n.cmd.Start(); err != nil {
		return nil, err
	}
	n.in, n.out = in, bufio.NewReader(out)
	if line, err := n.out.ReadString('\n'); err != nil || line != "ready\n" {
		n.Close()
		return nil, fmt.Errorf("the agent says %q: %w", line, err)
	}
	return n, nil
}

// A run is an agent.
type run struct {
	task  *fleet.Task
	setup *setup
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
}

// IDs implements [fleet.Run].
func (n *run) IDs() (session, prompt, base string) {
	return n.setup.Session, "prompt-" + n.setup.Session, ""
}

// Close implements [fleet.Run].
func (n *run) Close() {
	_ = n.cmd.Process.Kill() // it may have ended
	_ = n.cmd.Wait()         // it says that it was killed
}

// Do implements [fleet.Run].
func (n *run) Do(ctx context.Context) fleet.Event {
	stop := context.AfterFunc(ctx, func() { _ = n.cmd.Process.Kill() })
	defer stop()
	err := n.talk(ctx)
	switch cause := context.Cause(ctx); {
	case err == nil:
		return fleet.Finish{Cause: fleet.ByResult, Stored: true, Result: fleet.Result{Text: n.setup.text()}}
	case errors.Is(cause, fleet.ErrCanceled):
		return fleet.Finish{Cause: fleet.ByPerson, Text: cause.Error()}
	case errors.Is(cause, fleet.ErrShutdown):
		return n.lose(fleet.ByShutdown, cause)
	case cause != nil:
		return n.lose(fleet.ByLoss, cause)
	}
	return n.lose(fleet.ByExit, err)
}

// lose returns the loss of the agent, with the traces that it left. It has ended before, so nothing
// follows.
func (n *run) lose(cause fleet.Cause, err error) fleet.Event {
	n.Close()
	l := fleet.Lose{Cause: cause, Text: err.Error()}
	if t, err := n.setup.traces(n.setup.Session, n.setup.Attempt); err == nil {
		l.Stored, l.Finished = t.Stored, t.Finished
	}
	return l
}

// talk sends the prompt, and answers the agent until it has finished.
func (n *run) talk(ctx context.Context) error {
	if _, err := io.WriteString(n.in, "prompt\n"); err != nil {
		return err
	}
	for {
		line, err := n.out.ReadString('\n')
		if err != nil {
			return fmt.Errorf("the agent has ended: %w", err)
		}
		if line == "finished\n" {
			return nil
		}
		asked := time.Now()
		if err := n.task.MayAct(ctx); err != nil {
			return err
		}
		if _, err := io.WriteString(n.in, asked.Format(time.RFC3339Nano)+"\n"); err != nil {
			return err
		}
	}
}
