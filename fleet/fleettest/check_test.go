package fleettest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/fleet/memfleet"
)

// A story is the history of one job.
type story struct {
	*testing.T
	id  string
	now time.Time
	Evidence
}

var begin = time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)

func newStory(t *testing.T, spec *fleet.Spec) *story {
	t.Helper()
	engine := memfleet.New()
	spec.Prompt = "Do it."
	j, err := fleet.Open(engine, "me").Submit(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	j.Created, j.Changed = begin, begin
	s := &story{T: t, id: j.ID, now: begin}
	s.Submitted, s.Histories, s.Alive = []string{j.ID}, map[string]History{}, []string{"w"}
	s.Strict = true
	s.write(j)
	return s
}

// write adds a record, as it is after it was written and read.
func (s *story) write(j *fleet.Job) {
	s.Helper()
	text, err := json.Marshal(j)
	if err != nil {
		s.Fatal(err)
	}
	read := new(fleet.Job)
	if err := json.Unmarshal(text, read); err != nil {
		s.Fatal(err)
	}
	s.Histories[s.id] = append(s.Histories[s.id], Change{s.now, read})
}

// job returns the last record.
func (s *story) job() *fleet.Job {
	h := s.Histories[s.id]
	return h[len(h)-1].Job
}

// happen lets events happen, a second after each other.
func (s *story) happen(events ...fleet.Event) {
	s.Helper()
	for _, e := range events {
		s.now = s.now.Add(time.Second)
		next, err := s.job().Apply(e, s.now)
		if err != nil {
			s.Fatal(err)
		}
		s.write(next)
	}
}

// forge writes a record that no event makes.
func (s *story) forge(change func(*fleet.Job)) {
	s.Helper()
	s.now = s.now.Add(time.Second)
	s.write(s.job())
	j := s.job()
	j.Changed = s.now
	change(j)
}

// say adds a line to the ledger.
func (s *story) say(kind Kind, attempt int, text string) {
	s.now = s.now.Add(time.Second)
	s.Ledger = append(s.Ledger, Line{Time: s.now, Kind: kind, Job: s.id, Attempt: attempt, Session: session(attempt), Text: text})
}

func session(attempt int) string { return "session-" + string(rune('0'+attempt)) }

func owner(attempt int) fleet.Owner { return fleet.Owner{Worker: "w", Attempt: attempt} }

func beginning(attempt int) fleet.Begin {
	return fleet.Begin{Owner: owner(attempt), Session: session(attempt), Prompt: "prompt-" + session(attempt)}
}

// run starts an attempt, with its prompt.
func (s *story) run(attempt int) {
	s.Helper()
	s.happen(fleet.Claim{Worker: "w"}, beginning(attempt))
	s.say(Prompted, attempt, "")
}

// finish lets an attempt end with a result.
func (s *story) finish(attempt int) {
	s.Helper()
	s.say(Finished, attempt, "ok")
	s.happen(fleet.Finish{Owner: owner(attempt), Cause: fleet.ByResult, Result: fleet.Result{Text: "ok"}, Stored: true, CostUSD: 0.1})
}

func lose(attempt int, stored bool) fleet.Lose {
	return fleet.Lose{Attempt: attempt, Cause: fleet.ByLoss, Text: "gone", Stored: stored}
}

// Each event that can happen is recognized, and behavior that fleets promise breaks nothing.
func TestCheckGood(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spec  fleet.Spec
		story func(s *story)
	}{
		"done":     {fleet.Spec{}, func(s *story) { s.run(1); s.say(Acted, 1, ""); s.finish(1) }},
		"canceled": {fleet.Spec{}, func(s *story) { s.happen(fleet.Cancel{By: "me", Why: "no"}) }},
		"canceled while it runs": {fleet.Spec{}, func(s *story) {
			s.run(1)
			s.happen(fleet.Cancel{By: "me"}, fleet.Finish{Owner: owner(1), Cause: fleet.ByPerson})
		}},
		"released": {fleet.Spec{}, func(s *story) {
			s.happen(fleet.Claim{Worker: "w"}, fleet.Release{Attempt: 1, Cause: fleet.ByMachine, Text: "no disk"})
			s.happen(fleet.Claim{Worker: "w"}, fleet.Release{Attempt: 2, Cause: fleet.ByWorker, Text: "no repository"}, fleet.Wake{})
			s.run(3)
			s.finish(3)
		}},
		"reported": {fleet.Spec{}, func(s *story) {
			s.run(1)
			s.happen(fleet.Report{Owner: owner(1), Status: "reads", Snapshot: "file", CostUSD: 0.01}, fleet.Report{Owner: owner(1), CostUSD: 0.02})
			s.finish(1)
		}},
		"paused": {fleet.Spec{}, func(s *story) {
			for i := range 3 {
				s.run(i + 1)
				s.happen(fleet.Pause{
					Owner: owner(i + 1), Cause: fleet.ByLimit, Text: "limit", Until: s.now.Add(2 * time.Second), Stored: true, Progress: i == 1, CostUSD: 1,
				})
				s.now = s.now.Add(time.Hour)
				s.happen(fleet.Wake{})
			}
		}},
		"paused without a session": {fleet.Spec{OnLost: fleet.Hold}, func(s *story) {
			s.run(1)
			s.happen(fleet.Pause{Owner: owner(1), Cause: fleet.ByThrottling, Until: s.now.Add(time.Hour)})
		}},
		"parked": {fleet.Spec{}, func(s *story) {
			s.run(1)
			s.happen(fleet.Park{Owner: owner(1), Question: "q"}, fleet.Answered{Question: "q"})
			s.run(2)
			s.happen(fleet.Cancel{By: "me"}, fleet.Park{Owner: owner(2), Question: "q"})
		}},
		"found at once": {fleet.Spec{}, func(s *story) {
			s.run(1)
			s.say(Finished, 1, "ok")
			l := lose(1, true)
			l.Finished = &fleet.Result{Text: "ok"}
			s.happen(l, fleet.Late{Owner: owner(1), Result: fleet.Result{Text: "ok"}})
		}},
		"resumed by its policy": {fleet.Spec{OnLost: fleet.Resume}, func(s *story) {
			s.run(1)
			s.happen(lose(1, true))
			s.run(2)
			s.finish(2)
			s.happen(fleet.Late{Owner: owner(1), Result: fleet.Result{Text: "late"}})
		}},
		"restarted by its policy": {fleet.Spec{OnLost: fleet.Restart}, func(s *story) {
			s.run(1)
			s.happen(lose(1, false))
			s.run(2)
			s.finish(2)
		}},
		"restarted by a person": {fleet.Spec{}, func(s *story) {
			s.run(1)
			s.happen(lose(1, false), fleet.Requeue{By: "me", Why: "again", Start: fleet.Fresh})
			s.run(2)
			s.happen(fleet.Finish{Owner: owner(2), Cause: fleet.ByBudget, Stored: true})
			s.happen(fleet.Requeue{By: "me", Why: "more", Start: fleet.Continued, BudgetUSD: 5, MaxTurns: 40})
			s.run(3)
		}},
		"blocked": {fleet.Spec{After: []string{"a", "b"}}, func(s *story) { s.happen(fleet.Unblock{}); s.run(1) }},
		"blocked for ever": {fleet.Spec{After: []string{"a", "b"}}, func(s *story) {
			s.happen(fleet.Unblock{Failed: "b"}, fleet.Requeue{By: "me", Start: fleet.Fresh})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t, &test.spec)
			test.story(s)
			for _, found := range Check(&s.Evidence) {
				t.Error(found)
			}
		})
	}
}

