package tooluse

import (
	"encoding/json"

	"github.com/clewdev/clew/internal/entrylex"
	"github.com/clewdev/clew/wire"
)

// A ReadInput names a file, and the part of it to read. Zero values mean all of it.
type ReadInput struct {
	FilePath string `json:"file_path"`
	// Offset is the number of the first line, counted from 1, and Limit how many to read.
	Offset int `json:"offset"`
	Limit  int `json:"limit"`
	// Pages are those of a PDF, such as "1-5".
	Pages string `json:"pages"`
}

// A ReadResult is a file that was read.
type ReadResult struct {
	// Type is text, image, notebook, pdf, parts (the pages of a PDF as pictures) or another word.
	Type string   `json:"type"`
	File ReadFile `json:"file"`
}

// A ReadFile is what was read of a file. Which fields are set depends on [ReadResult.Type].
type ReadFile struct {
	FilePath string `json:"filePath"`

	// Content are NumLines lines of text from StartLine on, of TotalLines.
	Content    string `json:"content"`
	NumLines   int    `json:"numLines"`
	StartLine  int    `json:"startLine"`
	TotalLines int    `json:"totalLines"`

	// Base64 is a picture or a PDF, MediaType that of a picture.
	Base64       string `json:"base64"`
	MediaType    string `json:"type"`
	OriginalSize int64  `json:"originalSize"`

	// Cells are those of a notebook, as a JSON list.
	Cells wire.JSON `json:"cells"`

	// Count is how many pages were put into OutputDir.
	Count     int    `json:"count"`
	OutputDir string `json:"outputDir"`
}

// A WriteInput is a file to write.
type WriteInput struct {
	FilePath string `json:"file_path"`
	Content  string `json:"content"`
}

// A WriteResult is a file that was written.
type WriteResult struct {
	// Type is create or update.
	Type     string `json:"type"`
	FilePath string `json:"filePath"`
	Content  string `json:"content"`
	// OriginalFile is what was in the file, or nil if there was none.
	OriginalFile    *string  `json:"originalFile"`
	StructuredPatch []Hunk   `json:"structuredPatch"`
	UserModified    bool     `json:"userModified"`
	GitDiff         *GitDiff `json:"gitDiff"`
}

// An EditInput replaces a piece of a file.
type EditInput struct {
	FilePath   string `json:"file_path"`
	OldString  string `json:"old_string"`
	NewString  string `json:"new_string"`
	ReplaceAll bool   `json:"replace_all"`
}

// A MultiEditInput replaces pieces of a file, one after the other.
type MultiEditInput struct {
	FilePath string       `json:"file_path"`
	Edits    []StringEdit `json:"edits"`
}

// A StringEdit replaces one string by another: where it stands first, or everywhere.
type StringEdit struct {
	OldString  string `json:"old_string"`
	NewString  string `json:"new_string"`
	ReplaceAll bool   `json:"replace_all"`
}

// An EditResult is a file that was changed, by Edit or MultiEdit.
type EditResult struct {
	FilePath   string `json:"filePath"`
	OldString  string `json:"oldString"`
	NewString  string `json:"newString"`
	ReplaceAll bool   `json:"replaceAll"`
	// Edits are those of a MultiEdit.
	Edits []StringEdit `json:"edits"`
	// OriginalFile is what was in the file, or nil if the agent does not report it. MultiEdit has
	// OriginalFileContents.
	OriginalFile         *string `json:"originalFile"`
	OriginalFileContents *string `json:"originalFileContents"`
	StructuredPatch      []Hunk  `json:"structuredPatch"`
	// UserModified says that the user changed the edit before it was made.
	UserModified bool     `json:"userModified"`
	GitDiff      *GitDiff `json:"gitDiff"`
}

// A Hunk is a piece of a file that was changed, with some lines around it.
type Hunk struct {
	// OldStart and NewStart are the numbers of the first line, counted from 1, or the number of the
	// line before if there are no lines.
	OldStart int `json:"oldStart"`
	OldLines int `json:"oldLines"`
	NewStart int `json:"newStart"`
	NewLines int `json:"newLines"`
	// Lines begin with a space, a plus, a minus, or, for the remark that the line before has no
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
	Filename string `json:"filename"`
	// Status is modified or added.
	Status    string `json:"status"`
	Additions int    `json:"additions"`
	Deletions int    `json:"deletions"`
	// Patch are the hunks of a unified diff.
	Patch string `json:"patch"`
}

// A NotebookEditInput changes a cell of a notebook.
type NotebookEditInput struct {
	NotebookPath string `json:"notebook_path"`
	CellID       string `json:"cell_id"`
	NewSource    string `json:"new_source"`
	CellType     string `json:"cell_type"`
	// EditMode is replace, insert, delete or "", which means replace.
	EditMode string `json:"edit_mode"`
}

