package clew

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/clewdev/clew/wire"
)

// A ServerInfo is what the agent says of itself when a session begins. What an agent does not say is zero, and so is a
// field of another type than it has here: see [ServerInfo.Raw].
type ServerInfo struct {
	raw wire.JSON

	// Version is the version of Claude Code.
	Version string `json:"claude_code_version"`
	// PID is the process of the agent.
	PID int `json:"pid"`
	// Capabilities name protocol features: see [ServerInfo.Supports].
	Capabilities []string `json:"capabilities"`

	Account AccountInfo `json:"account"`
	// AuthConflict is nil unless the agent has two credentials.
	AuthConflict *AuthConflict `json:"auth_conflict"`

	Commands []wire.SlashCommand `json:"commands"`
	Agents   []AgentInfo         `json:"agents"`
	Models   []ModelInfo         `json:"models"`
	// UnavailableModels can be seen, and not used.
	UnavailableModels []ModelInfo `json:"unavailable_models"`

	OutputStyle           string   `json:"output_style"`
	AvailableOutputStyles []string `json:"available_output_styles"`
	// UserOutputStylesDir is the folder of the user's own output styles.
	UserOutputStylesDir string `json:"user_output_styles_dir"`

	CurrentModel           string                      `json:"current_model"`
	CurrentPermissionMode  wire.PermissionMode         `json:"current_permission_mode"`
	SessionState           wire.SessionState           `json:"session_state"`
	FastModeState          wire.FastModeState          `json:"fast_mode_state"`
	FastModeDisabledReason wire.FastModeDisabledReason `json:"fast_mode_disabled_reason"`

	// What became of what the host asked for. Nil means that it did not ask, or that the agent does not say.
	HooksApplied           *bool `json:"hooks_applied"`
	PluginsApplied         *bool `json:"plugins_applied"`
	ManagedSettingsApplied *bool `json:"managed_settings_applied"`
	WorkspaceTrustRecorded *bool `json:"workspace_trust_recorded"`
	// SDKMCPManifestsParked says for each manifest of an in-process server whether it is used: "parked", or why not.
	SDKMCPManifestsParked map[string]string `json:"sdk_mcp_manifests_parked"`
	// CodeRunningMCPToolsApplied are tools by server.
	CodeRunningMCPToolsApplied map[string][]string `json:"code_running_mcp_tools_applied"`

	// HookOnFailureSupported says that a hook can block when it fails.
	HookOnFailureSupported bool `json:"hook_on_failure_supported"`
	// OtherHookAskOutranksHost says that the reason of a question about a tool is that of another hook, where one besides
	// a hook of the host wants the question.
	OtherHookAskOutranksHost bool `json:"other_hook_ask_outranks_host"`
	// HostWordedAsks says that a hook can choose the words of such a question.
	HostWordedAsks bool `json:"host_worded_asks"`

	AnalyticsDisabled bool `json:"analytics_disabled"`
	// FeedbackMode is an object that says what becomes of feedback.
	FeedbackMode wire.JSON `json:"feedback_mode"`

	// RemoteControlAvailable is nil if the agent does not say, which means that it is.
	RemoteControlAvailable          *bool `json:"remote_control_available"`
	RemoteControlAutoEnable         bool  `json:"remote_control_auto_enable"`
	RemoteControlAutoOnByDefault    bool  `json:"remote_control_auto_on_by_default"`
	RemoteControlAutoConnectDefault bool  `json:"remote_control_auto_connect_default"`
	IDERemoteControlAutoEnableGate  bool  `json:"ide_rc_auto_enable_gate"`
}

// Supports reports whether the agent has said that it has a capability. It says some only with its first turn: see
// [wire.InitMessage.Capabilities].
func (i *ServerInfo) Supports(capability string) bool {
	return slices.Contains(i.Capabilities, capability)
}

// Raw returns all that the agent said, also what has no field here.
func (i *ServerInfo) Raw() wire.JSON { return i.raw }

// plainServerInfo is a ServerInfo that does not read itself.
type plainServerInfo ServerInfo

