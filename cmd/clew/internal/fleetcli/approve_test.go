package fleetcli

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/clewdev/clew/cmd/clew/internal/ask"
	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/fleet/memfleet"
)

// newConnection returns a connection to a fleet in memory.
func newConnection(t *testing.T) (*connection, *memfleet.Engine) {
	t.Helper()
	e := memfleet.New()
	return &connection{Fleet: fleet.Open(e, "tester"), flags: " --fleet X"}, e
}

// setQuestion writes the record of an open question.
func setQuestion(t *testing.T, e *memfleet.Engine, key, data string) {
	t.Helper()
	if _, err := e.Set(t.Context(), fleet.Questions, fleet.Record{Key: key, Label: "open", Data: []byte(data)}); err != nil {
		t.Fatal(err)
	}
}

// A question that can't be read costs no other question, and no job list.
func TestUnreadableQuestion(t *testing.T) {
	t.Parallel()
	c, e := newConnection(t)
	setQuestion(t, e, "a.q1", "damaged")
	setQuestion(t, e, "a.q2", `{"job":"a","id":"q2","tool":"Bash"}`)
	j := &fleet.Job{ID: "a", State: fleet.Running}
	open, remark, err := c.open(t.Context(), j)
	if err != nil || len(open) != 1 || open[0].ID != "q2" || !strings.Contains(remark, "a.q1") {
		t.Errorf("%d questions, remark %q, %v", len(open), remark, err)
	}
	around, err := c.look(t.Context())
	if err != nil || around.questions["a"] != 2 {
		t.Fatalf("%+v, %v", around, err)
	}
	if got, want := around.reason(&fleet.Summary{ID: "a", State: fleet.Running}), "asks: clew jobs approve a --fleet X"; got != want {
		t.Errorf("the reason is %q, want %q", got, want)
	}
	v, err := c.view(t.Context(), j)
	if err != nil || !strings.Contains(v.text(80, false), "a.q1") || !strings.Contains(v.text(80, false), "--question q2") {
		t.Errorf("the job is not shown with both questions: %v", err)
	}
	j.State = fleet.Canceled
	if open, _, err := c.open(t.Context(), j); err != nil || len(open) != 0 {
		t.Errorf("a job that has ended asks %d questions, %v", len(open), err)
	}
}

// A questioner gives every question the same answer.
type questioner struct {
	answer ask.Answer
	err    error
}

func (q questioner) Ask(context.Context, string, *ask.Question) (ask.Answer, error) {
	return q.answer, q.err
}

func (q questioner) Close() {}

// Only a yes allows something.
func TestAskAllows(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	for name, tt := range map[string]struct {
		questioner
		allows, fails bool
	}{
		"yes":                {questioner{ask.Answer{Kind: ask.AllowOnce}, nil}, true, false},
		"no":                 {questioner{ask.Answer{Kind: ask.Denied}, nil}, false, false},
		"nothing":            {questioner{ask.Answer{}, nil}, false, true},
		"yes with a failure": {questioner{ask.Answer{Kind: ask.AllowOnce}, failed}, false, true},
		"no with a failure":  {questioner{ask.Answer{Kind: ask.Denied}, failed}, false, true},
	} {
		c, e := newConnection(t)
		setQuestion(t, e, "a.q1", `{"job":"a","id":"q1","tool":"Bash","input":{}}`)
		open, _, err := c.open(t.Context(), &fleet.Job{ID: "a", State: fleet.Running})
		if err != nil {
			t.Fatal(err)
		}
		o := &jobsApproveOptions{place: place{Program: &Program{
			Streams:   clikit.Streams{Out: io.Discard},
			Questions: func(context.Context) (Questioner, error) { return tt, nil },
		}}}
		err = o.askAll(t.Context(), c, open)
		var a *fleet.Answer
		for q, err := range c.Questions(t.Context(), "a") {
			if err != nil {
				t.Fatal(err)
			}
			a = q.Answer
		}
		if (err != nil) != tt.fails || (a == nil) != tt.fails || a != nil && a.Allow != tt.allows {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
}
