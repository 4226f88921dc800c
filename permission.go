package clew

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/clewdev/clew/internal/rawjson"
	"github.com/clewdev/clew/wire"
)

// A CanUseToolFunc decides whether the agent may use a tool. The agent asks only if no rule and no
// permission mode decides, and waits for the answer without a limit.
//
// The result is an [*AllowResult] or a [*DenyResult]: see [Allow] and [Deny]. An error denies, and
// its text is sent to the model. Nil without an error means that another host of the same session
// answers: nothing is sent, and the agent keeps waiting.
//
// Calls run concurrently if the agent uses several tools at once. The context ends when the agent
// no longer needs the answer or exits; a result after that is ignored.
type CanUseToolFunc func(ctx context.Context, req *PermissionRequest) (PermissionResult, error)

// A PermissionRequest is the agent's question whether it may use a tool. Its texts may come from
// the model, a plugin or an MCP server: escape them before they reach a terminal or a page.
type PermissionRequest struct {
	raw wire.JSON

	// RequestID is the ID of the control request.
	RequestID string `json:"-"`

	// ToolName is the name of the tool, such as "Bash".
	ToolName string `json:"tool_name"`
	// Input is the tool's input, an object: see DecodeInput.
	Input wire.JSON `json:"input"`
	// ToolUseID is the ID of the tool call.
	ToolUseID string `json:"tool_use_id"`
	// AgentID is the subagent that wants to use the tool, or empty.
	AgentID string `json:"agent_id"`
	// MCPServer is the MCP server of the tool, or nil for another tool.
	MCPServer *MCPOrigin `json:"mcp_server"`
	// Plugin is the plugin that started the run, nil if none did, and empty if its name is unknown.
	Plugin *string `json:"plugin"`

	// Title is the question for a person, or empty.
	Title string `json:"title"`
	// DisplayName is the name of the tool for a person, or empty.
	DisplayName string `json:"display_name"`
	// Description explains the question to a person, or is empty.
	Description string `json:"description"`

	// Suggestions are changes of the rules that would avoid such questions. Put the changes that
	// the user agrees to into [AllowResult.UpdatedPermissions].
	Suggestions []PermissionUpdate `json:"permission_suggestions"`
	// SuppressAlwaysAllowRule means that "always allow" should not be offered.
	SuppressAlwaysAllowRule bool `json:"suppress_always_allow_rule"`
	// DefaultToNo means that "yes" should not be preselected.
	DefaultToNo bool `json:"default_to_no"`
	// RequiresUserInteraction means that yes or no is not enough: the answer belongs into an
	// updated input.
	RequiresUserInteraction bool `json:"requires_user_interaction"`

	// BlockedPath is the path that the question is about, or empty.
	BlockedPath string `json:"blocked_path"`
	// DecisionReason explains why the agent asks, or is empty.
	DecisionReason string `json:"decision_reason"`
	// DecisionReasonType is the kind of reason, such as rule, mode, hook, workingDir, safetyCheck
	// or classifier, or empty.
	DecisionReasonType string `json:"decision_reason_type"`
	// DecisionReasonCode is a code for some reasons, such as org_ask_ceiling, or empty.
	DecisionReasonCode string `json:"decision_reason_code"`
	// ClassifierApprovable is nil unless a safety check asks. False means that a person has to
	// answer.
	ClassifierApprovable *bool `json:"classifier_approvable"`
	// MatchedAskRule is the user's rule that forces this question, or nil.
	MatchedAskRule *struct {
		// Source is the origin of the rule, such as userSettings.
		Source string `json:"source"`
		// ToolName is the tool of the rule.
		ToolName string `json:"tool_name"`
		// RuleContent narrows the rule down, or is empty.
		RuleContent string `json:"rule_content"`
	} `json:"matched_ask_rule"`
	// ServerPolicyAskOnly reports whether only a default asks, or nil if the agent does not report
	// it.
	ServerPolicyAskOnly *bool `json:"server_policy_ask_only"`

	// ServerPrompt names a question that the session service worded, or is empty.
	ServerPrompt string `json:"server_prompt"`
	// ComputerFolder is the directory that such a question is about, or nil.
	ComputerFolder *struct {
		// Path is the directory.
		Path string `json:"path"`
		// ComputerName is the user's computer that has the directory.
		ComputerName string `json:"computer_name"`
	} `json:"computer_folder"`
}

