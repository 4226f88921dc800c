package clew

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

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
		`{"behavior":"cancelled"}`:                       {Cancelled: true},
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
