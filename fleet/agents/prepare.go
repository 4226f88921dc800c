package agents

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/newid"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/internal/worktree"
	"github.com/clewdev/clew/wire"
)

// A run is an attempt: an agent that is ready, and waits for its prompt.
type run struct {
	runner *Runner
	task   *fleet.Task
	tree   *worktree.Tree // nil without a repository
	dir    string
	base   string

	session, prompt string
	text            string // of the prompt
	clone           string // the directory of the repository on this machine, or ""
	former          *restored
	restored        string // what became of the files of the attempt that this one continues, or ""
	wall, idle      time.Duration

	stop  context.CancelCauseFunc // ends the agent
	ended chan struct{}           // closed when it ends
	ready chan struct{}           // closed when the agent waits for the prompt
	send  chan struct{}           // closed to send the prompt

	changed  atomic.Bool  // a call may have changed files since the last snapshot
	last     atomic.Int64 // when the agent was last heard, in Unix nanoseconds
	asking   atomic.Int32 // how many questions wait for an answer
	mu       sync.Mutex
	outcome  outcome
	question string  // that the attempt is parked for
	stored   string  // the snapshot that was stored last
	keeper   *keeper // of the session, or nil without a store
	unsaved  bool    // something of the working directory is stored nowhere else
	isPart   bool    // the last snapshot could not have all files, and the work was not handed over
}

// outcome has the messages of an agent that count for the end of the attempt.
type outcome struct {
	result   *wire.ResultMessage
	limit    *wire.RateLimitInfo // the last rejected one
	failure  wire.AssistantError // of the last answer
	answered bool                // the model answered something
	last     bool                // nothing came after the result
	open     map[string]bool     // the calls of the agent itself that have no result yet
	err      error               // of the sequence of messages
}

// Prepare implements [fleet.Runner].
func (r *Runner) Prepare(ctx context.Context, t *fleet.Task) (fleet.Run, error) {
	n := &run{
		runner: r, task: t, session: newid.UUID(), prompt: newid.UUID(),
		ended: make(chan struct{}), ready: make(chan struct{}), send: make(chan struct{}),
	}
	err := n.makeDir(ctx)
	if errors.Is(err, worktree.ErrDisk) {
		err = fmt.Errorf("%w: %w", fleet.ErrNotReady, err)
	}
	if err == nil {
		err = n.start(ctx)
	}
	if err != nil {
		n.Close() // even if the context ended
		return nil, err
	}
	return n, nil
}

// notStarted returns the error of an agent that never waited for its prompt. If no other agent of the account does
// either, the account or the worker is at fault.
func (n *run) notStarted(ctx context.Context) error {
	err := cmpError(n.outcome.err, "the agent has ended before its prompt")
	fault := n.runner.probe(ctx, accountOf(&n.task.Job.Spec), func(*account) bool { return true })
	if fault == nil || ctx.Err() != nil {
		return err
	}
	if problem := n.runner.problem(); problem != nil {
		return fmt.Errorf("%w: %w", fleet.ErrNotReady, problem)
	}
	return fmt.Errorf("%w: %w", fleet.ErrAccount, fault)
}

// makeDir makes the working directory.
func (n *run) makeDir(ctx context.Context) error {
	name := n.name()
	repo := n.task.Job.Spec.Repo
	if repo == nil {
		n.dir = filepath.Join(n.runner.plainDir(), name)
		return os.Mkdir(n.dir, 0o700)
	}
	req := &worktree.Request{Repo: repo.URL, Ref: repo.Ref, Name: name}
	if !isRemote(repo.URL) {
		req.Copy = n.runner.opts.Policy.Copy
	}
	n.findClone(ctx)
	if from := n.from(); from != nil && from.Base != "" {
		var err error
		if n.former, err = n.restore(ctx, from); err != nil {
			return err
		}
		req.Ref, req.Snapshot, n.restored = from.Base, n.former.files, n.former.text
	}
	tree, err := n.runner.root.Add(ctx, req)
	if err != nil {
		return err
	}
	n.tree, n.dir, n.base = tree, tree.Dir, tree.Base
	return n.setUp(ctx)
}

