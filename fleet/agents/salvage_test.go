package agents

import (
	"errors"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/gittest"
	"github.com/clewdev/clew/internal/worktree"
)

// A wreck is the working directory of an attempt whose worker died without a snapshot.
type wreck struct {
	*testing.T
	repo string
	tree *worktree.Tree
}

const wreckSession = "0123abcd-0000-4000-8000-000000000000"

// newWreck returns one on the machine of a runner. Its process still has it.
func newWreck(t *testing.T, r *Runner) *wreck {
	t.Helper()
	w := &wreck{T: t, repo: t.TempDir()}
	gittest.Run(t, w.repo, "init", "-q")
	gittest.Run(t, w.repo, "commit", "-q", "--allow-empty", "-m", "first")
	var err error
	w.tree, err = r.root.Add(t.Context(), &worktree.Request{Repo: w.repo, Name: treeName("jjjjjjjjjjjj", 1, wreckSession)})
	if err != nil {
		t.Fatal(err)
	}
	w.write("kept.txt")
	return w
}

func (w *wreck) write(name string) {
	w.Helper()
	if err := os.WriteFile(filepath.Join(w.tree.Dir, name), []byte("kept\n"), 0o600); err != nil {
		w.Fatal(err)
	}
}

// abandon leaves the directory as the end of the process does.
func (w *wreck) abandon() {
	w.Helper()
	if err := w.tree.Close(); err != nil {
		w.Fatal(err)
	}
}

// isThere reports whether the directory still exists.
func (w *wreck) isThere() bool {
	_, err := os.Stat(filepath.Join(w.tree.Dir, "kept.txt"))
	return err == nil
}

// next makes the working directory of the attempt that continues on the machine of a runner.
func (w *wreck) next(r *Runner) *run {
	w.Helper()
	return w.after(r, fleet.Attempt{Cause: fleet.ByLoss})
}

// after is like next, for an end of the attempt.
func (w *wreck) after(r *Runner, a fleet.Attempt) *run {
	w.Helper()
	a.Number, a.Session, a.Base = 1, wreckSession, w.tree.Base
	j := &fleet.Job{
		ID: "jjjjjjjjjjjj", From: &fleet.From{Attempt: 1, Session: wreckSession, Cause: a.Cause}, Spec: fleet.Spec{Repo: &fleet.Repo{URL: w.repo}},
		Attempts: []fleet.Attempt{a, {Number: 2, Start: fleet.Continued}},
	}
	n := &run{runner: r, task: &fleet.Task{Job: j, Number: 2}, session: wreckSession}
	if err := n.makeDir(w.Context()); err != nil {
		w.Fatal(err)
	}
	return n
}

