package agents

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/pause"
	"github.com/clewdev/clew/internal/worktree"
	"github.com/clewdev/clew/wire"
)

// The times of storing.
const (
	storeTime  = 5 * time.Minute // of one try
	storePause = 200 * time.Millisecond
	maxPause   = 5 * time.Second
	lateTime   = 30 * time.Second // for a worker that lost its lease, or is stopped
	appendTime = 10 * time.Second // of one append to the session
	treeTries  = 5                // how often files that can't be read are tried
)

// A treeError reports that the files of the agent can't be read.
type treeError struct{ error }

func (e *treeError) Unwrap() error { return e.error }

// A step stores a part of an attempt's work.
type step func(context.Context) error

// settle takes steps. It takes each of them again until it succeeds: while the worker has its
// lease, and for some time after that. It gives up at once if that can't help. Meanwhile the record
// has the reason why the attempt continues.
func (n *run) settle(live context.Context, steps ...step) error {
	ctx, stop := context.WithCancelCause(context.WithoutCancel(live))
	defer stop(nil)
	defer context.AfterFunc(live, func() {
		_ = pause.For(ctx, lateTime)
		stop(context.Cause(live))
	})()
	said := ""
	for _, step := range steps {
		broken := 0
		for wait := storePause; ; wait = min(2*wait, maxPause) {
			err := n.try(ctx, step)
			if err == nil {
				break
			}
			if unreadable := (*treeError)(nil); errors.As(err, &unreadable) {
				broken++
			}
			tooLarge := (*worktree.LimitError)(nil)
			if broken >= treeTries || errors.As(err, &tooLarge) || errors.Is(err, fleet.ErrStale) {
				return err
			}
			n.runner.log.Warn("the work could not be stored, and is tried again", "job", n.task.Job.ID, "error", err)
			if text := "the work can't be stored yet: " + textOf(err, ""); text != said && n.report(ctx, fleet.Report{Text: text}) {
				said = text
			}
			if pause.For(ctx, wait) != nil {
				return err
			}
		}
	}
	return nil
}

func (n *run) try(ctx context.Context, store step) error {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	return store(ctx)
}

// report records the progress of the attempt, and reports whether the engine knows.
func (n *run) report(ctx context.Context, r fleet.Report) bool {
	ctx, cancel := context.WithTimeout(ctx, maxPause)
	defer cancel()
	err := n.task.Report(ctx, r)
	if err != nil {
		n.runner.log.Warn("the record can't be written", "job", n.task.Job.ID, "error", err)
	}
	return err == nil
}

// handOver stores what an end stands for, and returns the end: the session, the whole text of the result if the record
// has no room for it, the files, and the patch. Without them the job is not done.
func (n *run) handOver(live context.Context, end fleet.Finish, whole string) fleet.Event {
	var f files
	err := n.settle(live, n.storeSession, func(ctx context.Context) error {
		if end.Cause == fleet.ByResult {
			return nil // a job that is done is not continued, so its session is not read
		}
		traces, err := n.runner.traces(ctx, n.session, n.prompt)
		if err == nil {
			end.Stored, end.CostUSD = traces.Stored, max(end.CostUSD, traces.CostUSD)
		}
		return err
	}, func(ctx context.Context) (err error) {
		if whole != "" {
			end.Result.File, err = n.task.Put(ctx, "result.txt", strings.NewReader(whole))
		}
		return err
	}, f.read(n), f.storeSnapshot(n), f.makePatch(n), func(ctx context.Context) (err error) {
		if f.patch.Len() > 0 {
			end.Patch, err = n.task.Put(ctx, "patch.diff", bytes.NewReader(f.patch.Bytes()))
		}
		return err
	})
	if err != nil {
		return n.notHandedOver(live, end, err)
	}
	n.unsaved, n.isPart = false, false
	if err := n.push(live, &end, f.commit); err != nil {
		n.runner.log.Warn("the work could not be pushed", "job", n.task.Job.ID, "error", err)
		end.Text = strings.TrimPrefix(end.Text+"; "+textOf(err, ""), "; ")
	}
	return end
}

