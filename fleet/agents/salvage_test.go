package agents

import (
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/worktree"
)

// TestSalvage continues an attempt whose worker died without a snapshot. On the same machine the next one starts with
// the files that are there, and leaves them there until they are stored; on another machine it says that they are lost.
func TestSalvage(t *testing.T) {
	t.Parallel()
	repo := t.TempDir()
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "--allow-empty", "-m", "first"}} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = repo
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	const session = "0123abcd-0000-4000-8000-000000000000"
	machine := func() *Runner {
		r, err := New(t.Context(), &Options{Dir: t.TempDir(), MinFree: -1, MinFreeShare: -1, Policy: Policy{Repos: []string{"*"}}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	here, there := machine(), machine()
	dead, err := here.root.Add(t.Context(), &worktree.Request{Repo: repo, Name: treeName("jjjjjjjjjjjj", 1, session)})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dead.Dir, "kept.txt"), []byte("kept\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	next := func(r *Runner) *run {
		j := &fleet.Job{
			ID: "jjjjjjjjjjjj", From: &fleet.From{Attempt: 1, Session: session, Cause: fleet.ByLoss}, Spec: fleet.Spec{Repo: &fleet.Repo{URL: repo}},
			Attempts: []fleet.Attempt{{Number: 1, Session: session, Base: dead.Base, Cause: fleet.ByLoss}, {Number: 2, Start: fleet.Continued}},
		}
		n := &run{runner: r, task: &fleet.Task{Job: j, Number: 2}, session: session}
		if err := n.makeDir(t.Context()); err != nil {
			t.Fatal(err)
		}
		return n
	}
	check := func(n *run, want bool, says string) {
		t.Helper()
		_, err := os.Stat(filepath.Join(n.dir, "kept.txt"))
		if (err == nil) != want || !strings.Contains(n.restored, says) {
			t.Errorf("%v: %s", err, n.restored)
		}
	}
	n := next(here) // its process is alive, and may only be slow
	check(n, false, "All changes to the files are lost")
	n.Close()
	if err := dead.Close(); err != nil { // as the end of the process does
		t.Fatal(err)
	}
	again, err := New(t.Context(), &Options{Dir: here.opts.Dir, MinFree: -1, MinFreeShare: -1, Policy: here.opts.Policy, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the first one does not begin
		n = next(again)
		check(n, true, "The files are as you left them")
		n.Close()
	}
	n = next(there)
	check(n, false, "All changes to the files are lost")
	n.Close()
}
