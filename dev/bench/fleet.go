package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/cmd/clew/dev/bench/benchreport"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/fleet/agents"
	"github.com/clewdev/clew/nats/natsfleet"
)

// How much is measured of fleets.
const (
	fleetSubmits = 500
	fleetBatch   = 4000
	fleetLives   = 1000
	fleetSlots   = 16
	fleetPrompts = 100
	fleetFrames  = 200_000
	fleetLags    = 5000
	fleetList    = 100_000
	fleetKills   = 5
	fleetLease   = 2 * time.Second
	fleetIdle    = 30 * time.Second
)

// A fleetFigure is a measurement of a fleet.
type fleetFigure struct {
	Name    string  `json:"name"`
	Value   float64 `json:"value"`
	Unit    string  `json:"unit"`
	Goal    float64 `json:"goal"`
	AtLeast bool    `json:"at_least,omitempty"`
}

// A fleetBench measures fleets: a server with synced writes in this process, and clients over TCP.
type fleetBench struct {
	dir     string
	figures []fleetFigure
}

// measureFleet measures the cost of a fleet. It runs only on Linux, where /proc reports the use of each
// process.
func measureFleet(ctx context.Context) ([]fleetFigure, error) {
	if runtime.GOOS != "linux" {
		return nil, nil
	}
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	b := &fleetBench{dir: dir}
	for _, part := range []struct {
		name string
		do   func(context.Context, *fleetSite) error
	}{
		{"submit", b.submit}, {"life", b.life}, {"prompt", b.prompt}, {"loss", b.loss}, {"live", b.live}, {"list", b.list},
		{"idle", b.idle},
	} {
		fmt.Fprintln(os.Stderr, "running a fleet:", part.name)
		if err := b.at(ctx, part.name, part.do); err != nil {
			return nil, fmt.Errorf("fleet, %s: %w", part.name, err)
		}
	}
	return b.figures, nil
}

// A fleetSite is a server, and a client of it.
type fleetSite struct {
	dir    string
	server *natsfleet.Engine
	client *natsfleet.Engine
	fleet  *fleet.Fleet
}

// at runs a part with a separate server.
func (b *fleetBench) at(ctx context.Context, name string, do func(context.Context, *fleetSite) error) (err error) {
	s := &fleetSite{dir: filepath.Join(b.dir, name)}
	if s.server, err = natsfleet.Open(ctx, &natsfleet.Options{Dir: s.dir}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.server.Close()) }() //nolint:contextcheck // Close takes none
	if s.client, err = natsfleet.Open(ctx, &natsfleet.Options{Dir: s.dir}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.client.Close()) }() //nolint:contextcheck // Close takes none
	s.fleet = fleet.Open(s.client, "bench")
	return do(ctx, s)
}

func (b *fleetBench) atLeast(name, unit string, goal, value float64) {
	b.figures = append(b.figures, fleetFigure{name, value, unit, goal, true})
}

func (b *fleetBench) atMost(name, unit string, goal, value float64) {
	b.figures = append(b.figures, fleetFigure{name, value, unit, goal, false})
}

// percentiles adds the median and the 99th of a hundred.
func (b *fleetBench) percentiles(name string, p50, p99 float64, times []time.Duration) {
	slices.Sort(times)
	b.atMost(name+", median", "ms", p50, milliseconds(times[len(times)/2]))
	b.atMost(name+", 99 of 100", "ms", p99, milliseconds(times[len(times)*99/100]))
}

func fleetSpecs(n int) []*fleet.Spec {
	specs := make([]*fleet.Spec, n)
	for i := range specs {
		specs[i] = &fleet.Spec{Prompt: fmt.Sprintf("Find out why test %d of the nightly build fails, and mend it.", i), OnLost: fleet.Hold}
	}
	return specs
}

func (b *fleetBench) submit(ctx context.Context, s *fleetSite) error {
	began := time.Now()
	for _, spec := range fleetSpecs(fleetSubmits) {
		if _, err := s.fleet.Submit(ctx, spec); err != nil {
			return err
		}
	}
	b.atLeast("submit, one client", "jobs/s", 200, fleetSubmits/time.Since(began).Seconds())
	began = time.Now()
	if _, err := s.fleet.SubmitAll(ctx, fleetSpecs(fleetBatch)); err != nil {
		return err
	}
	b.atLeast("submit, all at once", "jobs/s", 1000, fleetBatch/time.Since(began).Seconds())
	return nil
}

