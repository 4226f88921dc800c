package wire

import (
	"encoding/json"
	"strings"

	"github.com/clewdev/clew/internal/jsonlex"
)

// A Block is one element of a message's content. Its variants are
//
//   - [*TextBlock], [*ThinkingBlock], [*RedactedThinkingBlock]
//   - [*ToolUseBlock], [*ToolResultBlock]
//   - [*ServerToolUseBlock], and the results of such tools:
//     [*WebSearchToolResultBlock], [*WebFetchToolResultBlock],
//     [*CodeExecutionToolResultBlock], [*BashCodeExecutionToolResultBlock],
//     [*TextEditorCodeExecutionToolResultBlock], [*ToolSearchToolResultBlock],
//     [*AdvisorToolResultBlock]
//   - [*MCPToolUseBlock], [*MCPToolResultBlock]
//   - [*ImageBlock], [*DocumentBlock], [*SearchResultBlock],
//     [*ContainerUploadBlock], [*ToolReferenceBlock]
//   - [*CompactionBlock], [*FallbackBlock]
//   - [*UnknownBlock], for a type that this package does not know
//   - [*InvalidBlock], for a block that does not fit its type
type Block interface {
	// BlockType returns the block's type on the wire, such as "tool_use".
	BlockType() string
	// Raw returns the text that the block was read from, or "".
	Raw() string
	json.Marshaler

	sealed()
}

// Content is the list of blocks of a message. Where the wire has a plain string instead of a list,
// it is one [*TextBlock], and is written as a string again.
type Content []Block

// Text returns the text of all text blocks, in order.
func (c Content) Text() string {
	if len(c) == 1 {
		if b, ok := c[0].(*TextBlock); ok {
			return b.Text
		}
	}
	var text strings.Builder
	for _, b := range c {
		if b, ok := b.(*TextBlock); ok {
			text.WriteString(b.Text)
		}
	}
	return text.String()
}

// ToolUses returns the tool calls, in order.
func (c Content) ToolUses() []*ToolUseBlock { return blocksOf[*ToolUseBlock](c) }

// ToolResults returns the tool results, in order.
func (c Content) ToolResults() []*ToolResultBlock { return blocksOf[*ToolResultBlock](c) }

func blocksOf[T Block](c Content) []T {
	var list []T
	for _, b := range c {
		if b, ok := b.(T); ok {
			list = append(list, b)
		}
	}
	return list
}

// An UnknownBlock is a block of a type that this package does not know.
type UnknownBlock struct {
	raw  string
	kind string
}

// BlockType returns the unknown type.
func (b *UnknownBlock) BlockType() string { return b.kind }

// Raw returns the whole block.
func (b *UnknownBlock) Raw() string { return b.raw }

// MarshalJSON returns the block as it was read.
func (b *UnknownBlock) MarshalJSON() ([]byte, error) { return []byte(b.raw), nil }

func (b *UnknownBlock) sealed() {}

// An InvalidBlock is a block that is not an object, has no type, or does not fit its type. The
// other blocks of its message are not affected.
type InvalidBlock struct {
	raw    string
	kind   string
	faults *faults // of all invalid blocks of the frame
	fault  int     // the one of this block
}

// BlockType returns the type that the block claims, or "".
func (b *InvalidBlock) BlockType() string { return b.kind }

// Raw returns the whole block.
func (b *InvalidBlock) Raw() string { return b.raw }

// Err returns what is wrong with the block: a [*FieldError] with a JSON pointer into the frame, or,
// with [ReaderOptions.DiscardRaw], into the block.
func (b *InvalidBlock) Err() error { return b.faults.err(b.fault) }

// MarshalJSON returns the block as it was read.
func (b *InvalidBlock) MarshalJSON() ([]byte, error) { return []byte(b.raw), nil }

func (b *InvalidBlock) sealed() {}

