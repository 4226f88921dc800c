package tooluse

import (
	"encoding/json"

	"github.com/clewdev/clew/internal/entrylex"
	"github.com/clewdev/clew/wire"
)

// A ReadInput names a file, and the part of it to read. Zero values mean all of it.
type ReadInput struct {
	// FilePath is the path of the file.
	FilePath string `json:"file_path"`
	// Offset is the number of the first line, counted from 1. 0 means the first line of the file.
	Offset int `json:"offset"`
	// Limit is the number of lines to read. 0 means as many as the agent returns at once.
	Limit int `json:"limit"`
	// Pages are the pages of a PDF, such as "1-5". It is "" for other files.
	Pages string `json:"pages"`
}

// A ReadResult is a file that was read.
type ReadResult struct {
	// Type is text, image, notebook, pdf, parts (the pages of a PDF as pictures) or another word.
	Type string `json:"type"`
	// File is the part of the file that was read.
	File ReadFile `json:"file"`
}

// A ReadFile is the part of a file that was read. Which fields are set depends on
// [ReadResult.Type].
type ReadFile struct {
	// FilePath is the path of the file. It is "" with image.
	FilePath string `json:"filePath"`

	// Content are the lines that were read. This and the next three fields come with text.
	Content string `json:"content"`
	// NumLines is the number of lines that are in Content.
	NumLines int `json:"numLines"`
	// StartLine is the number of the first of them, counted from 1.
	StartLine int `json:"startLine"`
	// TotalLines is the number of lines the file has.
	TotalLines int `json:"totalLines"`

	// Base64 is the picture of an image, or a PDF, in base64.
	Base64 string `json:"base64"`
	// MediaType is the type of an image, such as "image/png".
	MediaType string `json:"type"`
	// OriginalSize is the size of the file in bytes. It comes with image, pdf and parts.
	OriginalSize int64 `json:"originalSize"`

	// Cells are the cells of a notebook, as a JSON list.
	Cells wire.JSON `json:"cells"`

	// Count is the number of pages of a PDF that were put into OutputDir. It comes with parts.
	Count int `json:"count"`
	// OutputDir is a directory with one picture for each of these pages.
	OutputDir string `json:"outputDir"`
}

// A WriteInput is a file to write.
type WriteInput struct {
	// FilePath is the file to create or to overwrite.
	FilePath string `json:"file_path"`
	// Content is the whole new content of the file.
	Content string `json:"content"`
}

// A WriteResult is a file that was written.
type WriteResult struct {
	// Type is create for a new file, or update.
	Type string `json:"type"`
	// FilePath is the file that was written.
	FilePath string `json:"filePath"`
	// Content is the whole new content of the file.
	Content string `json:"content"`
	// OriginalFile is the old content of the file, or nil if there was no file or it was too large.
	OriginalFile *string `json:"originalFile"`
	// StructuredPatch is the change, for display: two spaces stand for each tab at the beginning of
	// a line. It is empty for a new file, if nothing changed, and if there was too much to compare.
	StructuredPatch []Hunk `json:"structuredPatch"`
	// UserModified reports whether the user changed the content before it was written.
	UserModified bool `json:"userModified"`
	// GitDiff is the change as git sees it. It is nil if the agent does not report it.
	GitDiff *GitDiff `json:"gitDiff"`
}

// An EditInput replaces a piece of a file.
type EditInput struct {
	// FilePath is the file to change.
	FilePath string `json:"file_path"`
	// OldString is the text to replace. It is empty for a new file.
	OldString string `json:"old_string"`
	// NewString is the text to put in its place. It is empty to delete the old text.
	NewString string `json:"new_string"`
	// ReplaceAll replaces OldString everywhere. Otherwise it must be in the file only once.
	ReplaceAll bool `json:"replace_all"`
}

// A MultiEditInput replaces pieces of a file, one after the other.
type MultiEditInput struct {
	// FilePath is the file to change.
	FilePath string `json:"file_path"`
	// Edits are the replacements. Each one applies to the result of those before it.
	Edits []StringEdit `json:"edits"`
}

// A StringEdit replaces one string by another: where it stands first, or everywhere.
type StringEdit struct {
	OldString  string `json:"old_string"`  // the text to replace
	NewString  string `json:"new_string"`  // the text to put in its place, empty to delete
	ReplaceAll bool   `json:"replace_all"` // replace it everywhere
}

