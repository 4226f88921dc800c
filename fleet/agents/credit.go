package agents

import (
	"context"
	"net/url"
	"path/filepath"

	"github.com/clewdev/clew/hook"
	"github.com/clewdev/clew/internal/worktree"
	"github.com/clewdev/clew/sessions"
)

// findClone finds the directory of the repository on this machine, to whose project the session counts.
func (n *run) findClone(ctx context.Context) {
	repo := n.task.Job.Spec.Repo.URL
	if dir := worktree.Directory(repo); dir != "" {
		n.clone, _ = filepath.EvalSymlinks(dir) // a directory that is not there fails later
		return
	}
	var err error
	if n.clone, err = sessions.FindClone(ctx, repo); err != nil {
		n.runner.log.Warn("not all projects were searched for a clone", "job", n.task.Job.ID, "error", err)
	}
}

// beforePrompt records the job beside the transcript, so that its cost counts to its repository when the working
// directory is gone. The agent names the transcript, since its settings decide where that is.
func (n *run) beforePrompt(_ context.Context, in hook.Input) (*hook.Output, error) {
	job := sessions.Job{ID: n.task.Job.ID, Attempt: n.task.Number, Directory: n.clone}
	if repo := n.task.Job.Spec.Repo; repo != nil {
		job.Repository = withoutUser(repo.URL)
	}
	if err := sessions.RecordJob(in.Base().TranscriptPath, job); err != nil {
		n.runner.log.Warn("the cost of the job does not count to its repository", "job", n.task.Job.ID, "error", err)
	}
	return nil, nil
}

// withoutUser returns the address of a repository without a user and a password in its URL.
func withoutUser(repo string) string {
	u, err := url.Parse(repo)
	if err != nil || u.User == nil {
		return repo
	}
	u.User = nil
	return u.String()
}
