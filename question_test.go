package clew

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/wire"
)

const coloursRequest = `{"subtype":"can_use_tool","tool_name":"AskUserQuestion","tool_use_id":"toolu_1","input":{
	"questions":[{"question":"Which colours?","header":"Colour","multiSelect":true,"options":[
		{"label":"Red","description":"Like a rose","preview":"#f00"},{"label":"Blue","description":"Like the sky"}]},
	{"question":"Size?","header":"Size","multiSelect":false,"options":[],"new":1.0}],"metadata":{"of":"it"}}}`

// replies is a host whose user answers as given.
func replies(result *QuestionResult, err error) *Options {
	return &Options{
		OnQuestion: func(context.Context, *QuestionRequest) (*QuestionResult, error) { return result, err },
		CanUseTool: func(context.Context, *permission.Request) (permission.Result, error) {
			return permission.Deny("no question"), nil
		},
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

// OnQuestion is not called for other tools. Without it, AskUserQuestion is treated like any tool.
func TestQuestionOrPermission(t *testing.T) {
	t.Parallel()
	wantAnswer(t, replies(nil, nil), bashRequest, `{"behavior":"deny","message":"no question","toolUseID":"toolu_1"}`)
	wantAnswer(t, decides(permission.Deny("not now"), nil), coloursRequest,
		`{"behavior":"deny","message":"not now","toolUseID":"toolu_1"}`)
	wantAnswer(t, &Options{OnQuestion: replies(nil, nil).OnQuestion}, bashRequest,
		`{"behavior":"deny","message":"No user is present to allow this.","toolUseID":"toolu_1"}`)
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

// elicits is a host that answers MCP servers as given.
func elicits(result *ElicitationResult, err error) *Options {
	return &Options{OnElicitation: func(context.Context, *ElicitationRequest) (*ElicitationResult, error) {
		return result, err
	}}
}

func TestElicitationAnswers(t *testing.T) {
	t.Parallel()
	wantAnswer(t, new(Options), elicitRequest, `{"action":"decline"}`)
	for want, result := range map[string]*ElicitationResult{
		`{"action":"accept","content":{"n":"Ada"}}`: {Action: wire.ElicitationAccept, Content: map[string]string{"n": "Ada"}},
		`{"action":"decline"}`:                      {Action: wire.ElicitationDecline},
		`{"action":"cancel"}`:                       {Action: wire.ElicitationCancel},
	} {
		wantAnswer(t, elicits(result, nil), elicitRequest, want)
	}
	wantError(t, elicits(nil, nil), elicitRequest, errNoAnswer.Error())
	wantError(t, elicits(nil, errors.New("no screen")), elicitRequest, "no screen")
	wantError(t, elicits(new(ElicitationResult), nil), elicitRequest,
		"clew: OnElicitation returned a result without an action")
	wantError(t, elicits(nil, nil), `{"subtype":"elicitation","message":[]}`,
		"clew: elicitation: field message has the wrong type: array")
}

func TestElicitationRequest(t *testing.T) {
	t.Parallel()
	const body = `{"subtype":"elicitation","mcp_server_name":"calc","message":"Who?","mode":"form",
		"url":"https://e.test","elicitation_id":"e1","requested_schema":{"type":"object"},"property_order":["a","b"],
		"title":"T","display_name":"N","description":"D","new":1}`
	var got *ElicitationRequest
	o := &Options{OnElicitation: func(_ context.Context, req *ElicitationRequest) (*ElicitationResult, error) {
		got = req
		return &ElicitationResult{Action: wire.ElicitationCancel}, nil
	}}
	wantAnswer(t, o, body, `{"action":"cancel"}`)
	want := &ElicitationRequest{
		MCPServerName: "calc", Message: "Who?", Mode: wire.ElicitationModeForm, URL: "https://e.test", ElicitationID: "e1",
		RequestedSchema: `{"type":"object"}`, PropertyOrder: []string{"a", "b"},
		Title: "T", DisplayName: "N", Description: "D",
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(ElicitationRequest{})); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	if got.Raw() != body {
		t.Errorf("raw %s", got.Raw())
	}
}

// shows is a host whose dialogs end as given.
func shows(result *UserDialogResult, err error) *Options {
	return &Options{OnUserDialog: func(context.Context, *UserDialogRequest) (*UserDialogResult, error) {
		return result, err
	}}
}

func TestUserDialogAnswers(t *testing.T) {
	t.Parallel()
	for want, result := range map[string]*UserDialogResult{
		`{"behavior":"completed","result":{"choice":2}}`: {Result: map[string]int{"choice": 2}},
		`{"behavior":"completed","result":null}`:         {},
		`{"behavior":"cancelled"}`:                       {Canceled: true},
	} {
		wantAnswer(t, shows(result, nil), dialogRequest, want)
	}
	wantError(t, shows(nil, nil), dialogRequest, errNoAnswer.Error())
	wantError(t, shows(nil, errors.New("no screen")), dialogRequest, "no screen")
	wantError(t, shows(nil, nil), `{"subtype":"request_user_dialog","dialog_kind":true}`,
		`clew: request_user_dialog: field dialog_kind has the wrong type: bool`)
}

func TestUserDialogRequest(t *testing.T) {
	t.Parallel()
	const body = `{"subtype":"request_user_dialog","dialog_kind":"refusal_fallback_prompt","payload":{"a":1},
		"tool_use_id":"t","new":1}`
	var got *UserDialogRequest
	_, err := serve(t, &Options{OnUserDialog: func(_ context.Context, req *UserDialogRequest) (*UserDialogResult, error) {
		got = req
		return new(UserDialogResult), nil
	}}, body)
	if err != nil {
		t.Fatal(err)
	}
	want := &UserDialogRequest{Kind: "refusal_fallback_prompt", Payload: `{"a":1}`, ToolUseID: "t"}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(UserDialogRequest{})); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	if got.Raw() != body {
		t.Errorf("raw %s", got.Raw())
	}
}
