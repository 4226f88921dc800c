package fleetcli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/jobview"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/wording"
)

// surroundings has the data that decides about jobs in addition to their own records.
type surroundings struct {
	jobview.Surroundings
	questions map[string]int // open ones, by job
}

// look reads the workers and the accounts, and counts the open questions.
func (c *connection) look(ctx context.Context) (*surroundings, error) {
	s := &surroundings{}
	s.At, s.Flags = time.Now(), string(c.flags)
	if err := s.Look(ctx, c.Fleet); err != nil {
		return nil, failure(ctx, err)
	}
	var err error
	if s.questions, err = c.asked(ctx); err != nil {
		return nil, failure(ctx, err)
	}
	return s, nil
}

// asked counts open job questions. It reads none of them, so that an unreadable question
// costs nothing else.
func (c *connection) asked(ctx context.Context) (map[string]int, error) {
	open := make(map[string]int)
	for q, err := range c.QuestionChanges(ctx) {
		switch {
		case err != nil:
			return nil, err
		case q == nil: // all were there
			return open, nil
		case q.Open:
			open[q.Job]++
		}
	}
	return open, ctx.Err()
}

// row returns a job as a list row.
func (s *surroundings) row(j *fleet.Summary) jobview.Row {
	return jobview.NewRow(j, s.questions[j.ID] > 0)
}

// reason says in words why a job is in its state, or what it waits for, with the command that helps, and ""
// if there is nothing to say.
func (s *surroundings) reason(j *fleet.Summary) string {
	return s.explained(j, hintFor(fleetFlags(s.Flags), j, true))
}

// reasonOfJob is like reason, and names only a command that is possible.
func (s *surroundings) reasonOfJob(j *fleet.Job) string {
	return s.explained(j.Summary(), hintOf(fleetFlags(s.Flags), j))
}

func (s *surroundings) explained(j *fleet.Summary, hint string) string {
	r := s.row(j)
	if r.Asks {
		return "asks: " + fleetFlags(s.Flags).command("jobs", "approve", j.ID)
	}
	return withHint(s.Reason(r), hint)
}

// withHint adds the command that a hint names to a text.
func withHint(text, hint string) string {
	if _, command, ok := strings.Cut(hint, `"`); ok {
		command, _, _ = strings.Cut(command, `"`)
		return strings.TrimPrefix(text+"; "+command, "; ")
	}
	return text
}

// hintOf returns the remedy for a job that does not continue by itself, or "" if there is none.
func hintOf(flags fleetFlags, j *fleet.Job) string {
	return hintFor(flags, j.Summary(), j.CheckRequeue(fleet.Continued) == nil)
}

// hintFor is like hintOf for a job whose session can be resumed or not.
func hintFor(flags fleetFlags, j *fleet.Summary, canResume bool) string {
	var more []string
	if j.Cause == fleet.ByBudget {
		more = []string{"--budget", "USD"}
	}
	resume := flags.command(append([]string{"jobs", "resume", j.ID}, more...)...)
	retry := flags.command(append([]string{"jobs", "retry", j.ID}, more...)...)
	isBest := j.State == fleet.Lost || j.Cause == fleet.ByBudget || j.Cause == fleet.ByTurns // to resume it
	switch {
	case !j.MayRequeue():
		return ""
	case !canResume || !isBest:
		return fmt.Sprintf(`Begin again with "%s".`, retry)
	case j.Cause == fleet.ByTurns:
		return fmt.Sprintf(`Go on with "%s", with as many turns again or with those of --turns.`, resume)
	}
	return fmt.Sprintf(`Go on with "%s", or begin again with "%s".`, resume, retry)
}

// reasonOf describes why a job ended, in the words of its record.
func reasonOf(j *fleet.Job) string {
	text := jobview.Cause(j.Cause)
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
func timeText(t, now time.Time) string { return wording.Clock(t, now.Local()) }
