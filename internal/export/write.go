package export

import (
	"fmt"
	"io"
	"time"
)

// The formats that [Write] knows.
const (
	HTML     = "html"
	Markdown = "markdown"
	JSON     = "json"
)

// Formats returns the names of the formats.
func Formats() []string { return []string{HTML, Markdown, JSON} }

// A View says how a document is shown on a page and in Markdown. Nil and the zero
// value mean short: without thinking, with long results cut. JSON has all that the
// document has.
type View struct {
	// Thinking shows what the agent thought.
	Thinking bool
	// Expand opens the parts of a page that are folded otherwise.
	Expand bool
	// Full shows long texts whole.
	Full bool
	// Zone is the time zone to show times in. Nil means the local one.
	Zone *time.Location
}

const (
	maxPart      = 16 << 10 // bytes of a text that is not shown in full
	maxDiffLines = 600
	maxDepth     = 12 // of subagents below subagents
)

// Write writes a document in one of the formats. The error is that of the writer,
// or tells of a format that there is not. view may be nil.
func Write(w io.Writer, d *Document, format string, view *View) error {
	if view == nil {
		view = new(View)
	}
	switch format {
	case HTML:
		return writeHTML(w, d, view)
	case Markdown:
		return writeMarkdown(w, d, view)
	case JSON:
		return writeJSON(w, d)
	}
	return fmt.Errorf("export: there is no format %q", format)
}

// limit returns how long a part may be, or 0.
func (v *View) limit() int {
	if v.Full {
		return 0
	}
	return maxPart
}

func (v *View) time(at time.Time, layout string) string {
	if v.Zone != nil {
		return at.In(v.Zone).Format(layout)
	}
	return at.Local().Format(layout)
}
