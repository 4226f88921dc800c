package clew

import (
	"context"

	"github.com/clewdev/clew/wire"
)

// CallMCP calls a tool of an MCP server, without the model. It waits for the result, and ends the call with ctx. The
// error is a [*ControlError] when there is no such tool, when its server is not connected, and when the tool fails.
func (s *Session) CallMCP(ctx context.Context, req *MCPCall) (*MCPCallResult, error) {
	if req == nil {
		req = &MCPCall{} // which the agent refuses
	}
	return call[MCPCallResult](ctx, s, "mcp_call", req)
}

// An MCPCall is a call of a tool by the host.
type MCPCall struct {
	// Tool is the full name of the tool, mcp__SERVER__TOOL.
	Tool string `json:"tool"`
	// Arguments is anything that marshals to a JSON object. Nil means no arguments.
	Arguments any `json:"arguments,omitempty"`
	// NotForModel leaves the result as the server sent it, up to 10 MB. Otherwise it is what a model would get:
	// shortened, images made smaller.
	NotForModel bool `json:"result_not_for_model,omitempty"`
	// CheckPermissions decides about the call as about one of the model, which can ask [Options.CanUseTool]. Otherwise
	// the call is the host's own, and allowed. An agent without the capability mcp_call_check_permissions_v1 does not
	// check.
	CheckPermissions bool `json:"check_permissions,omitempty"`
}

// An MCPCallResult is what a tool returned. It comes from the server: don't trust it.
type MCPCallResult struct {
	// Content is a string or a list of blocks.
	Content wire.JSON `json:"content"`
	// StructuredContent and Meta are objects, or empty.
	StructuredContent wire.JSON `json:"structuredContent"`
	Meta              wire.JSON `json:"_meta"`
}

// ReadMCPResource reads a user interface of an MCP server, whose URI begins with ui://. The agent refuses other URIs,
// and in-process servers. What it returns comes from the server: show it in a sandbox.
func (s *Session) ReadMCPResource(ctx context.Context, server, uri string) ([]MCPResourceContent, error) {
	answer, err := call[mcpResourceAnswer](ctx, s, "mcp_read_resource", mcpResourceRequest{server, uri})
	if err != nil {
		return nil, err
	}
	return answer.Contents, nil
}

type mcpResourceRequest struct {
	ServerName string `json:"serverName"`
	URI        string `json:"uri"`
}

type mcpResourceAnswer struct {
	Contents []MCPResourceContent `json:"contents"`
}

// An MCPResourceContent is a part of a resource: text, or bytes.
type MCPResourceContent struct {
	URI      string `json:"uri"`
	MIMEType string `json:"mimeType"`
	Text     string `json:"text"`
	Blob     []byte `json:"blob"`
	// Meta is an object, or empty.
	Meta wire.JSON `json:"_meta"`
}

// SendMCPMessage passes a JSON-RPC message of an in-process server on to the agent, such as a notification that its
// tools have changed. The agent accepts messages of servers that it does not know, and ignores them.
func (s *Session) SendMCPMessage(ctx context.Context, server string, message wire.JSON) error {
	return s.Control(ctx, "mcp_message", mcpMessageRequest{server, message}, nil)
}

type mcpMessageRequest struct {
	ServerName string    `json:"server_name"`
	Message    wire.JSON `json:"message"`
}