// A TextBlock is text, written by the model or by the user.
//
//wire:block text
type TextBlock struct {
	raw   string
	plain bool // the whole content was a string

	// Text may be empty.
	Text string `json:"text" wire:"required"`
	// Citations are the places that the text relies on.
	Citations []Citation `json:"citations"`
	// CacheControl is set in prompts only.
	CacheControl *CacheControl `json:"cache_control"`
}

// A Citation is a place that a text relies on. Which fields are set depends on its type.
type Citation struct {
	raw string

	// Type is char_location, page_location, content_block_location, web_search_result_location or
	// search_result_location.
	Type string `json:"type,omitzero" wire:"intern"`
	// CitedText is the cited passage.
	CitedText string `json:"cited_text,omitzero"`
	// DocumentIndex is the place of the cited document in the request, from 0. It and the next two
	// fields are set with the first three types.
	DocumentIndex int `json:"document_index,omitzero"`
	// DocumentTitle is the title of that document, or empty.
	DocumentTitle string `json:"document_title,omitzero"`
	// FileID is the API's id of that document if it was uploaded as a file, or empty.
	FileID string `json:"file_id,omitzero"`
	// StartCharIndex is the first character of the passage, from 0, with char_location.
	StartCharIndex int `json:"start_char_index,omitzero"`
	// EndCharIndex is the first character after the passage, with char_location.
	EndCharIndex int `json:"end_char_index,omitzero"`
	// StartPageNumber is the first page of the passage, from 1, with page_location.
	StartPageNumber int `json:"start_page_number,omitzero"`
	// EndPageNumber is the first page after the passage, with page_location.
	EndPageNumber int `json:"end_page_number,omitzero"`
	// StartBlockIndex is the first block of the passage, from 0, with content_block_location and
	// search_result_location.
	StartBlockIndex int `json:"start_block_index,omitzero"`
	// EndBlockIndex is the first block after the passage, with the same two types.
	EndBlockIndex int `json:"end_block_index,omitzero"`
	// URL is the cited page, with web_search_result_location.
	URL string `json:"url,omitzero"`
	// Title is the title of the page or of the search result, with web_search_result_location and
	// search_result_location, or empty.
	Title string `json:"title,omitzero"`
	// EncryptedIndex is opaque, with web_search_result_location.
	EncryptedIndex string `json:"encrypted_index,omitzero"`
	// Source is [SearchResultBlock.Source] of the cited result, with search_result_location.
	Source string `json:"source,omitzero"`
	// SearchResultIndex is the place of that result in the request, from 0.
	SearchResultIndex int `json:"search_result_index,omitzero"`
}

// CacheControl asks the API to cache the prompt up to its block.
type CacheControl struct {
	raw string

	// Type is "ephemeral".
	Type string `json:"type,omitzero" wire:"intern"`
	// TTL is "5m", "1h" or empty.
	TTL string `json:"ttl,omitzero" wire:"intern"`
}

// A ThinkingBlock is the model's reasoning. The signature lets the API check that it comes back
// unchanged.
//
//wire:block thinking
type ThinkingBlock struct {
	raw string

	// Thinking is the text. Recent models leave it empty unless summaries are on.
	Thinking string `json:"thinking" wire:"required"`
	// Signature is opaque.
	Signature string `json:"signature"`
}

// A RedactedThinkingBlock is reasoning that only the API can read.
//
//wire:block redacted_thinking
type RedactedThinkingBlock struct {
	raw string

	// Data is opaque.
	Data string `json:"data"`
}

// A CompactionBlock is a summary that replaces everything before it.
//
//wire:block compaction
type CompactionBlock struct {
	raw string

	// Content is the summary, or empty.
	Content string `json:"content"`
	// EncryptedContent is opaque, or empty.
	EncryptedContent string `json:"encrypted_content"`
}

// A FallbackBlock reports that another model took over.
//
//wire:block fallback
type FallbackBlock struct {
	raw string

	// From is the model that was asked first.
	From *FallbackModel `json:"from"`
	// To is the model that took over.
	To *FallbackModel `json:"to"`
	// Trigger explains why the model changed.
	Trigger *FallbackTrigger `json:"trigger"`
}

