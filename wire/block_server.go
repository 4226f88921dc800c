package wire

import (
	"fmt"
	"strings"
)

// A WebSearchToolResultBlock is what a web search found.
//
//wire:block web_search_tool_result
type WebSearchToolResultBlock struct {
	raw string

	ToolUseID string `json:"tool_use_id" wire:"required"`
	// Content is still JSON; see Results.
	Content JSON    `json:"content"`
	Caller  *Caller `json:"caller"`
}

// A WebSearchResult is one page that a web search found.
type WebSearchResult struct {
	raw string

	Type             string `json:"type" wire:"intern"`
	Title            string `json:"title"`
	URL              string `json:"url"`
	EncryptedContent string `json:"encrypted_content"`
	PageAge          string `json:"page_age"`
}

// Results returns the pages found. The error is a [*ToolError] when the search
// failed.
func (b *WebSearchToolResultBlock) Results() ([]WebSearchResult, error) {
	var pages []WebSearchResult
	err := decodeToolResult(b.Content, &pages)
	return pages, err
}

// A WebFetchToolResultBlock is a page that was fetched.
//
//wire:block web_fetch_tool_result
type WebFetchToolResultBlock struct {
	raw string

	ToolUseID string `json:"tool_use_id" wire:"required"`
	// Content is still JSON; see Result.
	Content JSON    `json:"content"`
	Caller  *Caller `json:"caller"`
}

// A WebFetchResult is a page and where it came from.
type WebFetchResult struct {
	raw string

	Type        string         `json:"type" wire:"intern"`
	URL         string         `json:"url"`
	RetrievedAt string         `json:"retrieved_at"`
	Content     *DocumentBlock `json:"content"`
}

// Result returns the page. The error is a [*ToolError] when it could not be had.
func (b *WebFetchToolResultBlock) Result() (*WebFetchResult, error) {
	page := new(WebFetchResult)
	return page, decodeToolResult(b.Content, page)
}

// A CodeExecutionToolResultBlock is what a program printed that the model ran at
// the API.
//
//wire:block code_execution_tool_result
type CodeExecutionToolResultBlock struct {
	raw string

	ToolUseID string `json:"tool_use_id" wire:"required"`
	// Content is still JSON; see Result.
	Content JSON `json:"content"`
}

// Result returns the output. The error is a [*ToolError] when the program could
// not be run.
func (b *CodeExecutionToolResultBlock) Result() (*CodeExecutionResult, error) {
	out := new(CodeExecutionResult)
	return out, decodeToolResult(b.Content, out)
}

// A BashCodeExecutionToolResultBlock is what a shell command printed that the
// model ran at the API.
//
//wire:block bash_code_execution_tool_result
type BashCodeExecutionToolResultBlock struct {
	raw string

	ToolUseID string `json:"tool_use_id" wire:"required"`
	// Content is still JSON; see Result.
	Content JSON `json:"content"`
}

// Result returns the output. The error is a [*ToolError] when the command could
// not be run.
func (b *BashCodeExecutionToolResultBlock) Result() (*CodeExecutionResult, error) {
	out := new(CodeExecutionResult)
	return out, decodeToolResult(b.Content, out)
}

// A CodeExecutionResult is the output of a program at the API.
type CodeExecutionResult struct {
	raw string

	Type            string                `json:"type" wire:"intern"`
	Stdout          string                `json:"stdout"`
	EncryptedStdout string                `json:"encrypted_stdout"`
	Stderr          string                `json:"stderr"`
	ReturnCode      int                   `json:"return_code"`
	Content         []CodeExecutionOutput `json:"content"`
}

// A CodeExecutionOutput is a file that a program left behind.
type CodeExecutionOutput struct {
	raw string

	Type   string `json:"type" wire:"intern"`
	FileID string `json:"file_id"`
}

// A TextEditorCodeExecutionToolResultBlock is what viewing or changing a file at
// the API gave.
//
//wire:block text_editor_code_execution_tool_result
type TextEditorCodeExecutionToolResultBlock struct {
	raw string

	ToolUseID string `json:"tool_use_id" wire:"required"`
	// Content is still JSON; see Result.
	Content JSON `json:"content"`
}

// A TextEditorResult is a file that was viewed, written or changed; which fields
// are set depends on its type.
type TextEditorResult struct {
	raw string

	Type       string   `json:"type" wire:"intern"`
	Content    string   `json:"content"`
	FileType   string   `json:"file_type" wire:"intern"`
	NumLines   int      `json:"num_lines"`
	StartLine  int      `json:"start_line"`
	TotalLines int      `json:"total_lines"`
	FileUpdate bool     `json:"is_file_update"`
	Lines      []string `json:"lines"`
	OldStart   int      `json:"old_start"`
	OldLines   int      `json:"old_lines"`
	NewStart   int      `json:"new_start"`
	NewLines   int      `json:"new_lines"`
}

// Result returns what was done. The error is a [*ToolError] when it failed.
func (b *TextEditorCodeExecutionToolResultBlock) Result() (*TextEditorResult, error) {
	out := new(TextEditorResult)
	return out, decodeToolResult(b.Content, out)
}

// A ToolSearchToolResultBlock is the tools that a search for tools found.
//
//wire:block tool_search_tool_result
type ToolSearchToolResultBlock struct {
	raw string

	ToolUseID string `json:"tool_use_id" wire:"required"`
	// Content is still JSON; see Result.
	Content JSON `json:"content"`
}

// A ToolSearchResult lists tools.
type ToolSearchResult struct {
	raw string

	Type           string               `json:"type" wire:"intern"`
	ToolReferences []ToolReferenceBlock `json:"tool_references"`
}

// Result returns the tools found. The error is a [*ToolError] when the search
// failed.
func (b *ToolSearchToolResultBlock) Result() (*ToolSearchResult, error) {
	found := new(ToolSearchResult)
	return found, decodeToolResult(b.Content, found)
}

// An AdvisorToolResultBlock is the advice of another model.
//
//wire:block advisor_tool_result
type AdvisorToolResultBlock struct {
	raw string

	ToolUseID string `json:"tool_use_id" wire:"required"`
	// Content is still JSON; see Result.
	Content JSON `json:"content"`
}

// An AdvisorResult is advice, readable or for the API only.
type AdvisorResult struct {
	raw string

	Type             string     `json:"type" wire:"intern"`
	Text             string     `json:"text"`
	EncryptedContent string     `json:"encrypted_content"`
	StopReason       StopReason `json:"stop_reason" wire:"intern"`
}

// Result returns the advice. The error is a [*ToolError] when there is none.
func (b *AdvisorToolResultBlock) Result() (*AdvisorResult, error) {
	advice := new(AdvisorResult)
	return advice, decodeToolResult(b.Content, advice)
}

// A ToolError is the failure of a tool that runs at the API.
type ToolError struct {
	Type    string `json:"type"`
	Code    string `json:"error_code"`
	Message string `json:"error_message"`
}

func (e *ToolError) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("wire: %s: %s", e.Type, e.Code)
	}
	return fmt.Sprintf("wire: %s: %s: %s", e.Type, e.Code, e.Message)
}

// decodeToolResult decodes the content of a result into v, unless it is an
// error.
func decodeToolResult(content JSON, v any) error {
	failure := new(ToolError)
	if content.Decode(failure) == nil && strings.HasSuffix(failure.Type, "_error") {
		return failure
	}
	return content.Decode(v)
}
