package fleetcli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/fleet"
)

// jobVariable is the environment variable that has the ID of a job in the processes of its agent.
const jobVariable = "CLEW_JOB"

// maxAncestors bounds the walk from a process to its parent.
const maxAncestors = 1000

// callerJobs returns the IDs of the jobs whose agents may have started this process: the values of
// jobVariable in this process and in its ancestors, the nearest first. A child can change its own
// environment, but not its ancestors' initial environment. An ancestor that ended is not found, nor
// another user's.
func callerJobs() (ids []string) {
	add := func(env []byte) {
		for pair := range bytes.SplitSeq(env, []byte{0}) {
			id, ok := bytes.CutPrefix(pair, []byte(jobVariable+"="))
			if ok && len(id) > 0 && !slices.Contains(ids, string(id)) {
				ids = append(ids, string(id))
			}
		}
	}
	add([]byte(jobVariable + "=" + os.Getenv(jobVariable)))
	for pid, n := os.Getppid(), 0; pid > 1 && n < maxAncestors; pid, n = parent(pid), n+1 {
		add(environment(pid))
	}
	return ids
}

// caller returns the job of this fleet whose agent started this process, or nil if there is none. Jobs
// of other fleets don't count. A record that can't be read counts as a job.
func caller(ctx context.Context, f *fleet.Fleet, ids []string) (*fleet.Job, error) {
	for _, id := range ids {
		j, err := f.Job(ctx, id)
		switch {
		case err == nil:
			return j, nil
		case ctx.Err() != nil:
			return nil, err
		case !errors.Is(err, fleet.ErrNotFound):
			return &fleet.Job{ID: id}, nil
		}
	}
	return nil, nil //nolint:nilnil // there is none
}

const callerHint = `A job can't decide about jobs, nor give itself or others more rights. Run the command
from your own shell.`

// refuseAgent returns an error if the agent of a job of this fleet started this process.
func (c *connection) refuseAgent(ctx context.Context) error {
	j, err := caller(ctx, c.Fleet, callerJobs())
	if err != nil {
		return failure(ctx, err)
	}
	if j == nil {
		return nil
	}
	return &clikit.Failure{
		Code: clikit.ExitFailed, Err: fmt.Errorf("this command was started by the agent of job %s", clikit.Printable(j.ID)), Hint: callerHint,
	}
}

// connectToDecide is like connect, for a command that answers a question or changes what jobs may do. It
// refuses the agents of jobs.
func (p *place) connectToDecide(ctx context.Context) (*connection, error) {
	c, err := p.connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.refuseAgent(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// refuseWider returns an error if the agent of a job of this fleet started this process, and one of the
// specs asks for more than that job has.
func (c *connection) refuseWider(ctx context.Context, specs ...*fleet.Spec) error {
	j, err := caller(ctx, c.Fleet, callerJobs())
	if err != nil {
		return failure(ctx, err)
	}
	if j == nil {
		return nil
	}
	for _, s := range specs {
		if what := wider(&j.Spec, s); what != "" {
			return &clikit.Failure{
				Code: clikit.ExitFailed, Err: fmt.Errorf("this command was started by the agent of job %s, and asks for more than that job has: %s", clikit.Printable(j.ID), what),
				Hint: "Ask for no more, or run the command from your own shell.",
			}
		}
	}
	return nil
}

// wider returns the name of something that a spec has more of than another one, or "".
func wider(than, s *fleet.Spec) string {
	isIn := func(list, of []string) bool {
		return !slices.ContainsFunc(list, func(word string) bool { return !slices.Contains(of, word) })
	}
	less := func(limit, of float64) bool { return of == 0 || limit > 0 && limit <= of }
	account := func(s *fleet.Spec) string {
		if s.Account == "" {
			return fleet.DefaultAccount
		}
		return s.Account
	}
	asks := func(s *fleet.Spec) []string {
		if s.Ask == nil {
			return nil
		}
		return s.Ask.Tools
	}
	a, b := &than.Agent, &s.Agent
	isStrict := slices.Contains([]string{"", "default", "plan", "dontAsk", a.PermissionMode}, b.PermissionMode)
	pushes := s.Repo != nil && s.Repo.Branch != "" && (than.Repo == nil || than.Repo.Branch == "")
	for _, is := range []struct {
		wider bool
		name  string
	}{
		{!isStrict, "the permission mode"},
		{a.Tools != nil && (b.Tools == nil || !isIn(b.Tools, a.Tools)), "tools"},
		{!isIn(b.AllowedTools, a.AllowedTools), "tools that run without asking"},
		{!isIn(a.DisallowedTools, b.DisallowedTools), "tools that are denied to it"},
		{!isIn(asks(than), asks(s)), "tools that it has to ask for"},
		{!isIn(b.Secrets, a.Secrets), "secrets"},
		{!isIn(b.MCP, a.MCP), "MCP servers"},
		{pushes, "the branch"},
		{account(s) != account(than), "the account"},
		{!less(s.Limits.BudgetUSD, than.Limits.BudgetUSD), "the budget"},
		{!less(float64(s.Limits.Wall), float64(than.Limits.Wall)), "the duration"},
		{!less(float64(b.MaxTurns), float64(a.MaxTurns)), "the number of answers"},
	} {
		if is.wider {
			return is.name
		}
	}
	return ""
}
