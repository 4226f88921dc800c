package clew

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/clewdev/clew/wire"
)

// A ServerInfo is the agent's report about itself at the start of a session. A field that the agent
// does not report is zero, and so is a field of another type than it has here: see
// [ServerInfo.Raw].
type ServerInfo struct {
	raw wire.JSON

	// Version is the version of Claude Code.
	Version string `json:"claude_code_version"`
	// PID is the process ID of the agent.
	PID int `json:"pid"`
	// Capabilities name protocol features: see [ServerInfo.Supports].
	Capabilities []string `json:"capabilities"`

	// Account is the account that the agent uses.
	Account AccountInfo `json:"account"`
	// AuthConflict is nil unless the agent has two credentials and can use only one of them.
	AuthConflict *struct {
		// TokenSource is the source of the access token.
		TokenSource string `json:"token_source"`
		// APIKeySource is the source of the API key.
		APIKeySource string `json:"api_key_source"`
	} `json:"auth_conflict"`

	// Commands are the slash commands.
	Commands []wire.SlashCommand `json:"commands"`
	// Agents are the subagents.
	Agents []AgentInfo `json:"agents"`
	// Models are the models that the session can use.
	Models []ModelInfo `json:"models"`
	// UnavailableModels are models that the user can see and not use.
	UnavailableModels []ModelInfo `json:"unavailable_models"`

	// OutputStyle is the output style in use, such as "default".
	OutputStyle string `json:"output_style"`
	// AvailableOutputStyles are the names of all output styles.
	AvailableOutputStyles []string `json:"available_output_styles"`
	// UserOutputStylesDir is the directory of the user's output styles.
	UserOutputStylesDir string `json:"user_output_styles_dir"`

	// CurrentModel is the model in use.
	CurrentModel string `json:"current_model"`
	// CurrentPermissionMode is the permission mode in use.
	CurrentPermissionMode wire.PermissionMode `json:"current_permission_mode"`
	// SessionState reports whether the agent is idle or working.
	SessionState wire.SessionState `json:"session_state"`
	// FastModeState reports whether the agent is in fast mode.
	FastModeState wire.FastModeState `json:"fast_mode_state"`
	// FastModeDisabledReason explains why fast mode is not available, or is empty.
	FastModeDisabledReason wire.FastModeDisabledReason `json:"fast_mode_disabled_reason"`

	// HooksApplied reports whether the agent uses [Options.Hooks]. Nil means that there are none,
	// or that the agent does not report it. The next four fields are alike.
	HooksApplied *bool `json:"hooks_applied"`
	// PluginsApplied reports whether the agent uses [Options.Plugins].
	PluginsApplied *bool `json:"plugins_applied"`
	// MCPServersApplied reports whether the agent uses MCP servers of the initialize request, from
	// Claude Code 2.1.326 on. It is nil since [Options.MCPServers] follow in a separate request,
	// which older versions know as well. The TypeScript SDK sends them in the initialize request
	// with mcpServersDelivery "initialize", and otherwise on the command line.
	MCPServersApplied *bool `json:"mcp_servers_applied"`
	// ManagedSettingsApplied reports whether the agent uses [SettingsOptions.Managed].
	ManagedSettingsApplied *bool `json:"managed_settings_applied"`
	// WorkspaceTrustRecorded reports whether the agent recorded that the user trusts the directory.
	WorkspaceTrustRecorded *bool `json:"workspace_trust_recorded"`
	// SDKMCPManifestsParked is, for each manifest of an in-process server, "parked" if the agent
	// uses it, or the reason why not.
	SDKMCPManifestsParked map[string]string `json:"sdk_mcp_manifests_parked"`
	// CodeRunningMCPToolsApplied are tools that run code, by MCP server.
	CodeRunningMCPToolsApplied map[string][]string `json:"code_running_mcp_tools_applied"`

	// HookOnFailureSupported reports whether a hook can block when it fails: see
	// [hook.Matcher.OnFailure].
	HookOnFailureSupported bool `json:"hook_on_failure_supported"`
	// HooksWhenUnansweredKept is the number of matchers with a reaction to hooks that give no
	// answer, which Clew does not send. Agents up to Claude Code 2.1.325 do not report it.
	HooksWhenUnansweredKept int `json:"hooks_when_unanswered_kept"`
	// OtherHookAskOutranksHost reports whether the reason of another hook is shown if that hook and
	// a hook of the host both want the user to be asked about a tool.
	OtherHookAskOutranksHost bool `json:"other_hook_ask_outranks_host"`
	// HostWordedAsks reports whether a hook can choose the words of such a question.
	HostWordedAsks bool `json:"host_worded_asks"`

	// AnalyticsDisabled reports whether the agent sends no analytics.
	AnalyticsDisabled bool `json:"analytics_disabled"`
	// FeedbackMode is an object that describes the destination of feedback.
	FeedbackMode wire.JSON `json:"feedback_mode"`

	// RemoteControlAvailable reports whether other devices of the user can take part in the
	// session. Nil means that they can.
	RemoteControlAvailable *bool `json:"remote_control_available"`
	// RemoteControlAutoEnable reports whether remote control starts with the session.
	RemoteControlAutoEnable bool `json:"remote_control_auto_enable"`
	// RemoteControlAutoOnByDefault reports whether that is the default for the account.
	RemoteControlAutoOnByDefault bool `json:"remote_control_auto_on_by_default"`
	// RemoteControlAutoConnectDefault is the default for connecting by itself.
	RemoteControlAutoConnectDefault bool `json:"remote_control_auto_connect_default"`
	// IDERemoteControlAutoEnableGate reports whether an editor may turn remote control on.
	IDERemoteControlAutoEnableGate bool `json:"ide_rc_auto_enable_gate"`
}

