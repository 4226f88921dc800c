// Package agents runs the jobs of a fleet with Claude Code, as a [fleet.Runner] for workers.
//
// Each attempt at a job has its own working directory, its own session and its own agent, which
// ends with it. An attempt that continues another one starts in a fork of that session, with the
// files of its last snapshot.
//
// A job can't widen what the worker allows: a [Policy] lists the repositories, tools, permission
// modes, secrets and MCP servers that a job may ask for, and a worker does not take a job that asks
// for more.
//
// The agent has the environment variables CLEW_JOB and CLEW_ATTEMPT.
//
// An agent is started before the record calls its job running, so that the start can fail
// harmlessly, and gets its prompt after. An attempt that continues another one works in a fork,
// since a store does not refuse a second writer, and a worker that is only slow still writes to the
// first session.
//
// Calls that need an answer are asked for in a hook, because only a hook can defer a call: after a
// while the agent ends, and the CLI repeats the call by itself when the session continues.
package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/newid"
	"github.com/clewdev/clew/internal/worktree"
)

// Options configures a [Runner].
type Options struct {
	// Base has the options that all agents start with; nil means the defaults. The fields that a
	// job decides are overwritten.
	Base *clew.Options
	// Dir is the directory of the worker, which has the working directories of jobs.
	Dir string
	// Store keeps the sessions. Without one no job can be continued.
	Store clew.Store
	// Policy limits the requests of jobs.
	Policy Policy
	// Accounts are the environment variables of each account, such as those with its key.
	Accounts map[string][]string
	// SnapshotEvery is the interval at which the work of a running agent is stored; 0 means 5
	// minutes. It is also stored after calls of tools, at most every ten seconds.
	SnapshotEvery time.Duration
	// MinFree and MinFreeShare are how much of the disk must be free: see [fleet.Runner]. 0 means 5 GB
	// and a tenth; less than 0 means no minimum.
	MinFree      int64
	MinFreeShare float64
	// Logger gets what goes wrong; nil means nothing.
	Logger *slog.Logger
}

// Project is the project of the sessions in the store.
const Project = "fleet"

// A Runner runs jobs with Claude Code.
type Runner struct {
	opts Options
	root *worktree.Root
	log  *slog.Logger

	probing chan struct{} // has an element while somebody starts an agent to see whether that works

	mu       sync.Mutex
	problem  error            // why no agent can be started
	accounts map[string]error // those of the worker whose agents can't work, and why
	probed   time.Time        // when that was last seen
}

// New returns a runner. It removes the working directories that earlier workers left in
// Options.Dir, unless they are in use, or were within a day: the next attempt of a job whose worker
// died continues with its files. Directories without a repository, or with files that could not be
// stored, stay for a week.
func New(ctx context.Context, o *Options) (*Runner, error) {
	r := &Runner{opts: *o, log: o.Logger, probing: make(chan struct{}, 1)}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	r.opts.SnapshotEvery = cmp.Or(o.SnapshotEvery, 5*time.Minute)
	if err := o.Policy.check(); err != nil {
		return nil, fmt.Errorf("agents: the policy: %w", err)
	}
	root, err := worktree.Open(o.Dir, &worktree.Options{MinFree: o.MinFree, MinFreeShare: o.MinFreeShare}) //nolint:contextcheck // it asks git for its version
	if err != nil {
		return nil, fmt.Errorf("agents: %w", err)
	}
	r.root = root
	r.sweep(ctx)
	if err := os.MkdirAll(r.plainDir(), 0o700); err != nil {
		return nil, fmt.Errorf("agents: %w", err)
	}
	r.sweepPlain()
	return r, nil
}

// sweep removes the unused working directories, except those left on purpose.
func (r *Runner) sweep(ctx context.Context) {
	removed, err := r.root.Sweep(ctx, r.isFresh)
	if err != nil {
		r.log.Warn("left working directories could not be removed", "error", err)
	}
	if len(removed) > 0 {
		r.log.Info("removed left working directories", "number", len(removed))
	}
}

// plainDir has the working directories of jobs without a repository.
func (r *Runner) plainDir() string { return filepath.Join(r.opts.Dir, "plain") }