// name returns the name of the working directory.
func (n *run) name() string {
	return treeName(n.task.Job.ID, n.task.Number, n.session)
}

// from returns the attempt that this one continues, or nil.
func (n *run) from() *fleet.Attempt {
	j := n.task.Job
	if n.attempt().Start != fleet.Continued || j.From == nil || j.From.Attempt > len(j.Attempts) {
		return nil
	}
	return &j.Attempts[j.From.Attempt-1]
}

func (n *run) attempt() *fleet.Attempt { return &n.task.Job.Attempts[n.task.Number-1] }

// setUp runs the setup command in the policy.
func (n *run) setUp(ctx context.Context) error {
	setup := n.runner.opts.Policy.Setup
	if len(setup) == 0 || !n.trusted() {
		return nil
	}
	cmd := exec.CommandContext(ctx, setup[0], setup[1:]...)
	cmd.Dir = n.dir
	cmd.Env = append(os.Environ(), n.env()...)
	cmd.WaitDelay = 5 * time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("the setup command: %w: %s", err, out[max(0, len(out)-500):])
	}
	return nil
}

// env are the variables that name the attempt.
func (n *run) env() []string {
	return []string{"CLEW_JOB=" + n.task.Job.ID, "CLEW_ATTEMPT=" + strconv.Itoa(n.task.Number)}
}

// start starts the agent, and returns when it waits for the prompt.
func (n *run) start(ctx context.Context) error {
	opts, err := n.options()
	if err != nil {
		return err
	}
	n.text = n.promptText(ctx)
	running, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	n.stop = stop
	go n.read(running, opts)
	select {
	case <-n.ready:
		return nil
	case <-n.ended:
		return n.notStarted(ctx)
	case <-ctx.Done():
		stop(context.Cause(ctx))
		<-n.ended
		return context.Cause(ctx)
	}
}

func cmpError(err error, or string) error {
	if err == nil {
		return errors.New(or)
	}
	return err
}

// read starts the agent and reads its messages until it ends.
func (n *run) read(ctx context.Context, opts *clew.Options) {
	defer close(n.ended)
	for msg, err := range clew.Query(ctx, n.prompts(ctx), opts) {
		n.mu.Lock()
		if err != nil {
			n.outcome.err = err
		} else {
			n.outcome.see(msg)
		}
		n.mu.Unlock()
		if err == nil {
			n.tell(ctx, msg)
		}
	}
}

// prompts yields the prompt once it may be sent.
func (n *run) prompts(ctx context.Context) iter.Seq[*wire.UserMessage] {
	return func(yield func(*wire.UserMessage) bool) {
		close(n.ready)
		select {
		case <-n.send:
			prompt := clew.Text(n.text)
			prompt.UUID = n.prompt
			yield(prompt)
		case <-ctx.Done():
		}
	}
}

// options returns the options for the agent of the attempt.
func (n *run) options() (*clew.Options, error) {
	var o clew.Options
	r, spec := n.runner, &n.task.Job.Spec
	if r.opts.Base != nil {
		o = *r.opts.Base
	}
	policy := &r.opts.Policy
	budget, wall, turns := policy.limits(spec)
	n.wall, n.idle = wall, time.Duration(spec.Limits.Idle)
	if budget > 0 {
		o.Limits.MaxBudgetUSD = budget - n.task.Job.CostUSD()
		if o.Limits.MaxBudgetUSD <= 0 {
			return nil, fmt.Errorf("%s: %w", wording.Dollars(budget).Long(), fleet.ErrBudget)
		}
	}
	o.Dir, o.Session.ID, o.Limits.MaxTurns = n.dir, n.session, turns
	if r.opts.Store != nil {
		n.keeper = newKeeper(r.opts.Store)
		o.Store.Store, o.Store.Project, o.Store.Eager = n.keeper, Project, true
	}
	o.VerbatimPrompts = true
	if from := n.from(); from != nil {
		o.Session.Resume, o.Session.Fork = n.task.Job.From.Session, true
	}
	if !n.trusted() {
		o.Settings.Sources, o.StrictMCPConfig = []clew.SettingSource{}, true
	} else if o.Settings.Sources == nil {
		o.Settings.Sources = []clew.SettingSource{clew.SettingSourceProject}
	}
	n.agentOptions(&o, &spec.Agent)
	o.Env = slices.Concat(o.Env, r.opts.Accounts[accountOf(spec)], n.env(), n.secrets(&spec.Agent))
	n.callbacks(&o)
	return &o, nil
}

