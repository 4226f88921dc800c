package fleetcli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/engine"
	"github.com/clewdev/clew/cmd/clew/internal/jobview"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/utcday"
	"github.com/clewdev/clew/internal/wording"
)

type fleetOptions struct {
	place
	json  bool
	watch bool
}

const fleetHelp = `Show the workers of the fleet, how many jobs each queue has by state, and the accounts
that have a record: until when they wait for a limit, and what their jobs have cost
today (UTC).`

func newFleet(p *Program) *cobra.Command {
	o := &fleetOptions{place: place{Program: p}}
	cmd := &cobra.Command{
		Use:   "fleet",
		Short: "Show workers, queues and accounts",
		Long:  fleetHelp,
		Example: `  clew fleet
  clew fleet --json`,
		Args: clikit.NoSuchCommand,
		RunE: clikit.RunE(o.run),
	}
	o.addFlags(cmd)
	clikit.AddOnOff(cmd, &o.watch, "watch", "refresh every few seconds until interrupted (on a terminal)")
	clikit.AddOnOff(cmd, &o.json, "json", "print one JSON object")
	cmd.AddCommand(newFleetDoctor(p), newFleetAccount(p))
	return cmd
}

func (o *fleetOptions) run(ctx context.Context, _ []string) error {
	if err := checkWatch(o.Out, o.watch, o.json); err != nil {
		return err
	}
	c, err := o.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	show := func() (string, error) {
		s, err := c.status(ctx)
		if err != nil {
			return "", err
		}
		return s.text(clikit.TextWidth(o.Out, 0), clikit.Colored(o.Out)), nil
	}
	if o.watch {
		return clikit.NewWatch(o.Out).Run(ctx, show)
	}
	if o.json {
		s, err := c.status(ctx)
		if err != nil {
			return err
		}
		return written(clikit.WriteJSON(o.Out, s))
	}
	text, err := show()
	if err != nil {
		return err
	}
	_, err = io.WriteString(o.Out, text)
	return written(err)
}

// A fleetStatus is the output of "clew fleet".
type fleetStatus struct {
	Workers  []workerStatus   `json:"workers"`
	Queues   []*queueStatus   `json:"queues"`
	Accounts []*fleet.Account `json:"accounts"`

	at time.Time
}

// A workerStatus is a worker, with the time since it renewed its lease.
type workerStatus struct {
	*fleet.WorkerInfo
	LeaseAge fleet.Duration `json:"lease_age"`
	Silent   bool           `json:"silent,omitempty"` // for longer than its lease
}

// A queueStatus counts the jobs of a queue.
type queueStatus struct {
	Name string              `json:"name"`
	Jobs map[fleet.State]int `json:"jobs"`
}

// status reads the state of the fleet.
func (c *connection) status(ctx context.Context) (*fleetStatus, error) {
	s := &fleetStatus{at: time.Now(), Workers: []workerStatus{}, Queues: []*queueStatus{}}
	workers, err := c.Workers(ctx)
	if err != nil {
		return nil, failure(ctx, err)
	}
	for _, w := range workers {
		age := max(s.at.Sub(w.Renewed), 0).Truncate(100 * time.Millisecond)
		s.Workers = append(s.Workers, workerStatus{w, fleet.Duration(age), jobview.IsSilent(w, s.at)})
	}
	slices.SortFunc(s.Workers, func(a, b workerStatus) int { return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.ID, b.ID)) })
	if s.Accounts, err = c.Accounts(ctx); err != nil {
		return nil, failure(ctx, err)
	}
	slices.SortFunc(s.Accounts, func(a, b *fleet.Account) int { return cmp.Compare(a.Name, b.Name) })
	queues, busy := make(map[string]*queueStatus), make(map[string]int)
	for j, err := range c.Jobs(ctx) {
		if err != nil {
			return nil, failure(ctx, err)
		}
		q := queues[j.Queue]
		if q == nil {
			q = &queueStatus{j.Queue, make(map[fleet.State]int)}
			queues[j.Queue] = q
			s.Queues = append(s.Queues, q)
		}
		q.Jobs[j.State]++
		busy[j.Worker]++
	}
	for _, w := range s.Workers { // the record of a worker is as old as its lease
		w.Busy = busy[w.ID]
	}
	slices.SortFunc(s.Queues, func(a, b *queueStatus) int { return cmp.Compare(a.Name, b.Name) })
	return s, nil
}