// An MCPOrigin is the MCP server that a tool comes from. Decide by its source whether to trust it,
// never by its name.
type MCPOrigin struct {
	// Name is the name of the server.
	Name string `json:"name"`
	// Source is the origin of the server's configuration, such as sdk, plugin, user, project,
	// local, managed or claudeai.
	Source string `json:"source"`
}

// DecodeInput decodes the tool's input into v, as encoding/json does. Package tooluse has types for
// the inputs of the built-in tools, such as tooluse.BashInput, and tooluse.DecodeInput chooses
// among them by ToolName.
func (r *PermissionRequest) DecodeInput(v any) error {
	if err := r.Input.Decode(v); err != nil {
		return fmt.Errorf("clew: input of %s: %w", r.ToolName, err)
	}
	return nil
}

// Raw returns the body of the control request, with the fields that this package does not know.
func (r *PermissionRequest) Raw() wire.JSON { return r.raw }

func (c *callbacks) canUseTool(ctx context.Context, id string, body wire.JSON) (wire.JSON, error) {
	req := &PermissionRequest{raw: body, RequestID: id}
	if err := loosely(c.log, "can_use_tool", req, "tool_name").Decode(body); err != nil {
		return "", err
	}
	if req.ToolName == "" || rawjson.Absent(req.Input) {
		return "", errors.New("clew: the can_use_tool request has no tool_name or no input")
	}
	if req.ToolName == questionTool && c.options.OnQuestion != nil {
		return c.question(ctx, req)
	}
	decide := c.options.CanUseTool
	if decide == nil {
		decide = permitNothing
	}
	return c.guard(ctx, "CanUseTool", func() (any, error) {
		result, err := decide(ctx, req)
		if err != nil {
			return nil, err
		}
		if result == nil {
			return nil, errNoAnswer
		}
		answer, err := result.answer(req)
		return answer, badAnswer("CanUseTool", err)
	})
}

// permitNothing denies every tool, for options without a CanUseTool. The model reads the reason.
func permitNothing(context.Context, *PermissionRequest) (PermissionResult, error) {
	return Deny("No user is present to allow this."), nil
}

// A PermissionBehavior is the outcome when the agent wants to use a tool.
type PermissionBehavior string

// The behaviors that the agent knows.
const (
	// PermissionBehaviorAllow runs the tool.
	PermissionBehaviorAllow PermissionBehavior = "allow"
	// PermissionBehaviorDeny does not run the tool.
	PermissionBehaviorDeny PermissionBehavior = "deny"
	// PermissionBehaviorAsk asks the user.
	PermissionBehaviorAsk PermissionBehavior = "ask"
	// PermissionBehaviorDefer ends the turn with the tool call still open. Only a
	// [PreToolUseOutput] can have it.
	PermissionBehaviorDefer PermissionBehavior = "defer"
)

// A PermissionClassification is the kind of a decision, for the agent's records.
type PermissionClassification string

// The classifications that the agent knows.
const (
	// PermissionClassificationTemporary is a permission for now.
	PermissionClassificationTemporary PermissionClassification = "user_temporary"
	// PermissionClassificationPermanent is a permission from now on.
	PermissionClassificationPermanent PermissionClassification = "user_permanent"
	// PermissionClassificationReject is a denial.
	PermissionClassificationReject PermissionClassification = "user_reject"
)

