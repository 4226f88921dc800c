package fleettest

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/clewdev/clew/fleet"
)

// eventOf returns the event that turns one record into another, or nil if there is none. A record
// does not name its event. So all possible events are tried, with the data of the two records.
func eventOf(before, next *fleet.Job) fleet.Event {
	want, err := json.Marshal(next)
	if err != nil {
		return nil
	}
	for _, e := range candidates(before, next) {
		got, err := before.Apply(e, next.Changed)
		if err != nil {
			continue
		}
		if text, err := json.Marshal(got); err == nil && bytes.Equal(text, want) {
			return e
		}
	}
	return nil
}

// candidates returns the events that may lead from one record to another.
func candidates(before, next *fleet.Job) []fleet.Event {
	events := []fleet.Event{fleet.Wake{}, fleet.Answered{Question: before.Question}, fleet.Unblock{}, fleet.Refuse{Text: next.Text}}
	for _, id := range next.Spec.After {
		events = append(events, fleet.Unblock{Failed: id})
	}
	if next.Cancel != nil {
		events = append(events, fleet.Cancel{By: next.Cancel.By, User: next.Cancel.User, Why: next.Cancel.Text})
	}
	if len(next.Notes) > 0 {
		n := next.Notes[len(next.Notes)-1]
		events = append(events,
			fleet.Requeue{By: n.By, User: n.User, Why: n.Text, Start: next.Next},
			fleet.Requeue{By: n.By, User: n.User, Why: n.Text, Start: next.Next, BudgetUSD: next.Spec.Limits.BudgetUSD, MaxTurns: next.Spec.Agent.MaxTurns})
		if n.Result != nil {
			late := fleet.Late{Owner: fleet.Owner{Worker: n.By, Attempt: n.Attempt}, Result: *n.Result}
			if n.Attempt > 0 && n.Attempt <= len(next.Attempts) {
				late.Patch = next.Attempts[n.Attempt-1].Patch
			}
			events = append(events, late)
		}
	}
	if a := next.Attempt(); a != nil {
		events = append(events, ofAttempt(before, next, a)...)
	}
	return events
}

// ofAttempt returns the events that may change the last attempt.
func ofAttempt(before, next *fleet.Job, a *fleet.Attempt) []fleet.Event {
	owner := fleet.Owner{Worker: a.Worker, Attempt: a.Number}
	question := next.Question
	if question == "" {
		question = "unknown" // the job was canceled instead
	}
	events := []fleet.Event{
		fleet.Claim{Worker: a.Worker},
		fleet.Begin{Owner: owner, Session: a.Session, Prompt: a.Prompt, Base: a.Base},
		fleet.Release{Attempt: a.Number, Cause: a.Cause, Text: a.Text},
		fleet.Report{Owner: owner, Status: a.Status, Text: next.Text, Snapshot: a.Snapshot, Restored: a.Restored, CostUSD: a.CostUSD},
		fleet.Park{Owner: owner, Question: question, CostUSD: a.CostUSD},
	}
	for _, stored := range []bool{false, true} {
		lose := fleet.Lose{Attempt: a.Number, Cause: a.Cause, Text: a.Text, Stored: stored, Saved: a.Saved, CostUSD: a.CostUSD}
		events = append(events, lose)
		if a.Result != nil {
			finish := fleet.Finish{Owner: owner, Cause: a.Cause, Text: a.Text, Result: *a.Result, Stored: stored, CostUSD: a.CostUSD, Patch: a.Patch, Pushed: a.Pushed}
			lose.Finished = a.Result
			events = append(events, finish, lose)
		}
		for _, progress := range []bool{false, true} {
			paused := time.Duration(next.Paused)
			if !progress {
				paused -= time.Duration(before.Paused)
			}
			pause := fleet.Pause{
				Owner: owner, Cause: a.Cause, Text: a.Text, Until: next.Until, Stored: stored, Progress: progress, CostUSD: a.CostUSD,
			}
			if next.Until.IsZero() {
				pause.Until = next.Changed.Add(paused)
			}
			events = append(events, pause)
		}
	}
	return events
}
