package clew_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
)

// saysOfItself returns a scenario whose agent answers initialize with that.
func saysOfItself(info string) *clewtest.Scenario {
	return answering(`"subtype":"success","response":` + info)
}

// A newer agent may say the same in another form.
func TestMisfitsInAnswers(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		const info = `{"pid":"12","commands":[{"name":5}],"claude_code_version":"9.9.9","output_style":"default"}`
		log := new(logbook)
		s, _ := simulate(t, saysOfItself(info).
			Expect(controlRequest("m", `{"subtype":"get_plan"}`)).
			Send(controlSuccess("m", `{"exists":"yes","content":"1. Rest","path":7}`)).
			Expect(controlRequest("v", `{"subtype":"get_plan"}`)).
			Send(controlSuccess("v", `["no object"]`)),
			&clew.Options{Logger: slog.New(slog.NewTextHandler(log, nil))})
		if got := s.Info(); got.Version != "9.9.9" || got.OutputStyle != "default" || got.PID != 0 || got.Raw() != info {
			t.Errorf("info %+v", got)
		}
		if plan, err := s.Plan(t.Context()); err != nil || plan.Content != "1. Rest" {
			t.Errorf("plan %+v, error %v", plan, err)
		}
		if plan, err := s.Plan(t.Context()); err == nil {
			t.Errorf("a list became the plan %+v", plan)
		}
		for _, field := range []string{"pid", "commands", "path"} {
			if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "field="+field) {
				t.Errorf("%s is not in the log: %s", field, log.String())
			}
		}
	})
}

// Who reads an answer into a type of their own learns that it does not fit.
func TestMisfitsInAnswersToTheCaller(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, _ := simulate(t, connected().
			Expect(controlRequest("n", `{"subtype":"newer"}`)).Send(controlSuccess("n", `{"count":"two"}`)), nil)
		var answer struct{ Count int }
		if err := s.Control(t.Context(), "newer", nil, &answer); err == nil {
			t.Errorf("answer %+v", answer)
		}
	})
}

// A session whose hooks would not do what they are for does not begin.
func TestHooksThatAreNotApplied(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer string
		reason string // a part of it; "" means that nothing is wrong
	}{
		"applied":         {`{"hooks_applied":true,"hook_on_failure_supported":true}`, ""},
		"nothing is said": {`{"hook_on_failure_supported":true}`, ""},
		"not applied":     {`{"hooks_applied":false,"hook_on_failure_supported":true}`, "did not apply"},
		"not applied, and a misfit before": {
			`{"commands":["x"],"hooks_applied":false,"hook_on_failure_supported":true}`, "did not apply",
		},
		"too old": {`{"hooks_applied":true}`, "too old for OnFailure"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				agent := clewtest.NewAgent(t, saysOfItself(test.answer))
				s, err := clew.Connect(t.Context(), inMemory(agent, &clew.Options{
					Hooks: map[clew.HookEvent][]clew.HookMatcher{clew.HookPreToolUse: {
						{Hooks: []clew.HookFunc{hookSays(nil)}, OnFailure: clew.HookFailureBlock},
					}},
				}))
				if err == nil {
					defer s.Close() //nolint:errcheck // only its begin matters
				}
				wrong, ok := errors.AsType[*clew.OptionsError](err)
				if ok != (test.reason != "") || ok && (wrong.Option != "Hooks" || !strings.Contains(wrong.Reason, test.reason)) {
					t.Errorf("error %v, want one with %q", err, test.reason)
				}
			})
		})
	}
}

// An agent that says that it has applied no hooks is fine for who has none.
func TestHooksThatAreNotThere(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		simulate(t, saysOfItself(`{"hooks_applied":false}`), nil)
	})
}
