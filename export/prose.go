package export

import (
	"bytes"
	"html"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	gmhtml "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"

	"github.com/clewdev/clew/internal/highlight"
	"github.com/clewdev/clew/internal/markdown"
)

// prose writes a Markdown text.
func (p *page) prose(text string) {
	made, reason := p.convert(text)
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

// A proseCache has texts that were converted, so that each is converted once when a page is written
// again with smaller bounds. It is not much larger than a page.
type proseCache struct {
	made      map[string]string
	converted int // the number of conversions
}

// convert returns a Markdown text as HTML, or why it is shown as it is.
func (c *proseCache) convert(text string) (string, markdown.Reason) {
	if len(text) > markdown.MaxText {
		return "", markdown.TooLong
	}
	if made, ok := c.made[text]; ok {
		return made, ""
	}
	c.converted++
	made, reason := proseHTML(text)
	if c.made != nil && reason == "" {
		c.made[text] = made
	}
	return made, reason
}

// proseHTML converts a Markdown text to HTML.
func proseHTML(text string) (string, markdown.Reason) {
	source := []byte(clean(text))
	root, reason := markdown.Tree(source)
	if reason != "" {
		return "", reason
	}
	var b bytes.Buffer
	if htmlRenderer().Render(&b, source, root) != nil {
		return "", markdown.TooComplex
	}
	return b.String(), ""
}

// htmlRenderer writes trees as HTML. It may be used by several goroutines.
var htmlRenderer = sync.OnceValue(func() renderer.Renderer {
	// The policy of the page forbids styles of single elements.
	table := extension.NewTableHTMLRenderer(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))
	return renderer.NewRenderer(renderer.WithNodeRenderers(
		util.Prioritized(proseRenderer{}, 1),
		util.Prioritized(table, 500),
		util.Prioritized(extension.NewStrikethroughHTMLRenderer(), 500),
		util.Prioritized(extension.NewTaskCheckBoxHTMLRenderer(), 500),
		util.Prioritized(gmhtml.NewRenderer(), 1000),
	))
})

// A proseRenderer writes the elements that need care in untrusted text: tags, links, images and
// code.
type proseRenderer struct{}

// RegisterFuncs registers the functions for these elements.
func (proseRenderer) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindRawHTML, renderRawHTML)
	r.Register(ast.KindHTMLBlock, renderHTMLBlock)
	r.Register(ast.KindLink, renderLink)
	r.Register(ast.KindAutoLink, renderAutoLink)
	r.Register(ast.KindImage, renderImage)
	r.Register(ast.KindHeading, renderHeading)
	r.Register(ast.KindFencedCodeBlock, renderCodeBlock)
	r.Register(ast.KindCodeBlock, renderCodeBlock)
}

// renderRawHTML shows the tags in a paragraph as text.
func renderRawHTML(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if raw, ok := n.(*ast.RawHTML); ok && entering {
		_, _ = w.WriteString(html.EscapeString(string(raw.Segments.Value(source))))
	}
	return ast.WalkSkipChildren, nil
}

// renderHTMLBlock shows a block of HTML as text.
func renderHTMLBlock(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	block, ok := n.(*ast.HTMLBlock)
	if !ok || !entering {
		return ast.WalkContinue, nil
	}
	text := string(block.Lines().Value(source))
	if block.HasClosure() {
		text += string(block.ClosureLine.Value(source))
	}
	_, _ = w.WriteString(`<pre class="plain">` + html.EscapeString(text) + "</pre>\n")
	return ast.WalkContinue, nil
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

// destination returns the destination of a link, without escapes.
func destination(written []byte) []byte {
	return util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(written)))
}

const linkRel = ` rel="noopener noreferrer nofollow"`

func renderLink(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	link, ok := n.(*ast.Link)
	if !ok {
		return ast.WalkContinue, nil
	}
	target, safe := safeURL(string(destination(link.Destination)))
	switch {
	case safe && entering:
		_, _ = w.WriteString(`<a href="` + html.EscapeString(target) + `"` + linkRel + ">")
	case safe:
		_, _ = w.WriteString("</a>")
	case entering:
		_, _ = w.WriteString(`<span class="link" title=` + attr(string(link.Destination)) + `>`)
	default:
		_, _ = w.WriteString("</span>")
	}
	return ast.WalkContinue, nil
}

func renderAutoLink(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	link, ok := n.(*ast.AutoLink)
	if !ok || !entering {
		return ast.WalkContinue, nil
	}
	label, target := string(link.Label(source)), string(link.URL(source))
	if link.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(target), "mailto:") {
		target = "mailto:" + target
	}
	if target, safe := safeURL(target); safe {
		_, _ = w.WriteString(`<a href="` + html.EscapeString(target) + `"` + linkRel + ">" + html.EscapeString(label) + "</a>")
	} else {
		_, _ = w.WriteString(html.EscapeString(label))
	}
	return ast.WalkContinue, nil
}

// renderImage shows the name and the URL of an image. The page does not load it, since its server
// would learn that the page was opened.
func renderImage(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	image, ok := n.(*ast.Image)
	if !ok {
		return ast.WalkContinue, nil
	}
	if entering {
		_, _ = w.WriteString(`<span class="link" title=` + attr(string(image.Destination)) + `>picture: `)
	} else {
		_, _ = w.WriteString("</span>")
	}
	return ast.WalkContinue, nil
}

// renderHeading writes headings with lower levels than those of the page.
func renderHeading(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	heading, ok := n.(*ast.Heading)
	if !ok {
		return ast.WalkContinue, nil
	}
	tag := "h" + strconv.Itoa(min(heading.Level+2, 6)) + ">"
	if entering {
		_, _ = w.WriteString("<" + tag)
	} else {
		_, _ = w.WriteString("</" + tag + "\n")
	}
	return ast.WalkContinue, nil
}

func renderCodeBlock(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	name := ""
	if fenced, ok := n.(*ast.FencedCodeBlock); ok {
		name = string(fenced.Language(source))
	}
	m := &markup{w: w}
	m.raw("<pre><code>")
	m.highlight(string(n.Lines().Value(source)), highlight.Find(name))
	m.raw("</code></pre>\n")
	return ast.WalkSkipChildren, m.err
}

// tokenClasses are the classes of colored words in the page.
var tokenClasses = [...]string{
	highlight.Plain: "", highlight.Comment: "c", highlight.String: "s", highlight.Keyword: "k", highlight.Number: "n",
	highlight.Call: "f", highlight.Tag: "t", highlight.Added: "s", highlight.Removed: "t",
}

// highlight writes code with colored words. l may be nil.
func (m *markup) highlight(code string, l *highlight.Language) {
	for _, token := range highlight.NewScanner(l).Scan(clean(code)) { // cleaned as a whole, before it is split
		if class := tokenClasses[token.Class]; class != "" {
			m.raw(`<span class="` + class + `">`)
			m.text(token.Text)
			m.raw("</span>")
		} else {
			m.text(token.Text)
		}
	}
}
