package transcript

import (
	"encoding/json"

	"github.com/clewdev/clew/wire"
)

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
	Filenames  []string `json:"filenames"`
	NumFiles   int      `json:"numFiles"`
	Truncated  bool     `json:"truncated"`
	TimedOut   bool     `json:"timedOut"`
	DurationMs float64  `json:"durationMs"`
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
	Code       int     `json:"code"`
	CodeText   string  `json:"codeText"`
	Bytes      int64   `json:"bytes"`
	Result     string  `json:"result"`
	DurationMs float64 `json:"durationMs"`
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
	if firstByte(wire.JSON(data)) == '"' {
		return json.Unmarshal(data, &p.Text)
	}
	var list struct {
		Content []WebLink `json:"content"`
	}
	err := decodeLoosely(wire.JSON(data), &list)
	p.Links = list.Content
	return err
}
