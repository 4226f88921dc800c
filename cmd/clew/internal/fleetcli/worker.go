package fleetcli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/engine"
	"github.com/clewdev/clew/cmd/clew/internal/termio"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/fleet/agents"
	"github.com/clewdev/clew/internal/pricelist"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
)

type workerOptions struct {
	place
	slots          int
	queues         []string
	accounts       []string
	prepareTimeout time.Duration
	drainTimeout   time.Duration
	retain         time.Duration
	policy         string
	dir            string
	minFree        clikit.ByteSize
	agentPath      string
	listen         string
	cert, key      string
	users          string
	json           bool
}

const workerHelp = `Take jobs that "clew submit" submits, and run an agent for each. Without --fleet, the
worker starts the server that keeps the jobs, or uses the server of another worker on
this machine. Jobs survive the worker: they are on disk, in $XDG_STATE_HOME/clew/fleet
or ~/.local/state/clew/fleet. Any number of workers can share a fleet.

The first Ctrl-C drains the worker: it takes no new jobs and exits when running jobs
finish. The second one ends the agents at once; their jobs continue later or on another
worker, depending on their --on-lost.

A job can't ask for more than the policy of the worker allows: see package
fleet/agents. --policy names a file with it, such as
  {"repos": ["https://host/team/*"], "tools": ["Read", "Edit", "Bash"],
   "secrets": {"NPM_TOKEN": "..."}, "budget_usd": 5, "wall": "1h", "push": true}
Without it, jobs may use all tools but not the mode bypassPermissions, secrets or
pushes; all repositories if only you can submit, and otherwise those with a URL.

Without --account, a worker takes jobs of the account "default" and uses the credentials
in its environment. With --account, it takes jobs of the named accounts; the file of
NAME=FILE sets environment variables, in lines such as ANTHROPIC_API_KEY=VALUE.

With --listen, the server that the worker starts also serves other machines. Any address
but loopback needs --tls-cert, --tls-key and --users, a file such as
  [{"name": "ci", "password": "16 characters or more", "role": "submit"}]
Roles are watch, submit and work. Other machines connect with --fleet-credentials and a
file with the same user, password and role, such as
  {"user": NAME, "password": PASSWORD, "role": ROLE, "ca": FILE}`

func newWorker(p *Program) *cobra.Command {
	o := &workerOptions{place: place{Program: p}}
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Take jobs and run them",
		Long:  workerHelp,
		Example: `  clew worker
  clew worker --slots 4 --queue default --queue nightly`,
		Args: clikit.AtMost(0),
		RunE: clikit.RunE(o.run),
	}
	o.addFlags(cmd)
	set := cmd.Flags()
	set.IntVar(&o.slots, "slots", 1, "`number` of jobs that run at a time")
	set.StringArrayVar(&o.queues, "queue", nil, "take jobs of the queue with this `name` (default \""+fleet.DefaultQueue+"\"); repeatable")
	set.StringArrayVar(&o.accounts, "account", nil, "take jobs of this `account`, with the variables of a file: NAME or NAME=FILE; repeatable")
	set.DurationVar(&o.prepareTimeout, "prepare-timeout", time.Hour, "let a job take this `duration` to fetch its repository and start; 0 means no limit")
	set.DurationVar(&o.drainTimeout, "drain-timeout", 0, "after Ctrl-C, let jobs run for this `duration`; 0 means until they end")
	set.DurationVar(&o.retain, "retain", 30*24*time.Hour, "remove jobs, with their patches, this `duration` after their end; 0 means never")
	set.StringVar(&o.policy, "policy", "", "JSON `file` with the policy: what jobs may use")
	set.StringVar(&o.dir, "dir", "", "`directory` for the working directories of jobs (default beside the jobs)")
	set.Var(&o.minFree, "min-free", "minimum free disk `space` to accept jobs (default: 5 GB or 10 %, whichever is more)")
	set.Lookup("min-free").DefValue = ""
	set.StringVar(&o.agentPath, "agent-path", "", "`path` of the agent binary")
	set.StringVar(&o.listen, "listen", "", "let the server listen at this `address`, such as 0.0.0.0:4222")
	set.StringVar(&o.cert, "tls-cert", "", "`file` with the certificate of the server")
	set.StringVar(&o.key, "tls-key", "", "`file` with the key of the certificate")
	set.StringVar(&o.users, "users", "", "JSON `file` with the users of other machines")
	clikit.AddOnOff(cmd, &o.json, "json", "print what happens as one JSON object per line")
	return cmd
}

