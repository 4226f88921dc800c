package clew

import "github.com/clewdev/clew/wire"

// An ElicitationInput tells about an MCP server's question to the user.
type ElicitationInput struct {
	HookBase
	MCPServerName string `json:"mcp_server_name"`
	Message       string `json:"message"`
	// Mode is empty where the agent does not say; the request is a form then.
	Mode          ElicitationMode `json:"mode"`
	URL           string          `json:"url"`
	ElicitationID string          `json:"elicitation_id"`
	// RequestedSchema is the JSON schema of the form.
	RequestedSchema wire.JSON `json:"requested_schema"`
}

// An ElicitationResultInput tells about the user's answer to an MCP server.
type ElicitationResultInput struct {
	HookBase
	MCPServerName string            `json:"mcp_server_name"`
	ElicitationID string            `json:"elicitation_id"`
	Mode          ElicitationMode   `json:"mode"`
	Action        ElicitationAction `json:"action"`
	// Content is the form as filled in, or empty.
	Content wire.JSON `json:"content"`
}
