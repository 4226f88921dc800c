// Package jobview has the list of jobs that viewers and commands show, and the words for their
// states. A [Board] keeps the jobs as they are now: all open ones, and at least the newest 5,000
// that ended. The package also has the reason for the state of each job, and patches as changes of
// files. The command line, the terminal viewer and the web viewer share it.
package jobview

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
)

// Surroundings has the data that decides about jobs in addition to their own records.
type Surroundings struct {
	// At is the time, in the zone in which times are shown.
	At time.Time
	// Known reports whether the other fields are known.
	Known bool
	// Workers are the workers that renew their leases, and Accounts the accounts with a record, by
	// name.
	Workers  []*fleet.WorkerInfo
	Accounts map[string]*fleet.Account
	// Flags are the flags that select the same fleet in commands, such as " --fleet DIR", or "".
	Flags string
}

// leaseGrace is the time after its lease for which a worker still counts as present. The clocks of
// machines differ.
const leaseGrace = 5 * time.Second

// IsSilent reports whether a worker missed the renewal of its lease.
func IsSilent(w *fleet.WorkerInfo, at time.Time) bool {
	return at.Sub(w.Renewed) > time.Duration(w.Lease)+leaseGrace
}

// Crew has the workers and the accounts of a fleet, such as a [*fleet.Fleet].
type Crew interface {
	Workers(ctx context.Context) ([]*fleet.WorkerInfo, error)
	Accounts(ctx context.Context) ([]*fleet.Account, error)
}

// Look reads the workers and the accounts.
func (s *Surroundings) Look(ctx context.Context, c Crew) error {
	workers, err := c.Workers(ctx)
	if err != nil {
		return err
	}
	accounts, err := c.Accounts(ctx)
	if err != nil {
		return err
	}
	s.Workers = slices.DeleteFunc(workers, func(w *fleet.WorkerInfo) bool { return IsSilent(w, s.At) })
	s.Known, s.Accounts = true, make(map[string]*fleet.Account)
	for _, a := range accounts {
		s.Accounts[a.Name] = a
	}
	return nil
}

// Reason says in words why a job is in its state, or what it waits for, and "" if there is nothing to say.
// The text is not clean.
func (s *Surroundings) Reason(r Row) string {
	switch {
	case r.Asks:
		return "asks a question"
	case r.State == fleet.Blocked:
		return "waits for other jobs"
	case r.State == fleet.Queued:
		return s.queued(r.Summary)
	case r.State == fleet.Claimed:
		return "is being prepared"
	case r.State == fleet.Running:
		return r.Text
	case r.State == fleet.Waiting:
		return s.waits(r.Summary)
	}
	if r.Text != "" && (r.Cause == fleet.ByWorker || r.Cause == fleet.ByPolicy || r.Cause == fleet.ByStorage) {
		return Cause(r.Cause) + ": " + r.Text
	}
	return Cause(r.Cause)
}

// causes explain why a job is lost, failed or canceled.
var causes = map[fleet.Cause]string{
	fleet.ByWorker:     "no worker could begin it",
	fleet.ByMachine:    "the worker could run no jobs",
	fleet.ByPolicy:     "no worker takes it",
	fleet.ByLoss:       "the worker is gone",
	fleet.ByExit:       "the agent ended without a result",
	fleet.ByLimit:      "it has waited too often for a limit",
	fleet.ByThrottling: "there were too many requests for too long",
	fleet.ByQuestion:   "nobody answered",
	fleet.ByBudget:     "the budget is used up",
	fleet.ByTurns:      "the turns are used up",
	fleet.ByTime:       "it took too long",
	fleet.ByAgent:      "the agent reports an error",
	fleet.ByAccount:    "the credentials were refused",
	fleet.ByDependency: "a job before it was not done",
	fleet.ByShutdown:   "the worker was stopped",
	fleet.ByStorage:    "its work could not be stored",
}

// attemptCauses explain why an attempt ended, where the words for a job would not fit.
var attemptCauses = map[fleet.Cause]string{
	fleet.ByLimit:      "a limit of the account",
	fleet.ByThrottling: "too many requests",
	fleet.ByQuestion:   "a question without an answer",
	fleet.ByPerson:     "by a person",
	fleet.ByTranscript: "found in the stored transcript",
	fleet.ByResult:     "with a result",
}

// Cause explains why a job is lost, failed or canceled, or returns "".
func Cause(c fleet.Cause) string { return causes[c] }

// AttemptCause explains why an attempt ended.
func AttemptCause(c fleet.Cause) string { return cmp.Or(attemptCauses[c], causes[c], string(c)) }

func (s *Surroundings) waits(j *fleet.Summary) string {
	switch j.Cause {
	case fleet.ByLimit:
		return limitText(j.Account, j.Until, s.At)
	case fleet.ByThrottling:
		return "too many requests; goes on at " + wording.Clock(j.Until, s.At)
	case fleet.ByAccount:
		return s.held(j.Account)
	case fleet.ByWorker, fleet.ByPolicy:
		return notBegun(j) + "; is tried again at " + wording.Clock(j.Until, s.At)
	}
	return "goes on at " + wording.Clock(j.Until, s.At)
}

func limitText(account string, until, now time.Time) string {
	return fmt.Sprintf("waits for the limit of %s until %s", account, wording.Clock(until, now))
}

