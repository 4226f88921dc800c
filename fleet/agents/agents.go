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
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/worktree"
	"github.com/clewdev/clew/usage"
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
	// minutes. It is also stored after tool calls, at most every ten seconds.
	SnapshotEvery time.Duration
	// MinFree and MinFreeShare are how much of the disk must be free: see [fleet.Runner]. 0 means 5 GB
	// and a tenth; less than 0 means no minimum.
	MinFree      int64
	MinFreeShare float64
	// Prices are the prices of models, for the cost of attempts whose agents did not report it; nil means
	// [usage.DefaultPrices].
	Prices *usage.Prices
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
	accounts map[string]*account // of the worker, and of jobs whose agents did not start
	swept    time.Time           // when unused directories were last removed
}

// New returns a runner. It removes the working directories that earlier workers left in
// Options.Dir, unless they are in use, or were within a day: the next attempt of a job whose worker
// died continues with its files. Directories without a repository, or with files that could not be
// stored, stay for a week. [Runner.Ready] repeats that each hour for directories with a repository.
func New(ctx context.Context, o *Options) (*Runner, error) {
	r := &Runner{opts: *o, log: o.Logger, probing: make(chan struct{}, 1), accounts: make(map[string]*account)}
	for name := range o.Accounts {
		r.accounts[name] = &account{err: errNotProbed}
	}
	if len(o.Accounts) == 0 {
		r.accounts[fleet.DefaultAccount] = &account{err: errNotProbed}
	}
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
	if err := os.MkdirAll(r.plainDir(), 0o700); err != nil {
		return nil, fmt.Errorf("agents: %w", err)
	}
	r.sweep(ctx, r.isFresh)
	r.sweepPlain()
	return r, nil
}

// sweep removes the unused working directories, except those left on purpose.
func (r *Runner) sweep(ctx context.Context, keep func(name string) bool) {
	r.mu.Lock()
	r.swept = time.Now()
	r.mu.Unlock()
	removed, err := r.root.Sweep(ctx, keep)
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
	if a := r.accounts[accountOf(&j.Spec)]; a != nil && a.err != nil {
		return fmt.Errorf("%w: %w", fleet.ErrAccount, a.err)
	}
	return nil
}

// sweepInterval is the interval at which unused working directories are removed.
const sweepInterval = time.Hour

// makeRoom removes unused working directories from time to time, and returns an error if the disk is too full all the
// same. Then it removes even those from which a job could continue.
func (r *Runner) makeRoom(ctx context.Context) error {
	r.mu.Lock()
	isDue := time.Since(r.swept) >= sweepInterval
	r.mu.Unlock()
	if isDue {
		r.sweep(ctx, r.isFresh)
	}
	err := r.root.CheckDisk()
	if errors.Is(err, worktree.ErrDisk) {
		r.sweep(ctx, func(string) bool { return r.root.CheckDisk() == nil })
		err = r.root.CheckDisk()
	}
	return err
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