// text returns the status as tables.
func (s *fleetStatus) text(columns int, color bool) string {
	var b strings.Builder
	s.addWorkers(&b, columns, color)
	b.WriteString("\n")
	s.addQueues(&b, columns, color)
	s.addAccounts(&b, columns, color)
	return b.String()
}

func (s *fleetStatus) addWorkers(b *strings.Builder, columns int, color bool) {
	if len(s.Workers) == 0 {
		b.WriteString(clikit.Wrapped("No worker runs. Start one with clew worker.", columns))
		return
	}
	t := clikit.NewTable("WORKER", "HOST", "BUSY>", "LEASE>", "QUEUES", "ACCOUNTS", "STATE")
	t.Color = color
	for _, w := range s.Workers {
		state, style := "", tty.Plain
		switch {
		case w.Silent:
			state, style = "silent for longer than its lease", tty.Failure
		case w.Draining:
			state, style = "takes no more jobs", tty.Waiting
		case w.Problem != "":
			state, style = "can run no jobs: "+w.Problem, tty.Failure
		case len(w.Held) > 0:
			state, style = strings.Join(slices.Sorted(maps.Values(w.Held)), "; "), tty.Waiting
		}
		accounts := cmp.Or(strings.Join(w.Accounts, ", "), "all")
		t.Add(w.ID, w.Host, fmt.Sprintf("%d of %d", w.Busy, w.Slots), fmt.Sprintf("%v of %v", time.Duration(w.LeaseAge), time.Duration(w.Lease)),
			strings.Join(w.Queues, ", "), accounts, state)
		t.Style(tty.Strong, tty.Plain, tty.Plain, tty.Plain, tty.Plain, tty.Plain, style)
	}
	t.Print(b, columns)
}

func (s *fleetStatus) addQueues(b *strings.Builder, columns int, color bool) {
	if len(s.Queues) == 0 {
		b.WriteString(clikit.Wrapped(`No jobs yet. Submit one with clew submit "PROMPT".`, columns))
		return
	}
	headings := []string{"QUEUE"}
	states := slices.DeleteFunc(append(slices.Clone(fleet.States), fleet.Damaged), func(state fleet.State) bool {
		return !slices.ContainsFunc(s.Queues, func(q *queueStatus) bool { return q.Jobs[state] > 0 })
	})
	for _, state := range states {
		headings = append(headings, strings.ToUpper(string(state))+">")
	}
	t := clikit.NewTable(headings...)
	t.Color = color
	for _, q := range s.Queues {
		cells := []string{cmp.Or(q.Name, "unknown")} // of records that can't be read
		for _, state := range states {
			text := ""
			if n := q.Jobs[state]; n > 0 {
				text = wording.Number(n)
			}
			cells = append(cells, text)
		}
		t.Add(cells...)
		t.Style(tty.Strong, tty.Plain)
	}
	t.Print(b, columns)
}

func (s *fleetStatus) addAccounts(b *strings.Builder, columns int, color bool) {
	if len(s.Accounts) == 0 {
		return
	}
	b.WriteString("\n")
	t := clikit.NewTable("ACCOUNT", "TODAY>", "DAILY>", "STATE")
	t.Color = color
	around := &jobview.Surroundings{At: s.at, Accounts: make(map[string]*fleet.Account)}
	for _, a := range s.Accounts {
		around.Accounts[a.Name] = a
		spent, daily := 0.0, ""
		if a.Day == utcday.Of(s.at) {
			spent = a.SpentUSD
		}
		if a.DailyUSD > 0 {
			daily = wording.Dollars(a.DailyUSD).Cents()
		}
		t.Add(a.Name, wording.Dollars(spent).Cents(), daily, around.Account(a.Name))
		t.Style(tty.Strong, tty.Cost, tty.Plain, tty.Waiting)
	}
	t.Print(b, columns)
}

type fleetDoctorOptions struct {
	place
	json bool
}

func newFleetDoctor(p *Program) *cobra.Command {
	o := &fleetDoctorOptions{place: place{Program: p}}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the servers of the fleet",
		Long: `Check the servers that keep the jobs: whether they sync what they acknowledge, their
version, how much space is left, and the settings and replicas of each stream. It also
lists what it can't check from here. It exits with code 1 if something is wrong.`,
		Example: `  clew fleet doctor`,
		Args:    clikit.AtMost(0),
		RunE:    clikit.RunE(o.run),
	}
	o.addFlags(cmd)
	clikit.AddOnOff(cmd, &o.json, "json", "print each finding as a JSON object")
	return cmd
}

