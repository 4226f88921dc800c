package features_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/hook"
	"github.com/clewdev/clew/permission"
)

// preTool is the output of a hook that decides about a tool.
func preTool(output hook.PreToolUseOutput) *hook.Output {
	return &hook.Output{Specific: &output}
}

func TestRealHookPreToolUse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		output *hook.Output
		err    error
		made   string // the file that there should be afterwards
		asked  int    // how often it was left to CanUseTool
		text   string // what the model is told if the tool did not run
	}{
		{name: "nothing", made: "nothing", asked: 1},
		{name: "allow", output: preTool(hook.PreToolUseOutput{Decision: permission.BehaviorAllow}), made: "allow"},
		{name: "deny", output: preTool(hook.PreToolUseOutput{Decision: permission.BehaviorDeny, Reason: "not now"}),
			text: "not now"},
		{name: "change", output: preTool(hook.PreToolUseOutput{Decision: permission.BehaviorAllow,
			UpdatedInput: map[string]string{"command": "touch one"}}), made: "one"},
		{name: "replace", output: preTool(hook.PreToolUseOutput{
			UpdatedInput: map[string]string{"command": "touch two"}}), made: "two", asked: 1},
		{name: "ask", output: preTool(hook.PreToolUseOutput{Decision: permission.BehaviorAsk}), made: "ask", asked: 1},
		{name: "fail", err: errors.New("the hook broke"), made: "fail", asked: 1},
		// Other fields of an asynchronous hook's output are ignored.
		{name: "async", output: &hook.Output{Async: true, Decision: hook.DecisionBlock}, made: "async", asked: 1},
	}
	model, calls, dir := clewtest.NewModel(t), new(hookCalls), t.TempDir()
	for _, tt := range tests {
		touches(model, tt.name)
	}
	door := new(permissionCalls).say(permission.Allow(), nil)
	s := connect(t, model, &clew.Options{Dir: dir, CanUseTool: door.call, Hooks: hooksAt(hook.PreToolUse, calls.call)})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			calls.say(tt.output, tt.err)
			result := only(t, ask(t, s, tt.name).toolResults())
			if in := only(t, calls.calls()).Base(); in.RequestToolUseID != result.ToolUseID {
				t.Errorf("input %s", in.Raw())
			}
			if asked := len(door.calls()); asked != tt.asked {
				t.Errorf("asked %d times", asked)
			}
			wantMade(t, dir, tt.name, tt.made)
			wantText(t, "the result", result.Text(), tt.text)
			if result.Failed() != (tt.text != "") {
				t.Errorf("result %s", result.Raw())
			}
		})
	}
}

func TestRealHookMatcher(t *testing.T) {
	t.Parallel()
	model, every, commands, edits := clewtest.NewModel(t), new(hookCalls), new(hookCalls), new(hookCalls)
	model.On("Run it").Reply(bash("echo one"))
	model.OnToolResult("").Reply(clewtest.Text("Done."))
	s := connect(t, model, &clew.Options{Hooks: map[hook.Event][]hook.Matcher{hook.PreToolUse: {
		{Hooks: []hook.Func{every.call}},
		{Matcher: "Bash|Read", Hooks: []hook.Func{commands.call}},
		{Matcher: "Edit|Write", Hooks: []hook.Func{edits.call}},
	}}})
	ask(t, s, "Run it")
	only(t, every.calls())
	call := only(t, commands.calls())
	in, ok := call.(*hook.PreToolUseInput)
	if !ok || in.ToolName != "Bash" || in.SessionID != s.ID() || in.TranscriptPath == "" {
		t.Errorf("input %s", call.Raw())
	}
	if n := len(edits.calls()); n != 0 {
		t.Errorf("the hook for other tools was called %d times", n)
	}
}

