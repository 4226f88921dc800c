package features_test

import (
	"path/filepath"
	"regexp"
	"testing"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

// painting is what the model asks the user: one question with a single answer and one with several.
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

// planFile is where the agent wants a plan, below the folder of its settings. It says so in a reminder.
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
	model, door := clewtest.NewModel(t), new(permissionCalls).say(clew.Deny("add tests"), nil)
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

	door.say(clew.Allow(), nil)
	accepted := ask(t, s, "Better now")
	wantText(t, "the result", only(t, accepted.toolResults()).Text(), "approved your plan")
	if status := only(t, of[*wire.StatusMessage](accepted)); status.PermissionMode != clew.PermissionModeDefault {
		t.Errorf("status %s", status.Raw())
	}
}