// Check implements [fleet.Runner].
func (r *Runner) Check(j *fleet.Job) error {
	if err := r.opts.Policy.allows(&j.Spec); err != nil {
		return err
	}
	if j.Next == fleet.Continued && r.opts.Store == nil {
		return errors.New("it continues a session, and this worker has no store")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.accounts[accountOf(&j.Spec)]
}

// Ready implements [fleet.Runner]. While the disk is too full, no job can run. At first, and after an agent could not
// be started, one is started without a prompt, for each account, until that works: this shows whether the agent is
// there, is new enough and has credentials.
func (r *Runner) Ready(ctx context.Context) error {
	if err := r.root.CheckDisk(); err != nil {
		return err
	}
	r.mu.Lock()
	isWell := !r.probed.IsZero() && r.problem == nil && len(r.accounts) == 0
	r.mu.Unlock()
	if isWell {
		return nil
	}
	return r.probe(ctx)
}

// The times of probes.
const (
	probeTime = 2 * time.Minute // of one
	probeAge  = 5 * time.Second // how long the result of one holds
)

// probe starts an agent for each account, as for a job without a repository, and returns why no job can run, or nil.
func (r *Runner) probe(ctx context.Context) error {
	select {
	case r.probing <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-r.probing }()
	r.mu.Lock()
	problem, recent := r.problem, !r.probed.IsZero() && time.Since(r.probed) < probeAge
	r.mu.Unlock()
	if recent {
		return problem
	}
	names := slices.Sorted(maps.Keys(r.opts.Accounts))
	if len(names) == 0 {
		names = []string{fleet.DefaultAccount}
	}
	failed := make(map[string]error)
	var err error
	for _, name := range names {
		var login *loginError
		if err = r.startAndEnd(ctx, name); errors.As(err, &login) {
			failed[name] = err
		} else if err != nil {
			break
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if len(failed) < len(names) && len(failed) > 0 && errors.As(err, new(*loginError)) {
		err = nil // the others can work
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil && len(failed) > 0 && len(r.accounts) == 0 {
		r.log.Warn("jobs of some accounts are not taken", "error", errors.Join(slices.Collect(maps.Values(failed))...))
	}
	r.problem, r.accounts, r.probed = err, failed, time.Now()
	return err
}

// A loginError reports that the agent of an account has no credentials.
type loginError struct{ account string }

func (e *loginError) Error() string {
	return "Claude Code has no credentials for the account " + e.account +
		": log in with \"claude auth login\", or give the worker ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN"
}

// checkAgent returns why an agent that was started can't run jobs, or nil.
func checkAgent(info *clew.ServerInfo, account string) error {
	const none = "none"
	a := &info.Account
	switch {
	case !info.HookOnFailureSupported:
		return fmt.Errorf("Claude Code %s is too old for jobs: update it to a version after 2.1.300", //nolint:staticcheck // a name
			cmp.Or(info.Version, "of this version"))
	case a.APIProvider == "firstParty" && (a.TokenSource == "" || a.TokenSource == none) && (a.APIKeySource == "" || a.APIKeySource == none):
		return &loginError{account}
	}
	return nil
}

// startAndEnd starts an agent for an account, and ends it when it waits for a prompt.
func (r *Runner) startAndEnd(ctx context.Context, account string) error {
	dir, err := os.MkdirTemp(r.plainDir(), "probe-")
	if err != nil {
		return err
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			r.log.Warn("a directory could not be removed", "error", err)
		}
	}()
	job := &fleet.Job{ID: "probe", Spec: fleet.Spec{Account: account}, Attempts: make([]fleet.Attempt, 1)}
	task := &fleet.Task{Job: job, Number: 1}
	n := &run{runner: r, task: task, dir: dir, session: newid.UUID()}
	opts, err := n.options()
	if err != nil {
		return err
	}
	opts.Store, opts.Hooks = clew.StoreOptions{}, nil // an agent that is too old for the hooks of jobs shall say its version
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	s, err := clew.Connect(ctx, opts)
	if err != nil {
		return err
	}
	defer s.Close() //nolint:errcheck // it waited for a prompt
	return checkAgent(s.Info(), account)
}

// sweepPlain removes working directories without a repository that are unused for a long time, left
// by a killed worker.
func (r *Runner) sweepPlain() {
	entries, err := os.ReadDir(r.plainDir())
	errs := []error{err}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && time.Since(info.ModTime()) > leftTime {
			err = os.RemoveAll(filepath.Join(r.plainDir(), e.Name()))
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		r.log.Warn("left working directories could not be removed", "error", err)
	}
}

// leftTime is the time for which a working directory is left for people. No attempt takes so long.
const leftTime = 7 * 24 * time.Hour