func (o *fleetDoctorOptions) run(ctx context.Context, _ []string) error {
	c, err := o.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.store(ctx); err != nil { // it has its own stream, which is created like the others
		return err
	}
	findings, failed := c.engine.Doctor(ctx)
	wrong := 0
	for _, f := range findings {
		if !f.OK {
			wrong++
		}
		if err := o.print(f); err != nil {
			return clikit.OutputError(err)
		}
	}
	if failed != nil {
		return failure(ctx, failed)
	}
	if wrong > 0 {
		return &clikit.Failure{Code: clikit.ExitFailed, Err: fmt.Errorf("problems found: %d", wrong)}
	}
	return nil
}

func (o *fleetDoctorOptions) print(f engine.Finding) error {
	if o.json {
		return clikit.WriteJSON(o.Out, f)
	}
	color := clikit.Colored(o.Out)
	mark := tty.Success.Paint("ok   ", color)
	if !f.OK {
		mark = tty.Failure.Paint("wrong", color)
	}
	text := clikit.Printable(f.Subject + ": " + f.Text)
	if f.Fix != "" {
		text += " " + clikit.Printable(f.Fix)
	}
	_, err := fmt.Fprintf(o.Out, "%s  %s\n", mark, text)
	return err
}

type fleetAccountOptions struct {
	place
	daily   float64
	release bool
	json    bool
}

func newFleetAccount(p *Program) *cobra.Command {
	o := &fleetAccountOptions{place: place{Program: p}}
	cmd := &cobra.Command{
		Use:   "account NAME",
		Short: "Show or change an account",
		Long: `Show or change the limits of an account. An account whose credentials were refused is
on hold: its jobs don't start until somebody has fixed the credentials on the workers
and given --release. --release also ends the wait for a limit.`,
		Example: `  clew fleet account default --daily 20
  clew fleet account default --release`,
		Args: clikit.ExactlyOne("NAME"),
		RunE: clikit.RunE(o.run),
	}
	o.addFlags(cmd)
	cmd.Flags().Float64Var(&o.daily, "daily", 0, "start no more jobs on a day (UTC) that has cost this many `dollars`; 0 means no limit")
	clikit.AddOnOff(cmd, &o.release, "release", "let jobs start again")
	clikit.AddOnOff(cmd, &o.json, "json", "print one JSON object")
	return cmd
}

func (o *fleetAccountOptions) run(ctx context.Context, args []string) error {
	if o.daily < 0 || math.IsNaN(o.daily) || math.IsInf(o.daily, 0) {
		return clikit.UsageError("--daily must be 0 or more", "")
	}
	c, err := o.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	name, limits := args[0], o.cmd.Flags().Changed("daily")
	if o.release || limits {
		err = c.refuseAgent(ctx)
	}
	if err == nil && o.release {
		err = c.Release(ctx, name)
	}
	if err == nil && limits {
		err = c.SetDaily(ctx, name, o.daily)
	}
	if err != nil {
		return failure(ctx, err)
	}
	return o.print(ctx, c, name)
}

// print prints the account.
func (o *fleetAccountOptions) print(ctx context.Context, c *connection, name string) error {
	all, err := c.Accounts(ctx)
	if err != nil {
		return failure(ctx, err)
	}
	i := slices.IndexFunc(all, func(a *fleet.Account) bool { return a.Name == name })
	if i < 0 {
		return &clikit.Failure{
			Code: clikit.ExitInput, Err: errors.New("no job has used an account " + clikit.Printable(name)),
			Hint: `"clew fleet" lists the accounts.`,
		}
	}
	if o.json {
		return written(clikit.WriteJSON(o.Out, all[i]))
	}
	s := &fleetStatus{Accounts: all[i : i+1], at: time.Now()}
	var b strings.Builder
	s.addAccounts(&b, clikit.TextWidth(o.Out, 0), clikit.Colored(o.Out))
	_, err = io.WriteString(o.Out, strings.TrimPrefix(b.String(), "\n"))
	return written(err)
}