// A PermissionResult is the answer to a [PermissionRequest]: an [*AllowResult] or a [*DenyResult].
type PermissionResult interface {
	// answer returns the body of the response; req may be the zero request.
	answer(req *PermissionRequest) (any, error)
}

// An AllowResult lets the tool run.
type AllowResult struct {
	// UpdatedInput replaces the tool's input: anything that marshals to a JSON object. Nil leaves
	// the input as it is.
	UpdatedInput any `json:"updatedInput,omitempty"`
	// UpdatedPermissions are changes of the rules, such as suggestions of the request.
	UpdatedPermissions []PermissionUpdate `json:"updatedPermissions,omitempty"`
	// Classification is the kind of the decision. It may be empty.
	Classification PermissionClassification `json:"decisionClassification,omitempty"`
}

// Allow returns a result that lets the tool run.
func Allow() *AllowResult { return new(AllowResult) }

// AllowWith returns a result that lets the tool run with another input: anything that marshals to a
// JSON object.
func AllowWith(input any) *AllowResult { return &AllowResult{UpdatedInput: input} }

func (r *AllowResult) answer(req *PermissionRequest) (any, error) {
	result := *r
	input, err := encodeInput(r.UpdatedInput)
	if err != nil {
		return nil, err
	}
	if result.UpdatedInput = input; input == nil && req.Input != "" {
		result.UpdatedInput = req.Input
	}
	return struct {
		Behavior PermissionBehavior `json:"behavior"`
		AllowResult
		ToolUseID string `json:"toolUseID,omitempty"`
	}{PermissionBehaviorAllow, result, req.ToolUseID}, nil
}

// encodeInput encodes a tool's input, which must be a JSON object. Nil stays nil.
func encodeInput(input any) (any, error) {
	if input == nil {
		return nil, nil
	}
	object, err := rawjson.Encode(input)
	if err == nil && !strings.HasPrefix(string(object), "{") {
		err = errors.New("UpdatedInput is not a JSON object")
	}
	return object, err
}

// A DenyResult does not let the tool run.
type DenyResult struct {
	// Message says to the model why. Empty means a general text.
	Message string `json:"message"`
	// Interrupt also ends the turn. The model does not see the message then.
	Interrupt bool `json:"interrupt,omitempty"`
	// Classification is the kind of the decision. It may be empty.
	Classification PermissionClassification `json:"decisionClassification,omitempty"`
}

// Deny returns a result that does not let the tool run. The message says to the model why.
func Deny(message string) *DenyResult { return &DenyResult{Message: message} }

func (r *DenyResult) answer(req *PermissionRequest) (any, error) {
	result := *r
	if result.Message == "" {
		result.Message = "This use of the tool was denied." // the API refuses a failure without a text
	}
	return struct {
		Behavior PermissionBehavior `json:"behavior"`
		DenyResult
		ToolUseID string `json:"toolUseID,omitempty"`
	}{PermissionBehaviorDeny, result, req.ToolUseID}, nil
}

// A PermissionUpdate is one change of the agent's permissions. Its type determines the fields it
// uses.
//
// An update that comes from the agent keeps the fields that this package does not know, and goes
// back to the agent unchanged, except for fields that the caller changed.
type PermissionUpdate struct {
	raw wire.JSON

	// Type is the kind of change.
	Type PermissionUpdateType `json:"type"`
	// Rules are for addRules, replaceRules and removeRules.
	Rules []PermissionRule `json:"rules,omitempty"`
	// Behavior is the behavior of the rules.
	Behavior PermissionBehavior `json:"behavior,omitempty"`
	// Mode is for setMode.
	Mode wire.PermissionMode `json:"mode,omitempty"`
	// Directories are for addDirectories and removeDirectories.
	Directories []string `json:"directories,omitempty"`
	// Destination is the place where the change is kept.
	Destination PermissionDestination `json:"destination,omitempty"`
}

// A PermissionUpdateType is the kind of a [PermissionUpdate].
type PermissionUpdateType string

