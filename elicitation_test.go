package clew

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

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
		`{"action":"accept","content":{"n":"Ada"}}`: {Action: ElicitationAccept, Content: map[string]string{"n": "Ada"}},
		`{"action":"decline"}`:                      {Action: ElicitationDecline},
		`{"action":"cancel"}`:                       {Action: ElicitationCancel},
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
		return &ElicitationResult{Action: ElicitationCancel}, nil
	}}
	wantAnswer(t, o, body, `{"action":"cancel"}`)
	want := &ElicitationRequest{
		MCPServerName: "calc", Message: "Who?", Mode: ElicitationModeForm, URL: "https://e.test", ElicitationID: "e1",
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