// A FallbackModel is one side of a fallback.
type FallbackModel struct {
	raw string

	Model string `json:"model,omitzero" wire:"intern"` // such as "claude-opus-5-5"
}

// A FallbackTrigger is the cause of a fallback.
type FallbackTrigger struct {
	raw string

	// Type is "refusal".
	Type string `json:"type,omitzero" wire:"intern"`
	// Category is the kind of refusal, as in [StopDetails].
	Category string `json:"category,omitzero" wire:"intern"`
}

// An ImageBlock is a picture.
//
//wire:block image
type ImageBlock struct {
	raw string

	// Source is the picture, or a reference to it.
	Source *Source `json:"source"`
	// CacheControl is set in prompts only.
	CacheControl *CacheControl `json:"cache_control"`
	// Transformations is left as JSON. Only prompts have it, and few do.
	Transformations JSON `json:"transformations"`
}

// A DocumentBlock is a document: a PDF or plain text.
//
//wire:block document
type DocumentBlock struct {
	raw string

	// Source is the document, or a reference to it.
	Source *Source `json:"source"`
	// Title is the document's title, which its citations repeat.
	Title string `json:"title"`
	// Context is text about the document.
	Context string `json:"context"`
	// Citations reports whether the model may cite the document.
	Citations *CitationsConfig `json:"citations"`
	// CacheControl is set in prompts only.
	CacheControl *CacheControl `json:"cache_control"`
}

// CitationsConfig turns citations of a document on.
type CitationsConfig struct {
	raw string

	Enabled bool `json:"enabled,omitzero"` // whether the model may cite the document
}

// A Source is the source of a picture or a document.
type Source struct {
	raw string

	// Type is base64, text, content, url or file.
	Type string `json:"type,omitzero" wire:"intern"`
	// MediaType is a type such as "image/png", with the types base64 and text.
	MediaType string `json:"media_type,omitzero" wire:"intern"`
	// Data is in base64 or plain text, depending on the type.
	Data string `json:"data,omitzero"`
	// URL is the address, with the type url.
	URL string `json:"url,omitzero"`
	// FileID is the API's id of an uploaded file, with the type file.
	FileID string `json:"file_id,omitzero"`
	// Content is a string or a list of blocks, still JSON; see DecodeContent.
	Content JSON `json:"content,omitzero"`
}

// A SearchResultBlock is a passage that the user's own search found.
//
//wire:block search_result
type SearchResultBlock struct {
	raw string

	// Source is the source of the passage.
	Source string `json:"source"`
	// Title is the title of the result.
	Title string `json:"title"`
	// Content is a list of text blocks, still JSON; see Blocks.
	Content JSON `json:"content"`
	// Citations reports whether the model may cite the passage.
	Citations *CitationsConfig `json:"citations"`
	// CacheControl is set in prompts only.
	CacheControl *CacheControl `json:"cache_control"`
}

// Blocks returns the passage as blocks.
func (b *SearchResultBlock) Blocks() (Content, error) { return DecodeContent(b.Content) }

// A ContainerUploadBlock is a file put into a container.
//
//wire:block container_upload
type ContainerUploadBlock struct {
	raw string

	// FileID is the API's id of the file.
	FileID string `json:"file_id"`
}

// A ToolUseBlock is the model's call of a tool.
//
//wire:block tool_use
type ToolUseBlock struct {
	raw string

	// ID is the ID that the [ToolResultBlock] refers to, such as "toolu_01…".
	ID string `json:"id" wire:"required"`
	// Name is the tool, such as "Bash" or "mcp__server__tool".
	Name string `json:"name" wire:"required,intern"`
	// Input is the tool's input, still JSON; see DecodeInput.
	Input JSON `json:"input"`
	// Caller identifies the caller. It is nil if the API does not say.
	Caller *Caller `json:"caller"`
	// ToolsetName is the toolset that the tool belongs to. The API leaves it out for most tools.
	ToolsetName string `json:"toolset_name" wire:"intern"`
}