func (o *workerOptions) run(ctx context.Context, _ []string) error {
	if err := o.check(); err != nil {
		return err
	}
	if _, err := o.readPolicy(false); err != nil { // before a server is started
		return err
	}
	accounts, err := readAccounts(o.accounts)
	if err != nil {
		return err
	}
	c, err := o.open(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.refuseAgent(ctx); err != nil {
		return err
	}
	if o.listen != "" && !c.engine.Serves() {
		return &clikit.Failure{
			Code: clikit.ExitFailed, Err: errors.New("another worker of this machine has the server, so --listen has no effect"),
			Hint: "Stop that worker first, or leave out --listen.",
		}
	}
	policy, err := o.readPolicy(c.engine.Private())
	if err != nil {
		return err
	}
	log := slog.New(o.handler())
	runner, err := o.runner(ctx, c, policy, accounts, log)
	if err != nil {
		return err
	}
	host, _ := os.Hostname() // it is for people
	w := fleet.NewWorker(c.engine, runner, &fleet.WorkerOptions{
		Host: host, PID: os.Getpid(), Version: o.Version, Slots: o.slots, Queues: o.queues,
		Accounts: slices.Sorted(maps.Keys(accounts)), PrepareTimeout: cmp.Or(o.prepareTimeout, -1), Drain: o.drainTimeout, Retain: cmp.Or(o.retain, -1), Logger: log,
	})
	runner.checked = func(problem error) {
		o.greet(slices.Sorted(maps.Keys(accounts)), c.engine.Remote(o.listen, host), problem)
	}
	return o.work(ctx, w, runner)
}

func (o *workerOptions) check() error {
	switch {
	case o.slots < 1:
		return clikit.UsageError("--slots must be 1 or more", "")
	case o.prepareTimeout < 0:
		return clikit.UsageError("--prepare-timeout must be 0 or more", "")
	case o.retain < 0:
		return clikit.UsageError("--retain must be 0 or more", "")
	case o.isRemote() && (o.listen != "" || o.users != "" || o.cert != "" || o.key != ""):
		return clikit.UsageError("--listen, --tls-cert, --tls-key and --users are for a fleet of this machine", "Leave out --fleet.")
	case o.listen == "" && (o.users != "" || o.cert != "" || o.key != ""):
		return clikit.UsageError("--users, --tls-cert and --tls-key need --listen", "")
	}
	for _, q := range o.queues {
		if err := (&fleet.Spec{Prompt: "x", Queue: q}).Check(); err != nil {
			return clikit.UsageError(clikit.Printable(err.Error()), "")
		}
	}
	if o.queues == nil {
		o.queues = []string{fleet.DefaultQueue}
	}
	return nil
}

// work takes jobs until the worker is stopped.
func (o *workerOptions) work(ctx context.Context, w *fleet.Worker, runner *watchedRunner) error {
	defer termio.HandOver()()
	interrupts := make(chan os.Signal, 2)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	running, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	done := make(chan error, 1)
	go func() { done <- w.Run(running) }()
	told := ctx.Done()
	for drains := false; ; {
		select {
		case err := <-done:
			return failure(running, err)
		case <-told:
			told = nil
		case <-interrupts:
			if drains {
				o.say("the agents are ended")
				end()
			}
		}
		if !drains {
			drains = true
			o.say(runner.draining())
			w.Drain()
		}
	}
}

// say prints a text that does not belong to a job event.
func (o *workerOptions) say(text string) {
	if !o.json {
		clikit.Remark(o.Err, tty.Waiting, "clew worker", text)
	}
}

// open opens the fleet, and starts its server if there is none.
func (o *workerOptions) open(ctx context.Context) (*connection, error) {
	at, err := o.at()
	if err != nil {
		return nil, err
	}
	if !at.IsURL() {
		if err := os.MkdirAll(at.Name, 0o700); err != nil {
			return nil, clikit.Unwritable(at.Name, err)
		}
	}
	activity := clikit.StartActivity(o.Err, "starting")
	defer activity.End()
	e, err := at.Serve(ctx, engine.Server{Listen: o.listen, Certificate: o.cert, Key: o.key, Users: o.users})
	if err != nil {
		return nil, failure(ctx, err)
	}
	return &connection{fleet.Open(e, who()), e, e, o.flags()}, nil
}

// readPolicy reads the file of --policy. If private is set, only this user can submit.
func (o *workerOptions) readPolicy(private bool) (*agents.Policy, error) {
	policy := new(agents.Policy)
	if o.policy == "" {
		if private {
			policy.Repos = []string{"*"} // only the user can submit, and may read all of them anyway
		}
		return policy, nil
	}
	text, err := clikit.ReadConfig(o.policy)
	if err != nil {
		return nil, err
	}
	if err := clikit.DecodeStrictly(text, policy); err != nil {
		return nil, clikit.Unreadable(o.policy, err)
	}
	return policy, nil
}

// readAccounts reads the accounts of the worker with their environment variables.
func readAccounts(flags []string) (map[string][]string, error) {
	accounts := make(map[string][]string)
	for _, flag := range flags {
		name, path, hasFile := strings.Cut(flag, "=")
		if err := (&fleet.Spec{Prompt: "x", Account: name}).Check(); err != nil || name == "" {
			return nil, clikit.UsageError("--account must be NAME or NAME=FILE, with letters, digits, - and _ in the name", "")
		}
		accounts[name] = nil
		if !hasFile {
			continue
		}
		text, err := clikit.ReadConfig(path)
		if err != nil {
			return nil, err
		}
		if accounts[name], err = parseEnvironment(string(text)); err != nil {
			return nil, clikit.Unreadable(path, err)
		}
	}
	if len(accounts) == 0 {
		accounts[fleet.DefaultAccount] = nil
	}
	return accounts, nil
}

// parseEnvironment reads lines of the form NAME=VALUE. Its errors have nothing of the values.
func parseEnvironment(text string) ([]string, error) {
	var env []string
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		if name = strings.TrimSpace(name); !ok || name == "" || strings.ContainsAny(name, " \t") {
			return nil, fmt.Errorf("line %d is not NAME=VALUE", n)
		}
		if len(value) >= 2 && (value[0] == '"' || value[0] == '\'') && value[len(value)-1] == value[0] {
			value = value[1 : len(value)-1]
		}
		env = append(env, name+"="+value)
	}
	return env, nil
}