// A NotebookEditResult is a notebook that was changed.
type NotebookEditResult struct {
	NotebookPath string `json:"notebook_path"`
	CellID       string `json:"cell_id"`
	CellType     string `json:"cell_type"`
	Language     string `json:"language"`
	EditMode     string `json:"edit_mode"`
	OldSource    string `json:"old_source"`
	NewSource    string `json:"new_source"`
	// OriginalFile and UpdatedFile are the notebook before and after, as text.
	OriginalFile string `json:"original_file"`
	UpdatedFile  string `json:"updated_file"`
	// Error says what went wrong, if something did.
	Error string `json:"error"`
}

// An LSInput names a directory.
type LSInput struct {
	Path   string   `json:"path"`
	Ignore []string `json:"ignore"`
}

// A GrepInput searches files for a regular expression.
type GrepInput struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
	Glob    string `json:"glob"`
	Type    string `json:"type"`
	// OutputMode is content, files_with_matches, count or "".
	OutputMode  string `json:"output_mode"`
	Before      int    `json:"-B"`
	After       int    `json:"-A"`
	Around      int    `json:"-C"`
	Context     int    `json:"context"`
	LineNumbers bool   `json:"-n"`
	IgnoreCase  bool   `json:"-i"`
	OnlyMatches bool   `json:"-o"`
	HeadLimit   int    `json:"head_limit"`
	Offset      int    `json:"offset"`
	Multiline   bool   `json:"multiline"`
}

// A GrepResult is what was found. Which fields are set depends on Mode.
type GrepResult struct {
	// Mode is content, files_with_matches or count.
	Mode       string   `json:"mode"`
	NumFiles   int      `json:"numFiles"`
	Filenames  []string `json:"filenames"`
	Content    string   `json:"content"`
	NumLines   int      `json:"numLines"`
	NumMatches int      `json:"numMatches"`
	// AppliedLimit is how many were asked for, if there are more.
	AppliedLimit int  `json:"appliedLimit"`
	TimedOut     bool `json:"timedOut"`
}

// A GlobInput searches for files by name.
type GlobInput struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
}

// A GlobResult names the files that were found.
type GlobResult struct {
	Filenames []string    `json:"filenames"`
	NumFiles  int         `json:"numFiles"`
	Truncated bool        `json:"truncated"`
	TimedOut  bool        `json:"timedOut"`
	Duration  wire.Millis `json:"durationMs"`
}

// An LSPInput asks a language server about a place in a file.
type LSPInput struct {
	// Operation is goToDefinition, findReferences, hover or another word.
	Operation string `json:"operation"`
	FilePath  string `json:"filePath"`
	Line      int    `json:"line"`
	Character int    `json:"character"`
}

// An LSPResult is what a language server said.
type LSPResult struct {
	Operation   string `json:"operation"`
	FilePath    string `json:"filePath"`
	Result      string `json:"result"`
	ResultCount int    `json:"resultCount"`
	FileCount   int    `json:"fileCount"`
}

// A ToolSearchInput asks for tools that are not loaded yet.
type ToolSearchInput struct {
	Query      string `json:"query"`
	MaxResults int    `json:"max_results"`
}

// A ToolSearchResult names the tools that were loaded.
type ToolSearchResult struct {
	Query         string   `json:"query"`
	Matches       []string `json:"matches"`
	DeferredTools int      `json:"total_deferred_tools"`
}

// A WebFetchInput asks a question about a page.
type WebFetchInput struct {
	URL    string `json:"url"`
	Prompt string `json:"prompt"`
}

// A WebFetchResult is the answer to a question about a page.
type WebFetchResult struct {
	URL string `json:"url"`
	// Code and CodeText are the status of the HTTP response, such as 200 and OK.
	Code     int         `json:"code"`
	CodeText string      `json:"codeText"`
	Bytes    int64       `json:"bytes"`
	Result   string      `json:"result"`
	Duration wire.Millis `json:"durationMs"`
}

// A WebSearchInput searches the web.
type WebSearchInput struct {
	Query          string   `json:"query"`
	AllowedDomains []string `json:"allowed_domains"`
	BlockedDomains []string `json:"blocked_domains"`
}

// A WebSearchResult is what was found on the web.
type WebSearchResult struct {
	Query           string          `json:"query"`
	Results         []WebSearchPart `json:"results"`
	DurationSeconds float64         `json:"durationSeconds"`
	// SearchCount is how many searches it took. They are billed.
	SearchCount int `json:"searchCount"`
}

// A WebSearchPart is a text, or a list of pages.
type WebSearchPart struct {
	Text  string
	Links []WebLink
}

// A WebLink is a page that was found.
type WebLink struct {
	Title   string `json:"title"`
	URL     string `json:"url"`
	Snippet string `json:"snippet"`
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
