package export

import (
	"html"
	"net/url"
	"strconv"
	"strings"

	"github.com/clewdev/clew/internal/highlight"
	"github.com/clewdev/clew/internal/markdown"
)

// prose writes a Markdown text.
func (p *page) prose(text string) {
	made, reason := p.convert(text, false)
	if reason == "" {
		p.raw(`<div class="prose">`)
		p.raw(made)
		p.raw("</div>")
		return
	}
	if reason == markdown.TooComplex {
		p.raw(`<p class="missing">shown as plain text, since its Markdown is too complex</p>`)
	}
	p.textBlock(`class="plain"`, text)
}

// said writes a prompt. People write Markdown too, but their lines stay lines, and nothing that they
// wrote is hidden.
func (p *page) said(text string) {
	made, reason := "", markdown.TooLong
	if p.limit() == 0 || len(text) <= p.limit() {
		made, reason = p.convert(text, true)
	}
	if reason != "" {
		p.textBlock(`class="said"`, text)
		return
	}
	p.raw(`<div class="prose asked">`)
	p.raw(made)
	p.raw("</div>")
}

// A proseCache has texts that were converted, so that each is converted once when a page is written
// again with smaller bounds. It is not much larger than a page.
type proseCache struct {
	made      map[proseKey]string
	converted int // the number of conversions
}

// A proseKey is a text, and whether it is a prompt.
type proseKey struct {
	text   string
	prompt bool
}

// convert returns a Markdown text as HTML, or why it is shown as it is.
func (c *proseCache) convert(text string, prompt bool) (string, markdown.Reason) {
	if len(text) > markdown.MaxText {
		return "", markdown.TooLong
	}
	key := proseKey{text, prompt}
	if made, ok := c.made[key]; ok {
		return made, ""
	}
	c.converted++
	convert := proseHTML
	if prompt {
		convert = promptHTML
	}
	made, reason := convert(text)
	if c.made != nil && reason == "" {
		c.made[key] = made
	}
	return made, reason
}

// proseHTML converts a Markdown text to HTML.
func proseHTML(text string) (string, markdown.Reason) { return blocksHTML(markdown.Parse(clean(text))) }

// promptHTML is like proseHTML, and shows the definitions of links.
func promptHTML(text string) (string, markdown.Reason) {
	return blocksHTML(markdown.ParsePart(clean(text)))
}

func blocksHTML(blocks []markdown.Block, reason markdown.Reason) (string, markdown.Reason) {
	if reason != "" {
		return "", reason
	}
	var made textBuffer
	(&proseMarkup{markup: &markup{w: &made}}).blocks(blocks, false)
	return made.String(), ""
}

// A textBuffer is a writer of markup that never fails.
type textBuffer struct{ strings.Builder }

// Flush does nothing.
func (*textBuffer) Flush() error { return nil }

// A proseMarkup writes the blocks of a Markdown text.
type proseMarkup struct {
	*markup
	box  string          // the box of a task, at the start of its text
	open []inlineElement // around the text, from the outside in
}

// blocks writes blocks. Paragraphs in the items of a tight list are not elements.
func (m *proseMarkup) blocks(blocks []markdown.Block, tight bool) {
	for i := range blocks {
		b := &blocks[i]
		switch {
		case b.Kind != markdown.Paragraph:
			m.block(b)
		case tight:
			m.content(b.Spans)
			if i < len(blocks)-1 {
				m.raw("\n")
			}
		default:
			m.raw("<p>")
			m.content(b.Spans)
			m.raw("</p>\n")
		}
	}
}

func (m *proseMarkup) block(b *markdown.Block) {
	switch b.Kind {
	case markdown.Heading: // of a lower level than the page's
		tag := "h" + strconv.Itoa(min(b.Level+2, 6)) + ">"
		m.raw("<" + tag)
		m.content(b.Spans)
		m.raw("</" + tag + "\n")
	case markdown.Quote:
		m.raw("<blockquote>\n")
		m.blocks(b.Children, false)
		m.raw("</blockquote>\n")
	case markdown.List:
		m.list(b)
	case markdown.Code:
		m.raw("<pre><code>")
		m.highlight(b.Text, highlight.Find(b.Language))
		m.raw("</code></pre>\n")
	case markdown.HTML:
		m.element("pre", `class="plain"`, b.Text)
		m.raw("\n")
	case markdown.Table:
		m.table(b)
	case markdown.Rule:
		m.raw("<hr>\n")
	}
}

func (m *proseMarkup) list(b *markdown.Block) {
	tag, start := "ul", ""
	if b.Ordered {
		tag = "ol"
		if b.Start != 1 {
			start = ` start="` + strconv.Itoa(b.Start) + `"`
		}
	}
	m.raw("<" + tag + start + ">\n")
	for i := range b.Children {
		item := &b.Children[i]
		m.box = taskBoxes[item.Task]
		m.raw("<li>")
		if len(item.Children) > 0 && (!b.Tight || item.Children[0].Kind != markdown.Paragraph) {
			m.raw("\n")
		}
		m.blocks(item.Children, b.Tight)
		m.raw("</li>\n")
	}
	m.raw("</" + tag + ">\n")
}