// A hook that is to prevent something does so when it fails, and when it takes too long.
func TestRealHookFails(t *testing.T) {
	t.Parallel()
	model, dir := clewtest.NewModel(t), t.TempDir()
	model.On("slow").Reply(clewtest.ToolUse("Write", map[string]string{
		"file_path": filepath.Join(dir, "slow"), "content": "x",
	}))
	touches(model, "broken")
	broken, ended := new(hookCalls).say(nil, errors.New("out of order")), make(chan struct{})
	slow := func(ctx context.Context, _ hook.Input) (*hook.Output, error) {
		defer close(ended)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	s := connect(t, model, &clew.Options{
		Dir: dir, PermissionMode: clew.PermissionModeBypassPermissions,
		Hooks: map[hook.Event][]hook.Matcher{hook.PreToolUse: {
			{Matcher: "Bash", Hooks: []hook.Func{broken.call}, OnFailure: hook.FailureBlock},
			{Matcher: "Write", Hooks: []hook.Func{slow}, Timeout: time.Second},
		}},
	})
	for _, name := range []string{"broken", "slow"} {
		if result := only(t, ask(t, s, name).toolResults()); !result.Failed() || exists(dir, name) {
			t.Errorf("%s: the tool ran: %v, result %s", name, exists(dir, name), result.Raw())
		}
	}
	happens(t, "the context of the slow hook ends", ended)
}

func TestRealHookPostToolUse(t *testing.T) {
	t.Parallel()
	model, calls := clewtest.NewModel(t), new(hookCalls)
	model.OnToolResult("").Reply(clewtest.Text("Done."))
	model.On("").Reply(bash("echo one"))
	s := connect(t, model, &clew.Options{Hooks: hooksAt(hook.PostToolUse, calls.call)})

	calls.say(&hook.Output{Specific: &hook.PostToolUseOutput{AdditionalContext: "It rains."}}, nil)
	ask(t, s, "More")
	call := only(t, calls.calls())
	if in, ok := call.(*hook.PostToolUseInput); !ok || in.ToolName != "Bash" || in.ToolResponse == "" {
		t.Errorf("input %s", call.Raw())
	}
	wantText(t, "the request", string(newest(model).Body), "It rains.")
	if got := only(t, newest(model).ToolResults()).Text(); got != "one" {
		t.Errorf("the model saw %q", got)
	}

	calls.say(&hook.Output{Specific: &hook.PostToolUseOutput{UpdatedToolOutput: map[string]any{
		"stdout": "two", "stderr": "", "interrupted": false,
	}}}, nil)
	ask(t, s, "Changed")
	if got := only(t, newest(model).ToolResults()).Text(); got != "two" {
		t.Errorf("the model saw %q after a change", got)
	}
}

// The call is left open and the process ends. The next one takes the call up by itself, before it
// answers a prompt.
func TestRealHookDefers(t *testing.T) {
	t.Parallel()
	model, calls, dir := clewtest.NewModel(t), new(hookCalls), t.TempDir()
	touches(model, "file")
	model.On("Thank you").Reply(clewtest.Text("You are welcome."))
	opts := &clew.Options{Dir: dir, Hooks: hooksAt(hook.PreToolUse, calls.call)}
	calls.say(preTool(hook.PreToolUseOutput{Decision: permission.BehaviorDefer}), nil)
	result := query(t, model, "Make a file", opts).result
	if open := result.DeferredToolUse; open == nil || open.Name != "Bash" || exists(dir, "file") {
		t.Fatalf("result %s", result.Raw())
	}

	calls.say(preTool(hook.PreToolUseOutput{Decision: permission.BehaviorAllow}), nil)
	opts.Session.Resume = result.SessionID
	result = ask(t, connect(t, model, opts), "Thank you").result
	if !exists(dir, "file") {
		t.Error("the call was not taken up")
	}
	if result.Result != "You are welcome." {
		t.Errorf("the turn ended with the result of the call: %q", result.Result)
	}
}

func TestRealHookUserPromptSubmit(t *testing.T) {
	t.Parallel()
	model, calls := clewtest.NewModel(t).Reply("Fine."), new(hookCalls)
	s := connect(t, model, &clew.Options{Hooks: hooksAt(hook.UserPromptSubmit, calls.call)})

	calls.say(&hook.Output{Specific: &hook.UserPromptSubmitOutput{AdditionalContext: "It rains."}}, nil)
	ask(t, s, "Go out")
	call := only(t, calls.calls())
	if in, ok := call.(*hook.UserPromptSubmitInput); !ok || in.Prompt != "Go out" {
		t.Errorf("input %s", call.Raw())
	}
	wantText(t, "the request", string(newest(model).Body), "It rains.")

	calls.say(&hook.Output{Decision: hook.DecisionBlock, Reason: "stay at home"}, nil)
	wantText(t, "the result of a blocked prompt", ask(t, s, "Go out again").result.Result, "stay at home")
	calls.say(&hook.Output{Stop: true, StopReason: "enough of it"}, nil)
	wantText(t, "the result of a stopped turn", ask(t, s, "Go away").result.Result, "enough of it")
	if n := len(model.Requests()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
}

// A hook sends the agent back to work, once.
func TestRealHookStop(t *testing.T) {
	t.Parallel()
	model, calls := clewtest.NewModel(t), new(hookCalls)
	model.On("do the other half").Reply(clewtest.Text("All done."))
	model.On("Work").Reply(clewtest.Text("Half done."))
	calls.answer = func(in hook.Input) (*hook.Output, error) {
		stop, ok := in.(*hook.StopInput)
		switch {
		case !ok:
			return nil, errors.New("not the input of this event")
		case stop.StopHookActive:
			return nil, nil
		}
		return &hook.Output{Decision: hook.DecisionBlock, Reason: "do the other half"}, nil
	}
	k := query(t, model, "Work", &clew.Options{Hooks: hooksAt(hook.Stop, calls.call)})
	if n := len(calls.calls()); n != 2 || k.result.Result != "All done." {
		t.Errorf("%d calls, result %q", n, k.result.Result)
	}
}

// A callback answers the agent as a test wants it, and keeps what it was asked. The zero value
// answers nothing.
type callback[In, Out any] struct {
	mu     sync.Mutex
	answer func(In) (Out, error)
	asked  []In
}

// The callbacks that the agent has for its host.
type (
	permissionCalls  = callback[*permission.Request, permission.Result]
	hookCalls        = callback[hook.Input, *hook.Output]
	questionCalls    = callback[*clew.QuestionRequest, *clew.QuestionResult]
	elicitationCalls = callback[*clew.ElicitationRequest, *clew.ElicitationResult]
)

func (c *callback[In, Out]) call(_ context.Context, in In) (out Out, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, in)
	if c.answer == nil {
		return out, nil
	}
	return c.answer(in)
}

// say sets the answer to later requests, and returns c.
func (c *callback[In, Out]) say(out Out, err error) *callback[In, Out] {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answer = func(In) (Out, error) { return out, err }
	return c
}

// calls returns what was asked since it was last called.
func (c *callback[In, Out]) calls() []In {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.asked
	c.asked = nil
	return list
}

// hooksAt are hooks that run at one event, always.
func hooksAt(event hook.Event, hooks ...hook.Func) map[hook.Event][]hook.Matcher {
	return map[hook.Event][]hook.Matcher{event: {{Hooks: hooks}}}
}

// happens waits for an event that comes soon if it comes at all.
func happens(t *testing.T, what string, event <-chan struct{}) {
	t.Helper()
	select {
	case <-event:
	case <-time.After(5 * time.Minute):
		t.Errorf("%s: it did not happen", what)
	}
}
