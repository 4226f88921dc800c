package markdown

import (
	"bytes"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// The parser takes a time that is more than proportional to the length of some texts, and makes
// trees that are much larger than they are. Such texts are not parsed. They are rare except in
// attacks, and are shown as they are.
const (
	// MaxText is the longest text that is parsed as Markdown, in bytes. Longer texts are rarely
	// written by hand.
	MaxText = 64 << 10
	// maxNesting is the maximum depth of nested quotes and lists.
	maxNesting = 40
	// maxWork is the work that the parser may do for each byte of a text. A block of n bytes with m
	// signs such as brackets can cost n*m, since the parser may look for the end of each.
	maxWork = 512
	// maxCells and maxTargets bound what a text becomes, for each of its bytes: the cells of
	// tables, whose rows are filled up to the width of the first one, and the targets of links,
	// since many links can refer to one definition.
	maxCells   = 2
	maxTargets = 4
	// minBound is added to these bounds, so that they do not matter for short texts.
	minBound = 1000
	// shortText is the length of a text that can't exceed these bounds unless it has a table: its
	// work is at most twice the square of its length.
	shortText = 512
)

// A Reason explains why a text is not shown as Markdown. It is "" if the text is.
type Reason string

// The reasons.
const (
	TooLong    Reason = "too long"
	TooComplex Reason = "too complex"
)

// Tree parses a Markdown text. It returns a nil tree, and why, for a text that is to be shown as it
// is.
func Tree(source []byte) (ast.Node, Reason) { return boundedTree(Parser(), source) }

func boundedTree(p parser.Parser, source []byte) (ast.Node, Reason) {
	switch {
	case len(source) > MaxText:
		return nil, TooLong
	case !IsCheap(source):
		return nil, TooComplex
	}
	root := p.Parse(text.NewReader(source))
	if targetSize(root) > maxTargets*len(source)+minBound {
		return nil, TooComplex
	}
	return root, ""
}

// isDeep reports whether a line starts with too many quotes and list items. A list item may also be
// inside items of earlier lines, by its indentation.
func isDeep(source []byte) bool {
	for line := range bytes.Lines(source) {
		depth, indent := 0, 0
		for len(line) > 0 {
			n, marker := lineHead(line)
			switch {
			case n == 0:
				line = nil
				continue
			case marker:
				depth++
			case line[0] == '\t':
				indent += 4
			default:
				indent++
			}
			line = line[n:]
		}
		if depth > 0 && depth+indent/2 > maxNesting {
			return true
		}
	}
	return false
}

// lineHead returns the length of the space, or of the marker of a quote or a list item, at the
// beginning of a line. It is 0 if there is none.
func lineHead(line []byte) (n int, marker bool) {
	switch c := line[0]; {
	case c == ' ' || c == '\t':
		return 1, false
	case c == '>':
		return 1, true
	case c == '-' || c == '*' || c == '+':
		n = 1
	default:
		digits := len(line) - len(bytes.TrimLeft(line[:min(len(line), 10)], "0123456789")) - max(0, len(line)-10)
		if digits == 0 || digits == len(line) || line[digits] != '.' && line[digits] != ')' {
			return 0, false
		}
		n = digits + 1
	}
	if n < len(line) && !util.IsSpace(line[n]) {
		return 0, false
	}
	return n, true
}

// IsCheap reports whether the parser needs a bounded time and memory for a text. It parses the
// blocks of the text, without what they contain.
func IsCheap(source []byte) bool {
	if isDeep(source) {
		return false
	}
	if len(source) <= shortText && bytes.IndexByte(source, '|') < 0 {
		return true
	}
	cost := &proseCost{work: maxWork * (len(source) + minBound), cells: maxCells*len(source) + minBound}
	pc := parser.NewContext()
	pc.Set(costKey, cost)
	root := outline().Parse(text.NewReader(source), parser.WithContext(pc))
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // it never fails
		if entering && n.Type() == ast.TypeBlock && !n.IsRaw() {
			cost.inline(n.Lines(), source)
		}
		if cost.work < 0 {
			return ast.WalkStop, nil
		}
		return ast.WalkContinue, nil
	})
	return cost.work >= 0 && cost.cells >= 0
}

