package wire

import (
	"fmt"
	"strings"
)

// A WebSearchToolResultBlock is the result of a web search.
//
//wire:block web_search_tool_result
type WebSearchToolResultBlock struct {
	raw string

	// ToolUseID is the ID of the call's [ServerToolUseBlock].
	ToolUseID string `json:"tool_use_id" wire:"required"`
	// Content is still JSON; see Results.
	Content JSON `json:"content"`
	// Caller identifies the caller. It is nil if the API does not say.
	Caller *Caller `json:"caller"`
}

// A WebSearchPage is one page that a web search found.
type WebSearchPage struct {
	raw string

	// Type is "web_search_result".
	Type string `json:"type,omitzero" wire:"intern"`
	// Title is the title of the page.
	Title string `json:"title,omitzero"`
	// URL is the address of the page.
	URL string `json:"url,omitzero"`
	// EncryptedContent is the content in a form that only the API can read.
	EncryptedContent string `json:"encrypted_content,omitzero"`
	// PageAge is the age of the page, or empty.
	PageAge string `json:"page_age,omitzero"`
}

// Results returns the pages found. The error is a [*ToolError] when the search failed.
func (b *WebSearchToolResultBlock) Results() ([]WebSearchPage, error) {
	var pages []WebSearchPage
	err := readToolResult(b.Content, func(d *decoder) { pages = structs[WebSearchPage](d) })
	return pages, err
}

// A WebFetchToolResultBlock is a page that was fetched.
//
//wire:block web_fetch_tool_result
type WebFetchToolResultBlock struct {
	raw string

	// ToolUseID is the ID of the call's [ServerToolUseBlock].
	ToolUseID string `json:"tool_use_id" wire:"required"`
	// Content is still JSON; see Result.
	Content JSON `json:"content"`
	// Caller identifies the caller. It is nil if the API does not say.
	Caller *Caller `json:"caller"`
}

// A WebFetchPage is a page and where it came from.
type WebFetchPage struct {
	raw string

	// Type is "web_fetch_result".
	Type string `json:"type,omitzero" wire:"intern"`
	// URL is the address of the page.
	URL string `json:"url,omitzero"`
	// RetrievedAt is the time the page was fetched, or empty.
	RetrievedAt string `json:"retrieved_at,omitzero"`
	// Content is the page as a document.
	Content *DocumentBlock `json:"content,omitzero"`
}

// Result returns the page. The error is a [*ToolError] when it could not be had.
func (b *WebFetchToolResultBlock) Result() (*WebFetchPage, error) {
	return toolResult[WebFetchPage](b.Content)
}

// A CodeExecutionToolResultBlock is the output of a program that the model ran at the API.
//
//wire:block code_execution_tool_result
type CodeExecutionToolResultBlock struct {
	raw string

	// ToolUseID is the ID of the call's [ServerToolUseBlock].
	ToolUseID string `json:"tool_use_id" wire:"required"`
	// Content is still JSON; see Result.
	Content JSON `json:"content"`
}

// Result returns the output. The error is a [*ToolError] when the program could not be run.
func (b *CodeExecutionToolResultBlock) Result() (*CodeExecutionResult, error) {
	return toolResult[CodeExecutionResult](b.Content)
}

// A BashCodeExecutionToolResultBlock is the output of a shell command that the model ran at the
// API.
//
//wire:block bash_code_execution_tool_result
type BashCodeExecutionToolResultBlock struct {
	raw string

	// ToolUseID is the ID of the call's [ServerToolUseBlock].
	ToolUseID string `json:"tool_use_id" wire:"required"`
	// Content is still JSON; see Result.
	Content JSON `json:"content"`
}

// Result returns the output. The error is a [*ToolError] when the command could not be run.
func (b *BashCodeExecutionToolResultBlock) Result() (*CodeExecutionResult, error) {
	return toolResult[CodeExecutionResult](b.Content)
}

// A CodeExecutionResult is the output of a program at the API.
type CodeExecutionResult struct {
	raw string

	// Type is "code_execution_result", "encrypted_code_execution_result" or
	// "bash_code_execution_result".
	Type string `json:"type,omitzero" wire:"intern"`
	// Stdout is the standard output of the program.
	Stdout string `json:"stdout,omitzero"`
	// EncryptedStdout replaces Stdout in an encrypted_code_execution_result.
	EncryptedStdout string `json:"encrypted_stdout,omitzero"`
	// Stderr is the standard error of the program.
	Stderr string `json:"stderr,omitzero"`
	// ReturnCode is the program's exit code.
	ReturnCode int `json:"return_code,omitzero"`
	// Content lists the files that the program made.
	Content []CodeExecutionOutput `json:"content,omitzero"`
}

// A CodeExecutionOutput is a file that a program made.
type CodeExecutionOutput struct {
	raw string

	// Type is "code_execution_output" or "bash_code_execution_output".
	Type string `json:"type,omitzero" wire:"intern"`
	// FileID is the API's id of the file.
	FileID string `json:"file_id,omitzero"`
}

// A TextEditorCodeExecutionToolResultBlock is the result of viewing or changing a file at the API.
//
//wire:block text_editor_code_execution_tool_result
type TextEditorCodeExecutionToolResultBlock struct {
	raw string

	// ToolUseID is the ID of the call's [ServerToolUseBlock].
	ToolUseID string `json:"tool_use_id" wire:"required"`
	// Content is still JSON; see Result.
	Content JSON `json:"content"`
}

