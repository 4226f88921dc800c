package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/newid"
	"github.com/clewdev/clew/internal/version"
)

// An account is an account of the worker, as the last probe found it.
type account struct {
	err    error         // why its agents can't work, or nil
	probed time.Time     // the last time
	wait   time.Duration // until the next time, while agents of other accounts work
}

// errNotProbed is the error of an account before its first probe.
var errNotProbed = errors.New("no agent has been started for it yet")

// The times of probes.
const (
	probeTime = 2 * time.Minute  // of one
	probeAge  = 5 * time.Second  // how long the result of one holds
	minWait   = 10 * time.Second // until an account is probed again, and twice as long after each failure
	maxWait   = 10 * time.Minute
)

// Ready implements [fleet.Runner]. While the disk is too full, no job can run. For each account, an agent is started
// without a prompt until one works: this shows whether the agent is there, is new enough and has credentials. No job can
// run until one works for some account; the jobs of the others wait.
func (r *Runner) Ready(ctx context.Context) error {
	if err := r.makeRoom(ctx); err != nil {
		return err
	}
	r.mu.Lock()
	names := slices.Sorted(maps.Keys(r.accounts))
	r.mu.Unlock()
	for _, name := range names {
		if err := r.probe(ctx, name, r.isDue); ctx.Err() != nil {
			return err
		}
	}
	return r.problem()
}

// problem returns why no agent works for any account, or nil.
func (r *Runner) problem() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var first error
	for _, name := range slices.Sorted(maps.Keys(r.accounts)) {
		switch err := r.accounts[name].err; {
		case err == nil:
			return nil
		case first == nil:
			first = err
		}
	}
	return first
}

// isDue reports whether an account is probed again because its agents did not work.
func (r *Runner) isDue(a *account) bool {
	return a.err != nil && (time.Since(a.probed) >= a.wait || r.problem() != nil)
}

// probe starts an agent for an account, as for a job without a repository, if that is wanted and was not done a moment
// ago. It returns why the agents of the account can't work, or nil.
func (r *Runner) probe(ctx context.Context, name string, isWanted func(*account) bool) error {
	select {
	case r.probing <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-r.probing }()
	r.mu.Lock()
	if r.accounts[name] == nil {
		r.accounts[name] = &account{err: errNotProbed}
	}
	last := *r.accounts[name]
	r.mu.Unlock()
	if time.Since(last.probed) < probeAge || !isWanted(&last) {
		return last.err
	}
	err := r.startAndEnd(ctx, name)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	next := &account{err: err, probed: time.Now()}
	switch {
	case err == nil:
	case r.problem() != nil: // it is probed each time, until one works
		next.wait = minWait
	default:
		next.wait = min(max(minWait, 2*last.wait), maxWait)
	}
	r.mu.Lock()
	r.accounts[name] = next
	isOne := len(r.accounts) == 1
	r.mu.Unlock()
	switch {
	case isOne: // the worker reports it
	case err != nil && (last.err == nil || last.err.Error() != err.Error()):
		r.log.Warn("the jobs of an account wait", "account", name, "error", err)
	case err == nil && last.wait > 0:
		r.log.Info("the jobs of an account are taken again", "account", name)
	}
	return err
}

// checkAgent returns why an agent that was started can't run jobs, or nil.
func checkAgent(info *clew.ServerInfo, account string) error {
	const none = "none"
	a := &info.Account
	switch {
	case !info.HookOnFailureSupported:
		return fmt.Errorf("Claude Code %s is too old for jobs: update it to version %s or newer", //nolint:staticcheck // a name
			cmp.Or(info.Version, "of this version"), version.BlocksOnFailure)
	case a.APIProvider == "firstParty" && (a.TokenSource == "" || a.TokenSource == none) && (a.APIKeySource == "" || a.APIKeySource == none):
		return fmt.Errorf("Claude Code has no credentials for the account %s: log in with \"claude auth login\", "+ //nolint:staticcheck // a name
			"or give the worker ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN", account)
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
