package agents_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/fleet"
)

// asks lets the agent call tools at once, and ask before each of them.
func asks(s *clewtest.Scenario, calls ...string) *clewtest.Scenario {
	var blocks []string
	for _, call := range calls {
		blocks = append(blocks, fmt.Sprintf(`{"type":"tool_use","id":%q,"name":"Bash","input":{"command":"ls"}}`, call))
	}
	s.Send(`{"type":"assistant","uuid":"4","message":{"id":"m","role":"assistant","content":[` + strings.Join(blocks, ",") + `]}}`)
	for _, call := range calls {
		s.Send(fmt.Sprintf(`{"type":"control_request","request_id":%q,"request":{"subtype":"hook_callback","callback_id":"hook_0","input":`+
			`{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":%q},"tool_use_id":%q}}`, call, call, call))
	}
	return s
}

// decided expects the answer to a question.
func decided(s *clewtest.Scenario, call, decision string) *clewtest.Scenario {
	return s.Expect(fmt.Sprintf(`{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":`+
		`{"hookSpecificOutput":{"permissionDecision":%q}}}}`, call, decision))
}

// submitAsking submits a job that asks before each command, and is parked after a second.
func (s *stage) submitAsking() string {
	s.Helper()
	j, err := s.Submit(s.Context(), &fleet.Spec{
		Prompt: "Work.", Repo: &fleet.Repo{URL: s.repo}, Ask: &fleet.Ask{Tools: []string{"Bash"}, Park: fleet.Duration(time.Second)},
	})
	if err != nil {
		s.Fatal(err)
	}
	return j.ID
}

// Of two calls at once none can be deferred: both wait for their answers, however long that takes.
func TestTwoCallsWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.calls = func(a *clewtest.Scenario) *clewtest.Scenario {
			return decided(decided(asks(a, "one", "two"), "one", "allow"), "two", "allow").Send(worked)
		}
		s.work()
		id := s.submitAsking()
		s.reach(id, fleet.Running)
		time.Sleep(time.Hour) // of the bubble: longer than it takes to park
		open := map[string]string{}
		for q, err := range s.Questions(t.Context(), id) {
			if err != nil {
				t.Fatal(err)
			}
			open[q.Call] = q.ID
		}
		if j, err := s.Job(t.Context(), id); err != nil || j.State != fleet.Running || len(open) != 2 {
			t.Fatalf("the job is %s with the questions %v, %v", j.State, open, err)
		}
		for _, call := range []string{"one", "two"} {
			if _, err := s.Answer(t.Context(), id, open[call], fleet.Answer{Allow: true}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if j := s.checkDone(id); len(j.Attempts) != 1 {
			t.Errorf("%d attempts", len(j.Attempts))
		}
	})
}
