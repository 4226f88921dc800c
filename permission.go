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

// A CanUseToolFunc decides whether the agent may use a tool. The agent asks only where its rules and its permission
// mode leave the decision open, and waits for the answer as long as it takes.
//
// The result is an [*AllowResult] or a [*DenyResult]; see [Allow] and [Deny]. An error denies, and its text reaches
// the model. Nil without an error means that somebody else answers, such as another host of the same session:
// nothing is sent, and the agent goes on waiting.
//
// Calls run at once when the agent uses several tools at once. The context ends when the agent no longer needs the
// answer or dies; what is returned after that is dropped.
type CanUseToolFunc func(ctx context.Context, req *PermissionRequest) (PermissionResult, error)

// A PermissionRequest is the agent's question whether it may use a tool. Texts in it may come from the model, from a
// plugin or from an MCP server: escape them before they reach a terminal or a page.
type PermissionRequest struct {
	raw wire.JSON

	// RequestID is the id of the control request.
	RequestID string `json:"-"`

	ToolName string `json:"tool_name"`
	// Input is what the tool is called with, an object; see DecodeInput.
	Input     wire.JSON `json:"input"`
	ToolUseID string    `json:"tool_use_id"`
	// AgentID is the subagent that wants to use the tool, or empty.
	AgentID string `json:"agent_id"`
	// MCPServer is where the tool comes from, or nil for one that is not of MCP.
	MCPServer *MCPOrigin `json:"mcp_server"`
	// Plugin is the plugin that started the run, nil if none did, and empty if its name cannot be told.
	Plugin *string `json:"plugin"`

	// Title, DisplayName and Description are for a person to read. Each may be empty.
	Title       string `json:"title"`
	DisplayName string `json:"display_name"`
	Description string `json:"description"`

	// Suggestions are changes of the rules that would spare the next such question: put those that the user agrees to
	// into [AllowResult.UpdatedPermissions].
	Suggestions []PermissionUpdate `json:"permission_suggestions"`
	// SuppressAlwaysAllowRule says not to offer "always allow", DefaultToNo not to preselect "yes", and
	// RequiresUserInteraction that yes and no won't do: the answer is in an updated input.
	SuppressAlwaysAllowRule bool `json:"suppress_always_allow_rule"`
	DefaultToNo             bool `json:"default_to_no"`
	RequiresUserInteraction bool `json:"requires_user_interaction"`

	// BlockedPath is the path that the question is about, or empty.
	BlockedPath string `json:"blocked_path"`
	// DecisionReason says why the agent asks, DecisionReasonType which kind of reason it is, such as rule, mode, hook,
	// workingDir, safetyCheck or classifier, and DecisionReasonCode which one of a few. Each may be empty.
	DecisionReason     string `json:"decision_reason"`
	DecisionReasonType string `json:"decision_reason_type"`
	DecisionReasonCode string `json:"decision_reason_code"`
	// ClassifierApprovable is nil unless a safety check asks; false means that a person has to answer.
	ClassifierApprovable *bool `json:"classifier_approvable"`
	// MatchedAskRule is the user's rule that forces this question, or nil.
	MatchedAskRule *struct {
		// Source is where the rule is kept, such as userSettings.
		Source string `json:"source"`
		// ToolName is the tool of the rule.
		ToolName string `json:"tool_name"`
		// RuleContent narrows the rule down, or is empty.
		RuleContent string `json:"rule_content"`
	} `json:"matched_ask_rule"`
	// ServerPolicyAskOnly says whether nothing but a default asks; nil if the agent does not say.
	ServerPolicyAskOnly *bool `json:"server_policy_ask_only"`

	// ServerPrompt names a question that the session service has worded, or is empty.
	ServerPrompt string `json:"server_prompt"`
	// ComputerFolder is the directory that such a question is about, or nil.
	ComputerFolder *struct {
		// Path is the directory.
		Path string `json:"path"`
		// ComputerName is the user's computer that has the directory.
		ComputerName string `json:"computer_name"`
	} `json:"computer_folder"`
}

// An MCPOrigin says which MCP server a tool comes from. Trust its source, never its name.
type MCPOrigin struct {
	Name string `json:"name"`
	// Source is who configured the server, such as sdk, plugin, user, project, local, managed or claudeai.
	Source string `json:"source"`
}

// DecodeInput decodes the tool's input into v, as encoding/json does.
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
		return "", errors.New("clew: can_use_tool without tool_name or input")
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

// permitNothing decides where nobody else does. The model reads its reason.
func permitNothing(context.Context, *PermissionRequest) (PermissionResult, error) {
	return Deny("Nobody is here to permit this."), nil
}

