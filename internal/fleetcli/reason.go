package fleetcli

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/clikit"
)

// surroundings are what decides about jobs besides their own records.
type surroundings struct {
	at        time.Time
	workers   []*fleet.WorkerInfo
	accounts  map[string]*fleet.Account
	questions map[string]int // open ones, by job
}

// look reads the workers, the accounts and the open questions.
func (c *connection) look(ctx context.Context) (*surroundings, error) {
	s := &surroundings{at: time.Now(), accounts: make(map[string]*fleet.Account), questions: make(map[string]int)}
	workers, err := c.Workers(ctx)
	if err != nil {
		return nil, failure(ctx, err)
	}
	for _, w := range workers {
		if !isSilent(w, s.at) {
			s.workers = append(s.workers, w)
		}
	}
	accounts, err := c.Accounts(ctx)
	if err != nil {
		return nil, failure(ctx, err)
	}
	for _, a := range accounts {
		s.accounts[a.Name] = a
	}
	for q, err := range c.Questions(ctx, "") {
		if err != nil {
			return nil, failure(ctx, err)
		}
		s.questions[q.Job]++
	}
	return s, nil
}

// leaseGrace is how long after its lease a worker counts as one that is there. The clocks of machines
// differ.
const leaseGrace = 5 * time.Second

// isSilent reports whether a worker has not renewed its lease.
func isSilent(w *fleet.WorkerInfo, at time.Time) bool {
	return at.Sub(w.Renewed) > time.Duration(w.Lease)+leaseGrace
}

// reason says in words why a job is in its state, or what it waits for, and "" if there is nothing to say.
func (s *surroundings) reason(j *fleet.Summary) string {
	switch j.State {
	case fleet.Blocked:
		return "waits for other jobs"
	case fleet.Queued:
		return s.queuedReason(j)
	case fleet.Claimed:
		return "is being prepared"
	case fleet.Running:
		if s.questions[j.ID] > 0 {
			return "asks: " + approveCommand(j.ID)
		}
		return ""
	case fleet.Waiting:
		return s.waitingReason(j)
	case fleet.Asking:
		return "asks: " + approveCommand(j.ID)
	}
	return withHint(causeText(j.Cause), hintFor(j))
}

func approveCommand(id string) string { return "clew jobs approve " + id }

// withHint adds the command that a hint names to a text.
func withHint(text, hint string) string {
	if _, command, ok := strings.Cut(hint, `"`); ok {
		command, _, _ = strings.Cut(command, `"`)
		return strings.TrimPrefix(text+"; "+command, "; ")
	}
	return text
}

// causeTexts say why a job is lost, has failed or was canceled.
var causeTexts = map[fleet.Cause]string{
	fleet.ByWorker:     "no worker could begin it",
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
}

// causeText says why a job is lost, has failed or was canceled, or returns "".
func causeText(c fleet.Cause) string { return causeTexts[c] }

// hintFor says what to do about a job that does not go on by itself, or returns "".
func hintFor(j *fleet.Summary) string {
	switch {
	case j.State == fleet.Failed && j.Cause == fleet.ByBudget:
		return fmt.Sprintf(`Go on with "clew jobs resume %s --budget USD".`, j.ID)
	case j.State == fleet.Failed && j.Cause == fleet.ByTurns:
		return fmt.Sprintf(`Go on with "clew jobs resume %s", with as many turns again or with those of --turns.`, j.ID)
	case j.State == fleet.Lost:
		return fmt.Sprintf(`Go on with "clew jobs resume %s", or begin again with "clew jobs retry %s".`, j.ID, j.ID)
	case j.State == fleet.Failed:
		return fmt.Sprintf(`Begin again with "clew jobs retry %s".`, j.ID)
	}
	return ""
}

// reasonOf says why a job has ended, with the words of its record.
func reasonOf(j *fleet.Job) string {
	text := causeText(j.Cause)
	said := j.Text
	if said == "" && j.Cause == fleet.ByPerson && len(j.Notes) > 0 {
		said = j.Notes[len(j.Notes)-1].Text
	}
	said = clikit.Printable(clikit.Clip(said))
	switch {
	case text == "":
		return said
	case said == "":
		return text
	}
	return text + ": " + said
}

// timeText is a time of today or of another day.
func timeText(t, now time.Time) string {
	t, now = t.Local(), now.Local()
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format("15:04")
	}
	return t.Format(clikit.TimeLayout)
}

func (s *surroundings) waitingReason(j *fleet.Summary) string {
	until := timeText(j.Until, s.at)
	switch j.Cause {
	case fleet.ByLimit:
		return fmt.Sprintf("waits for the limit of %s until %s", j.Account, until)
	case fleet.ByThrottling:
		return "too many requests; goes on at " + until
	case fleet.ByAccount:
		return fmt.Sprintf("the credentials of %s were refused; clew fleet account %s --release", j.Account, j.Account)
	}
	return "goes on at " + until
}

// queuedReason says why no worker takes a job.
func (s *surroundings) queuedReason(j *fleet.Summary) string {
	if why := s.accountReason(j.Account); why != "" {
		return why
	}
	workers := slices.DeleteFunc(slices.Clone(s.workers), func(w *fleet.WorkerInfo) bool { return w.Draining })
	if len(workers) == 0 {
		return "no worker runs; clew worker"
	}
	with := slices.DeleteFunc(workers, func(w *fleet.WorkerInfo) bool { return !slices.Contains(w.Queues, j.Queue) })
	if len(with) == 0 {
		return fmt.Sprintf("no worker takes the queue %s; clew worker --queue %s", j.Queue, j.Queue)
	}
	with = slices.DeleteFunc(with, func(w *fleet.WorkerInfo) bool {
		return w.Accounts != nil && !slices.Contains(w.Accounts, j.Account)
	})
	if len(with) == 0 {
		return fmt.Sprintf("no worker takes the account %s; clew worker --account %s", j.Account, j.Account)
	}
	if texts := refusals(with, j.ID); len(texts) > 0 {
		return "refused: " + texts[0]
	}
	return ""
}

// accountReason says why no job of an account begins, or returns "".
func (s *surroundings) accountReason(name string) string {
	a := s.accounts[name]
	why, blocked := a.Blocked(s.at)
	switch {
	case !blocked:
		return ""
	case a.Held:
		return fmt.Sprintf("the credentials of %s were refused; clew fleet account %s --release", name, name)
	case s.at.Before(a.Until):
		return fmt.Sprintf("waits for the limit of %s until %s", name, timeText(a.Until, s.at))
	}
	return why
}

// refusals are the reasons of workers that don't take a job.
func refusals(workers []*fleet.WorkerInfo, id string) []string {
	var all []string
	for _, w := range workers {
		if why, ok := w.Refused[id]; ok && !slices.Contains(all, why) {
			all = append(all, why)
		}
	}
	sort.Strings(all)
	return all
}
