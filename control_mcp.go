package clew

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/clewdev/clew/internal/mcphost"
	"github.com/clewdev/clew/internal/pause"
	"github.com/clewdev/clew/wire"
)

// MCPStatus returns the MCP servers of the session and the state of their connections.
func (s *Session) MCPStatus(ctx context.Context) ([]MCPServerStatus, error) {
	answer, err := call[mcpStatusAnswer](ctx, s, "mcp_status", nil)
	if err != nil {
		return nil, err
	}
	return answer.Servers, nil
}

type mcpStatusAnswer struct {
	Servers []MCPServerStatus `json:"mcpServers"`
}

// An MCPServerStatus is an MCP server and the state of its connection.
type MCPServerStatus struct {
	// Name is the server's name as configured.
	Name string `json:"name"`
	// State reports whether the agent is connected to the server.
	State MCPState `json:"status"`
	// Error explains why the connection failed.
	Error string `json:"error"`
	// ErrorCode suggests a remedy for the error, such as APPROVAL_REQUIRED.
	ErrorCode string `json:"error_code"`
	// ServerInfo is the server's description of itself, or nil unless it is connected.
	ServerInfo *MCPServerInfo `json:"serverInfo"`
	// Tools are the tools of a server that is connected.
	Tools []MCPServerTool `json:"tools"`
	// Capabilities is an object that the server sent, or empty.
	Capabilities wire.JSON `json:"capabilities"`
	// Config is the configuration of the server, including its secrets.
	Config wire.JSON `json:"config"`
	// Transport is stdio, sse, http, ws, sdk for a server in the host's process, or a newer one.
	Transport string `json:"transport"`
	// Scope is the level at which the server is configured, such as user, project or dynamic.
	Scope string `json:"scope"`
	// Source is the source of the server: sdk, plugin or a scope. Decide by it whether to trust a
	// server, not by its name.
	Source string `json:"source"`
}

// An MCPState is the state of the connection to an MCP server.
type MCPState string

// The states that the agent knows.
const (
	// MCPStateConnected means that the session can use the server.
	MCPStateConnected MCPState = "connected"
	// MCPStateFailed means that the agent could not connect: see [Session.ReconnectMCP].
	MCPStateFailed MCPState = "failed"
	// MCPStateNeedsAuth means that the user has to log in: see [Session.AuthenticateMCP].
	MCPStateNeedsAuth MCPState = "needs-auth"
	// MCPStatePending means that the agent is connecting.
	MCPStatePending MCPState = "pending"
	// MCPStateDisabled means that the server is turned off: see [Session.SetMCPEnabled].
	MCPStateDisabled MCPState = "disabled"
)

// An MCPServerInfo is an MCP server's description of itself.
type MCPServerInfo struct {
	// Name is the name that the server has for itself.
	Name string `json:"name"`
	// Version is the version of the server.
	Version string `json:"version"`
}

// An MCPServerTool is a tool of an MCP server.
type MCPServerTool struct {
	// Name is the name of the tool, without the server.
	Name string `json:"name"`
	// Description describes the tool.
	Description string `json:"description"`
	// Annotations are the server's declarations about the tool: hints, not promises.
	Annotations MCPToolAnnotations `json:"annotations"`
	// Meta is an object that describes the tool's user interface, or empty.
	Meta wire.JSON `json:"_meta"`
}

// MCPToolAnnotations are a server's declarations about its tool. A nil field is not declared.
type MCPToolAnnotations struct {
	// ReadOnly reports whether the tool changes nothing.
	ReadOnly *bool `json:"readOnly"`
	// Destructive reports whether the tool may delete or overwrite something.
	Destructive *bool `json:"destructive"`
	// OpenWorld reports whether the tool reaches outside systems.
	OpenWorld *bool `json:"openWorld"`
}

// SetMCPServers replaces the MCP servers that the session got from its host so far; nil means none.
// The servers of settings and plugins stay. It waits until the agent tries to connect to the new
// ones, and until the tools of in-process servers can be used. Claude Code before 2.1.326 is asked
// for that, again and again until [Limits.ControlTimeout]; an agent of an unknown version is not, see
// [Options.AgentVersion].
//
// The servers are copied, and checked like [Options.MCPServers]; the error of the check is an
// [*OptionsError]. The connections of in-process servers that are removed or replaced are closed at
// the end, which ends the contexts of their calls. Concurrent calls of SetMCPServers run one after
// another.
func (s *Session) SetMCPServers(ctx context.Context, servers map[string]MCPServer) (*MCPServersChange, error) {
	opts := (&Options{MCPServers: servers}).clone()
	if err := checkMCPServers(opts.MCPServers); err != nil {
		return nil, err
	}
	if opts.MCPServers == nil {
		opts.MCPServers = map[string]MCPServer{} // the agent refuses null
	}
	host, inside := s.callback.mcp, hosted(inProcessServers(opts.MCPServers))
	if err := host.Lock(ctx); err != nil {
		return nil, err
	}
	defer host.Unlock()
	host.Add(inside) // before the agent connects to them
	change, err := call[MCPServersChange](ctx, s, "mcp_set_servers", setMCPServersRequest{opts.MCPServers})
	if err != nil {
		return nil, err
	}
	replaced := host.Replace(inside)
	defer host.CloseRemoved() // last, because the context may be that of a call
	if err := s.announce(ctx, replaced); err != nil {
		return change, err
	}
	return change, s.awaitServers(ctx, inside)
}