// A PermissionBehavior is what becomes of the use of a tool.
type PermissionBehavior string

// The behaviours that the agent knows.
const (
	PermissionBehaviorAllow PermissionBehavior = "allow"
	PermissionBehaviorDeny  PermissionBehavior = "deny"
	PermissionBehaviorAsk   PermissionBehavior = "ask"
	// PermissionBehaviorDefer ends the turn with the call still open. Only a [PreToolUseOutput] can say so.
	PermissionBehaviorDefer PermissionBehavior = "defer"
)

// A PermissionClassification tells the agent what kind of decision was made, for its records.
type PermissionClassification string

// The classifications that the agent knows.
const (
	PermissionClassificationTemporary PermissionClassification = "user_temporary"
	PermissionClassificationPermanent PermissionClassification = "user_permanent"
	PermissionClassificationReject    PermissionClassification = "user_reject"
)

// A PermissionResult is the answer to a [PermissionRequest]: an [*AllowResult] or a [*DenyResult].
type PermissionResult interface {
	// answer is what the response says; req may be the zero request.
	answer(req *PermissionRequest) (any, error)
}

// An AllowResult lets the tool run.
type AllowResult struct {
	// UpdatedInput is what the tool is called with instead: anything that marshals to a JSON object. Nil leaves the
	// input as it is.
	UpdatedInput any `json:"updatedInput,omitempty"`
	// UpdatedPermissions are changes of the rules, such as suggestions of the request.
	UpdatedPermissions []PermissionUpdate       `json:"updatedPermissions,omitempty"`
	Classification     PermissionClassification `json:"decisionClassification,omitempty"`
}

// Allow lets the tool run with the input that it has.
func Allow() *AllowResult { return new(AllowResult) }

// AllowWith lets the tool run with another input: anything that marshals to a JSON object.
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

// encodeInput writes an input of a tool, which has to be a JSON object. Nil stays nil.
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

// A DenyResult keeps the tool from running.
type DenyResult struct {
	// Message tells the model why. Empty means a text that says no more than that.
	Message string `json:"message"`
	// Interrupt ends the turn as well. The model then does not see the message.
	Interrupt      bool                     `json:"interrupt,omitempty"`
	Classification PermissionClassification `json:"decisionClassification,omitempty"`
}

// Deny keeps the tool from running, and tells the model why.
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

// A PermissionUpdate is one change of the agent's permissions. Which fields count depends on its type.
//
// One that came from the agent goes back as it came, with all that this package does not know of it; where a field was
// changed, only that field is written anew.
type PermissionUpdate struct {
	raw wire.JSON

	Type PermissionUpdateType `json:"type"`
	// Rules and Behavior are for addRules, replaceRules and removeRules.
	Rules    []PermissionRule   `json:"rules,omitempty"`
	Behavior PermissionBehavior `json:"behavior,omitempty"`
	// Mode is for setMode.
	Mode wire.PermissionMode `json:"mode,omitempty"`
	// Directories are for addDirectories and removeDirectories.
	Directories []string `json:"directories,omitempty"`
	// Destination is where the change is kept.
	Destination PermissionDestination `json:"destination,omitempty"`
}

// A PermissionUpdateType says what a [PermissionUpdate] changes.
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

// A PermissionDestination is where a change of the permissions is kept.
type PermissionDestination string

// The destinations that the agent knows. Those that end in Settings are files, and outlive the session.
const (
	PermissionDestinationUserSettings    PermissionDestination = "userSettings"
	PermissionDestinationProjectSettings PermissionDestination = "projectSettings"
	PermissionDestinationLocalSettings   PermissionDestination = "localSettings"
	PermissionDestinationSession         PermissionDestination = "session"
	PermissionDestinationCLIArg          PermissionDestination = "cliArg"
)

// A PermissionRule names uses of a tool.
type PermissionRule struct {
	ToolName string `json:"toolName"`
	// RuleContent says which uses, such as "npm test *" for Bash. Empty means all.
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

// AddDirectories returns a change that adds folders in which the agent may work.
func AddDirectories(to PermissionDestination, directories ...string) PermissionUpdate {
	return PermissionUpdate{Type: PermissionUpdateAddDirectories, Directories: directories, Destination: to}
}

// knownUpdate is a PermissionUpdate without its methods, and so without what its fields don't say.
type knownUpdate PermissionUpdate

// UnmarshalJSON reads u. A field that does not fit its type is zero: it belongs to a kind of change that this package
// does not know, and is kept all the same.
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

// MarshalJSON writes u, with the fields that this package does not know.
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

// overlay returns the object raw with what differs between two readings of it, then and now.
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