// A TextEditorResult is a file that was viewed, written or changed; which fields are set depends on
// its type.
type TextEditorResult struct {
	raw string

	// Type ends in "_view_result", "_create_result" or "_str_replace_result".
	Type string `json:"type,omitzero" wire:"intern"`
	// Content is the text of a view. It and the fields down to TotalLines come with a view.
	Content string `json:"content,omitzero"`
	// FileType is "text", "image" or "pdf".
	FileType string `json:"file_type,omitzero" wire:"intern"`
	// NumLines is the number of lines the view shows.
	NumLines int `json:"num_lines,omitzero"`
	// StartLine is the number of the first of them.
	StartLine int `json:"start_line,omitzero"`
	// TotalLines is the number of lines the file has.
	TotalLines int `json:"total_lines,omitzero"`
	// FileUpdate says, in a create result, that the file existed before.
	FileUpdate bool `json:"is_file_update,omitzero"`
	// Lines are the changed lines of a str_replace result. The fields below give their position.
	Lines []string `json:"lines,omitzero"`
	// OldStart is the number of the first line in the old file.
	OldStart int `json:"old_start,omitzero"`
	// OldLines is the number of lines of the old file that were changed.
	OldLines int `json:"old_lines,omitzero"`
	// NewStart is the number of the first line in the new file.
	NewStart int `json:"new_start,omitzero"`
	// NewLines is the number of lines of the new file that took their place.
	NewLines int `json:"new_lines,omitzero"`
}

// Result returns what was done. The error is a [*ToolError] when it failed.
func (b *TextEditorCodeExecutionToolResultBlock) Result() (*TextEditorResult, error) {
	return toolResult[TextEditorResult](b.Content)
}

// A ToolSearchToolResultBlock is the tools that a search for tools found.
//
//wire:block tool_search_tool_result
type ToolSearchToolResultBlock struct {
	raw string

	// ToolUseID is the ID of the call's [ServerToolUseBlock].
	ToolUseID string `json:"tool_use_id" wire:"required"`
	// Content is still JSON; see Result.
	Content JSON `json:"content"`
}

// A ToolSearchMatches lists tools.
type ToolSearchMatches struct {
	raw string

	// Type is "tool_search_tool_search_result".
	Type string `json:"type,omitzero" wire:"intern"`
	// ToolReferences names the tools that were found.
	ToolReferences []ToolReferenceBlock `json:"tool_references,omitzero"`
}

// Result returns the tools found. The error is a [*ToolError] when the search failed.
func (b *ToolSearchToolResultBlock) Result() (*ToolSearchMatches, error) {
	return toolResult[ToolSearchMatches](b.Content)
}

// An AdvisorToolResultBlock is the advice of another model.
//
//wire:block advisor_tool_result
type AdvisorToolResultBlock struct {
	raw string

	// ToolUseID is the ID of the call's [ServerToolUseBlock].
	ToolUseID string `json:"tool_use_id" wire:"required"`
	// Content is still JSON; see Result.
	Content JSON `json:"content"`
}

// An AdvisorResult is advice, readable or for the API only.
type AdvisorResult struct {
	raw string

	// Type is "advisor_result" or "advisor_redacted_result".
	Type string `json:"type,omitzero" wire:"intern"`
	// Text is the advice of an advisor_result.
	Text string `json:"text,omitzero"`
	// EncryptedContent is the advice of an advisor_redacted_result, which only the API can read.
	EncryptedContent string `json:"encrypted_content,omitzero"`
	// StopReason is the reason the other model stopped.
	StopReason StopReason `json:"stop_reason,omitzero" wire:"intern"`
}

// Result returns the advice. The error is a [*ToolError] when there is none.
func (b *AdvisorToolResultBlock) Result() (*AdvisorResult, error) {
	return toolResult[AdvisorResult](b.Content)
}

// A ToolError is the failure of a tool that runs at the API.
type ToolError struct {
	// Type ends in "_error", such as "web_search_tool_result_error".
	Type string `json:"type"`
	// Code is the API's word for the error.
	Code string `json:"error_code"`
	// Message describes the error. Only the text editor and the tool search give one.
	Message string `json:"error_message"`
}

// Error returns the type, the code and, if there is one, the message.
func (e *ToolError) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("wire: %s: %s", e.Type, e.Code)
	}
	return fmt.Sprintf("wire: %s: %s: %s", e.Type, e.Code, e.Message)
}

// toolResult decodes the content of a result, unless that is an error. The value is never nil.
func toolResult[T any, P shape[T]](content JSON) (P, error) {
	v := P(new(T))
	err := readToolResult(content, func(d *decoder) { *v = structOf[T, P](d) })
	return v, err
}

// readToolResult reads the content of a result, unless that is an error.
func readToolResult(content JSON, read func(*decoder)) error {
	failure := new(ToolError)
	if content.Decode(failure) == nil && strings.HasSuffix(failure.Type, "_error") {
		return failure
	}
	d := decoder{strict: true}
	return d.whole(string(content), func() { read(&d) })
}