// awaitServers waits until the agent no longer is connecting to in-process servers, if it is of a
// version that answers before.
func (s *Session) awaitServers(ctx context.Context, servers map[string]mcphost.Server) error {
	if len(servers) == 0 || !olderThan(s.agent.knownVersion(), addsConnected) {
		return nil
	}
	limit := s.opts.controlTimeout()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("clew: MCP servers not connected within %v: %w",
		limit, context.DeadlineExceeded))
	defer cancel()
	for ctx.Err() == nil {
		status, err := s.MCPStatus(ctx)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(status, func(server MCPServerStatus) bool {
			_, own := servers[server.Name]
			return own && server.State == MCPStatePending
		}) {
			return nil
		}
		if pause.For(ctx, serverInterval) != nil {
			break
		}
	}
	return context.Cause(ctx)
}

// serverInterval is the time between two questions whether servers are connected.
const serverInterval = 20 * time.Millisecond

// announce reports to the agent that servers replaced others. The agent does not notice that.
func (s *Session) announce(ctx context.Context, servers []string) error {
	for _, name := range servers {
		if err := s.SendMCPMessage(ctx, name, mcphost.ToolsChanged); err != nil {
			return err
		}
	}
	return nil
}

type setMCPServersRequest struct {
	Servers map[string]MCPServer `json:"servers"`
}

// An MCPServersChange is the outcome of [Session.SetMCPServers].
type MCPServersChange struct {
	// Added are the names of new servers, including servers that could not be connected.
	Added []string `json:"added"`
	// Removed are the names of servers that are gone.
	Removed []string `json:"removed"`
	// Errors explain why servers are not connected, by their names.
	Errors map[string]string `json:"errors"`
}

// ReconnectMCP connects to an MCP server again and waits for the connection. The error is a
// [*ControlError] if that fails or if there is no such server.
func (s *Session) ReconnectMCP(ctx context.Context, server string) error {
	return s.Control(ctx, "mcp_reconnect", mcpServerRequest{server}, nil)
}

type mcpServerRequest struct {
	ServerName string `json:"serverName"`
}

// SetMCPEnabled turns an MCP server on or off. Turning one on waits for the connection, like
// [Session.ReconnectMCP].
func (s *Session) SetMCPEnabled(ctx context.Context, server string, enabled bool) error {
	return s.Control(ctx, "mcp_toggle", enableMCPRequest{server, enabled}, nil)
}

type enableMCPRequest struct {
	ServerName string `json:"serverName"`
	Enabled    bool   `json:"enabled"`
}

// SetMCPPermissionMode makes the agent decide about the tools of one MCP server as in a stricter
// permission mode than its own: [PermissionModeDefault] or [PermissionModeAuto]. The agent refuses
// other modes. An empty mode ends that. The warning explains why the mode may have no effect, or is
// empty.
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