// runner returns what runs the agents.
func (o *workerOptions) runner(
	ctx context.Context, c *connection, policy *agents.Policy, accounts map[string][]string, log *slog.Logger,
) (*watchedRunner, error) {
	store, err := c.store(ctx)
	if err != nil {
		return nil, err
	}
	dir := o.dir
	if dir == "" {
		if dir, err = clikit.StateFile("work"); err != nil {
			return nil, err
		}
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	prices := pricelist.Current()
	opts := &agents.Options{
		Base: &clew.Options{AgentPath: o.agentPath}, Dir: dir, Store: store, Policy: *policy, Accounts: accounts, Prices: &prices,
		Logger: log,
	}
	if o.minFree > 0 {
		opts.MinFree, opts.MinFreeShare = int64(o.minFree), -1
	}
	runner, err := agents.New(ctx, opts)
	if errors.Is(err, fs.ErrPermission) {
		return nil, clikit.Unwritable(dir, err)
	}
	return &watchedRunner{Runner: runner, jobs: make(map[string]string)}, failure(ctx, err)
}

// greet prints the worker's duties, or why it takes no jobs, and the way to submit jobs. remote is the
// URL for other machines, or "" if the worker does not serve them.
func (o *workerOptions) greet(accounts []string, remote string, problem error) {
	if o.json {
		return
	}
	queues := "the queue " + strings.Join(o.queues, ", ")
	if len(o.queues) > 1 {
		queues = "the queues " + strings.Join(o.queues, ", ")
	}
	text := fmt.Sprintf("takes jobs of %s, %d at a time, for %s", queues, o.slots, wording.Count(len(accounts), "account"))
	style := tty.Success
	if problem != nil {
		text, style = "takes no jobs: "+clikit.Printable(problem.Error())+"\nIt checks again every ten seconds.", tty.Failure
	}
	text += "\nFrom another terminal:  " + o.submitCommand()
	if remote != "" {
		text += fmt.Sprintf("\nFrom another machine:   clew submit --fleet '%s' --fleet-credentials FILE \"PROMPT\"", remote)
	} else if !o.isRemote() {
		text += "\nFrom another machine:   see --listen in \"clew worker --help\""
	}
	clikit.Remark(o.Err, style, "clew worker", text)
}

// submitCommand is the command that submits a job to this worker.
func (o *workerOptions) submitCommand() string {
	command := "clew submit"
	if o.fleet != "" && os.Getenv("CLEW_FLEET") != o.fleet {
		command += " --fleet '" + clikit.Printable(o.fleet) + "'"
	}
	if o.queues[0] != fleet.DefaultQueue {
		command += " --queue " + o.queues[0]
	}
	return command + ` "PROMPT"`
}
