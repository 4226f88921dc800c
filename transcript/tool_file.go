package transcript

import "github.com/clewdev/clew/wire"

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
	// OriginalFile is what was in the file, or nil if the agent does not tell. MultiEdit has OriginalFileContents.
	OriginalFile         *string `json:"originalFile"`
	OriginalFileContents *string `json:"originalFileContents"`
	StructuredPatch      []Hunk  `json:"structuredPatch"`
	// UserModified says that the user changed the edit before it was made.
	UserModified bool     `json:"userModified"`
	GitDiff      *GitDiff `json:"gitDiff"`
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

// An LSInput names a folder.
type LSInput struct {
	Path   string   `json:"path"`
	Ignore []string `json:"ignore"`
}
