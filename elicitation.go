package clew

import (
	"context"
	"errors"

	"github.com/clewdev/clew/wire"
)

// An ElicitationFunc asks the user for what an MCP server wants to know, or to visit a page. Without one, every such
// request is declined.
//
// Nil without an error means that somebody else answers: nothing is sent, and the server goes on waiting. On an error
// the agent tells the server that the request was cancelled. Calls may run at once. The context ends when the agent no
// longer needs the answer or dies.
type ElicitationFunc func(ctx context.Context, req *ElicitationRequest) (*ElicitationResult, error)

// An ElicitationRequest is an MCP server's question to the user. All texts in it are the server's own: escape them
// before they reach a terminal or a page.
type ElicitationRequest struct {
	raw wire.JSON

	MCPServerName string `json:"mcp_server_name"`
	Message       string `json:"message"`
	// Mode is empty where the agent does not say; the request is a form then.
	Mode ElicitationMode `json:"mode"`
	// URL is the page to visit in [ElicitationModeURL].
	URL           string `json:"url"`
	ElicitationID string `json:"elicitation_id"`
	// RequestedSchema is the JSON schema of the form, and PropertyOrder the order of its fields.
	RequestedSchema wire.JSON `json:"requested_schema"`
	PropertyOrder   []string  `json:"property_order"`

	// Title, DisplayName and Description are for a person to read. Each may be empty.
	Title       string `json:"title"`
	DisplayName string `json:"display_name"`
	Description string `json:"description"`
}

// Raw returns the body of the control request, with the fields that this package does not know.
func (r *ElicitationRequest) Raw() wire.JSON { return r.raw }

// An ElicitationMode says what the user is to do.
type ElicitationMode string

// The modes that the agent knows.
const (
	ElicitationModeForm ElicitationMode = "form"
	ElicitationModeURL  ElicitationMode = "url"
)

// An ElicitationResult is the answer to an [ElicitationRequest].
type ElicitationResult struct {
	// Action must be set.
	Action ElicitationAction `json:"action"`
	// Content is the form as filled in, anything that marshals to a JSON object, and nil unless the action is accept.
	Content any `json:"content,omitempty"`
}

// An ElicitationAction is what the user does with a request.
type ElicitationAction string

// The actions that the agent knows.
const (
	ElicitationAccept  ElicitationAction = "accept"
	ElicitationDecline ElicitationAction = "decline"
	// ElicitationCancel closes the request without a decision.
	ElicitationCancel ElicitationAction = "cancel"
)

func (c *callbacks) elicitation(ctx context.Context, body wire.JSON) (wire.JSON, error) {
	req := &ElicitationRequest{raw: body}
	if err := decode("elicitation", body, req); err != nil {
		return "", err
	}
	if c.options.OnElicitation == nil {
		return encode(&ElicitationResult{Action: ElicitationDecline})
	}
	return c.guard(ctx, "OnElicitation", func() (any, error) {
		result, err := c.options.OnElicitation(ctx, req)
		switch {
		case err != nil:
			return nil, err
		case result == nil:
			return nil, errNoAnswer
		case result.Action == "":
			return nil, errors.New("clew: OnElicitation returned a result without an action")
		}
		return result, nil
	})
}