// CallMCP calls a tool of an MCP server, without the model, and waits for the result. The call ends
// with ctx. Its time limit is the deadline of ctx, but at least a second and at most ten minutes,
// and without a deadline two minutes. The error is a [*ControlError] when there is no such tool,
// when its server is not connected or is in this process, and when the tool fails.
func (s *Session) CallMCP(ctx context.Context, req *MCPCall) (*MCPCallResult, error) {
	if req == nil {
		req = &MCPCall{} // which the agent refuses
	}
	answer, err := call[mcpCallAnswer](ctx, s, "mcp_call", newMCPCallRequest(ctx, req))
	if err != nil {
		return nil, err
	}
	return answer.result()
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

// An MCPCall is the request of [Session.CallMCP].
type MCPCall struct {
	// Tool is the full name of the tool, mcp__SERVER__TOOL.
	Tool string `json:"tool"`
	// Arguments is anything that marshals to a JSON object. Nil means no arguments.
	Arguments any `json:"arguments,omitempty"`
	// NotForModel returns the result as the server sent it, up to 10 MB. By default the result is
	// what a model would get: shortened, with smaller images.
	NotForModel bool `json:"result_not_for_model,omitempty"`
	// CheckPermissions decides about the call like about one of the model, which can ask
	// [Options.CanUseTool]. By default the call is allowed, because the host makes it. An agent
	// without the capability mcp_call_check_permissions_v1 does not check.
	CheckPermissions bool `json:"check_permissions,omitempty"`
	// ExpiresAt makes the agent refuse the call after this time. Zero means no such limit.
	// OutputFiles need it.
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	// InputFiles are files that the tool reads. They must be in a directory that the agent keeps in
	// sync with another machine. An agent without such a directory refuses them.
	InputFiles []MCPFile `json:"input_files,omitempty"`
	// OutputFiles are files that the tool writes, in the same directory.
	OutputFiles []MCPFile `json:"output_files,omitempty"`
}

// An MCPFile is a file of a tool call.
type MCPFile struct {
	// Name is the name of the file for the tool.
	Name string `json:"name"`
	// LanePath is the absolute path of the file.
	LanePath string `json:"lane_path"`
	// IfMatch is, for an output, the version of the file that it may replace. Empty means any.
	IfMatch string `json:"if_match,omitempty"`
}

// An MCPCallResult is a tool's result. It comes from the server: don't trust it.
type MCPCallResult struct {
	// Content is a string or a list of blocks.
	Content wire.JSON `json:"content"`
	// StructuredContent is an object, or empty.
	StructuredContent wire.JSON `json:"structuredContent"`
	// Meta is an object, or empty.
	Meta wire.JSON `json:"_meta"`
	// Staging is the outcome for the call's files. It is nil unless the call has files, an expiry
	// or a deadline.
	Staging *struct {
		// Outputs is a list of the files that were written. This package does not know its
		// elements.
		Outputs wire.JSON `json:"outputs"`
		// InputsUsed is a list of the files that were read. This package does not know its
		// elements.
		InputsUsed wire.JSON `json:"inputs_used"`
	} `json:"staging"`
}

// An mcpCallAnswer is the answer to an mcp_call.
type mcpCallAnswer struct {
	MCPCallResult
	Staging *mcpStaging `json:"staging"`
}

// An mcpStaging reports whether the agent could provide the files of a call.
type mcpStaging struct {
	OK         bool      `json:"ok"`
	ErrorCode  string    `json:"error_code"`
	Detail     string    `json:"detail"`
	Outputs    wire.JSON `json:"outputs"`
	InputsUsed wire.JSON `json:"inputs_used"`
}

// result returns a call's result, or an error if the agent could not provide its files.
func (a *mcpCallAnswer) result() (*MCPCallResult, error) {
	staging := a.Staging
	if staging == nil {
		return &a.MCPCallResult, nil
	}
	if !staging.OK {
		return nil, &ControlError{Subtype: "mcp_call", Message: staging.Detail, Code: staging.ErrorCode}
	}
	a.MCPCallResult.Staging = &struct {
		Outputs    wire.JSON `json:"outputs"`
		InputsUsed wire.JSON `json:"inputs_used"`
	}{staging.Outputs, staging.InputsUsed}
	return &a.MCPCallResult, nil
}

// ReadMCPResource reads a user interface of an MCP server, whose URI starts with ui://. The agent
// refuses other URIs and in-process servers. The content comes from the server: show it in a
// sandbox.
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

// An MCPResourceContent is one part of a resource: text or bytes.
type MCPResourceContent struct {
	// URI names the part.
	URI string `json:"uri"`
	// MIMEType is the type of the content, such as text/html.
	MIMEType string `json:"mimeType"`
	// Text is the content if it is text.
	Text string `json:"text"`
	// Blob is the content if it is not.
	Blob []byte `json:"blob"`
	// Meta is an object, or empty.
	Meta wire.JSON `json:"_meta"`
}

// SendMCPMessage sends a JSON-RPC message of an in-process server to the agent, such as a
// notification that its tools changed. The agent accepts messages of unknown servers and ignores
// them.
func (s *Session) SendMCPMessage(ctx context.Context, server string, message wire.JSON) error {
	return s.Control(ctx, "mcp_message", mcphost.Message{ServerName: server, Message: message}, nil)
}

// EnableChannel lets an MCP server write messages into the session. The agent refuses unless the
// server is connected and comes from a plugin of a marketplace.
func (s *Session) EnableChannel(ctx context.Context, server string) error {
	return s.Control(ctx, "channel_enable", mcpServerRequest{server}, nil)
}
