package features_test

import (
	"context"
	"errors"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/hook"
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/wire"
)

func TestRealPermissionAnswers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		answer permission.Result
		err    error
		made   string // the file that there should be afterwards
		text   string // what the model is told if it was denied
	}{
		{name: "allowed", answer: permission.Allow(), made: "allowed"},
		{name: "changed", answer: permission.AllowWith(map[string]string{"command": "touch other"}), made: "other"},
		{name: "denied", answer: permission.Deny("not today"), text: "not today"},
		{name: "silent", answer: new(permission.DenyResult), text: "denied"},
		{name: "undecided", err: errors.New("nobody is at home"), text: "nobody is at home"},
	}
	model, door, dir := clewtest.NewModel(t), new(permissionCalls), t.TempDir()
	for _, tt := range tests {
		touches(model, tt.name)
	}
	s := connect(t, model, &clew.Options{Dir: dir, CanUseTool: door.call})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			door.say(tt.answer, tt.err)
			k := ask(t, s, tt.name)
			result, request := only(t, newest(model).ToolResults()), only(t, door.calls())
			if request.ToolName != "Bash" || request.ToolUseID != result.ToolUseID {
				t.Errorf("request %s", request.Raw())
			}
			wantMade(t, dir, tt.name, tt.made)
			wantText(t, "the result", result.Text(), tt.text)
			denied := tt.text != ""
			if result.Failed() != denied || denied != (len(k.result.PermissionDenials) == 1) {
				t.Errorf("result %s, denials %v", result.Raw(), k.result.PermissionDenials)
			}
		})
	}
}

func TestRealPermissionDeniedWithInterrupt(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("Stop").Reply(bash("touch never"))
	model.On("Go on").Reply(clewtest.Text("Going on."))
	door, dir := new(permissionCalls).say(&permission.DenyResult{Message: "enough", Interrupt: true}, nil), t.TempDir()
	s := connect(t, model, &clew.Options{Dir: dir, CanUseTool: door.call})
	_, err := hear(s.Turn(t.Context(), clew.Text("Stop")))
	var failed *clew.ResultError
	if !errors.As(err, &failed) || !failed.Interrupted() {
		t.Errorf("error %v", err)
	}
	if n := len(model.Requests()); n != 1 || exists(dir, "never") {
		t.Errorf("%d requests, command ran: %v", n, exists(dir, "never"))
	}
	if k := ask(t, s, "Go on"); k.result.Result != "Going on." {
		t.Errorf("result after the interrupt: %q", k.result.Result)
	}
}

// A hook answers while the host is still asked: the question is withdrawn.
func TestRealPermissionWithdrawn(t *testing.T) {
	t.Parallel()
	model, dir := clewtest.NewModel(t), t.TempDir()
	touches(model, "file")
	asked, withdrawn := make(chan struct{}), make(chan struct{})
	s := connect(t, model, &clew.Options{
		Dir: dir,
		CanUseTool: func(ctx context.Context, _ *permission.Request) (permission.Result, error) {
			close(asked)
			<-ctx.Done()
			close(withdrawn)
			return permission.Deny("too late"), nil
		},
		Hooks: hooksAt(hook.PermissionRequest, func(context.Context, hook.Input) (*hook.Output, error) {
			happens(t, "the host is asked", asked)
			return &hook.Output{Specific: &hook.PermissionRequestOutput{Decision: permission.Allow()}}, nil
		}),
	})
	if result := only(t, ask(t, s, "Make a file").toolResults()); result.Failed() || !exists(dir, "file") {
		t.Errorf("result %s", result.Raw())
	}
	happens(t, "the question is withdrawn", withdrawn)
}

// The suggestions of a request, sent back, spare the next one.
func TestRealPermissionSuggestions(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.OnToolResult("").Reply(clewtest.Text("Done."))
	model.On("").Reply(bash("sh -c 'echo 2'"))
	door, dir := new(permissionCalls), t.TempDir()
	door.answer = func(req *permission.Request) (permission.Result, error) {
		return &permission.AllowResult{UpdatedPermissions: req.Suggestions}, nil
	}
	s := connect(t, model, &clew.Options{Dir: dir, CanUseTool: door.call})
	for _, prompt := range []string{"Once", "Twice"} {
		if result := only(t, ask(t, s, prompt).toolResults()); result.Failed() || result.Text() != "2" {
			t.Errorf("%s: result %s", prompt, result.Raw())
		}
	}
	if request := only(t, door.calls()); len(request.Suggestions) == 0 {
		t.Errorf("request %s", request.Raw())
	}
	if !exists(dir, filepath.Join(".claude", "settings.local.json")) {
		t.Error("the rule was not kept")
	}
}