func (s *Surroundings) held(account string) string {
	return fmt.Sprintf("the credentials of %s were refused; clew fleet account %s --release%s", account, tty.ShellWord(account), s.Flags)
}

// notBegun explains why an attempt of a job could not start, or returns "".
func notBegun(j *fleet.Summary) string {
	switch {
	case j.Text == "":
		return ""
	case j.Cause == fleet.ByPolicy:
		return "refused: " + j.Text
	case j.Cause == fleet.ByWorker, j.Cause == fleet.ByMachine:
		return "could not begin: " + j.Text
	}
	return ""
}

// queued explains why no worker has taken a queued job.
func (s *Surroundings) queued(j *fleet.Summary) string {
	if !s.Known {
		return cmp.Or(notBegun(j), "waits for a worker")
	}
	if why := s.Account(j.Account); why != "" {
		return why
	}
	workers := slices.DeleteFunc(slices.Clone(s.Workers), func(w *fleet.WorkerInfo) bool { return w.Draining })
	if len(workers) == 0 {
		return "no worker runs; clew worker" + s.Flags
	}
	with := slices.DeleteFunc(workers, func(w *fleet.WorkerInfo) bool { return !slices.Contains(w.Queues, j.Queue) })
	if len(with) == 0 {
		return fmt.Sprintf("no worker takes the queue %s; clew worker --queue %s%s", j.Queue, tty.ShellWord(j.Queue), s.Flags)
	}
	with = slices.DeleteFunc(with, func(w *fleet.WorkerInfo) bool {
		return w.Accounts != nil && !slices.Contains(w.Accounts, j.Account)
	})
	if len(with) == 0 {
		return fmt.Sprintf("no worker takes the account %s; clew worker --account %s%s", j.Account, tty.ShellWord(j.Account), s.Flags)
	}
	ready := slices.DeleteFunc(slices.Clone(with), func(w *fleet.WorkerInfo) bool { return w.Problem != "" })
	if len(ready) == 0 {
		return fmt.Sprintf("%s can run no jobs: %s", cmp.Or(with[0].Host, with[0].ID), with[0].Problem)
	}
	able := slices.DeleteFunc(slices.Clone(ready), func(w *fleet.WorkerInfo) bool { return w.Held[j.Account] != "" })
	if len(able) == 0 {
		return fmt.Sprintf("on %s, %s", cmp.Or(ready[0].Host, ready[0].ID), ready[0].Held[j.Account])
	}
	if texts := refusals(able, j.ID); len(texts) > 0 {
		return "refused: " + texts[0]
	}
	return cmp.Or(notBegun(j), "waits for a free worker")
}

// Account explains why no job of an account starts, or returns "".
func (s *Surroundings) Account(name string) string {
	a := s.Accounts[name]
	why, blocked := a.Blocked(s.At)
	switch {
	case !blocked:
		return ""
	case a.Held:
		return s.held(name)
	case s.At.Before(a.Until):
		return limitText(name, a.Until, s.At)
	}
	return why
}

// refusals are the reasons of workers that don't take a job, or nil if one of them takes it.
func refusals(workers []*fleet.WorkerInfo, id string) []string {
	var all []string
	for _, w := range workers {
		why, ok := w.Refused[id]
		if !ok {
			return nil
		}
		if !slices.Contains(all, why) {
			all = append(all, why)
		}
	}
	slices.Sort(all)
	return all
}

// Who names a person: the user as the server authenticated the person's program, with the name that the program gave,
// or that name alone, which anybody could give. Of a public key it shows the beginning. "policy" stands for nobody, and
// an unknown person is "". The text is not clean.
func Who(user, by string) string {
	switch {
	case user == "" && (by == "" || by == "policy"):
		return by
	case user == "":
		return by + " (unverified)"
	case publicKey.MatchString(user):
		user = "key " + user[:shownKey]
	}
	return user + " (" + by + ")"
}

// Submitter names the person who submitted a job, as [Who] does.
func Submitter(j *fleet.Job) string { return Who(j.User, j.By) }

// Author names the person who made a note, as [Who] does, or the worker whose result came too late.
func Author(n *fleet.Note) string {
	if n.Result != nil {
		return "worker " + n.By
	}
	return Who(n.User, n.By)
}

// publicKey matches the public key of a user of NATS, and shownKey is how much of one is shown.
var publicKey = regexp.MustCompile(`^U[A-Z2-7]{55}$`)

const shownKey = 8

// Style is the style of a state in lists.
func Style(s fleet.State) tty.Style {
	switch s {
	case fleet.Done:
		return tty.Success
	case fleet.Failed, fleet.Lost, fleet.Damaged:
		return tty.Failure
	case fleet.Asking, fleet.Waiting:
		return tty.Waiting
	case fleet.Canceled, fleet.Blocked:
		return tty.Dim
	}
	return tty.Plain
}

// Since is the time from which lists count the age of a job: its submit or, if it ended, its end. Lists have ended jobs
// in the order of their ends.
func Since(s *fleet.Summary) time.Time {
	if s.State.Ended() {
		return s.Changed
	}
	return s.Created
}

// Title is the clean name of a job.
func Title(s *fleet.Summary) string { return cmp.Or(tty.Line(s.Title), s.ID) }