// Each rule finds what breaks it.
func TestCheckBad(t *testing.T) {
	t.Parallel()
	for want, test := range map[string]struct {
		spec  fleet.Spec
		story func(s *story)
	}{
		"was submitted, and is not there": {fleet.Spec{}, func(s *story) { delete(s.Histories, s.id) }},
		"begins as done with 0 attempts":  {fleet.Spec{}, func(s *story) { s.job().State = fleet.Done }},
		"was written before the one that it follows": {fleet.Spec{}, func(s *story) {
			s.happen(fleet.Claim{Worker: "w"})
			s.Histories[s.id][1].Time = begin.Add(-time.Hour)
		}},
		"from queued to done: no event does that":   {fleet.Spec{}, func(s *story) { s.forge(func(j *fleet.Job) { j.State = fleet.Done }) }},
		"from queued to queued: no event does that": {fleet.Spec{}, func(s *story) { s.forge(func(j *fleet.Job) { j.Spec.Prompt = "Else." }) }},
		"there are 2 attempts after 0": {fleet.Spec{}, func(s *story) {
			s.forge(func(j *fleet.Job) {
				j.State = fleet.Claimed
				j.Attempts = []fleet.Attempt{{Number: 1, Worker: "v"}, {Number: 2, Worker: "w"}}
			})
		}},
		"there are 0 attempts after 1": {fleet.Spec{}, func(s *story) {
			s.happen(fleet.Claim{Worker: "w"})
			s.forge(func(j *fleet.Job) { j.State, j.Attempts = fleet.Queued, nil })
		}},
		"an attempt was claimed while the job was not queued": {fleet.Spec{}, func(s *story) {
			s.run(1)
			s.forge(func(j *fleet.Job) {
				j.State = fleet.Claimed
				j.Attempts = append(j.Attempts, fleet.Attempt{Number: 2, Worker: "w"})
			})
		}},
		"attempt 1 has the number 2": {fleet.Spec{}, func(s *story) {
			s.happen(fleet.Claim{Worker: "w"})
			s.job().Attempts[0].Number = 2
		}},
		"attempt 1 has another worker or beginning": {fleet.Spec{}, func(s *story) {
			s.run(1)
			s.forge(func(j *fleet.Job) { j.Attempts[0].Worker = "x" })
			s.Alive = append(s.Alive, "x")
		}},
		"attempt 1 has another session or prompt": {fleet.Spec{}, func(s *story) {
			s.run(1)
			s.forge(func(j *fleet.Job) { j.Attempts[0].Prompt = "another" })
		}},
		`attempt 1 had ended by "loss", and has ended by "exit"`: {fleet.Spec{}, func(s *story) {
			s.run(1)
			s.happen(lose(1, true))
			s.forge(func(j *fleet.Job) { j.Attempts[0].Cause = fleet.ByExit })
		}},
		"attempt 1 had a result, and has another one": {fleet.Spec{}, func(s *story) {
			s.run(1)
			s.finish(1)
			s.forge(func(j *fleet.Job) { j.Attempts[0].Result.Text = "another" })
		}},
		`the job had ended by "result", and has ended by "transcript"`: {fleet.Spec{}, func(s *story) {
			s.run(1)
			s.finish(1)
			s.forge(func(j *fleet.Job) { j.Cause = fleet.ByTranscript })
		}},
		"the job ends a second time": {fleet.Spec{}, func(s *story) {
			s.run(1)
			s.finish(1)
			s.forge(func(j *fleet.Job) { j.State = fleet.Failed })
		}},
		"nobody has opened the job again": {fleet.Spec{}, func(s *story) {
			s.happen(fleet.Cancel{By: "me"})
			s.forge(func(j *fleet.Job) { j.State = fleet.Waiting })
		}},
		"the job goes on, and nobody has decided that": {fleet.Spec{}, func(s *story) {
			s.run(1)
			s.happen(lose(1, true))
			s.forge(func(j *fleet.Job) { j.State = fleet.Queued })
		}},
		`the job goes on, and its policy is "hold"`: {fleet.Spec{OnLost: fleet.Hold}, func(s *story) {
			s.run(1)
			s.forge(func(j *fleet.Job) { j.State = fleet.Queued })
		}},
		`the job begins from the beginning, and its policy is "resume"`: {fleet.Spec{OnLost: fleet.Resume}, func(s *story) {
			s.run(1)
			s.happen(fleet.Pause{Owner: owner(1), Cause: fleet.ByLimit, Until: s.now, Stored: true})
			s.job().Next = fleet.Fresh
		}},
		`was to begin by "resume", and begins by "fresh"`: {fleet.Spec{}, func(s *story) {
			s.run(1)
			s.happen(fleet.Park{Owner: owner(1), Question: "q"})
			s.forge(func(j *fleet.Job) { j.State, j.Next = fleet.Queued, fleet.Fresh })
		}},
		"which does not run":       {fleet.Spec{}, func(s *story) { s.run(1); s.Alive = nil }},
		`is "sleeping" at the end`: {fleet.Spec{}, func(s *story) { s.forge(func(j *fleet.Job) { j.State = "sleeping" }) }},
		"has the ID session-1 of": {fleet.Spec{OnLost: fleet.Restart}, func(s *story) {
			s.run(1)
			b := beginning(2)
			b.Session = session(1)
			s.happen(lose(1, false), fleet.Claim{Worker: "w"}, b)
		}},
		"attempt 2 has begun before": {fleet.Spec{OnLost: fleet.Resume}, func(s *story) {
			s.run(1)
			s.happen(lose(1, true))
			s.run(2)
			s.say(Acted, 1, "")
		}},
		"for the second time":  {fleet.Spec{}, func(s *story) { s.run(1); s.say(Prompted, 1, "") }},
		"that the job is lost": {fleet.Spec{}, func(s *story) { s.run(1); s.happen(lose(1, true)); s.say(Acted, 1, "") }},
		"it has no prompt":     {fleet.Spec{}, func(s *story) { s.happen(fleet.Claim{Worker: "w"}, beginning(1)); s.say(Acted, 1, "") }},
		"the record did not say before that it runs": {fleet.Spec{}, func(s *story) {
			s.happen(fleet.Claim{Worker: "w"})
			s.say(Prompted, 1, "")
			s.happen(beginning(1))
		}},
		"neither the policy nor a person wants it again": {fleet.Spec{OnLost: fleet.Resume}, func(s *story) {
			s.run(1)
			s.happen(lose(1, true))
			s.job().Next = fleet.Fresh
			s.run(2)
		}},
		"has a result, and its agent has not finished": {fleet.Spec{}, func(s *story) { s.run(1); s.finish(1); s.Ledger = s.Ledger[:1] }},
		`has the result "ok", and its agent said "no"`: {fleet.Spec{}, func(s *story) { s.run(1); s.finish(1); s.Ledger[1].Text = "no" }},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			s := newStory(t, &test.spec)
			test.story(s)
			found := Check(&s.Evidence)
			if !slices.ContainsFunc(found, func(sentence string) bool { return strings.Contains(sentence, want) }) {
				t.Errorf("it found only %q", found)
			}
		})
	}
}

func TestHistories(t *testing.T) {
	t.Parallel()
	engine := memfleet.New()
	f := fleet.Open(engine, "me")
	j, err := f.Submit(t.Context(), &fleet.Spec{Prompt: "Do it."})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Cancel(t.Context(), j.ID, "no"); err != nil {
		t.Fatal(err)
	}
	histories, err := Histories(t.Context(), engine)
	if err != nil {
		t.Fatal(err)
	}
	h := histories[j.ID]
	if len(histories) != 1 || len(h) != 2 || h[0].Job.State != fleet.Queued || h[1].Job.State != fleet.Canceled || h[0].Time.IsZero() {
		t.Errorf("got %+v", histories)
	}
	if _, err := engine.Set(t.Context(), fleet.Jobs, fleet.Record{Key: "damaged", Data: []byte("{")}); err != nil {
		t.Fatal(err)
	}
	if _, err := Histories(t.Context(), engine); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("got the error %v", err)
	}
}