func TestRealPermissionModes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		mode           clew.PermissionMode
		write, command bool // what runs without a question
		asked          int
	}{
		{clew.PermissionModeAcceptEdits, true, false, 1},
		{clew.PermissionModeDontAsk, false, false, 0},
		{clew.PermissionModeBypassPermissions, true, true, 0},
	}
	for _, tt := range tests {
		t.Run(string(tt.mode), func(t *testing.T) {
			t.Parallel()
			model, door, dir := clewtest.NewModel(t), new(permissionCalls).say(permission.Deny("no"), nil), t.TempDir()
			model.On("Work").Reply(
				clewtest.ToolUse("Write", map[string]string{"file_path": filepath.Join(dir, "written"), "content": "x"}),
				bash("sh -c 'touch made'"))
			model.OnToolResult("").Reply(clewtest.Text("Done."))
			query(t, model, "Work", &clew.Options{Dir: dir, PermissionMode: tt.mode, CanUseTool: door.call})
			if write, command := exists(dir, "written"), exists(dir, "made"); write != tt.write || command != tt.command {
				t.Errorf("written %v, command ran %v", write, command)
			}
			if n := len(door.calls()); n != tt.asked {
				t.Errorf("asked %d times", n)
			}
		})
	}
}

// allows lets the agent do everything.
func allows(context.Context, *permission.Request) (permission.Result, error) {
	return permission.Allow(), nil
}

// painting holds the model's questions to the user: one with a single answer and one with several.
const painting = `{"questions":[
	{"question":"Which colour?","header":"Colour","multiSelect":false,"options":[
		{"label":"Red","description":"Like a rose"},{"label":"Blue","description":"Like the sky"}]},
	{"question":"Which walls?","header":"Walls","multiSelect":true,"options":[
		{"label":"North","description":"The cold one"},{"label":"South","description":"The warm one"},
		{"label":"East","description":"The early one"}]}]}`

func TestRealQuestions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		result *clew.QuestionResult
		want   []string // what the model is told
	}{
		{"chosen", &clew.QuestionResult{Answers: map[string][]string{
			"Which colour?": {"Red"}, "Which walls?": {"North", "East"},
		}}, []string{`"Which colour?"="Red"`, `"Which walls?"="North, East"`}},
		{"own words", &clew.QuestionResult{Answers: map[string][]string{"Which colour?": {"Green"}}},
			[]string{`"Which colour?"="Green"`}},
		{"something else", &clew.QuestionResult{Response: "Leave it as it is."}, []string{"Leave it as it is."}},
		{"no answer", nil, []string{"declined to answer"}},
	}
	model := clewtest.NewModel(t)
	model.OnToolResult("").Reply(clewtest.Text("I see."))
	model.On("").Reply(clewtest.ToolUse("AskUserQuestion", wire.JSON(painting)))
	user := new(questionCalls)
	s := connect(t, model, &clew.Options{OnQuestion: user.call})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			user.say(tt.result, nil)
			result := only(t, ask(t, s, "Paint the room").toolResults())
			asked := only(t, user.calls()).Questions
			if len(asked) != 2 || asked[0].MultiSelect || !asked[1].MultiSelect || len(asked[1].Options) != 3 {
				t.Errorf("questions %+v", asked)
			}
			for _, words := range tt.want {
				wantText(t, "the result", result.Text(), words)
			}
		})
	}
}

// planFile matches the path of a plan, below the agent's configuration directory. The agent names
// it in a reminder.
var planFile = regexp.MustCompile(`/plans/[a-z0-9-]+\.md`)

// plans makes the model answer a prompt by writing a plan, to the file that the agent names.
func plans(model *clewtest.Model, prompt, plan string) {
	var rule *clewtest.Rule
	rule = model.When(func(r *clewtest.Request) bool {
		name := planFile.Find(r.Body)
		if name == nil || r.Prompt() != prompt {
			return false
		}
		path := filepath.Join(model.ConfigDir(), string(name))
		rule.Reply(clewtest.ToolUse("Write", map[string]string{"file_path": path, "content": plan}))
		return true
	})
	rule.Reply() // replaced when it matches; a rule without an answer is not asked
}

// The user wants the first plan improved and accepts it the second time.
func TestRealPlan(t *testing.T) {
	t.Parallel()
	model, door := clewtest.NewModel(t), new(permissionCalls).say(permission.Deny("add tests"), nil)
	plans(model, "Plan it", "# Write a note\n")
	model.OnToolResult("created successfully").Reply(clewtest.ToolUse("ExitPlanMode", nil))
	model.OnToolResult("").Reply(clewtest.Text("I see."))
	model.On("Better now").Reply(clewtest.ToolUse("ExitPlanMode", nil))
	s := connect(t, model, &clew.Options{PermissionMode: clew.PermissionModePlan, CanUseTool: door.call})

	refused := ask(t, s, "Plan it")
	request := only(t, door.calls())
	if request.ToolName != "ExitPlanMode" || !request.RequiresUserInteraction {
		t.Errorf("request %s", request.Raw())
	}
	wantText(t, "the request", string(request.Input), "# Write a note")
	if results := refused.toolResults(); len(results) != 2 || !results[1].Failed() || results[1].Text() != "add tests" {
		t.Errorf("results %v", results)
	}
	if n := len(of[*wire.StatusMessage](refused)); n != 0 {
		t.Errorf("%d changes of the mode", n)
	}

	door.say(permission.Allow(), nil)
	accepted := ask(t, s, "Better now")
	wantText(t, "the result", only(t, accepted.toolResults()).Text(), "approved your plan")
	if status := only(t, of[*wire.StatusMessage](accepted)); status.PermissionMode != clew.PermissionModeDefault {
		t.Errorf("status %s", status.Raw())
	}
}