// DecodeInput decodes the input into v. A call without input counts as one with an empty object.
// Package tooluse has types for the inputs of the agent's built-in tools, and chooses among them by
// Name.
func (b *ToolUseBlock) DecodeInput(v any) error { return decodeInput(b.Input, v) }

// A ServerToolUseBlock is the model's call of a tool that runs at the API, such as web_search or
// code_execution.
//
//wire:block server_tool_use
type ServerToolUseBlock struct {
	raw string

	// ID is the ID that the result's block refers to.
	ID string `json:"id" wire:"required"`
	// Name is the tool, such as "web_search".
	Name string `json:"name" wire:"required,intern"`
	// Input is the tool's input, still JSON; see DecodeInput.
	Input JSON `json:"input"`
	// Caller identifies the caller. It is nil if the API does not say.
	Caller *Caller `json:"caller"`
}

// DecodeInput decodes the input into v.
func (b *ServerToolUseBlock) DecodeInput(v any) error { return decodeInput(b.Input, v) }

// An MCPToolUseBlock is the model's call of a tool of an MCP server that the API itself is
// connected to.
//
//wire:block mcp_tool_use
type MCPToolUseBlock struct {
	raw string

	// ID is the ID that the [MCPToolResultBlock] refers to.
	ID string `json:"id" wire:"required"`
	// Name is the tool's name at its server.
	Name string `json:"name" wire:"required,intern"`
	// ServerName is the MCP server of the tool.
	ServerName string `json:"server_name" wire:"intern"`
	// Input is the tool's input, still JSON; see DecodeInput.
	Input JSON `json:"input"`
}

// DecodeInput decodes the input into v.
func (b *MCPToolUseBlock) DecodeInput(v any) error { return decodeInput(b.Input, v) }

func decodeInput(input JSON, v any) error {
	if input == "" {
		input = "{}"
	}
	return input.Decode(v)
}

// A Caller identifies the caller of a tool: the model itself, or code that it runs.
type Caller struct {
	raw string

	// Type is "direct" for the model, or the tool that ran the code, such as
	// "code_execution_20260120".
	Type string `json:"type,omitzero" wire:"intern"`
	// ToolID is set if code made the call.
	ToolID string `json:"tool_id,omitzero"`
}

// A ToolResultBlock is the result of a call.
//
//wire:block tool_result
type ToolResultBlock struct {
	raw string

	// ToolUseID is the ID of the call's [ToolUseBlock].
	ToolUseID string `json:"tool_use_id" wire:"required"`
	// Content is a string or a list of blocks, still JSON; see Text and Blocks.
	Content JSON `json:"content"`
	// IsError is nil if the frame does not say. Nil and false both mean success; use Failed to test
	// for an error.
	IsError *bool `json:"is_error"`
	// CacheControl is set in prompts only.
	CacheControl *CacheControl `json:"cache_control"`
	// ToolsetName is the toolset name of the call, or empty.
	ToolsetName string `json:"toolset_name" wire:"intern"`
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

	// ToolUseID is the ID of the call's [MCPToolUseBlock].
	ToolUseID string `json:"tool_use_id" wire:"required"`
	// Content is a string or a list of text blocks, still JSON.
	Content JSON `json:"content"`
	// IsError is nil if the frame does not say; use Failed to test for an error.
	IsError *bool `json:"is_error"`
}

// Failed reports whether the tool reported an error.
func (b *MCPToolResultBlock) Failed() bool { return b.IsError != nil && *b.IsError }

// Blocks returns the result as blocks; a string is one [*TextBlock].
func (b *MCPToolResultBlock) Blocks() (Content, error) { return DecodeContent(b.Content) }

// Text returns the text of the result.
func (b *MCPToolResultBlock) Text() string { return textOf(b.Content) }

func textOf(content JSON) string {
	if strings.HasPrefix(string(content), `"`) {
		text, _ := jsonlex.Text(string(content))
		return text
	}
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

	ToolName string `json:"tool_name" wire:"intern"` // such as "mcp__calc__add"
}