// UnmarshalJSON reads the answer to the initialize request.
func (i *ServerInfo) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, (*plainServerInfo)(i)); err != nil {
		return err
	}
	i.raw = wire.JSON(data)
	return nil
}

// An AccountInfo says whose account the agent uses. What is not known is empty.
type AccountInfo struct {
	Email            string `json:"email"`
	Organization     string `json:"organization"`
	SubscriptionType string `json:"subscriptionType"`
	// TokenSource and APIKeySource say where the credentials come from, never what they are.
	TokenSource  string            `json:"tokenSource"`
	APIKeySource wire.APIKeySource `json:"apiKeySource"`
	APIProvider  APIProvider       `json:"apiProvider"`
}

// An APIProvider is whose API the agent calls.
type APIProvider string

// The providers that the agent knows.
const (
	APIProviderFirstParty           APIProvider = "firstParty"
	APIProviderBedrock              APIProvider = "bedrock"
	APIProviderVertex               APIProvider = "vertex"
	APIProviderFoundry              APIProvider = "foundry"
	APIProviderAnthropicAWS         APIProvider = "anthropicAws"
	APIProviderAnthropicGoogleCloud APIProvider = "anthropicGoogleCloud"
	APIProviderMantle               APIProvider = "mantle"
	APIProviderGateway              APIProvider = "gateway"
)

// An AuthConflict says where two credentials come from of which the agent can use one.
type AuthConflict struct {
	TokenSource  string `json:"token_source"`
	APIKeySource string `json:"api_key_source"`
}

// An AgentInfo describes a subagent that the agent can start.
type AgentInfo struct {
	Name string `json:"name"`
	// Description says when to use it.
	Description string `json:"description"`
	// Model is an alias, an ID, or "inherit" for the model of the session. Empty leaves it to the agent.
	Model string `json:"model"`
}

// A ModelInfo describes a model that a session can use.
type ModelInfo struct {
	// Value is what [Session.SetModel] takes, often an alias, and ResolvedModel the ID that it stands for.
	Value         string `json:"value"`
	ResolvedModel string `json:"resolvedModel"`
	DisplayName   string `json:"displayName"`
	Description   string `json:"description"`
	// Disabled is true for a model that can be seen, and not used. The description says why.
	Disabled bool `json:"disabled"`

	SupportsEffort           bool          `json:"supportsEffort"`
	SupportedEffortLevels    []wire.Effort `json:"supportedEffortLevels"`
	SupportsAdaptiveThinking bool          `json:"supportsAdaptiveThinking"`
	SupportsFastMode         bool          `json:"supportsFastMode"`
	SupportsAutoMode         bool          `json:"supportsAutoMode"`
	// SupportsThinkingOff is nil if the agent does not say.
	SupportsThinkingOff *bool `json:"supportsThinkingOff"`
}

// Models returns the models that the session can use.
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

// BinaryVersion returns the version of the agent binary.
func (s *Session) BinaryVersion(ctx context.Context) (*BinaryVersion, error) {
	return call[BinaryVersion](ctx, s, "get_binary_version", nil)
}

// A BinaryVersion is the version of an agent binary.
type BinaryVersion struct {
	Version string `json:"version"`
	// BuildTime is zero if the agent does not say.
	BuildTime time.Time `json:"buildTime"`
}

// Status returns what the agent's own status screen shows, as texts for people.
func (s *Session) Status(ctx context.Context) ([]StatusSection, error) {
	answer, err := call[statusAnswer](ctx, s, "get_status", nil)
	if err != nil {
		return nil, err
	}
	return answer.Sections, nil
}

type statusAnswer struct {
	Sections []StatusSection `json:"sections"`
}

// A StatusSection is a part of the status screen.
type StatusSection struct {
	Title string      `json:"title"`
	Rows  []StatusRow `json:"rows"`
}

// A StatusRow is a line of the status screen.
type StatusRow struct {
	// Label is empty for a value that is a sentence of its own.
	Label string `json:"label"`
	Value string `json:"value"`
}