// life runs jobs whose agents answer at once, in memory.
func (b *fleetBench) life(ctx context.Context, s *fleetSite) error {
	jobs, err := s.fleet.SubmitAll(ctx, fleetSpecs(fleetLives))
	if err != nil {
		return err
	}
	began := time.Now()
	stop := s.work(ctx, &memoryRunner{}, fleetSlots)
	defer stop()
	if err := s.await(ctx, len(jobs)); err != nil {
		return err
	}
	b.atLeast(fmt.Sprintf("whole life, %d slots, agents in memory", fleetSlots), "jobs/s", 100, fleetLives/time.Since(began).Seconds())
	return nil
}

// work runs a worker, and returns how to end it.
func (s *fleetSite) work(ctx context.Context, r fleet.Runner, slots int) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	w := fleet.NewWorker(s.server, r, &fleet.WorkerOptions{Slots: slots, Lease: fleetLease})
	var running sync.WaitGroup
	running.Go(func() { _ = w.Run(ctx) }) // it ends with the context
	return func() {
		cancel()
		running.Wait()
	}
}

// await waits until as many jobs are done.
func (s *fleetSite) await(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	done := make(map[string]bool)
	for j, err := range s.fleet.Changes(ctx) {
		if err != nil {
			return err
		}
		if j == nil || !j.State.Ended() {
			continue
		}
		if j.State != fleet.Done {
			return fmt.Errorf("job %s is %s", j.ID, j.State)
		}
		if done[j.ID] = true; len(done) == n {
			return nil
		}
	}
	return context.Cause(ctx)
}

// prompt submits one job after the other to an idle worker. The result of each job is the time at which its
// agent got the prompt.
func (b *fleetBench) prompt(ctx context.Context, s *fleetSite) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	store, err := s.server.Store(ctx)
	if err != nil {
		return err
	}
	r, err := agents.New(ctx, &agents.Options{
		Dir: filepath.Join(b.dir, "worker"), Store: store, MinFree: -1, MinFreeShare: -1,
		Base: &clew.Options{AgentPath: program, AgentVersion: fleetAgentVersion, Env: []string{fleetAgentVariable + "=1"}},
	})
	if err != nil {
		return err
	}
	for _, kind := range []struct {
		name     string
		runner   fleet.Runner
		p50, p99 float64
	}{{"agent in memory", &memoryRunner{}, 30, 150}, {"agent as a process", r, 30, 150}} {
		times, err := s.promptTimes(ctx, kind.runner)
		if err != nil {
			return err
		}
		b.percentiles("submit to prompt, idle worker, "+kind.name, kind.p50, kind.p99, times)
	}
	return nil
}

func (s *fleetSite) promptTimes(ctx context.Context, r fleet.Runner) ([]time.Duration, error) {
	stop := s.work(ctx, r, 1)
	defer stop()
	var times []time.Duration
	for i, spec := range fleetSpecs(fleetPrompts + 1) {
		began := time.Now()
		j, err := s.fleet.Submit(ctx, spec)
		if err != nil {
			return nil, err
		}
		if j, err = s.fleet.Wait(ctx, j.ID); err != nil {
			return nil, err
		}
		if j.State != fleet.Done {
			return nil, fmt.Errorf("job %s is %s by %s: %s", j.ID, j.State, j.Cause, j.Text)
		}
		got, err := time.Parse(time.RFC3339Nano, j.Result().Text)
		if err != nil {
			return nil, err
		}
		if i > 0 { // the worker has just started before the first one
			times = append(times, got.Sub(began))
		}
	}
	return times, nil
}

// loss kills a worker process that runs a job, and waits until another worker reports the job as lost.
func (b *fleetBench) loss(ctx context.Context, s *fleetSite) error {
	stop := s.work(ctx, &memoryRunner{refuse: true}, 1)
	defer stop()
	worst := time.Duration(0)
	for range fleetKills {
		cmd, err := startFleetChild(ctx, s.dir, fleetLease)
		if err != nil {
			return err
		}
		elapsed, err := s.killed(ctx, cmd)
		_ = cmd.Process.Kill() // it may be dead already
		_ = cmd.Wait()         // it reports the kill
		if err != nil {
			return err
		}
		worst = max(worst, elapsed)
	}
	b.atMost(fmt.Sprintf("kill to lost, lease of %v, worst of %d", fleetLease, fleetKills), "s", (fleetLease + 3*time.Second).Seconds(), worst.Seconds())
	return nil
}

func (s *fleetSite) killed(ctx context.Context, cmd *exec.Cmd) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	j, err := s.fleet.Submit(ctx, fleetSpecs(1)[0])
	if err != nil {
		return 0, err
	}
	var began time.Time
	for u, err := range s.fleet.Watch(ctx, j.ID) {
		switch {
		case err != nil:
			return 0, err
		case u.Job == nil:
		case u.Job.State == fleet.Running && began.IsZero():
			began = time.Now()
			if err := cmd.Process.Kill(); err != nil {
				return 0, err
			}
		case u.Job.State == fleet.Lost:
			return time.Since(began), nil
		case u.Job.State.Ended():
			return 0, fmt.Errorf("the job is %s", u.Job.State)
		}
	}
	return 0, context.Cause(ctx)
}