func accountOf(s *fleet.Spec) string {
	if s.Account == "" {
		return fleet.DefaultAccount
	}
	return s.Account
}

// trusted reports whether the repository's settings count.
func (n *run) trusted() bool {
	repo := n.task.Job.Spec.Repo
	return repo != nil && matches(n.runner.opts.Policy.Trusted, repo.URL)
}

// agentOptions sets what the job says.
func (n *run) agentOptions(o *clew.Options, a *fleet.AgentSpec) {
	if a.Model != "" {
		o.Model = a.Model
	}
	o.PermissionMode = clew.PermissionMode(n.runner.opts.Policy.mode(a))
	o.AllowDangerouslySkipPermissions = o.PermissionMode == clew.PermissionModeBypassPermissions
	if a.Tools != nil {
		o.Tools = a.Tools
	} else if n.runner.opts.Policy.Tools != nil {
		o.Tools = n.runner.opts.Policy.Tools
	}
	o.AllowedTools = slices.Concat(o.AllowedTools, a.AllowedTools)
	o.DisallowedTools = slices.Concat(o.DisallowedTools, a.DisallowedTools)
	if a.Instructions != "" {
		var prompt clew.SystemPrompt
		if o.SystemPrompt != nil {
			prompt = *o.SystemPrompt
		}
		prompt.Append = strings.TrimSpace(prompt.Append + "\n\n" + a.Instructions)
		o.SystemPrompt = &prompt
	}
	if a.OutputSchema != nil {
		o.OutputSchema = wire.JSON(a.OutputSchema)
	}
	if len(a.MCP) > 0 {
		o.MCPServers = maps.Clone(o.MCPServers)
		if o.MCPServers == nil {
			o.MCPServers = make(map[string]clew.MCPServer)
		}
		for _, name := range a.MCP {
			o.MCPServers[name] = n.runner.opts.Policy.MCP[name]
		}
	}
}

func (n *run) secrets(a *fleet.AgentSpec) []string {
	var env []string
	for _, name := range a.Secrets {
		env = append(env, name+"="+n.runner.opts.Policy.Secrets[name])
	}
	return env
}

// IDs implements [fleet.Run].
func (n *run) IDs() (session, prompt, base string) { return n.session, n.prompt, n.base }

// Close implements [fleet.Run]. A working directory with something that is stored nowhere else stays, unless the work was
// handed over.
func (n *run) Close() {
	if n.stop != nil {
		n.stop(errClosed)
		<-n.ended
	}
	n.former.close(n, false)
	n.keeper.close()
	var err error
	switch {
	case n.unsaved, n.isPart:
		err = n.leave()
	case n.tree != nil:
		err = n.tree.Remove()
	case n.dir != "":
		err = os.RemoveAll(n.dir)
	}
	if err != nil {
		n.runner.log.Warn("the working directory could not be removed", "job", n.task.Job.ID, "error", err)
	}
}

// leave leaves the working directory for people.
func (n *run) leave() error {
	n.runner.log.Warn("the working directory stays, since not all of its files could be stored", "job", n.task.Job.ID, "directory", n.dir)
	if n.tree == nil {
		return nil
	}
	return n.tree.Keep(time.Now().Add(leftTime))
}

var errClosed = errors.New("the attempt is over")