// newMachine returns the runner of a machine whose worker has a directory.
func newMachine(t *testing.T, dir string) *Runner {
	t.Helper()
	r, err := New(t.Context(), &Options{
		Dir: dir, MinFree: -1, MinFreeShare: -1, Policy: Policy{Repos: []string{"*"}}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestSalvage continues an attempt whose worker died without a snapshot. On the same machine the next one starts with
// the files that are there, and leaves them there until they are stored; on another machine it reports them as lost.
func TestSalvage(t *testing.T) {
	t.Parallel()
	here, there := newMachine(t, t.TempDir()), newMachine(t, t.TempDir())
	w := newWreck(t, here)
	check := func(n *run, want bool, says string) {
		t.Helper()
		_, err := os.Stat(filepath.Join(n.dir, "kept.txt"))
		if (err == nil) != want || !strings.Contains(n.restored, says) {
			t.Errorf("%v: %s", err, n.restored)
		}
		n.Close()
	}
	check(w.next(here), false, "All changes to the files are lost") // its process is alive, and may only be slow
	const says = "The files are as you left them"
	w.abandon()
	again := newMachine(t, here.opts.Dir)
	for range 2 { // the first one does not begin
		check(w.next(again), true, says)
	}
	check(w.next(there), false, "All changes to the files are lost")
	check(w.after(there, fleet.Attempt{Cause: fleet.ByExit}), false, "All changes to the files are lost")
	for _, cause := range []fleet.Cause{fleet.ByExit, fleet.ByShutdown} { // the worker stored what there was
		check(w.after(there, fleet.Attempt{Cause: cause, Saved: true}), false, says)
	}
	n := w.next(again)
	n.former.close(n, true)
	if n.Close(); w.isThere() {
		t.Error("the files are stored, and there are two copies")
	}
}

// The working directory of a dead attempt stays if a snapshot can't have all files of it, such as the files of a
// repository that the agent cloned, and the agent learns which these are.
func TestSalvagePart(t *testing.T) {
	t.Parallel()
	here := newMachine(t, t.TempDir())
	w := newWreck(t, here)
	gittest.Run(t, w.tree.Dir, "init", "-q", "cloned")
	w.write("cloned/file")
	w.abandon()
	n := w.next(here)
	if _, err := os.Stat(filepath.Join(n.dir, "kept.txt")); err != nil {
		t.Error(err)
	}
	if !strings.Contains(n.restored, `"cloned/": a repository of its own`) || !strings.Contains(n.restored, w.tree.Dir) {
		t.Error(n.restored)
	}
	n.former.close(n, true)
	n.Close()
	here.sweep(t.Context(), func(string) bool { return false })
	if !w.isThere() {
		t.Error("the only copy of some files is gone")
	}
}

// An agent that continues learns which files of the attempt before are only in its working directory, whatever ended it.
func TestSalvageLeft(t *testing.T) {
	t.Parallel()
	here := newMachine(t, t.TempDir())
	w := newWreck(t, here)
	gittest.Run(t, w.tree.Dir, "init", "-q", "cloned")
	w.write("cloned/file")
	left := &run{runner: here, task: &fleet.Task{Job: &fleet.Job{ID: "jjjjjjjjjjjj"}}, tree: w.tree, dir: w.tree.Dir}
	if err := new(files).read(left)(t.Context()); err != nil {
		t.Fatal(err)
	}
	left.Close()
	here.sweep(t.Context(), func(string) bool { return false })
	for _, cause := range []fleet.Cause{
		fleet.ByExit, fleet.ByShutdown, fleet.ByLoss, fleet.ByLimit, fleet.ByThrottling, fleet.ByAccount, fleet.ByQuestion,
	} {
		n := w.after(here, fleet.Attempt{Cause: cause})
		if !strings.Contains(n.restored, `"cloned/": a repository of its own`) || !strings.Contains(n.restored, w.tree.Dir) {
			t.Errorf("%s: %s", cause, n.restored)
		}
		n.Close()
	}
	if !w.isThere() {
		t.Error("the only copy of some files is gone")
	}
}

// The working directories of dead attempts go after a day while the worker runs, and at once if the disk is too full.
func TestSweep(t *testing.T) {
	t.Parallel()
	here := newMachine(t, t.TempDir())
	ready := func(r *Runner) error {
		r.swept = r.swept.Add(-sweepInterval)
		return r.makeRoom(t.Context())
	}
	w := newWreck(t, here)
	w.abandon()
	if err := ready(here); err != nil || !w.isThere() {
		t.Errorf("a new one is gone, %v", err)
	}
	before := time.Now().Add(-salvageTime)
	for _, name := range []string{"tree.json", "repo.git/index"} {
		if err := os.Chtimes(filepath.Join(filepath.Dir(w.tree.Dir), name), before, before); err != nil {
			t.Fatal(err)
		}
	}
	if err := ready(here); err != nil || w.isThere() {
		t.Errorf("an old one is still there, %v", err)
	}
	w = newWreck(t, here)
	w.abandon()
	full, err := New(t.Context(), &Options{Dir: here.opts.Dir, MinFree: math.MaxInt64, MinFreeShare: -1})
	if err != nil {
		t.Fatal(err)
	}
	if err := full.Ready(t.Context()); !errors.Is(err, worktree.ErrDisk) || w.isThere() {
		t.Errorf("the disk is full, and it is still there, %v", err)
	}
}