// live sends frames to a viewer that watches a job, first as fast as it can, and then 1,000 a
// second.
func (b *fleetBench) live(ctx context.Context, s *fleetSite) error {
	rate, received, err := s.frames(ctx, fleetFrames, 0, nil)
	if err != nil {
		return err
	}
	b.atLeast("live frames of 512 bytes to one viewer", "frames/s", 50_000, rate)
	b.atLeast("live frames that arrive", "%", 0, 100*float64(received)/fleetFrames)
	var lags []time.Duration
	_, _, err = s.frames(ctx, fleetLags, time.Millisecond, func(sent time.Time) { lags = append(lags, time.Since(sent)) })
	if err != nil || len(lags) == 0 {
		return errors.Join(err, fmt.Errorf("%d frames arrived", len(lags)))
	}
	b.percentiles("live frame to its viewer, 1,000/s", 50, 50, lags)
	return nil
}

// frames runs a job that sends frames, each with its time, and returns how many arrived, and in a second.
func (s *fleetSite) frames(ctx context.Context, n int, every time.Duration, saw func(time.Time)) (rate float64, received int, err error) {
	watched := make(chan struct{})
	stop := s.work(ctx, &memoryRunner{frames: n, every: every, watched: watched}, 1)
	defer stop()
	j, err := s.fleet.Submit(ctx, fleetSpecs(1)[0])
	if err != nil {
		return 0, 0, err
	}
	var first, last time.Time
	for u, err := range s.fleet.Watch(ctx, j.ID) {
		if err != nil {
			return 0, 0, err
		}
		if u.Job != nil {
			continue
		}
		text, _, _ := strings.Cut(string(u.Frame), " ")
		sent, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return 0, 0, err
		}
		if last = time.Now(); first.IsZero() {
			first = last
			close(watched)
			continue // the first ones only ask whether somebody watches
		}
		if strings.HasSuffix(string(u.Frame), "?") {
			continue
		}
		if received++; saw != nil {
			saw(sent)
		}
	}
	return float64(received) / last.Sub(first).Seconds(), received, nil
}

func (b *fleetBench) list(ctx context.Context, s *fleetSite) error {
	began := time.Now()
	if _, err := s.fleet.SubmitAll(ctx, fleetSpecs(fleetList)); err != nil {
		return err
	}
	b.atLeast(fmt.Sprintf("submit, %d at once", fleetList), "jobs/s", 1000, fleetList/time.Since(began).Seconds())
	var times []float64
	for range 3 {
		began, n := time.Now(), 0
		for _, err := range s.fleet.Jobs(ctx) {
			if err != nil {
				return err
			}
			n++
		}
		if n != fleetList {
			return fmt.Errorf("the list has %d jobs", n)
		}
		times = append(times, time.Since(began).Seconds())
	}
	b.atMost(fmt.Sprintf("list of %d jobs", fleetList), "s", 1, benchreport.Median(times))
	return nil
}

// idle measures a process with a server and a worker that has nothing to do.
func (b *fleetBench) idle(ctx context.Context, _ *fleetSite) error {
	cmd, err := startFleetChild(ctx, filepath.Join(b.dir, "idle-child"), fleet.DefaultLease)
	if err != nil {
		return err
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it reports the kill
	}()
	before := processorTime(cmd.Process.Pid)
	pause := time.NewTimer(fleetIdle)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	used := processorTime(cmd.Process.Pid) - before
	b.atMost("idle worker with its server, memory", "MB", 60, peakMemory(cmd.Process.Pid))
	b.atMost("idle worker with its server, processor", "%", 1, 100*used.Seconds()/fleetIdle.Seconds())
	return nil
}

// judgeFleet fills in the goals of the fleet.
func (r *report) judgeFleet() {
	for _, f := range r.Fleet {
		switch {
		case f.Goal == 0:
		case f.AtLeast:
			r.Goals.AtLeast(f.Name, f.Goal, f.Unit, f.Value)
		default:
			r.Goals.AtMost(f.Name, f.Goal, f.Unit, f.Value)
		}
	}
}

func (r *report) writeFleet(b *strings.Builder) {
	benchreport.Table(b, "| fleet | measured |", r.Fleet, func(f fleetFigure) string {
		return fmt.Sprintf("| %s | %s %s |", f.Name, short(f.Value), f.Unit)
	})
}
