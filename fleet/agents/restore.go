package agents

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/worktree"
)

// restored is the start of a working directory that continues another attempt.
type restored struct {
	files  io.Reader      // a snapshot, or nil for the base
	bundle io.Closer      // of files, or nil
	former *worktree.Tree // the working directory of the attempt, locked, or nil
	isPart bool           // former has files that the snapshot lacks
	text   string         // for the agent and the record; "" if nothing can be missing
}

// close releases what was read. The working directory of the attempt before goes only if its files are stored, or are
// the base: until then an attempt that does not begin leaves them to the next one. It stays for people if the snapshot
// could not take all of them.
func (r *restored) close(n *run, isStored bool) {
	if r == nil {
		return
	}
	var errs []error
	if r.bundle != nil {
		errs = append(errs, r.bundle.Close())
	}
	switch {
	case r.former == nil:
	case r.isPart:
		errs = append(errs, r.former.Keep(time.Now().Add(leftTime)))
	case !isStored:
		errs = append(errs, r.former.Close())
	default:
		errs = append(errs, r.former.Remove())
	}
	r.bundle, r.former = nil, nil
	if err := errors.Join(errs...); err != nil {
		n.runner.log.Warn("the files of an earlier attempt could not be closed", "job", n.task.Job.ID, "error", err)
	}
}

// restore finds the files of the attempt that this one continues: in its working directory, if that was left on this
// machine, else in its last snapshot.
func (n *run) restore(ctx context.Context, from *fleet.Attempt) (*restored, error) {
	isLost := from.Cause == fleet.ByLoss || from.Cause == fleet.ByExit || from.Cause == fleet.ByShutdown
	isCut := isLost && !from.Saved
	if isCut || hasPaused(from) {
		if r := n.salvage(ctx, from); r != nil {
			return r, nil
		}
	}
	r := &restored{}
	switch {
	case isCut:
		r.text = "All changes to the files are lost: they are as in the commit " + from.Base + "."
	case isLost:
		r.text = allRestored
	}
	if from.Snapshot == "" {
		return r, nil
	}
	bundle, err := n.task.Open(ctx, from.Snapshot)
	if errors.Is(err, fleet.ErrNotFound) {
		r.text = "The snapshot of the files is gone, and all changes with it: they are as in the commit " + from.Base + "."
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	r.files, r.bundle = bundle, bundle
	if isCut {
		r.text = "The files are as in their last snapshot: changes after it are lost, and files that git ignores."
	}
	return r, nil
}

// hasPaused reports whether an attempt ended to be continued. Its working directory stays only if its snapshot can't have
// all files.
func hasPaused(a *fleet.Attempt) bool {
	switch a.Cause {
	case fleet.ByLimit, fleet.ByThrottling, fleet.ByAccount, fleet.ByQuestion:
		return true
	}
	return false
}

// salvage returns the files in the working directory that an attempt left, or nil. The directory is locked while a
// process has it, so that a worker that is only slow is not taken for dead.
func (n *run) salvage(ctx context.Context, from *fleet.Attempt) *restored {
	if len(from.Session) < sessionPart {
		return nil
	}
	tree, err := n.runner.root.Tree(treeName(n.task.Job.ID, from.Number, from.Session))
	if err != nil {
		return nil
	}
	r := &restored{former: tree, text: allRestored}
	var bundle bytes.Buffer
	s, err := tree.Snapshot(ctx)
	if err == nil {
		if len(s.Skipped) > 0 {
			r.isPart, r.text = true, partRestored(s.Skipped, tree.Dir)
		}
		if err = tree.Bundle(ctx, s.Commit, &bundle, 0); err == nil {
			r.files = &bundle
		}
	}
	if err == nil || errors.Is(err, worktree.ErrNothing) {
		return r
	}
	n.runner.log.Warn("the files of an earlier attempt can't be read", "job", n.task.Job.ID, "error", err)
	r.close(n, false)
	return nil
}

// allRestored describes files of which the last snapshot has all that a snapshot can have.
const allRestored = "The files are as you left them, but for files that git ignores, which are lost."

// partRestored describes files of which some are in no snapshot, but only in the directory of the attempt before.
func partRestored(skipped []string, dir string) string {
	more := ""
	if n := len(skipped) - maxNamed; n > 0 {
		skipped, more = skipped[:maxNamed], fmt.Sprintf("; and %d more", n)
	}
	return "The files are as you left them, but for files that git ignores and for these, which stay in " + dir + " for a week: " +
		strings.Join(skipped, "; ") + more + "."
}

// maxNamed is the number of missing files that the agent gets by name.
const maxNamed = 5

// salvageTime is the time for which the working directory of a dead attempt stays on its machine for the next one.
const salvageTime = 24 * time.Hour

// isFresh reports whether a working directory was in use a short time ago.
func (r *Runner) isFresh(name string) bool { return time.Since(r.root.Used(name)) < salvageTime }

// sessionPart is the length of the part of a session's ID in the name of a working directory.
const sessionPart = 8

// treeName returns the name of the working directory of an attempt.
func treeName(job string, attempt int, session string) string {
	return fmt.Sprintf("%s-%d-%s", job, attempt, session[:sessionPart])
}
