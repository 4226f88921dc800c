package wire

// A ToolUseBlock is the model's call of a tool.
//
//wire:block tool_use
type ToolUseBlock struct {
	raw string

	ID   string `json:"id" wire:"required"`
	Name string `json:"name" wire:"required,intern"`
	// Input is the tool's input, still JSON; see DecodeInput.
	Input       JSON    `json:"input"`
	Caller      *Caller `json:"caller"`
	ToolsetName string  `json:"toolset_name" wire:"intern"`
}

// DecodeInput decodes the input into v. A call without input counts as one with
// an empty object.
func (b *ToolUseBlock) DecodeInput(v any) error { return decodeInput(b.Input, v) }

// A ServerToolUseBlock is the model's call of a tool that runs at the API, such
// as web_search or code_execution.
//
//wire:block server_tool_use
type ServerToolUseBlock struct {
	raw string

	ID     string  `json:"id" wire:"required"`
	Name   string  `json:"name" wire:"required,intern"`
	Input  JSON    `json:"input"`
	Caller *Caller `json:"caller"`
}

// DecodeInput decodes the input into v.
func (b *ServerToolUseBlock) DecodeInput(v any) error { return decodeInput(b.Input, v) }

// An MCPToolUseBlock is the model's call of a tool of an MCP server that the API
// itself is connected to.
//
//wire:block mcp_tool_use
type MCPToolUseBlock struct {
	raw string

	ID         string `json:"id" wire:"required"`
	Name       string `json:"name" wire:"required,intern"`
	ServerName string `json:"server_name" wire:"intern"`
	Input      JSON   `json:"input"`
}

// DecodeInput decodes the input into v.
func (b *MCPToolUseBlock) DecodeInput(v any) error { return decodeInput(b.Input, v) }

func decodeInput(input JSON, v any) error {
	if input == "" {
		input = "{}"
	}
	return input.Decode(v)
}

// A Caller says who called a tool: the model itself, or code that it runs.
type Caller struct {
	raw string

	Type   string `json:"type" wire:"intern"`
	ToolID string `json:"tool_id"`
}

// A ToolResultBlock is the result of a call.
//
//wire:block tool_result
type ToolResultBlock struct {
	raw string

	ToolUseID string `json:"tool_use_id" wire:"required"`
	// Content is a string or a list of blocks, still JSON; see Text and Blocks.
	Content JSON `json:"content"`
	// IsError is nil where the wire does not say. Absent and false both mean
	// success; Failed tells.
	IsError      *bool         `json:"is_error"`
	CacheControl *CacheControl `json:"cache_control"`
	ToolsetName  string        `json:"toolset_name" wire:"intern"`
}

// Failed reports whether the tool reported an error.
func (b *ToolResultBlock) Failed() bool { return b.IsError != nil && *b.IsError }

// Blocks returns the result as blocks; a string is one [*TextBlock].
func (b *ToolResultBlock) Blocks() (Content, error) { return DecodeContent(b.Content) }

// Text returns the text of the result: the string, or its text blocks in order.
func (b *ToolResultBlock) Text() string { return textOf(b.Content) }

// An MCPToolResultBlock is the result of an [MCPToolUseBlock].
//
//wire:block mcp_tool_result
type MCPToolResultBlock struct {
	raw string

	ToolUseID string `json:"tool_use_id" wire:"required"`
	// Content is a string or a list of text blocks, still JSON.
	Content JSON  `json:"content"`
	IsError *bool `json:"is_error"`
}

// Failed reports whether the tool reported an error.
func (b *MCPToolResultBlock) Failed() bool { return b.IsError != nil && *b.IsError }

// Blocks returns the result as blocks; a string is one [*TextBlock].
func (b *MCPToolResultBlock) Blocks() (Content, error) { return DecodeContent(b.Content) }

// Text returns the text of the result.
func (b *MCPToolResultBlock) Text() string { return textOf(b.Content) }

func textOf(content JSON) string {
	blocks, err := DecodeContent(content)
	if err != nil {
		return ""
	}
	return blocks.Text()
}

// A ToolReferenceBlock names a tool that a search found.
//
//wire:block tool_reference
type ToolReferenceBlock struct {
	raw string

	ToolName string `json:"tool_name" wire:"intern"`
}