// notHandedOver is the end of an attempt whose work could not be stored.
func (n *run) notHandedOver(live context.Context, end fleet.Finish, err error) fleet.Event {
	canceled := errors.Is(context.Cause(live), fleet.ErrCanceled)
	if live.Err() != nil && !canceled && end.Cause == fleet.ByResult {
		return n.unstored(live, err, end.CostUSD)
	}
	switch text := n.unstoredText(err); {
	case end.Cause != fleet.ByResult:
		end.Text = strings.TrimPrefix(end.Text+"; "+text, "; ")
	case canceled:
		end.Cause, end.Text = fleet.ByPerson, text
	default:
		end.Cause, end.Text = fleet.ByStorage, text
	}
	return end
}

// unstored is the end of an attempt whose work is not stored, or not all of it. The policy of the
// job decides about it, as about a job whose worker is gone.
func (n *run) unstored(live context.Context, err error, costUSD float64) fleet.Event {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(live), maxPause)
	defer cancel()
	traces := n.tracesOrNone(ctx)
	lose := fleet.Lose{Cause: fleet.ByExit, Text: n.unstoredText(err), Stored: traces.Stored, CostUSD: max(costUSD, traces.CostUSD)}
	switch cause := context.Cause(live); {
	case errors.Is(cause, fleet.ErrShutdown):
		lose.Cause = fleet.ByShutdown
	case cause != nil:
		lose.Cause = fleet.ByLoss
	}
	return lose
}

// unstoredText names the work that could not be stored and its place. The working directory stays.
func (n *run) unstoredText(err error) string {
	n.unsaved = true
	return fmt.Sprintf("the work could not be stored: %s; it is in %s", textOf(err, ""), n.dir)
}

// storeForNext stores what another attempt needs to continue this one, and reports whether the session has the prompt.
func (n *run) storeForNext(live context.Context) (stored bool, err error) {
	var f files
	err = n.settle(live, n.storeSession, f.read(n), f.storeSnapshot(n), func(ctx context.Context) error {
		traces, err := n.runner.traces(ctx, n.session, n.prompt)
		if err == nil {
			stored = traces.Stored
		}
		return err
	})
	return stored, err
}

// snapshot stores the agent's changes, if they are not stored yet and can be.
func (n *run) snapshot(ctx context.Context) {
	var f files
	err := n.try(ctx, f.read(n))
	if err == nil {
		err = n.try(ctx, f.storeSnapshot(n))
	}
	if err != nil {
		n.unsaved = true
		n.runner.log.Warn("the work could not be stored", "job", n.task.Job.ID, "error", err)
		n.report(ctx, fleet.Report{Status: "the work could not be stored: " + textOf(err, "")})
	}
}

// files are the files of an agent at a time. The zero value has none.
type files struct {
	commit string       // the snapshot, or "" if there is no repository
	bundle bytes.Buffer // for another attempt; empty if the last one is the same, or too large
	patch  bytes.Buffer // the difference to the base

	tooLarge bool // for a bundle
}

// read reads the files.
func (f *files) read(n *run) step {
	return func(ctx context.Context) error {
		if n.tree == nil {
			return nil
		}
		s, err := n.tree.Snapshot(ctx)
		if err != nil {
			return &treeError{err}
		}
		if n.isPart = len(s.Skipped) > 0; n.isPart {
			n.runner.log.Warn("not all files are in the snapshot", "job", n.task.Job.ID, "files", s.Skipped)
		}
		f.commit = s.Commit
		if s.Commit == n.stored {
			return nil
		}
		f.bundle.Reset()
		err = n.tree.Bundle(ctx, s.Commit, &f.bundle, 0)
		tooLarge := (*worktree.LimitError)(nil)
		switch {
		case errors.Is(err, worktree.ErrNothing): // nothing was changed
			f.bundle.Reset()
		case errors.As(err, &tooLarge): // another attempt starts with the snapshot before
			n.runner.log.Warn("the snapshot is too large", "job", n.task.Job.ID, "error", err)
			f.bundle.Reset()
			f.tooLarge = true
		case err != nil:
			return &treeError{err}
		}
		return nil
	}
}

// storeSnapshot stores the files for another attempt, and reports that.
func (f *files) storeSnapshot(n *run) step {
	return func(ctx context.Context) error {
		if f.bundle.Len() > 0 {
			name, err := n.task.Put(ctx, "snapshot.bundle", bytes.NewReader(f.bundle.Bytes()))
			if err == nil {
				err = n.task.Report(ctx, fleet.Report{Snapshot: name})
			}
			if err != nil {
				return err
			}
			n.stored = f.commit
		}
		n.unsaved = f.tooLarge
		return nil
	}
}

