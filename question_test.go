package clew

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const coloursRequest = `{"subtype":"can_use_tool","tool_name":"AskUserQuestion","tool_use_id":"toolu_1","input":{
	"questions":[{"question":"Which colours?","header":"Colour","multiSelect":true,"options":[
		{"label":"Red","description":"Like a rose","preview":"#f00"},{"label":"Blue","description":"Like the sky"}]},
	{"question":"Size?","header":"Size","multiSelect":false,"options":[],"new":1.0}],"metadata":{"of":"it"}}}`

// replies is a host whose user answers as given.
func replies(result *QuestionResult, err error) *Options {
	return &Options{
		OnQuestion: func(context.Context, *QuestionRequest) (*QuestionResult, error) { return result, err },
		CanUseTool: func(context.Context, *PermissionRequest) (PermissionResult, error) { return Deny("no question"), nil },
	}
}

func TestQuestionRequest(t *testing.T) {
	t.Parallel()
	var got *QuestionRequest
	_, err := serve(t, &Options{OnQuestion: func(_ context.Context, req *QuestionRequest) (*QuestionResult, error) {
		got = req
		return nil, nil
	}}, coloursRequest)
	if err != nil {
		t.Fatal(err)
	}
	want := []Question{
		{Question: "Which colours?", Header: "Colour", MultiSelect: true, Options: []QuestionOption{
			{Label: "Red", Description: "Like a rose", Preview: "#f00"}, {Label: "Blue", Description: "Like the sky"},
		}},
		{Question: "Size?", Header: "Size"},
	}
	if diff := cmp.Diff(want, got.Questions, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("questions (-want +got):\n%s", diff)
	}
	if got.Permission.ToolUseID != "toolu_1" || got.Permission.RequestID != "req_7" {
		t.Errorf("permission %+v", got.Permission)
	}
}

func TestQuestionAnswers(t *testing.T) {
	t.Parallel()
	const asked = `{"behavior":"allow","toolUseID":"toolu_1","updatedInput":{"questions":[
		{"question":"Which colours?","header":"Colour","multiSelect":true,"options":[
			{"label":"Red","description":"Like a rose","preview":"#f00"},{"label":"Blue","description":"Like the sky"}]},
		{"question":"Size?","header":"Size","multiSelect":false,"options":[],"new":1.0}],"metadata":{"of":"it"},`
	for name, test := range map[string]struct {
		result *QuestionResult
		want   string
	}{
		"one and several labels": {
			&QuestionResult{Answers: map[string][]string{"Which colours?": {"Red", "Blue"}, "Size?": {"L"}}},
			asked + `"answers":{"Which colours?":"Red, Blue","Size?":"L"}}}`,
		},
		"passed over": {&QuestionResult{Answers: map[string][]string{"Size?": {}}}, asked + `"answers":{}}}`},
		"other words": {&QuestionResult{Response: "neither"}, asked + `"answers":{},"response":"neither"}}`},
		"with remarks": {
			&QuestionResult{
				Answers: map[string][]string{"Which colours?": {"Red"}},
				Annotations: map[string]QuestionAnnotation{
					"Which colours?": {Notes: "dark", Preview: "#f00"}, "Size?": {Unanswered: "skipped"},
				},
			},
			asked + `"answers":{"Which colours?":"Red"},
			"annotations":{"Which colours?":{"notes":"dark","preview":"#f00"},"Size?":{"unanswered":"skipped"}}}}`,
		},
		"declined": {nil, `{"behavior":"deny","message":"The user declined to answer.","toolUseID":"toolu_1"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantAnswer(t, replies(test.result, nil), coloursRequest, test.want)
		})
	}
}

// Other tools are none of OnQuestion's business, and without one questions are those of any tool.
func TestQuestionOrPermission(t *testing.T) {
	t.Parallel()
	wantAnswer(t, replies(nil, nil), bashRequest, `{"behavior":"deny","message":"no question","toolUseID":"toolu_1"}`)
	wantAnswer(t, decides(Deny("not now"), nil), coloursRequest,
		`{"behavior":"deny","message":"not now","toolUseID":"toolu_1"}`)
	wantAnswer(t, &Options{OnQuestion: replies(nil, nil).OnQuestion}, bashRequest,
		`{"behavior":"deny","message":"Nobody is here to permit this.","toolUseID":"toolu_1"}`)
}

func TestQuestionErrors(t *testing.T) {
	t.Parallel()
	wantError(t, replies(nil, errors.New("nobody is here")), coloursRequest, "nobody is here")
	for input, want := range map[string]string{
		`{"questions":"Which?"}`:        `clew: AskUserQuestion: field questions has the wrong type: string`,
		`{"questions":[{"header":[]}]}`: `clew: AskUserQuestion: field questions.header has the wrong type: array`,
		`[]`:                            `clew: AskUserQuestion has the wrong type: array`,
	} {
		body := `{"subtype":"can_use_tool","tool_name":"AskUserQuestion","input":` + input + `}`
		wantError(t, replies(nil, nil), body, want)
	}
}