// outline is a parser of blocks. It may be used by several goroutines.
var outline = sync.OnceValue(func() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithParagraphTransformers(
			util.Prioritized(paragraphGuard{}, 0),
			util.Prioritized(parser.LinkReferenceParagraphTransformer, 100),
			util.Prioritized(extension.NewTableParagraphTransformer(), 200),
		),
	)
})

// A proseCost is the remainder of the bounds. It is negative if the text is too complex.
type proseCost struct{ work, cells int }

var costKey = parser.NewContextKey()

// inlineSigns are the characters from which the parser may search the rest of a block.
const inlineSigns = "`*_~[]()<!\\@"

// inline takes off what the content of a block costs.
func (c *proseCost) inline(lines *text.Segments, source []byte) {
	size, signs := 0, 0
	for i := range lines.Len() {
		line := lines.At(i)
		value := source[line.Start:line.Stop]
		size += len(value)
		signs += countAny(value, inlineSigns)
	}
	c.work -= size * signs
}

func countAny(text []byte, signs string) int {
	n := 0
	for _, c := range text {
		if strings.IndexByte(signs, c) >= 0 {
			n++
		}
	}
	return n
}

// A paragraphGuard looks at paragraphs before the parser looks for link definitions and tables in
// them. It removes paragraphs that are too complex.
type paragraphGuard struct{}

// Transform examines a paragraph.
func (paragraphGuard) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	cost, ok := pc.Get(costKey).(*proseCost)
	if !ok {
		return
	}
	cost.paragraph(node.Lines(), reader.Source())
	if cost.work < 0 || cost.cells < 0 {
		node.Parent().RemoveChild(node.Parent(), node)
	}
}

// paragraph takes off what the definitions and tables in a paragraph cost. Each definition may make
// the parser search the rest of the paragraph, and each escaped pipe all others.
func (c *proseCost) paragraph(lines *text.Segments, source []byte) {
	size, definitions, columns, pipes := 0, 0, 0, 0
	for i := range lines.Len() {
		line := source[lines.At(i).Start:lines.At(i).Stop]
		size += len(line)
		if bytes.HasPrefix(bytes.TrimLeft(line, " \t"), []byte("[")) {
			definitions++
		}
		pipes += bytes.Count(line, []byte(`\|`))
		if len(bytes.Trim(line, " \t\r\n|:-")) == 0 {
			columns = max(columns, bytes.Count(line, []byte("|"))+1)
		}
	}
	c.work -= size*definitions + pipes*pipes
	c.cells -= columns * lines.Len()
}

// targetSize returns the size of the targets and titles of all links.
func targetSize(root ast.Node) int {
	size := 0
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // it never fails
		switch n := n.(type) {
		case *ast.Link:
			size += len(n.Destination) + len(n.Title)
		case *ast.Image:
			size += len(n.Destination) + len(n.Title)
		}
		return ast.WalkContinue, nil
	})
	return size
}

// Parser is the parser of pages. It does not bound the work that it does. It may be used by several
// goroutines.
var Parser = sync.OnceValue(func() parser.Parser { return extended(goldmark.DefaultParser()) })

// blockwiseParser parses a text of which other parts may come later, or have come before: link
// definitions, which could be in any of them, are paragraphs. It may be used by several goroutines.
var blockwiseParser = sync.OnceValue(func() parser.Parser {
	return extended(parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithInlineParsers(parser.DefaultInlineParsers()...),
	))
})

// extended adds what GitHub's Markdown has to a parser.
func extended(p parser.Parser) parser.Parser {
	return goldmark.New(goldmark.WithParser(p), goldmark.WithExtensions(
		extension.Table, extension.Strikethrough, extension.Linkify, extension.TaskList,
	)).Parser()
}