// isSaved reports whether all files are stored as the agent left them.
func (n *run) isSaved() bool { return n.tree != nil && !n.unsaved && !n.isPart }

// makePatch makes the difference to the base.
func (f *files) makePatch(n *run) step {
	return func(ctx context.Context) error {
		if f.commit == "" {
			return nil
		}
		f.patch.Reset()
		if err := n.tree.Patch(ctx, f.commit, &f.patch); err != nil {
			return &treeError{err}
		}
		return nil
	}
}

// push pushes the work of a finished job, if the job names a branch.
func (n *run) push(live context.Context, end *fleet.Finish, commit string) error {
	if end.Patch == "" || end.Cause != fleet.ByResult || n.task.Job.Spec.Repo.Branch == "" {
		return nil
	}
	if err := n.task.MayAct(live); err != nil {
		return err // another attempt may push
	}
	if err := n.tree.Push(context.WithoutCancel(live), commit, n.task.Job.Spec.Repo.Branch, n.pushed()); err != nil {
		return err
	}
	end.Pushed = commit
	return nil
}

// pushed returns the commit that an earlier attempt pushed, or "".
func (n *run) pushed() (commit string) {
	for i := range n.task.Job.Attempts {
		if c := n.task.Job.Attempts[i].Pushed; c != "" {
			commit = c
		}
	}
	return commit
}

// storeSession stores the entries of the session that could not be stored before.
func (n *run) storeSession(ctx context.Context) error {
	if n.keeper == nil {
		return nil
	}
	if err := n.keeper.flush(ctx); err != nil {
		return fmt.Errorf("the session: %w", err)
	}
	return nil
}

// A keeper is a store that does not lose the entries that the underlying store does not take: it
// keeps them, in order, and tries again.
type keeper struct {
	clew.Store

	alive context.Context // ended by close
	end   context.CancelFunc
	tries sync.WaitGroup
	turn  chan struct{} // has an element while somebody appends

	mu       sync.Mutex
	waiting  []appended
	retrying bool
}

// appended are entries that were given to a keeper at once.
type appended struct {
	key     wire.SessionKey
	entries []wire.JSON
}

func newKeeper(s clew.Store) *keeper {
	k := &keeper{Store: s, turn: make(chan struct{}, 1)}
	k.alive, k.end = context.WithCancel(context.Background())
	return k
}

// Append implements [clew.Store]. It always succeeds: flush reports the entries that are not in the
// store.
func (k *keeper) Append(ctx context.Context, key wire.SessionKey, entries []wire.JSON) error {
	k.mu.Lock()
	k.waiting = append(k.waiting, appended{key, slices.Clone(entries)})
	retrying := k.retrying
	k.mu.Unlock()
	if retrying || k.flush(ctx) == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.retrying && k.alive.Err() == nil {
		k.retrying = true
		k.tries.Go(k.retry)
	}
	return nil
}

// retry appends what waits until nothing does, or until the keeper is closed.
func (k *keeper) retry() {
	for wait := storePause; ; wait = min(2*wait, maxPause) {
		_ = pause.For(k.alive, wait)
		err := k.flush(k.alive)
		k.mu.Lock()
		k.retrying = k.alive.Err() == nil && (err != nil || len(k.waiting) > 0)
		over := !k.retrying
		k.mu.Unlock()
		if over {
			return
		}
	}
}

// flush appends the waiting entries, the oldest first. It returns the error of the first append
// that failed.
func (k *keeper) flush(ctx context.Context) error {
	select {
	case k.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-k.turn }()
	for {
		k.mu.Lock()
		if len(k.waiting) == 0 {
			k.mu.Unlock()
			return nil
		}
		next := k.waiting[0]
		k.mu.Unlock()
		if err := k.append(ctx, next); err != nil {
			return err
		}
		k.mu.Lock()
		k.waiting = k.waiting[1:]
		k.mu.Unlock()
	}
}

func (k *keeper) append(ctx context.Context, a appended) error {
	ctx, cancel := context.WithTimeout(ctx, appendTime)
	defer cancel()
	return k.Store.Append(ctx, a.key, a.entries)
}

// close ends what the keeper does in the background. A nil keeper does nothing.
func (k *keeper) close() {
	if k == nil {
		return
	}
	k.end()
	k.tries.Wait()
}