// An EditResult is a file that was changed, by Edit or MultiEdit.
type EditResult struct {
	// FilePath is the file that was changed.
	FilePath string `json:"filePath"`
	// OldString is the text that was replaced. MultiEdit has Edits instead.
	OldString string `json:"oldString"`
	// NewString is the text that was put in its place.
	NewString string `json:"newString"`
	// ReplaceAll reports whether OldString was replaced everywhere.
	ReplaceAll bool `json:"replaceAll"`
	// Edits are the edits of a MultiEdit.
	Edits []StringEdit `json:"edits"`
	// OriginalFile is the old content of the file, or nil if the agent does not report it.
	// MultiEdit has OriginalFileContents.
	OriginalFile *string `json:"originalFile"`
	// OriginalFileContents is the content of the file before a MultiEdit, or nil.
	OriginalFileContents *string `json:"originalFileContents"`
	// StructuredPatch is the change with the lines around it, for display: two spaces stand for
	// each tab at the beginning of a line.
	StructuredPatch []Hunk `json:"structuredPatch"`
	// UserModified reports whether the user changed the edit before it was made.
	UserModified bool `json:"userModified"`
	// GitDiff is the change as git sees it. It is nil if the agent does not report it.
	GitDiff *GitDiff `json:"gitDiff"`
}

// A Hunk is a piece of a file that was changed, with some lines around it.
type Hunk struct {
	// OldStart is the number of the first line in the old file, counted from 1, or the number of
	// the line before if there are no lines.
	OldStart int `json:"oldStart"`
	// OldLines is the number of lines of the old file that the hunk covers.
	OldLines int `json:"oldLines"`
	// NewStart is the number of the first line in the new file, counted as in OldStart.
	NewStart int `json:"newStart"`
	// NewLines is the number of lines of the new file that the hunk covers.
	NewLines int `json:"newLines"`
	// Lines start with a space, a plus, a minus, or, for the remark that the line before has no
	// end, a backslash.
	Lines []string `json:"lines"`
}

// UnmarshalJSON takes an object. Members of another type count as absent, and lines that are not
// strings are left out.
func (h *Hunk) UnmarshalJSON(data []byte) error {
	var loose struct {
		OldStart, OldLines, NewStart, NewLines int
		Lines                                  []json.RawMessage
	}
	if err := entrylex.DecodeLoosely(wire.JSON(data), &loose); err != nil {
		return err
	}
	*h = Hunk{OldStart: loose.OldStart, OldLines: loose.OldLines, NewStart: loose.NewStart, NewLines: loose.NewLines}
	for _, raw := range loose.Lines {
		var line string
		if raw[0] == '"' && json.Unmarshal(raw, &line) == nil {
			h.Lines = append(h.Lines, line)
		}
	}
	return nil
}

// A GitDiff is a change as git sees it.
type GitDiff struct {
	// Filename is the path of the file in its repository.
	Filename string `json:"filename"`
	// Status is modified or added.
	Status string `json:"status"`
	// Additions is the number of lines that were added.
	Additions int `json:"additions"`
	// Deletions is the number of lines that were removed.
	Deletions int `json:"deletions"`
	// Patch are the hunks of a unified diff.
	Patch string `json:"patch"`
}

// A NotebookEditInput changes a cell of a notebook.
type NotebookEditInput struct {
	// NotebookPath is the notebook to change, an absolute path.
	NotebookPath string `json:"notebook_path"`
	// CellID is the cell to change. With insert, the new cell follows it, or comes first if it is
	// "".
	CellID string `json:"cell_id"`
	// NewSource is the new content of the cell.
	NewSource string `json:"new_source"`
	// CellType is code or markdown. Empty means the type that the cell has.
	CellType string `json:"cell_type"`
	// EditMode is replace, insert, delete or "", which means replace.
	EditMode string `json:"edit_mode"`
}

