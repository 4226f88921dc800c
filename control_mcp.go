package clew

import (
	"context"
	"time"

	"github.com/clewdev/clew/wire"
)

// MCPStatus returns the MCP servers of the session, and how their connections stand.
func (s *Session) MCPStatus(ctx context.Context) ([]MCPServerStatus, error) {
	answer, err := call[mcpStatusAnswer](ctx, s, "mcp_status", nil)
	if err != nil {
		return nil, err
	}
	return answer.Servers, nil
}

// LiveMCPStatus is [Session.MCPStatus] with liveReply set: somebody waits for the answer. Claude Code 2.1.325 answers
// both alike.
func (s *Session) LiveMCPStatus(ctx context.Context) ([]MCPServerStatus, error) {
	answer, err := call[mcpStatusAnswer](ctx, s, "mcp_status", mcpStatusRequest{LiveReply: true})
	if err != nil {
		return nil, err
	}
	return answer.Servers, nil
}

type mcpStatusRequest struct {
	LiveReply bool `json:"liveReply"`
}

type mcpStatusAnswer struct {
	Servers []MCPServerStatus `json:"mcpServers"`
}

// An MCPServerStatus says how the connection to an MCP server stands.
type MCPServerStatus struct {
	// Name is the server's name as configured.
	Name  string   `json:"name"`
	State MCPState `json:"status"`
	// Error says why the connection failed, and ErrorCode what can be done about it, such as APPROVAL_REQUIRED.
	Error     string `json:"error"`
	ErrorCode string `json:"error_code"`
	// ServerInfo and Tools are there when the server is connected.
	ServerInfo *MCPServerInfo  `json:"serverInfo"`
	Tools      []MCPServerTool `json:"tools"`
	// Capabilities is an object of the server's own, or empty.
	Capabilities wire.JSON `json:"capabilities"`
	// Config is the configuration of the server, with its secrets.
	Config wire.JSON `json:"config"`
	// Transport is stdio, sse, http, ws, sdk for a server in the host's process, or a newer one.
	Transport string `json:"transport"`
	// Scope is where the server is configured, such as user, project or dynamic.
	Scope string `json:"scope"`
	// Source is who brings the server: sdk, plugin or a scope. Trust a server by it, not by its name.
	Source string `json:"source"`
}

// An MCPState says how the connection to an MCP server stands.
type MCPState string

// The states that the agent knows.
const (
	MCPStateConnected MCPState = "connected"
	MCPStateFailed    MCPState = "failed"
	MCPStateNeedsAuth MCPState = "needs-auth"
	MCPStatePending   MCPState = "pending"
	MCPStateDisabled  MCPState = "disabled"
)

// An MCPServerInfo is what an MCP server calls itself.
type MCPServerInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// An MCPServerTool is a tool of an MCP server.
type MCPServerTool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Annotations are what the server says of the tool: hints, not promises.
	Annotations MCPToolAnnotations `json:"annotations"`
	// Meta is an object that says how to show the tool's user interface, or empty.
	Meta wire.JSON `json:"_meta"`
}

// MCPToolAnnotations are what a server says of its tool. Nil means that it does not say.
type MCPToolAnnotations struct {
	ReadOnly    *bool `json:"readOnly"`
	Destructive *bool `json:"destructive"`
	OpenWorld   *bool `json:"openWorld"`
}

// SetMCPServers gives the session these MCP servers in place of those that it got from its host so far; servers of
// settings and plugins stay. It waits until the agent has tried to connect to the new ones. Nil means none. The servers
// are copied, and checked as those of [Options.MCPServers]: the error is an [*OptionsError] then. The connections of
// in-process servers that are dropped or replaced are closed at the end, and with them the contexts of their calls. One
// call of SetMCPServers waits for another.
func (s *Session) SetMCPServers(ctx context.Context, servers map[string]MCPServer) (*MCPServersChange, error) {
	opts := (&Options{MCPServers: servers}).clone()
	if err := opts.checkMCPServers(); err != nil {
		return nil, err
	}
	if opts.MCPServers == nil {
		opts.MCPServers = map[string]MCPServer{} // the agent refuses null
	}
	own, inside := s.callback.mcp, opts.inProcessServers()
	if err := own.take(ctx); err != nil {
		return nil, err
	}
	defer own.release()
	own.add(inside) // for the agent to connect to
	change, err := call[MCPServersChange](ctx, s, "mcp_set_servers", setMCPServersRequest{opts.MCPServers})
	if err != nil {
		return nil, err
	}
	replaced := own.set(inside)
	defer own.dismiss() // at last: the context may be that of a call
	return change, s.announce(ctx, replaced)
}

// announce tells the agent of servers that have taken the place of others. It takes no notice of them by itself.
func (s *Session) announce(ctx context.Context, servers []string) error {
	for _, name := range servers {
		if err := s.SendMCPMessage(ctx, name, mcpToolsChanged); err != nil {
			return err
		}
	}
	return nil
}

type setMCPServersRequest struct {
	Servers map[string]MCPServer `json:"servers"`
}

// An MCPServersChange says what [Session.SetMCPServers] has changed, by the names of servers.
type MCPServersChange struct {
	Added   []string `json:"added"`
	Removed []string `json:"removed"`
	// Errors say why servers, also such that were added, are not connected.
	Errors map[string]string `json:"errors"`
}

// ReconnectMCP connects to an MCP server anew, and waits until it has. The error is a [*ControlError] if that fails,
// and if there is no such server.
func (s *Session) ReconnectMCP(ctx context.Context, server string) error {
	return s.Control(ctx, "mcp_reconnect", mcpServerRequest{server}, nil)
}

type mcpServerRequest struct {
	ServerName string `json:"serverName"`
}

// ToggleMCP turns an MCP server on or off. Turning one on waits for the connection, as [Session.ReconnectMCP] does.
func (s *Session) ToggleMCP(ctx context.Context, server string, enabled bool) error {
	return s.Control(ctx, "mcp_toggle", toggleMCPRequest{server, enabled}, nil)
}

type toggleMCPRequest struct {
	ServerName string `json:"serverName"`
	Enabled    bool   `json:"enabled"`
}

// SetMCPPermissionMode has the agent decide about the tools of one MCP server as in another permission mode, where its
// own would allow them: [wire.PermissionModeDefault] or [wire.PermissionModeAuto]. It refuses others. Empty ends that.
// The warning is empty, or says why it may have no effect.
func (s *Session) SetMCPPermissionMode(ctx context.Context, server string, mode wire.PermissionMode) (
	warning string, err error,
) {
	req := mcpPermissionModeRequest{ServerName: server}
	if mode != "" {
		req.Mode = &mode
	}
	answer, err := call[mcpPermissionModeAnswer](ctx, s, "set_mcp_permission_mode_override", req)
	if err != nil {
		return "", err
	}
	return answer.Warning, nil
}

type mcpPermissionModeRequest struct {
	ServerName string               `json:"serverName"`
	Mode       *wire.PermissionMode `json:"mode"`
}

type mcpPermissionModeAnswer struct {
	Warning string `json:"warning"`
}

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
