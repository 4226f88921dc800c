package fleetcli

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/clewdev/clew/cmd/clew/internal/jobview"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/golden"
	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/internal/tty"
)

var screenWidths = []int{40, 80, 200}

// screenTime is the time at which all screens are drawn.
var screenTime = time.Date(2026, 11, 17, 14, 0, 0, 0, time.Local)

func screenJob(id string, state fleet.State, cause fleet.Cause) *fleet.Summary {
	return &fleet.Summary{
		ID: id, State: state, Cause: cause, Title: "Fix the build", Queue: "default", Account: "team",
		Created: screenTime.Add(-90 * time.Minute), Changed: screenTime.Add(-time.Minute), Until: screenTime.Add(5 * time.Minute),
	}
}

// screenAround has two workers, a blocked account and a question.
func screenAround() *surroundings {
	return &surroundings{
		jobview.Surroundings{
			At: screenTime, Known: true,
			Workers: []*fleet.WorkerInfo{
				{ID: "worker000001", Host: "left", Queues: []string{"default"}, Accounts: []string{"default", "team"},
					Refused: map[string]string{"refused00001": "the policy does not allow the tool \x1b[31mBash"}},
			},
			Accounts: map[string]*fleet.Account{"limited": {Name: "limited", Until: screenTime.Add(time.Hour), Cause: fleet.ByLimit}},
		},
		map[string]int{"asks00000001": 1},
	}
}

// screenJobs are jobs of all kinds, in the order of the list.
func screenJobs() []*fleet.Summary {
	asks := screenJob("asks00000001", fleet.Running, "")
	asks.Worker, asks.CostUSD = "worker000001", 0.004
	limited := screenJob("limited00001", fleet.Queued, "")
	limited.Account = "limited"
	other := screenJob("other0000001", fleet.Queued, "")
	other.Queue, other.Created = "night", screenTime.Add(-50*24*time.Hour)
	nobody := screenJob("nobody000001", fleet.Queued, "")
	nobody.Account = "nobody"
	hostile := screenJob("hostile00001", fleet.Running, "")
	hostile.Title, hostile.Worker, hostile.CostUSD = "\x1b[2J\u202e你好 "+strings.Repeat("Donaudampfschifffahrt", 4), "worker000001", 1234.5
	return []*fleet.Summary{
		asks, screenJob("parked000001", fleet.Asking, fleet.ByQuestion), screenJob("lost00000001", fleet.Lost, fleet.ByLoss), hostile,
		screenJob("claimed00001", fleet.Claimed, ""), screenJob("waiting00001", fleet.Waiting, fleet.ByLimit),
		screenJob("throttled001", fleet.Waiting, fleet.ByThrottling), limited, other, nobody, screenJob("refused00001", fleet.Queued, ""),
		screenJob("blocked00001", fleet.Blocked, fleet.ByDependency), screenJob("done00000001", fleet.Done, fleet.ByResult),
		screenJob("failed000001", fleet.Failed, fleet.ByBudget), screenJob("canceled0001", fleet.Canceled, fleet.ByPerson),
	}
}