// A NotebookEditResult is a notebook that was changed.
type NotebookEditResult struct {
	// NotebookPath is the notebook that was changed.
	NotebookPath string `json:"notebook_path"`
	// CellID is the cell that was changed, or "".
	CellID string `json:"cell_id"`
	// CellType is code or markdown.
	CellType string `json:"cell_type"`
	// Language is the programming language of the notebook, such as "python".
	Language string `json:"language"`
	// EditMode is replace, insert or delete.
	EditMode string `json:"edit_mode"`
	// OldSource is the old content of the cell. Only replace and delete have it.
	OldSource string `json:"old_source"`
	// NewSource is the new content of the cell.
	NewSource string `json:"new_source"`
	// OriginalFile is the whole notebook before the change, as JSON text.
	OriginalFile string `json:"original_file"`
	// UpdatedFile is the whole notebook after the change, as JSON text.
	UpdatedFile string `json:"updated_file"`
	// Error describes the failure, if there was one.
	Error string `json:"error"`
}

// An LSInput names a directory.
type LSInput struct {
	// Path is the directory to list.
	Path string `json:"path"`
	// Ignore are patterns of names to leave out, or nil.
	Ignore []string `json:"ignore"`
}

// A GrepInput searches files for a regular expression.
type GrepInput struct {
	// Pattern is a regular expression, as ripgrep reads it.
	Pattern string `json:"pattern"`
	// Path is a file or directory to search in. Empty means the working directory.
	Path string `json:"path"`
	// Glob limits the search to files with such names, such as "*.go". Empty means all files.
	Glob string `json:"glob"`
	// Type limits the search to a type of file that ripgrep knows, such as "go". Empty means all.
	Type string `json:"type"`
	// OutputMode is content, files_with_matches, count or "".
	OutputMode string `json:"output_mode"`
	// Before is the number of lines to show before each match. It and the fields down to
	// LineNumbers are ignored unless OutputMode is content.
	Before int `json:"-B"`
	// After is the number of lines to show after each match.
	After int `json:"-A"`
	// Around is another spelling of Context.
	Around int `json:"-C"`
	// Context is the number of lines to show before and after each match.
	Context int `json:"context"`
	// LineNumbers asks for line numbers. It is also false if the model left it out, and the agent
	// then shows them.
	LineNumbers bool `json:"-n"`
	// IgnoreCase makes the search ignore case.
	IgnoreCase bool `json:"-i"`
	// OnlyMatches asks for the matching parts of lines only. It is ignored unless OutputMode is
	// content.
	OnlyMatches bool `json:"-o"`
	// HeadLimit is the maximum number of lines or files to return. It is 0 if the model left it
	// out, which means 250, and if the model asked for all of them.
	HeadLimit int `json:"head_limit"`
	// Offset is the number of lines or files to skip.
	Offset int `json:"offset"`
	// Multiline lets the pattern match across lines.
	Multiline bool `json:"multiline"`
}

// A GrepResult is the result of a search. Which fields are set depends on Mode.
type GrepResult struct {
	// Mode is content, files_with_matches or count.
	Mode string `json:"mode"`
	// NumFiles is the number of files that are in the result. With content it may be 0.
	NumFiles int `json:"numFiles"`
	// Filenames are the files. It comes with files_with_matches and is empty otherwise.
	Filenames []string `json:"filenames"`
	// Content is the text of the result: the lines with content, or the counts by file with count.
	Content string `json:"content"`
	// NumLines is the number of lines that are in Content. It comes with content.
	NumLines int `json:"numLines"`
	// NumMatches is the number of matches. It comes with count.
	NumMatches int `json:"numMatches"`
	// AppliedLimit is the requested number, if there are more, and 0 otherwise.
	AppliedLimit int `json:"appliedLimit"`
	// TimedOut reports whether the search was stopped, so that the result may be incomplete.
	TimedOut bool `json:"timedOut"`
}

// A GlobInput searches for files by name.
type GlobInput struct {
	// Pattern is a pattern of paths, such as "**/*.go".
	Pattern string `json:"pattern"`
	// Path is the directory to search in. Empty means the working directory.
	Path string `json:"path"`
}

// A GlobResult names the files that were found.
type GlobResult struct {
	// Filenames are the paths of the files.
	Filenames []string `json:"filenames"`
	// NumFiles is the number of paths that are in Filenames.
	NumFiles int `json:"numFiles"`
	// Truncated reports whether more files match than were returned.
	Truncated bool `json:"truncated"`
	// TimedOut reports whether the search was stopped, so that the result may be incomplete.
	TimedOut bool `json:"timedOut"`
	// Duration is the time the search took.
	Duration wire.Millis `json:"durationMs"`
}

