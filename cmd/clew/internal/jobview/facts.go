package jobview

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
)

// A Column is a fact of jobs that lists show.
type Column struct {
	// Name is the heading in lower case.
	Name string
	// Width is the usual width of the fact on a terminal.
	Width int
	Right bool
	// Text returns the fact of a job, clean, or "" if it is not known.
	Text func(s *Surroundings, r Row) string
	// Style returns how it is painted.
	Style func(r Row) tty.Style
}

// Columns are the facts that lists show, in the order of their places.
var Columns = []Column{
	{"state", 8, false, func(_ *Surroundings, r Row) string { return tty.Line(string(r.State)) }, func(r Row) tty.Style { return Style(r.State) }},
	{"title", 0, false, func(_ *Surroundings, r Row) string { return Title(r.Summary) }, inStyle(tty.Plain)},
	{"reason", 18, false, func(s *Surroundings, r Row) string { return tty.Line(s.Reason(r)) }, Row.reasonStyle},
	{"worker", 12, false, func(_ *Surroundings, r Row) string { return tty.Line(r.Worker) }, inStyle(tty.Path)},
	{"id", 12, false, func(_ *Surroundings, r Row) string { return tty.Line(r.ID) }, inStyle(tty.Dim)},
	{"cost", 7, true, func(_ *Surroundings, r Row) string { return wording.Dollars(r.CostUSD).Note() }, inStyle(tty.Cost)},
	{"age", 7, true, func(s *Surroundings, r Row) string { return wording.Age(Since(r.Summary), s.At) }, inStyle(tty.Dim)},
}

// ColumnOf returns the column with that name. There must be one.
func ColumnOf(name string) *Column {
	return &Columns[slices.IndexFunc(Columns, func(c Column) bool { return c.Name == name })]
}

func inStyle(s tty.Style) func(Row) tty.Style { return func(Row) tty.Style { return s } }

// reasonStyle returns how the reason for a job's state is painted.
func (r Row) reasonStyle() tty.Style {
	switch {
	case r.Asks:
		return tty.Waiting
	case r.State == fleet.Lost:
		return tty.Failure
	}
	return tty.Dim
}

// A Fact is something known about a job, with its name. The value is clean.
type Fact struct{ Name, Value string }

// Facts returns what is known about a job, besides its state and title. Times are in the zone of now.
func Facts(j *fleet.Job, now time.Time) []Fact {
	sum, spec := j.Summary(), &j.Spec
	facts := []Fact{
		{"submitted", wording.Clock(j.Created, now) + Named(" by ", Submitter(j))},
		{"repository", repository(spec.Repo)},
		{"agent", agent(&spec.Agent)},
		{"limits", limits(spec)},
		{"after", strings.Join(spec.After, ", ")},
		{"if lost", string(spec.OnLost)},
		{"queue", Join(sum.Queue, "account "+sum.Account, priority(spec.Priority))},
		{"worker", j.Worker()},
		{"attempt", attempt(j)},
		{"cost", wording.Dollars(sum.CostUSD).Note()},
		{"id", j.ID},
	}
	for i := range facts {
		facts[i].Value = tty.Line(facts[i].Value)
	}
	return slices.DeleteFunc(facts, func(f Fact) bool { return f.Value == "" })
}

// Canceling says who wants a job to end that has not ended yet, or returns "".
func Canceling(j *fleet.Job) string {
	if j.Cancel == nil || j.State.Ended() {
		return ""
	}
	return "its worker ends it, as " + tty.Line(Author(j.Cancel)) + " wants"
}

func repository(r *fleet.Repo) string {
	if r == nil {
		return ""
	}
	return Join(r.URL, Named("at ", r.Ref), Named("to branch ", r.Branch))
}

func agent(a *fleet.AgentSpec) string {
	return Join(a.Model, Named("mode ", a.PermissionMode), Named("tools ", strings.Join(a.Tools, " ")),
		Named("allowed ", strings.Join(a.AllowedTools, " ")), Named("secrets ", strings.Join(a.Secrets, " ")))
}

func limits(s *fleet.Spec) string {
	var all []string
	if s.Limits.BudgetUSD > 0 {
		all = append(all, wording.Dollars(s.Limits.BudgetUSD).Long())
	}
	if s.Agent.MaxTurns > 0 {
		all = append(all, wording.Count(s.Agent.MaxTurns, "turn"))
	}
	if s.Limits.Wall > 0 {
		all = append(all, wording.Duration(time.Duration(s.Limits.Wall)))
	}
	if s.Limits.Idle > 0 {
		all = append(all, "silent for "+wording.Duration(time.Duration(s.Limits.Idle)))
	}
	return strings.Join(all, ", ")
}

func priority(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("priority %d", n)
}

func attempt(j *fleet.Job) string {
	a := j.Attempt()
	if a == nil {
		return ""
	}
	return Join(fmt.Sprint(a.Number), a.Status)
}

// Join joins the parts that are not empty.
func Join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), ", ")
}

// Named returns a text behind its name, or "" for no text.
func Named(name, text string) string {
	if text == "" {
		return ""
	}
	return name + text
}
