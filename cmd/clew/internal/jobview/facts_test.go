package jobview

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/fleet"
)

func TestFacts(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 19, 15, 4, 0, 0, time.UTC)
	j := &fleet.Job{
		ID: "j1", Created: now.Add(-time.Minute), By: "ada\x1b[2J",
		Spec: fleet.Spec{
			Prompt: "Mend it.", Priority: 3, After: []string{"j0", "j9"}, OnLost: fleet.Hold,
			Repo:   &fleet.Repo{URL: "https://host/a", Ref: "main", Branch: "mended"},
			Agent:  fleet.AgentSpec{Model: "opus", PermissionMode: "plan", Tools: []string{"Bash", "Read"}, MaxTurns: 1},
			Limits: fleet.Limits{BudgetUSD: 2, Wall: fleet.Duration(90 * time.Minute), Idle: fleet.Duration(10 * time.Minute)},
		},
		Attempts: []fleet.Attempt{{Number: 1}, {Number: 2, Worker: "w1", Status: "waits"}},
	}
	var lines []string
	for _, f := range Facts(j, now) {
		lines = append(lines, f.Name+": "+f.Value)
	}
	want := []string{
		`submitted: 15:03 by ada\x1b[2J (unverified)`, "repository: https://host/a, at main, to branch mended",
		"agent: opus, mode plan, tools Bash Read", "limits: $2.00, 1 turn, 1 h 30 min, silent for 10 min",
		"after: j0, j9", "if lost: hold", "queue: default, account default, priority 3", "attempt: 2, waits", "id: j1",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
	if text := Canceling(j); text != "" {
		t.Errorf("nobody wants it to end: %q", text)
	}
	j.Cancel = &fleet.Note{By: "bob"}
	if text := Canceling(j); !strings.Contains(text, "as bob (unverified) wants") {
		t.Errorf("bob wants it to end: %q", text)
	}
}
