package export

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/clewdev/clew/internal/highlight"
	"github.com/clewdev/clew/transcript"
)

// Style returns the style sheet of the page, for custom pages that have parts of it.
func Style() string { return pageStyle }

// A Part is a part of an item. See [WriteItem].
type Part string

// The parts of an item.
const (
	// Body is the part of an item that the page shows. For a call it is its input and its result,
	// or its changes.
	Body Part = "body"
	// Input is the whole input of a call.
	Input Part = "input"
	// Result is the whole result of a call.
	Result Part = "result"
	// Changes are the changes of files by a call.
	Changes Part = "changes"
)

// WriteItem writes a part of an item as HTML, in the markup of the page and for its style sheet: see
// [Style]. All texts are escaped. It needs no script, has no inline styles, and links to nothing but
// web pages and mail addresses. Neither images nor subagents are included: the caller decides where
// they are. view may be nil.
func WriteItem(w io.Writer, item *transcript.DisplayItem, part Part, view *View) error {
	return writePart(w, view, func(p *page) { p.part(item, part) })
}

// WriteChunk is like [WriteItem] for a chunk. It writes a prompt, an answer, a notice or the
// summary of a compaction, without the line that names its author.
func WriteChunk(w io.Writer, c *transcript.Chunk, view *View) error {
	err := writePart(w, view, func(p *page) { p.inner(c) })
	for i := range c.Items {
		if err == nil {
			err = WriteItem(w, &c.Items[i], Body, view)
		}
	}
	return err
}

// WriteDiff is like [WriteItem] for the changes of a file. Words that were changed within a line are
// marked.
func WriteDiff(w io.Writer, d *transcript.FileDiff, view *View) error {
	return writePart(w, view, func(p *page) { p.diff(d) })
}

// WriteText is like [WriteItem] for a text in Markdown.
func WriteText(w io.Writer, text string, view *View) error {
	return writePart(w, view, func(p *page) { p.prose(text) })
}

// WriteCode is like [WriteItem] for code in a language, such as "json".
func WriteCode(w io.Writer, code, language string, view *View) error {
	return writePart(w, view, func(p *page) { p.code(code, highlight.Find(language)) })
}

// maxFullText is the longest text of a part that is shown in full.
const maxFullText = 4 << 20

// writePart writes with a page that is not a document.
func writePart(w io.Writer, view *View, write func(*page)) error {
	if view == nil {
		view = new(View)
	}
	p := &page{
		markup: &markup{w: bufio.NewWriterSize(w, 4<<10)}, // parts are small
		bounds: &bounds{page: math.MaxInt, most: maxText, lines: maxDiffLines, noImages: true},
		View:   view, proseCache: new(proseCache), stopped: func() error { return nil }, doc: new(Document), prefix: firstPrefix,
	}
	if view.Full {
		p.most, p.lines = maxFullText, maxFullText/64
	}
	write(p)
	return p.flush()
}

// part writes a part of an item.
func (p *page) part(i *transcript.DisplayItem, part Part) {
	diffs := i.Diffs()
	switch {
	case part == Input:
		p.input(i)
	case part == Result:
		p.result(i)
	case part == Changes:
		for k := range diffs {
			p.diff(&diffs[k])
		}
	case part != Body:
		p.fail(fmt.Errorf("export: unknown part %q", part))
	case i.IsCall():
		p.callBody(i, diffs)
	case i.ToolID != "":
		p.result(&transcript.DisplayItem{ToolResult: i.Text, HasResult: true, ToolError: i.ToolError})
	default:
		p.prose(i.Text)
	}
}

// fail records an error.
func (p *page) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

// inner writes the texts of a chunk, without its items.
func (p *page) inner(c *transcript.Chunk) {
	switch {
	case c.Type == transcript.UserChunk:
		p.said(c.Text)
	case c.Type == transcript.SystemChunk:
		p.textBlock(`class="said"`, c.Text)
	case len(c.Items) == 0 && strings.TrimSpace(c.Text) != "":
		p.prose(c.Text)
	}
	p.injected(c.Injected)
	p.ending(c)
}
