package clew

import "github.com/clewdev/clew/wire"

// A PreToolUseInput tells about a tool that is about to run.
type PreToolUseInput struct {
	HookBase
	ToolName  string    `json:"tool_name"`
	ToolInput wire.JSON `json:"tool_input"`
	ToolUseID string    `json:"tool_use_id"`
	// MCPServer is where the tool comes from, or nil for one that is not of MCP.
	MCPServer *MCPOrigin `json:"mcp_server"`
}

// A PostToolUseInput tells about a tool that has run.
type PostToolUseInput struct {
	HookBase
	ToolName  string    `json:"tool_name"`
	ToolInput wire.JSON `json:"tool_input"`
	// ToolResponse is what the tool returned. Its shape depends on the tool.
	ToolResponse wire.JSON   `json:"tool_response"`
	ToolUseID    string      `json:"tool_use_id"`
	Duration     wire.Millis `json:"duration_ms"`
	// MCPServer is where the tool comes from, or nil for one that is not of MCP.
	MCPServer *MCPOrigin `json:"mcp_server"`
}

// A PostToolUseFailureInput tells about a tool that has failed.
type PostToolUseFailureInput struct {
	HookBase
	ToolName  string    `json:"tool_name"`
	ToolInput wire.JSON `json:"tool_input"`
	ToolUseID string    `json:"tool_use_id"`
	Error     string    `json:"error"`
	// Interrupt says that an interrupt ended the tool.
	Interrupt bool        `json:"is_interrupt"`
	Duration  wire.Millis `json:"duration_ms"`
	// MCPServer is where the tool comes from, or nil for one that is not of MCP.
	MCPServer *MCPOrigin `json:"mcp_server"`
}

// A PostToolBatchInput tells about all tools that one answer of the model called.
type PostToolBatchInput struct {
	HookBase
	ToolCalls []HookToolCall `json:"tool_calls"`
}

// A HookToolCall is one use of a tool.
type HookToolCall struct {
	ToolName  string    `json:"tool_name"`
	ToolInput wire.JSON `json:"tool_input"`
	ToolUseID string    `json:"tool_use_id"`
	// ToolResponse is empty if there is none.
	ToolResponse wire.JSON `json:"tool_response"`
}

// A PermissionRequestInput tells about a tool for which the agent asks permission. A [CanUseToolFunc] is asked at the
// same time, and the first answer counts.
type PermissionRequestInput struct {
	HookBase
	ToolName    string             `json:"tool_name"`
	ToolInput   wire.JSON          `json:"tool_input"`
	Suggestions []PermissionUpdate `json:"permission_suggestions"`
	// MCPServer is where the tool comes from, or nil for one that is not of MCP.
	MCPServer *MCPOrigin `json:"mcp_server"`
}

// A PermissionDeniedInput tells about a tool whose use was denied.
type PermissionDeniedInput struct {
	HookBase
	ToolName  string    `json:"tool_name"`
	ToolInput wire.JSON `json:"tool_input"`
	ToolUseID string    `json:"tool_use_id"`
	Reason    string    `json:"reason"`
	// MCPServer is where the tool comes from, or nil for one that is not of MCP.
	MCPServer *MCPOrigin `json:"mcp_server"`
}