// The changes that the agent knows.
const (
	PermissionUpdateAddRules          PermissionUpdateType = "addRules"
	PermissionUpdateReplaceRules      PermissionUpdateType = "replaceRules"
	PermissionUpdateRemoveRules       PermissionUpdateType = "removeRules"
	PermissionUpdateSetMode           PermissionUpdateType = "setMode"
	PermissionUpdateAddDirectories    PermissionUpdateType = "addDirectories"
	PermissionUpdateRemoveDirectories PermissionUpdateType = "removeDirectories"
)

// A PermissionDestination is a place where permission changes are kept.
type PermissionDestination string

// The destinations that the agent knows. Those that end in Settings are files, and stay after the
// session.
const (
	PermissionDestinationUserSettings    PermissionDestination = "userSettings"
	PermissionDestinationProjectSettings PermissionDestination = "projectSettings"
	PermissionDestinationLocalSettings   PermissionDestination = "localSettings"
	PermissionDestinationSession         PermissionDestination = "session"
	PermissionDestinationCLIArg          PermissionDestination = "cliArg"
)

// A PermissionRule names uses of a tool.
type PermissionRule struct {
	// ToolName is the name of the tool.
	ToolName string `json:"toolName"`
	// RuleContent limits the rule to some uses, such as "npm test *" for Bash. Empty means all.
	RuleContent string `json:"ruleContent,omitempty"`
}

// AddRules returns a change that adds rules with the given behavior.
func AddRules(to PermissionDestination, behavior PermissionBehavior, rules ...PermissionRule) PermissionUpdate {
	return PermissionUpdate{Type: PermissionUpdateAddRules, Rules: rules, Behavior: behavior, Destination: to}
}

// SetMode returns a change of the permission mode.
func SetMode(to PermissionDestination, mode wire.PermissionMode) PermissionUpdate {
	return PermissionUpdate{Type: PermissionUpdateSetMode, Mode: mode, Destination: to}
}

// AddDirectories returns a change that adds directories in which the agent may work.
func AddDirectories(to PermissionDestination, directories ...string) PermissionUpdate {
	return PermissionUpdate{Type: PermissionUpdateAddDirectories, Directories: directories, Destination: to}
}

// knownUpdate is a PermissionUpdate without its methods: it encodes only the known fields.
type knownUpdate PermissionUpdate

// UnmarshalJSON decodes u. A field that does not fit its type is zero: it belongs to a kind of
// change that this package does not know. It is kept all the same.
func (u *PermissionUpdate) UnmarshalJSON(data []byte) error {
	var known knownUpdate
	err := json.Unmarshal(data, &known)
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); err != nil && !ok {
		return err
	}
	*u = PermissionUpdate(known)
	u.raw = wire.JSON(data)
	return nil
}

// MarshalJSON encodes u, with the fields that this package does not know.
func (u PermissionUpdate) MarshalJSON() ([]byte, error) {
	now, err := rawjson.Encode(knownUpdate(u))
	if err != nil || u.raw == "" {
		return []byte(now), err
	}
	var before PermissionUpdate
	if err := u.raw.Decode(&before); err != nil {
		return nil, err
	}
	then, err := rawjson.Encode(knownUpdate(before))
	if err != nil || then == now {
		return []byte(u.raw), err
	}
	edited, err := overlay(u.raw, then, now)
	return []byte(edited), err
}

// overlay returns the object raw with the fields that differ between then, which is raw as it was
// decoded, and now.
func overlay(raw, then, now wire.JSON) (wire.JSON, error) {
	var all, old, edited map[string]wire.JSON
	if err := errors.Join(raw.Decode(&all), then.Decode(&old), now.Decode(&edited)); err != nil {
		return "", err
	}
	for name, value := range all {
		if old[name] == edited[name] {
			edited[name] = value
		}
	}
	return rawjson.Encode(edited)
}
