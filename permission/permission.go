// Package permission defines the requests of an agent to use a tool, and the answers to them.
//
// A [Func] is the option CanUseTool of an agent. It gets a [Request] and returns [Allow] or [Deny].
// A result can also hold an [Update], which changes the rules by which the agent decides without a
// request.
package permission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/clewdev/clew/internal/rawjson"
	"github.com/clewdev/clew/wire"
)

// A Func decides whether the agent may use a tool. The agent asks only if no rule and no permission
// mode decides, and waits for the answer without a limit.
//
// The result is an [*AllowResult] or a [*DenyResult]: see [Allow] and [Deny]. An error denies, and
// its text is sent to the model. Nil without an error means that another host of the same session
// answers: nothing is sent, and the agent keeps waiting.
//
// Calls run concurrently if the agent uses several tools at once. The context ends when the agent
// no longer needs the answer or exits; a result after that is ignored.
type Func func(ctx context.Context, req *Request) (Result, error)

// A Request is the agent's question whether it may use a tool. Its texts may come from the model, a
// plugin or an MCP server: escape them before they reach a terminal or a page.
type Request struct {
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
	Suggestions []Update `json:"permission_suggestions"`
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
func (r *Request) DecodeInput(v any) error {
	if err := r.Input.Decode(v); err != nil {
		return fmt.Errorf("clew: input of %s: %w", r.ToolName, err)
	}
	return nil
}

// Raw returns the body of the control request, with the fields that this package does not know.
func (r *Request) Raw() wire.JSON { return r.raw }

// Decode decodes the body of a can_use_tool request. A field that does not fit its type is zero,
// and misfit, which may be nil, is called for it. The error is about a request without a tool.
func Decode(body wire.JSON, misfit func(field string, err error)) (*Request, error) {
	req := &Request{raw: body}
	loose := rawjson.Loose{What: "can_use_tool", Value: req, Required: []string{"tool_name"}, Report: misfit}
	if err := loose.Decode(body); err != nil {
		return nil, err
	}
	if req.ToolName == "" || rawjson.Absent(req.Input) {
		return nil, errors.New("clew: the can_use_tool request has no tool_name or no input")
	}
	return req, nil
}

// A Behavior is the outcome when the agent wants to use a tool.
type Behavior string

// The behaviors that the agent knows.
const (
	// BehaviorAllow runs the tool.
	BehaviorAllow Behavior = "allow"
	// BehaviorDeny does not run the tool.
	BehaviorDeny Behavior = "deny"
	// BehaviorAsk asks the user.
	BehaviorAsk Behavior = "ask"
	// BehaviorDefer ends the turn with the tool call still open. Only a hook at PreToolUse can
	// return it.
	BehaviorDefer Behavior = "defer"
)

// A Classification is the kind of a decision, for the agent's records.
type Classification string

// The classifications that the agent knows.
const (
	// ClassificationTemporary is a permission for now.
	ClassificationTemporary Classification = "user_temporary"
	// ClassificationPermanent is a permission from now on.
	ClassificationPermanent Classification = "user_permanent"
	// ClassificationReject is a denial.
	ClassificationReject Classification = "user_reject"
)

// A Result is the answer to a [Request]: an [*AllowResult] or a [*DenyResult].
type Result interface {
	// MarshalJSON encodes the result in the form that the agent reads.
	json.Marshaler

	result()
}

// An AllowResult lets the tool run.
type AllowResult struct {
	// UpdatedInput replaces the tool's input: anything that marshals to a JSON object. Nil leaves
	// the input as it is.
	UpdatedInput any `json:"updatedInput,omitempty"`
	// UpdatedPermissions are changes of the rules, such as suggestions of the request.
	UpdatedPermissions []Update `json:"updatedPermissions,omitempty"`
	// Classification is the kind of the decision. It may be empty.
	Classification Classification `json:"decisionClassification,omitempty"`
}

// Allow returns a result that lets the tool run.
func Allow() *AllowResult { return new(AllowResult) }

// AllowWith returns a result that lets the tool run with another input: anything that marshals to a
// JSON object.
func AllowWith(input any) *AllowResult { return &AllowResult{UpdatedInput: input} }

// MarshalJSON encodes r in the form that the agent reads.
func (r *AllowResult) MarshalJSON() ([]byte, error) {
	type fields AllowResult // without this method
	result := fields(*r)
	input, err := rawjson.EncodeInput(r.UpdatedInput)
	if err != nil {
		return nil, err
	}
	result.UpdatedInput = input
	object, err := rawjson.Encode(struct {
		Behavior Behavior `json:"behavior"`
		fields
	}{BehaviorAllow, result})
	return []byte(object), err
}

func (*AllowResult) result() {}

// A DenyResult does not let the tool run.
type DenyResult struct {
	// Message says to the model why. Empty means a general text.
	Message string `json:"message"`
	// Interrupt also ends the turn. The model does not see the message then.
	Interrupt bool `json:"interrupt,omitempty"`
	// Classification is the kind of the decision. It may be empty.
	Classification Classification `json:"decisionClassification,omitempty"`
}

// Deny returns a result that does not let the tool run. The message says to the model why.
func Deny(message string) *DenyResult { return &DenyResult{Message: message} }

// MarshalJSON encodes r in the form that the agent reads.
func (r *DenyResult) MarshalJSON() ([]byte, error) {
	type fields DenyResult // without this method
	result := fields(*r)
	if result.Message == "" {
		result.Message = "This use of the tool was denied." // the API refuses a failure without a text
	}
	object, err := rawjson.Encode(struct {
		Behavior Behavior `json:"behavior"`
		fields
	}{BehaviorDeny, result})
	return []byte(object), err
}

func (*DenyResult) result() {}
