package clew

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clewdev/clew/hook"
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/wire"
)

// decides is a host that decides as given.
func decides(result permission.Result, err error) *Options {
	return &Options{CanUseTool: func(context.Context, *permission.Request) (permission.Result, error) { return result, err }}
}

func TestPermissionAnswers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		result permission.Result
		want   string
	}{
		"allow": {permission.Allow(), `{"behavior":"allow","updatedInput":{"command":"ls"},"toolUseID":"toolu_1"}`},
		"allow with another input": {
			permission.AllowWith(map[string]string{"command": "ls <a> && b"}),
			`{"behavior":"allow","updatedInput":{"command":"ls <a> && b"},"toolUseID":"toolu_1"}`,
		},
		"allow for good": {
			&permission.AllowResult{
				UpdatedPermissions: []permission.Update{permission.AddRules(
					permission.DestinationLocalSettings, permission.BehaviorAllow, permission.Rule{ToolName: "Bash", RuleContent: "ls *"},
				)},
				Classification: permission.ClassificationPermanent,
			},
			`{"behavior":"allow","updatedInput":{"command":"ls"},"updatedPermissions":[{"type":"addRules","behavior":"allow",
			"rules":[{"toolName":"Bash","ruleContent":"ls *"}],"destination":"localSettings"}],
			"decisionClassification":"user_permanent","toolUseID":"toolu_1"}`,
		},
		"deny": {permission.Deny("not today"), `{"behavior":"deny","message":"not today","toolUseID":"toolu_1"}`},
		"deny without a reason": {
			permission.Deny(""), `{"behavior":"deny","message":"This use of the tool was denied.","toolUseID":"toolu_1"}`,
		},
		"deny and interrupt": {
			&permission.DenyResult{Message: "stop", Interrupt: true, Classification: permission.ClassificationReject},
			`{"behavior":"deny","message":"stop","interrupt":true,"decisionClassification":"user_reject","toolUseID":"toolu_1"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantAnswer(t, decides(test.result, nil), bashRequest, test.want)
		})
	}
}

func TestPermissionErrors(t *testing.T) {
	t.Parallel()
	wantError(t, decides(nil, errors.New("the database is away")), bashRequest, "the database is away")
	wantError(t, decides(nil, nil), bashRequest, errNoAnswer.Error())
	const missing = "clew: the can_use_tool request has no tool_name or no input"
	for fields, want := range map[string]string{
		`"agent_id":"a"`:                  missing,
		`"tool_name":"Bash"`:              missing,
		`"tool_name":"Bash","input":null`: missing,
		`"input":{}`:                      missing,
		`"tool_name":5,"input":{}`:        `clew: can_use_tool: field tool_name has the wrong type: number`,
	} {
		wantError(t, decides(permission.Allow(), nil), `{"subtype":"can_use_tool",`+fields+`}`, want)
	}
}

// A field of another type does not keep the question from the host.
func TestPermissionRequestWithMisfits(t *testing.T) {
	t.Parallel()
	var got *permission.Request
	var log bytes.Buffer
	_, err := serve(t, &Options{
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
		CanUseTool: func(_ context.Context, req *permission.Request) (permission.Result, error) {
			got = req
			return permission.Allow(), nil
		},
	}, `{"subtype":"can_use_tool","agent_id":7,"tool_name":"Bash","mcp_server":{"name":[],"source":"sdk"},`+
		`"input":{"command":"ls"},"permission_suggestions":{},"title":"T"}`)
	if err != nil {
		t.Fatal(err)
	}
	if got.ToolName != "Bash" || got.Input != `{"command":"ls"}` || got.Title != "T" || got.MCPServer.Source != "sdk" {
		t.Errorf("request %+v", got)
	}
	for _, field := range []string{"agent_id", "mcp_server", "permission_suggestions"} {
		if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "field="+field) {
			t.Errorf("%s is not in the log: %s", field, log.String())
		}
	}
}

func TestPermissionInputThatIsNoObject(t *testing.T) {
	t.Parallel()
	for name, input := range map[string]any{
		"text": "ls", "list": []string{"ls"}, "nil map": map[string]string(nil), "JSON": wire.JSON("null"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantError(t, decides(permission.AllowWith(input), nil), bashRequest,
				"clew: the answer of CanUseTool: UpdatedInput is not a JSON object")
			wantError(t, says(&hook.Output{Specific: &hook.PreToolUseOutput{UpdatedInput: input}}, nil), stopRequest,
				"clew: the answer of a hook at Stop: UpdatedInput is not a JSON object")
			_, err := serve(t, says(&hook.Output{Specific: &hook.PermissionRequestOutput{Decision: permission.AllowWith(input)}}, nil), stopRequest)
			if err == nil || !strings.HasPrefix(err.Error(), "clew: the answer of a hook at Stop: ") {
				t.Errorf("a hook's decision: error %v", err)
			}
		})
	}
}

func TestPermissionRequest(t *testing.T) {
	t.Parallel()
	const body = `{"subtype":"can_use_tool","tool_name":"mcp__calc__add","input":{"a":1.0},"tool_use_id":"toolu_1",
		"agent_id":"a1","mcp_server":{"name":"calc","source":"sdk"},"plugin":"","title":"T","display_name":"Add",
		"description":"D","permission_suggestions":[{"type":"setMode","mode":"acceptEdits","destination":"session"}],
		"suppress_always_allow_rule":true,"default_to_no":true,"requires_user_interaction":true,"blocked_path":"/p",
		"decision_reason":"R","decision_reason_type":"rule","decision_reason_code":"org_ask_ceiling",
		"classifier_approvable":false,"matched_ask_rule":{"source":"userSettings","tool_name":"X","rule_content":"y"},
		"server_policy_ask_only":true,"server_prompt":"folder","computer_folder":{"path":"/f","computer_name":"mac"},
		"brand_new":{"b":2}}`
	var got *permission.Request
	_, err := serve(t, &Options{CanUseTool: func(_ context.Context, req *permission.Request) (permission.Result, error) {
		got = req
		return permission.Allow(), nil
	}}, body)
	if err != nil {
		t.Fatal(err)
	}
	want := &permission.Request{
		RequestID: "req_7", ToolName: "mcp__calc__add", Input: `{"a":1.0}`, ToolUseID: "toolu_1", AgentID: "a1",
		MCPServer: &permission.MCPOrigin{Name: "calc", Source: "sdk"}, Plugin: new(""),
		Title: "T", DisplayName: "Add", Description: "D",
		Suggestions:             []permission.Update{permission.SetMode(permission.DestinationSession, wire.PermissionModeAcceptEdits)},
		SuppressAlwaysAllowRule: true, DefaultToNo: true, RequiresUserInteraction: true, BlockedPath: "/p",
		DecisionReason: "R", DecisionReasonType: "rule", DecisionReasonCode: "org_ask_ceiling",
		ClassifierApprovable: new(false), ServerPolicyAskOnly: new(true),
		MatchedAskRule: &struct {
			Source      string `json:"source"`
			ToolName    string `json:"tool_name"`
			RuleContent string `json:"rule_content"`
		}{"userSettings", "X", "y"},
		ServerPrompt: "folder",
		ComputerFolder: &struct {
			Path         string `json:"path"`
			ComputerName string `json:"computer_name"`
		}{"/f", "mac"},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(permission.Request{}, permission.Update{})); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	if got.Raw() != body {
		t.Errorf("raw %s", got.Raw())
	}
}

// Suggestions of the agent go back unchanged, including fields that this package does not know.
func TestPermissionUpdateEchoed(t *testing.T) {
	t.Parallel()
	suggestions := `[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"a && b <c>","since":1.0}],` +
		`"behavior":"allow","destination":"session","note":"\u00e9"},` +
		`{"rules":[],"type":"removeRules"},{"type":"brandNew","mode":{"of":"being"},"rules":7},"text",null,[1]]`
	o := &Options{CanUseTool: func(_ context.Context, req *permission.Request) (permission.Result, error) {
		return &permission.AllowResult{UpdatedPermissions: req.Suggestions}, nil
	}}
	req := request(t, `{"subtype":"can_use_tool","tool_name":"Bash","input":{},"permission_suggestions":`+suggestions+`}`)
	got, err := newCallbacks(o).serve(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if want := wire.JSON(`{"behavior":"allow","updatedInput":{},"updatedPermissions":` + suggestions + `}`); got != want {
		t.Errorf("answer %s\nwant   %s", got, want)
	}
}
