package clew

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

func TestServerInfo(t *testing.T) {
	t.Parallel()
	answer := recordedAnswer(t, "initialize")
	want := &ServerInfo{
		Version: "2.1.325", PID: 4242, Capabilities: []string{"ui_surface_v1", "mcp_call_result_not_for_model_v1"},
		Account: AccountInfo{
			TokenSource: "none", APIKeySource: wire.APIKeySourceEnvironment, APIProvider: APIProviderFirstParty,
		},
		Commands: []wire.SlashCommand{
			{Name: "hello", Description: "says hello (project)"},
			{
				Name: "clear", ArgumentHint: "[name]", Aliases: []string{"reset", "new"}, Builtin: true,
				Description: "Start a new session with empty context; " +
					"previous session stays on disk (resumable with /resume)",
			},
		},
		Agents: []AgentInfo{
			{Name: "helper", Description: "helps"},
			{
				Name: "statusline-setup", Model: "sonnet",
				Description: "Use this agent to configure the user's Claude Code status line setting.",
			},
		},
		Models:                []ModelInfo{recordedModel()},
		OutputStyle:           "default",
		AvailableOutputStyles: []string{"default", "Proactive", "Concise", "Explanatory", "Learning"},
		UserOutputStylesDir:   "/home/dev/.claude/output-styles",
		CurrentPermissionMode: wire.PermissionModeDefault,
		SessionState:          wire.SessionStateIdle,
		FastModeState:         wire.FastModeStateOff, FastModeDisabledReason: wire.FastModeDisabledSDKOptInRequired,
		HookOnFailureSupported: true, OtherHookAskOutranksHost: true, AnalyticsDisabled: true,
		FeedbackMode: `{"kind":"disabled"}`, RemoteControlAvailable: new(false),
	}
	checkAnswer(t, answer, want)

	info := new(ServerInfo)
	if err := json.Unmarshal([]byte(answer), info); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wire.JSON(answer), info.Raw()); diff != "" {
		t.Errorf("raw (-want +got):\n%s", diff)
	}
	if !info.Supports("ui_surface_v1") || info.Supports("ui_surface") {
		t.Errorf("capabilities %q", info.Capabilities)
	}
}

// What an agent says only when it is asked for something.
func TestServerInfoOutcomes(t *testing.T) {
	t.Parallel()
	checkAnswer(t, `{"hooks_applied":true,"plugins_applied":false,"managed_settings_applied":true,`+
		`"workspace_trust_recorded":false,"sdk_mcp_manifests_parked":{"greeter":"parked"},`+
		`"code_running_mcp_tools_applied":{"greeter":["run"]},"current_model":"opus","host_worded_asks":true,`+
		`"auth_conflict":{"token_source":"ANTHROPIC_AUTH_TOKEN","api_key_source":"apiKeyHelper"},`+
		`"unavailable_models":[{"value":"old","disabled":true}],"session_state":"newer"}`,
		&ServerInfo{
			HooksApplied: new(true), PluginsApplied: new(false), ManagedSettingsApplied: new(true),
			WorkspaceTrustRecorded: new(false), SDKMCPManifestsParked: map[string]string{"greeter": "parked"},
			CodeRunningMCPToolsApplied: map[string][]string{"greeter": {"run"}}, CurrentModel: "opus",
			HostWordedAsks:    true,
			AuthConflict:      &AuthConflict{TokenSource: "ANTHROPIC_AUTH_TOKEN", APIKeySource: "apiKeyHelper"},
			UnavailableModels: []ModelInfo{{Value: "old", Disabled: true}}, SessionState: "newer",
		})
}
