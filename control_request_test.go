package clew

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/mcphost"
	"github.com/clewdev/clew/wire"
)

// For the agent, null resets a value, and a missing field leaves it as it is.
func TestControlRequests(t *testing.T) {
	t.Parallel()
	model, mode := "sonnet", wire.PermissionModeDefault
	modified := time.Date(2026, 11, 15, 6, 35, 34, 123_999_999, time.UTC)
	tests := []struct {
		name    string
		request any
		want    string
	}{
		{"interrupt all", interruptRequest{CancelQueued: true}, `{"cancel_queued":true}`},
		{"cancel a prompt", cancelPromptRequest{"u1"}, `{"message_uuid":"u1"}`},
		{"set a model", setModelRequest{&model}, `{"model":"sonnet"}`},
		{"reset the model", setModelRequest{}, `{"model":null}`},
		{"set a permission mode", setPermissionModeRequest{wire.PermissionModePlan}, `{"mode":"plan"}`},
		{"set a budget", ThinkingOptions{BudgetTokens: new(4000)}, `{"max_thinking_tokens":4000}`},
		{"turn thinking off", ThinkingOptions{BudgetTokens: new(0)}, `{"max_thinking_tokens":0}`},
		{"set a display", ThinkingOptions{Display: ThinkingSummarized}, `{"thinking_display":"summarized"}`},
		{"reset thinking", resetThinkingRequest{}, `{"max_thinking_tokens":null,"thinking_display":null}`},

		{
			"apply settings", applySettingsRequest{map[string]any{"effortLevel": "high", "model": nil}},
			`{"settings":{"effortLevel":"high","model":null}}`,
		},
		{
			"update settings", updateSettingsRequest{"localSettings", map[string]any{"outputStyle": "Learning"}},
			`{"source":"localSettings","settings":{"outputStyle":"Learning"}}`,
		},
		{
			"set servers", setMCPServersRequest{map[string]MCPServer{"web": &MCPHTTPServer{URL: "http://127.0.0.1/"}}},
			`{"servers":{"web":{"type":"http","url":"http://127.0.0.1/"}}}`,
		},
		{"reconnect a server", mcpServerRequest{"web"}, `{"serverName":"web"}`},
		{"turn a server off", enableMCPRequest{"web", false}, `{"serverName":"web","enabled":false}`},
		{"a server's mode", mcpPermissionModeRequest{"web", &mode}, `{"serverName":"web","mode":"default"}`},
		{"no mode for a server", mcpPermissionModeRequest{ServerName: "web"}, `{"serverName":"web","mode":null}`},
		{"call a tool", MCPCall{Tool: "mcp__web__get"}, `{"tool":"mcp__web__get"}`},
		{
			"call a tool with all",
			MCPCall{Tool: "t", Arguments: map[string]int{"n": 1}, NotForModel: true, CheckPermissions: true},
			`{"tool":"t","arguments":{"n":1},"result_not_for_model":true,"check_permissions":true}`,
		},
		{
			"call a tool with files",
			mcpCallRequest{&MCPCall{
				Tool: "t", ExpiresAt: modified, InputFiles: []MCPFile{{Name: "a", LanePath: "/a"}},
				OutputFiles: []MCPFile{{"b", "/b", "v1"}},
			}, 5000},
			`{"tool":"t","expires_at":"2026-11-15T06:35:34.123999999Z","input_files":[{"name":"a","lane_path":"/a"}],` +
				`"output_files":[{"name":"b","lane_path":"/b","if_match":"v1"}],"timeout_ms":5000}`,
		},
		{"log in to a server", mcpAuthRequest{ServerName: "web"}, `{"serverName":"web"}`},
		{"log in and come back", mcpAuthRequest{"web", "app://x"}, `{"serverName":"web","redirectUri":"app://x"}`},
		{"finish a login", mcpCallbackRequest{"web", "http://u"}, `{"serverName":"web","callbackUrl":"http://u"}`},
		{"log in", claudeAuthRequest{true}, `{"loginWithClaudeAi":true}`},
		{
			"rate", MessageRating{"u1", "negative", "assistant_text", true},
			`{"messageUuid":"u1","sentiment":"negative","surface":"assistant_text","cleared":true}`,
		},
		{"read a resource", mcpResourceRequest{"web", "ui://page"}, `{"serverName":"web","uri":"ui://page"}`},
		{"send a message", mcphost.Message{ServerName: "web", Message: `{"id":1}`}, `{"server_name":"web","message":{"id":1}}`},

		{"a task", taskRequest{"b1"}, `{"task_id":"b1"}`},
		{"background a task", backgroundTasksRequest{"toolu_1"}, `{"tool_use_id":"toolu_1"}`},
		{"background all tasks", backgroundTasksRequest{}, `{}`},

		{"read a file", readFileRequest{Path: "a.txt", Encoding: "base64"}, `{"path":"a.txt","encoding":"base64"}`},
		{
			"read the start of a file", readFileRequest{Path: "a.txt", MaxBytes: 3, Encoding: "base64"},
			`{"path":"a.txt","max_bytes":3,"encoding":"base64"}`,
		},
		{"seed", seedReadStateRequest{"a.txt", modified.UnixMilli()}, `{"path":"a.txt","mtime":1794724534123}`},
		{"rewind", rewindFilesRequest{UserMessageID: "u1"}, `{"user_message_id":"u1"}`},
		{"preview", rewindFilesRequest{UserMessageID: "u1", DryRun: true}, `{"user_message_id":"u1","dry_run":true}`},

		{
			"rename", renameRequest{"A name", RenameOptions{Source: "host"}},
			`{"title":"A name","source":"host"}`,
		},
		{
			"rename this session", renameRequest{"A name", RenameOptions{"remote", "s1"}},
			`{"title":"A name","source":"remote","session_id":"s1"}`,
		},
		{"suggest a title", titleRequest{"Do it", false}, `{"description":"Do it","persist":false}`},
		{"color", setColorRequest{"red"}, `{"color":"red"}`},
		{"nobody watches", setHasSubscribersRequest{false}, `{"has_subscribers":false}`},
		{"pause suggestions", pauseSuggestionsRequest{true}, `{"paused":true}`},
		{"rewind the conversation", rewindConversationRequest{"u1"}, `{"target_message_uuid":"u1"}`},
		{"side question", sideQuestionRequest{Question: "Why?"}, `{"question":"Why?"}`},
		{
			"side question that follows", sideQuestionRequest{"Why?", []SideExchange{{"What?", "That."}}},
			`{"question":"Why?","history":[{"question":"What?","response":"That."}]}`,
		},
		{"move", setCWDRequest{Path: "/a"}, `{"path":"/a"}`},
		{
			"move with trust", setCWDRequest{"/a", true, "/b"},
			`{"path":"/a","trust_accepted":true,"trusted_directory":"/b"}`,
		},
		{"add a root", repoRootRequest{Directory: "/a"}, `{"directory":"/a"}`},
		{
			"add a root and reload", repoRootRequest{"/a", RepoRootOptions{true, true, true}},
			`{"directory":"/a","reload_claude_md":true,"reload_plugins":true,"reload_skills":true}`,
		},
		{"reload plugins", newReloadPluginsRequest(nil), `{}`},
		{
			"reload plugins with all", newReloadPluginsRequest(&ReloadPluginsOptions{
				HoldOnCacheImpact: true, RefuseIfBusy: true,
				AddPlugins: []PluginConfig{{Path: "/p"}, {Path: "/q", SkipMCPDiscovery: true}},
			}),
			`{"hold_on_cache_impact":true,"refuse_if_busy":true,` +
				`"add_plugins":[{"type":"local","path":"/p"},{"type":"local","path":"/q","skipMcpDiscovery":true}]}`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := json.Marshal(test.request)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSetThinkingRefusesNegativeBudget(t *testing.T) {
	t.Parallel()
	if err := new(Session).SetThinking(t.Context(), &ThinkingOptions{BudgetTokens: new(-1)}); err == nil {
		t.Error("no error")
	}
}

// The deadline of a context is the time that the agent gives a tool, within the agent's own limits.
func TestCallMCPTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for limit, want := range map[time.Duration]int64{
			time.Millisecond: 1000, 5 * time.Second: 5000, time.Hour: 600_000,
		} {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			if got := newMCPCallRequest(ctx, new(MCPCall)).TimeoutMS; got != want {
				t.Errorf("%v: %d ms, want %d", limit, got, want)
			}
			cancel()
		}
		if got := newMCPCallRequest(t.Context(), new(MCPCall)).TimeoutMS; got != 0 {
			t.Errorf("no deadline: %d ms", got)
		}
	})
}

func TestSetMCPServersRefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	for reason, server := range map[string]MCPServer{
		`"a" is nil`:         nil,
		`"a" has no Command`: &MCPStdioServer{},
		`"a" has no URL`:     &MCPHTTPServer{},
		`"a" has no Handler`: &MCPInProcessServer{},
	} {
		_, err := new(Session).SetMCPServers(t.Context(), map[string]MCPServer{"a": server})
		want := &OptionsError{Option: "MCPServers", Reason: reason}
		if diff := cmp.Diff(error(want), err); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