// Supports reports whether the agent announced a capability. It announces some only with its first
// turn: see [wire.InitMessage.Capabilities].
func (i *ServerInfo) Supports(capability string) bool {
	return slices.Contains(i.Capabilities, capability)
}

// Raw returns the agent's whole answer, including the fields that this package does not know.
func (i *ServerInfo) Raw() wire.JSON { return i.raw }

// plainServerInfo is a ServerInfo without UnmarshalJSON.
type plainServerInfo ServerInfo

// UnmarshalJSON decodes the answer to the initialize request.
func (i *ServerInfo) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, (*plainServerInfo)(i)); err != nil {
		return err
	}
	i.raw = wire.JSON(data)
	return nil
}

// An AccountInfo is the account that the agent uses. Fields that are unknown are empty.
type AccountInfo struct {
	// Email is the address of the user.
	Email string `json:"email"`
	// Organization is the name of the organization.
	Organization string `json:"organization"`
	// SubscriptionType is the plan, such as "max".
	SubscriptionType string `json:"subscriptionType"`
	// TokenSource is the source of the access token. It never holds the token itself.
	TokenSource string `json:"tokenSource"`
	// APIKeySource is the source of the API key. It never holds the key itself.
	APIKeySource wire.APIKeySource `json:"apiKeySource"`
	// APIProvider is whose API the agent calls: firstParty, bedrock, vertex, foundry, anthropicAws,
	// anthropicGoogleCloud, mantle, gateway or a newer one.
	APIProvider string `json:"apiProvider"`
}

// An AgentInfo describes a subagent that the agent can start.
type AgentInfo struct {
	// Name is the name of the subagent.
	Name string `json:"name"`
	// Description describes its use.
	Description string `json:"description"`
	// Model is an alias, an ID, or "inherit" for the model of the session. Empty means the agent's
	// default.
	Model string `json:"model"`
}

// A ModelInfo describes a model that a session can use.
type ModelInfo struct {
	// Value is the argument for [Session.SetModel], often an alias such as "opus".
	Value string `json:"value"`
	// ResolvedModel is the ID of the model that Value stands for.
	ResolvedModel string `json:"resolvedModel"`
	// DisplayName is the name for people.
	DisplayName string `json:"displayName"`
	// Description is a sentence for people, which can contain the price.
	Description string `json:"description"`
	// Disabled is true for a model that the user can see and not use. The description explains why.
	Disabled bool `json:"disabled"`

	// SupportsEffort reports whether the model has levels of effort.
	SupportsEffort bool `json:"supportsEffort"`
	// SupportedEffortLevels are these levels.
	SupportedEffortLevels []wire.Effort `json:"supportedEffortLevels"`
	// SupportsAdaptiveThinking reports whether the model can choose how much it thinks.
	SupportsAdaptiveThinking bool `json:"supportsAdaptiveThinking"`
	// SupportsFastMode reports whether the model can be used in fast mode.
	SupportsFastMode bool `json:"supportsFastMode"`
	// SupportsAutoMode reports whether the model can be used in [PermissionModeAuto].
	SupportsAutoMode bool `json:"supportsAutoMode"`
	// SupportsThinkingOff reports whether thinking can be turned off, or nil if the agent does not
	// report it.
	SupportsThinkingOff *bool `json:"supportsThinkingOff"`
}

// Models returns the models that the session can use. [ServerInfo.Models] lists the models at its
// start.
func (s *Session) Models(ctx context.Context) ([]ModelInfo, error) {
	answer, err := call[modelsAnswer](ctx, s, "list_models", nil)
	if err != nil {
		return nil, err
	}
	return answer.Models, nil
}

type modelsAnswer struct {
	Models []ModelInfo `json:"models"`
}