// An LSPInput asks a language server about a place in a file.
type LSPInput struct {
	// Operation is goToDefinition, findReferences, hover or another word.
	Operation string `json:"operation"`
	// FilePath is the path of the file.
	FilePath string `json:"filePath"`
	// Line is the number of the line, counted from 1.
	Line int `json:"line"`
	// Character is the place in the line, counted from 1.
	Character int `json:"character"`
}

// An LSPResult is the answer of a language server.
type LSPResult struct {
	// Operation is the operation of the input.
	Operation string `json:"operation"`
	// FilePath is the path of the input.
	FilePath string `json:"filePath"`
	// Result is the answer as text, for the model.
	Result string `json:"result"`
	// ResultCount is the number of places that were found, or 0 if the agent does not report it.
	ResultCount int `json:"resultCount"`
	// FileCount is the number of files that these places are in, or 0 if the agent does not report
	// it.
	FileCount int `json:"fileCount"`
}

// A ToolSearchInput asks for tools that are not loaded yet.
type ToolSearchInput struct {
	// Query is keywords, or "select:" and the name of a tool.
	Query string `json:"query"`
	// MaxResults is the maximum number of tools to return. 0 means the agent's default, which is 5.
	MaxResults int `json:"max_results"`
}

// A ToolSearchResult names the tools that were loaded.
type ToolSearchResult struct {
	// Query is the query of the input.
	Query string `json:"query"`
	// Matches are the names of the tools, such as "mcp__calc__add".
	Matches []string `json:"matches"`
	// DeferredTools is the number of tools to search.
	DeferredTools int `json:"total_deferred_tools"`
}

// A WebFetchInput asks a question about a page.
type WebFetchInput struct {
	// URL is the address of the page.
	URL string `json:"url"`
	// Prompt is the question about the page, for a model that reads it.
	Prompt string `json:"prompt"`
}

// A WebFetchResult is the answer to a question about a page.
type WebFetchResult struct {
	// URL is the address that was fetched.
	URL string `json:"url"`
	// Code is the status of the HTTP response, such as 200.
	Code int `json:"code"`
	// CodeText is the text of that status, such as "OK".
	CodeText string `json:"codeText"`
	// Bytes is the size of the page.
	Bytes int64 `json:"bytes"`
	// Result is the answer to the question.
	Result string `json:"result"`
	// Duration is the time it took to fetch the page and to answer.
	Duration wire.Millis `json:"durationMs"`
}

// A WebSearchInput searches the web.
type WebSearchInput struct {
	// Query is the text to search for.
	Query string `json:"query"`
	// AllowedDomains limit the search to these domains, such as "go.dev". Nil means all.
	AllowedDomains []string `json:"allowed_domains"`
	// BlockedDomains are domains to leave out, or nil.
	BlockedDomains []string `json:"blocked_domains"`
}

// A WebSearchResult is the result of a web search.
type WebSearchResult struct {
	// Query is the query of the input.
	Query string `json:"query"`
	// Results are lists of pages, and texts about them, in the order of the answer.
	Results []WebSearchPart `json:"results"`
	// DurationSeconds is the time the search took.
	DurationSeconds float64 `json:"durationSeconds"`
	// SearchCount is the number of searches it took. They are billed. Older agents leave it out.
	SearchCount int `json:"searchCount"`
}

// A WebSearchPart is a text, or a list of pages.
type WebSearchPart struct {
	Text  string    // a text about the pages, or ""
	Links []WebLink // the pages that were found, or nil
}

// A WebLink is a page that was found.
type WebLink struct {
	Title   string `json:"title"`   // the title of the page
	URL     string `json:"url"`     // the address of the page
	Snippet string `json:"snippet"` // a passage of the page, or ""
}

// UnmarshalJSON takes a string, or an object whose content is a list of pages.
func (p *WebSearchPart) UnmarshalJSON(data []byte) error {
	if entrylex.FirstByte(wire.JSON(data)) == '"' {
		return json.Unmarshal(data, &p.Text)
	}
	var list struct {
		Content []WebLink `json:"content"`
	}
	err := entrylex.DecodeLoosely(wire.JSON(data), &list)
	p.Links = list.Content
	return err
}
