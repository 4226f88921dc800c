package clew

import (
	"context"
	"errors"
	"fmt"

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
	// MatchedAskRule is the user's own rule that forces this question, or nil.
	MatchedAskRule *MatchedAskRule `json:"matched_ask_rule"`
	// ServerPolicyAskOnly says whether nothing but a default asks; nil if the agent does not say.
	ServerPolicyAskOnly *bool `json:"server_policy_ask_only"`

	// ServerPrompt names a question that the session service has worded itself, and ComputerFolder is the folder that
	// such a question is about, or nil.
	ServerPrompt   string          `json:"server_prompt"`
	ComputerFolder *ComputerFolder `json:"computer_folder"`
}

// An MCPOrigin says which MCP server a tool comes from. Trust its source, never its name.
type MCPOrigin struct {
	Name string `json:"name"`
	// Source is who configured the server, such as sdk, plugin, user, project, local, managed or claudeai.
	Source string `json:"source"`
}

// A MatchedAskRule is a rule of the user that says to ask.
type MatchedAskRule struct {
	// Source is where the rule is kept.
	Source      string `json:"source"`
	ToolName    string `json:"tool_name"`
	RuleContent string `json:"rule_content"`
}

// A ComputerFolder is a folder on one of the user's computers.
type ComputerFolder struct {
	Path         string `json:"path"`
	ComputerName string `json:"computer_name"`
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
	if err := (looseReader{"can_use_tool", c.log}).decode(body, req, "tool_name"); err != nil {
		return "", err
	}
	if req.ToolName == "" || absent(req.Input) {
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