var taskBoxes = [...]string{
	markdown.NoTask:   "",
	markdown.OpenTask: `<input disabled="" type="checkbox"> `,
	markdown.DoneTask: `<input checked="" disabled="" type="checkbox"> `,
}

func (m *proseMarkup) table(b *markdown.Block) {
	m.raw("<table>\n<thead>\n")
	for i, cells := range b.Rows {
		cell := "td"
		switch i {
		case 0:
			cell = "th"
		case 1:
			m.raw("<tbody>\n")
		}
		m.raw("<tr>\n")
		for j, spans := range cells {
			m.raw("<")
			m.raw(cell)
			m.raw(alignments[b.Aligns[j]])
			m.content(spans)
			m.raw("</")
			m.raw(cell)
			m.raw(">\n")
		}
		m.raw("</tr>\n")
		if i == 0 {
			m.raw("</thead>\n")
		}
	}
	if len(b.Rows) > 1 {
		m.raw("</tbody>\n")
	}
	m.raw("</table>\n")
}

// alignments are attributes, since the policy of the page forbids styles of single elements.
var alignments = [...]string{markdown.Left: ">", markdown.Center: ` align="center">`, markdown.Right: ` align="right">`}

// content writes the text of a block.
func (m *proseMarkup) content(spans []markdown.Span) {
	m.raw(m.box)
	m.box = ""
	for i := range spans {
		s := &spans[i]
		m.turnTo(s)
		if s.Break {
			m.raw("<br>")
		}
		m.text(s.Text)
	}
	m.turnTo(new(markdown.Span))
}

// An inlineElement is an element around text: a mark's, or a link or picture with a target.
type inlineElement struct {
	mark   markdown.Marks
	target string
	end    string
}

// has reports whether a span is in the element. Each piece of code has its own.
func (e *inlineElement) has(s *markdown.Span) bool {
	if e.target != "" {
		return s.Target == e.target && s.Marks&markdown.Picture == e.mark
	}
	return s.Marks&e.mark != 0 && e.mark != markdown.InlineCode
}

// inlineTags are the tags of marks, from the outside in.
var inlineTags = [...]struct {
	mark       markdown.Marks
	begin, end string
}{
	{markdown.Emphasis, "<em>", "</em>"},
	{markdown.Strong, "<strong>", "</strong>"},
	{markdown.Struck, "<del>", "</del>"},
	{markdown.InlineCode, "<code>", "</code>"},
}

// turnTo ends the elements that a span is not in, and starts the missing ones.
func (m *proseMarkup) turnTo(s *markdown.Span) {
	kept, marks, linked := 0, markdown.Marks(0), s.Target == ""
	for ; kept < len(m.open) && m.open[kept].has(s); kept++ {
		marks |= m.open[kept].mark
		linked = linked || m.open[kept].target != ""
	}
	for i := len(m.open) - 1; i >= kept; i-- {
		m.raw(m.open[i].end)
	}
	m.open = m.open[:kept]
	if !linked {
		m.raw(m.link(s))
	}
	for _, t := range inlineTags {
		if s.Marks&^marks&t.mark != 0 {
			m.raw(t.begin)
			m.open = append(m.open, inlineElement{mark: t.mark, end: t.end})
		}
	}
}

// link starts a link or a picture, and returns its tag. A target that is not safe to click on only
// shows its target. So does a picture: the page does not load it, since its server would learn that
// the page was opened.
func (m *proseMarkup) link(s *markdown.Span) string {
	e := inlineElement{mark: s.Marks & markdown.Picture, target: s.Target, end: "</span>"}
	tag := `<span class="link" title=` + attr(s.Target) + ">"
	if target, safe := safeURL(s.Target); safe && e.mark == 0 {
		tag, e.end = `<a href="`+html.EscapeString(target)+`" rel="noopener noreferrer nofollow">`, "</a>"
	}
	m.open = append(m.open, e)
	return tag
}

// safeURL returns the URL, and whether it is safe to click on.
func safeURL(text string) (string, bool) {
	u, err := url.Parse(text)
	if err != nil {
		return "", false
	}
	isPage := (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
	return u.String(), isPage || u.Scheme == "mailto"
}

// tokenTags start the colored words of the page.
var tokenTags = [...]string{
	highlight.Plain: "", highlight.Comment: `<span class="c">`, highlight.String: `<span class="s">`,
	highlight.Keyword: `<span class="k">`, highlight.Number: `<span class="n">`, highlight.Call: `<span class="f">`,
	highlight.Tag: `<span class="t">`, highlight.Added: `<span class="s">`, highlight.Removed: `<span class="t">`,
}

// highlight writes code with colored words. l may be nil.
func (m *markup) highlight(code string, l *highlight.Language) {
	for _, token := range highlight.NewScanner(l).Scan(clean(code)) { // cleaned as a whole, before it is split
		m.token(token.Text, token.Class)
	}
}

// token writes a piece of code.
func (m *markup) token(text string, class highlight.Class) {
	m.raw(tokenTags[class])
	m.text(text)
	if class != highlight.Plain {
		m.raw("</span>")
	}
}
