package clew

import (
	"context"
	"time"

	"github.com/clewdev/clew/wire"
)

// CallMCP calls a tool of an MCP server, without the model. It waits for the result, and ends the call with ctx, whose
// deadline becomes the call's own within one second and ten minutes; without one the agent waits two minutes. The error
// is a [*ControlError] when there is no such tool, when its server is not connected or in this process, and when the
// tool fails.
func (s *Session) CallMCP(ctx context.Context, req *MCPCall) (*MCPCallResult, error) {
	if req == nil {
		req = &MCPCall{} // which the agent refuses
	}
	result, err := call[MCPCallResult](ctx, s, "mcp_call", newMCPCallRequest(ctx, req))
	if err != nil {
		return nil, err
	}
	if staging := result.Staging; staging != nil && !staging.OK {
		return nil, &ControlError{Subtype: "mcp_call", Message: staging.Detail, Code: staging.ErrorCode}
	}
	return result, nil
}

type mcpCallRequest struct {
	*MCPCall
	TimeoutMS int64 `json:"timeout_ms,omitempty"`
}

func newMCPCallRequest(ctx context.Context, req *MCPCall) mcpCallRequest {
	deadline, ok := ctx.Deadline()
	if !ok {
		return mcpCallRequest{MCPCall: req}
	}
	left := min(max(time.Until(deadline), time.Second), 10*time.Minute)
	return mcpCallRequest{req, left.Milliseconds()}
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
	// ExpiresAt has the agent refuse a call that it gets later. Zero means no such limit. OutputFiles need it.
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	// InputFiles and OutputFiles are files that the tool reads and writes. They lie below a folder that the agent keeps
	// in step with another machine, and without one it refuses them.
	InputFiles  []MCPFile `json:"input_files,omitempty"`
	OutputFiles []MCPFile `json:"output_files,omitempty"`
}

// An MCPFile is a file of a tool call.
type MCPFile struct {
	Name string `json:"name"`
	// LanePath is the absolute path of the file.
	LanePath string `json:"lane_path"`
	// IfMatch is for an output: the version of the file that it may replace. Empty means any.
	IfMatch string `json:"if_match,omitempty"`
}

// An MCPCallResult is what a tool returned. It comes from the server: don't trust it.
type MCPCallResult struct {
	// Content is a string or a list of blocks.
	Content wire.JSON `json:"content"`
	// StructuredContent and Meta are objects, or empty.
	StructuredContent wire.JSON `json:"structuredContent"`
	Meta              wire.JSON `json:"_meta"`
	// Staging is what became of the call's files. It is there for a call with files, an expiry or a deadline.
	Staging *MCPStaging `json:"staging"`
}

// An MCPStaging says what became of the files of a tool call.
type MCPStaging struct {
	// OK is true for what [Session.CallMCP] returns: it makes an error of ErrorCode, such as expired, and Detail.
	OK        bool   `json:"ok"`
	ErrorCode string `json:"error_code"`
	Detail    string `json:"detail"`
	// Outputs and InputsUsed are lists whose elements are not known to this package.
	Outputs    wire.JSON `json:"outputs"`
	InputsUsed wire.JSON `json:"inputs_used"`
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
	return s.Control(ctx, "mcp_message", mcpRequest{server, message}, nil)
}