// screens returns the output of commands, by name.
func screens() map[string]func(columns int, color bool) string {
	sel := &selection{around: screenAround(), jobs: screenJobs(), found: 1200}
	o := &jobsOptions{}
	job := &fleet.Job{
		ID: "job000000001", By: "me@host", State: fleet.Failed, Cause: fleet.ByAgent, Text: "it \x1b[31mbroke",
		Created: screenTime.Add(-time.Hour), Changed: screenTime,
		Spec: fleet.Spec{
			Prompt: "Fix the build.\nThen \x1b[31mrun it.", Title: "Fix \x1b[31mit", Queue: "night", Priority: 2, Account: "team",
			Repo:   &fleet.Repo{URL: "https://host/a/rather/long/path/of/a/repository.git", Ref: "main", Branch: "out"},
			Agent:  fleet.AgentSpec{Model: "opus", PermissionMode: "plan", Tools: []string{"Read", "Grep"}, MaxTurns: 7},
			Limits: fleet.Limits{BudgetUSD: 2, Wall: fleet.Duration(time.Hour), Idle: fleet.Duration(time.Minute)},
			OnLost: fleet.Resume, After: []string{"first0000001"},
		},
		Attempts: []fleet.Attempt{
			{Number: 1, Worker: "worker000001", Claimed: screenTime.Add(-time.Hour), Ended: screenTime.Add(-50 * time.Minute), Cause: fleet.ByLoss,
				Started: screenTime.Add(-time.Hour), Session: "5e55104a-0000-4000-8000-000000000001", Text: "the worker is gone"},
			{Number: 2, Worker: "worker000009", Start: fleet.Continued, Claimed: screenTime.Add(-40 * time.Minute), Ended: screenTime, CostUSD: 1.5,
				Started: screenTime.Add(-39 * time.Minute), Session: "5e55104a-0000-4000-8000-000000000002", Cause: fleet.ByAgent,
				Text: "it \x1b[31mbroke", Patch: "p", Result: &fleet.Result{Text: "No \x1b[31mluck.", Failed: true}},
		},
		Notes: []fleet.Note{{At: screenTime, By: "policy", Text: "resume", Attempt: 1},
			{At: screenTime, By: "worker000001", Attempt: 1, Result: &fleet.Result{Text: "late"}}},
	}
	view := &jobView{Job: job, around: sel.around, Reason: sel.around.reason(job.Summary()), Refused: map[string]string{"left worker000001": "no \x1b[31mdisk"},
		flags: fleetFlags(" --fleet 'tls://fleet.example?sync=always'"),
		Questions: []*fleet.Question{
			{ID: "question0001", Job: job.ID, Tool: "Bash", Until: screenTime.Add(time.Hour), Reason: "no rule", Input: []byte(
				`{"description":"Clean up\nanswer: yes","command":"rm -rf \u001b[31mbuild && ` + strings.Repeat("make all && ", 12) + `true"}`)},
			{ID: "it's odd", Job: job.ID, Tool: "AskUserQuestion", Until: screenTime.Add(time.Hour), Subagent: "a1", Input: []byte(
				`{"questions":[{"question":"Which \u001b[31mdatabase?","options":[{"label":"SQLite","description":"a file"},{"label":"Postgres"}]}]}`)},
		}}
	status := &fleetStatus{
		at: screenTime,
		Workers: []workerStatus{
			{WorkerInfo: &fleet.WorkerInfo{ID: "worker000001", Host: "le\x1bft", Slots: 4, Busy: 2, Lease: fleet.Duration(30 * time.Second),
				Queues: []string{"default", "night"}, Accounts: []string{"team"}}, LeaseAge: fleet.Duration(4 * time.Second)},
			{WorkerInfo: &fleet.WorkerInfo{ID: "worker000002", Host: "right", Slots: 1, Draining: true, Lease: fleet.Duration(30 * time.Second), Queues: []string{"default"}}},
			{WorkerInfo: &fleet.WorkerInfo{ID: "worker000003", Host: "right", Slots: 1, Lease: fleet.Duration(30 * time.Second), Queues: []string{"default"}},
				LeaseAge: fleet.Duration(10 * time.Minute), Silent: true},
		},
		Queues:   []*queueStatus{{"default", map[fleet.State]int{fleet.Queued: 123456, fleet.Done: 7}}, {"night", map[fleet.State]int{fleet.Lost: 1}}},
		Accounts: []*fleet.Account{{Name: "held", Held: true, Text: "401"}, {Name: "team", DailyUSD: 20, SpentUSD: 12.5, Day: screenTime.UTC().Format(time.DateOnly)}},
	}
	return map[string]func(int, bool) string{
		"jobs":  func(columns int, color bool) string { return o.table(sel, columns, color) },
		"none":  func(columns int, color bool) string { return o.table(&selection{old: 3}, columns, color) },
		"show":  view.text,
		"fleet": status.text,
		"empty": (&fleetStatus{}).text,
	}
}

func TestScreens(t *testing.T) {
	t.Parallel()
	for name, show := range screens() {
		for _, width := range screenWidths {
			golden.Check(t, fmt.Sprintf("screens/%s_%d", name, width), show(width, false))
			golden.Check(t, fmt.Sprintf("screens/%s_%d_color", name, width), show(width, true))
		}
	}
}

// No line is wider than the screen, and nothing that a terminal would interpret is on it.
func TestScreensFit(t *testing.T) {
	t.Parallel()
	for name, show := range screens() {
		for _, width := range soak.Widths(2) { // a character can be two columns wide
			for line := range strings.Lines(show(width, false)) {
				line = strings.TrimSuffix(line, "\n")
				if tty.Width(line) > width && !strings.HasPrefix(line, "clew jobs ") || strings.ContainsAny(line, "\x1b\u202e\r") {
					t.Errorf("%s: %d columns: %q", name, width, line)
				}
			}
		}
	}
}

// The list keeps the jobs that come first, however many there are.
func TestSelectionKeepsTheFirst(t *testing.T) {
	t.Parallel()
	sel := &selection{around: screenAround(), most: 3}
	for i := range 1000 {
		sel.add(screenJob(fmt.Sprintf("queued%06d", 999-i), fleet.Queued, ""))
		if len(sel.jobs) >= 2*sel.most {
			t.Fatalf("%d jobs are kept", len(sel.jobs))
		}
	}
	sel.add(screenJob("lost00000001", fleet.Lost, fleet.ByLoss))
	sel.cut()
	var ids []string
	for _, j := range sel.jobs {
		ids = append(ids, j.ID)
	}
	if got, want := fmt.Sprint(ids), "[lost00000001 queued000000 queued000001]"; got != want || sel.found != 1001 {
		t.Errorf("%s of %d, want %s", got, sel.found, want)
	}
}
