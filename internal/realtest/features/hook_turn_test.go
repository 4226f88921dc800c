package features_test

import (
	"errors"
	"testing"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
)

func TestRealHookUserPromptSubmit(t *testing.T) {
	t.Parallel()
	model, hook := clewtest.NewModel(t).Reply("Fine."), new(hookCalls)
	s := connect(t, model, &clew.Options{Hooks: hooksAt(clew.HookUserPromptSubmit, hook.call)})

	hook.say(&clew.HookOutput{Specific: &clew.UserPromptSubmitOutput{AdditionalContext: "It rains."}}, nil)
	ask(t, s, "Go out")
	call := only(t, hook.calls())
	if in, ok := call.(*clew.UserPromptSubmitInput); !ok || in.Prompt != "Go out" {
		t.Errorf("input %s", call.Raw())
	}
	wantText(t, "the request", string(newest(model).Body), "It rains.")

	hook.say(&clew.HookOutput{Decision: clew.HookDecisionBlock, Reason: "stay at home"}, nil)
	wantText(t, "the result of a blocked prompt", ask(t, s, "Go out again").result.Result, "stay at home")
	hook.say(&clew.HookOutput{Stop: true, StopReason: "enough of it"}, nil)
	wantText(t, "the result of a stopped turn", ask(t, s, "Go away").result.Result, "enough of it")
	if n := len(model.Requests()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
}

// A hook sends the agent back to work, once.
func TestRealHookStop(t *testing.T) {
	t.Parallel()
	model, hook := clewtest.NewModel(t), new(hookCalls)
	model.On("do the other half").Reply(clewtest.Text("All done."))
	model.On("Work").Reply(clewtest.Text("Half done."))
	hook.answer = func(in clew.HookInput) (*clew.HookOutput, error) {
		stop, ok := in.(*clew.StopInput)
		switch {
		case !ok:
			return nil, errors.New("not the input of this event")
		case stop.StopHookActive:
			return nil, nil
		}
		return &clew.HookOutput{Decision: clew.HookDecisionBlock, Reason: "do the other half"}, nil
	}
	k := query(t, model, "Work", &clew.Options{Hooks: hooksAt(clew.HookStop, hook.call)})
	if n := len(hook.calls()); n != 2 || k.result.Result != "All done." {
		t.Errorf("%d calls, result %q", n, k.result.Result)
	}
}
