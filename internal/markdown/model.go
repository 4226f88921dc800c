package markdown

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
	extensionast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"
)

// A BlockKind is the kind of a [Block].
type BlockKind uint8

// The kinds of blocks.
const (
	Paragraph BlockKind = iota
	Heading
	Quote
	List
	Item
	Code
	HTML // tags, which are shown as text
	Table
	Rule
)

// A Block is a part of a text that has its own lines.
type Block struct {
	Kind     BlockKind
	Spans    []Span  // of a paragraph or a heading
	Children []Block // of a quote, a list or an item
	Level    int     // of a heading, from 1
	Ordered  bool    // whether the items of a list have numbers, from Start on
	Start    int
	Tight    bool // whether there are no empty lines between and in the items of a list
	Task     Task // of an item
	Text     string
	Language string     // of code, as it was written
	Rows     [][][]Span // the cells of a table; the first row has the heads
	Aligns   []Align    // of the columns of a table
}

// A Task is the state of the box at the beginning of an item.
type Task uint8

// The states of tasks.
const (
	NoTask Task = iota
	OpenTask
	DoneTask
)

// An Align is how the cells of a column are aligned.
type Align uint8

// The alignments.
const (
	Left Align = iota
	Center
	Right
)

// A Span is a piece of text within a block. It may be any characters: nothing is cleaned yet.
type Span struct {
	Text   string
	Marks  Marks
	Target string // of a link or a picture, as it was written
	Break  bool   // a line break, without text
}

// Marks are how a text is emphasized.
type Marks uint8

// The marks.
const (
	Strong Marks = 1 << iota
	Emphasis
	Struck
	InlineCode
)

// Parse returns the blocks of a Markdown text, or why it is to be shown as it is. Link definitions
// are paragraphs, and don't apply to anything: they may be in parts of a text that are not known
// yet.
func Parse(text string) ([]Block, Reason) {
	source := []byte(text)
	root, reason := boundedTree(blockwiseParser(), source)
	if reason != "" {
		return nil, reason
	}
	w := walker{source: source}
	return w.blocks(root), ""
}

// A walker makes blocks of the nodes of a tree.
type walker struct{ source []byte }

func (w walker) blocks(parent ast.Node) []Block {
	var blocks []Block
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		blocks = append(blocks, w.block(n))
	}
	return blocks
}

func (w walker) block(n ast.Node) Block {
	switch n := n.(type) {
	case *ast.Heading:
		return Block{Kind: Heading, Level: n.Level, Spans: w.spans(n)}
	case *ast.ThematicBreak:
		return Block{Kind: Rule}
	case *ast.FencedCodeBlock:
		return Block{Kind: Code, Language: string(n.Language(w.source)), Text: string(n.Lines().Value(w.source))}
	case *ast.CodeBlock:
		return Block{Kind: Code, Text: string(n.Lines().Value(w.source))}
	case *ast.HTMLBlock:
		text := string(n.Lines().Value(w.source))
		if n.HasClosure() {
			text += string(n.ClosureLine.Value(w.source))
		}
		return Block{Kind: HTML, Text: text}
	case *ast.Blockquote:
		return Block{Kind: Quote, Children: w.blocks(n)}
	case *ast.List:
		return Block{Kind: List, Ordered: n.IsOrdered(), Start: n.Start, Tight: n.IsTight, Children: w.blocks(n)}
	case *ast.ListItem:
		return Block{Kind: Item, Task: task(n), Children: w.blocks(n)}
	case *extensionast.Table:
		return w.table(n)
	}
	return Block{Kind: Paragraph, Spans: w.spans(n)}
}

// task returns the state of the box at the beginning of an item.
func task(item *ast.ListItem) Task {
	if item.FirstChild() == nil {
		return NoTask
	}
	box, ok := item.FirstChild().FirstChild().(*extensionast.TaskCheckBox)
	switch {
	case !ok:
		return NoTask
	case box.IsChecked:
		return DoneTask
	}
	return OpenTask
}

func (w walker) table(n *extensionast.Table) Block {
	table := Block{Kind: Table}
	for _, a := range n.Alignments {
		align := Left
		switch a {
		case extensionast.AlignCenter:
			align = Center
		case extensionast.AlignRight:
			align = Right
		}
		table.Aligns = append(table.Aligns, align)
	}
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var cells [][]Span
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, w.spans(cell))
		}
		table.Rows = append(table.Rows, cells)
	}
	return table
}

func (w walker) spans(block ast.Node) []Span {
	s := spanWalker{walker: w}
	s.children(block, Span{})
	return s.spans
}

// A spanWalker makes spans of the nodes in a block.
type spanWalker struct {
	walker
	spans []Span
}

// children adds what is in a node. around has the marks and the target of the node.
func (w *spanWalker) children(parent ast.Node, around Span) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		w.node(n, around)
	}
}

func (w *spanWalker) node(n ast.Node, around Span) {
	switch n := n.(type) {
	case *ast.Text:
		w.text(n, around)
	case *ast.String:
		w.add(string(n.Value), around)
	case *ast.CodeSpan:
		w.code(n, around)
	case *ast.Emphasis:
		if n.Level == 1 {
			around.Marks |= Emphasis
		} else {
			around.Marks |= Strong
		}
		w.children(n, around)
	case *extensionast.Strikethrough:
		around.Marks |= Struck
		w.children(n, around)
	case *ast.Link:
		w.link(n, n.Destination, around)
	case *ast.Image:
		around.Target = unescape(n.Destination)
		w.add("picture: ", around)
		w.link(n, n.Destination, around)
	case *ast.AutoLink:
		around.Target = string(n.URL(w.source))
		w.add(string(n.Label(w.source)), around)
	case *ast.RawHTML:
		w.tag(string(n.Segments.Value(w.source)), around)
	}
}

func (w *spanWalker) add(text string, around Span) {
	if text != "" {
		around.Text = text
		w.spans = append(w.spans, around)
	}
}

func (w *spanWalker) breakLine() { w.spans = append(w.spans, Span{Break: true}) }

func (w *spanWalker) text(n *ast.Text, around Span) {
	value := n.Segment.Value(w.source)
	if n.IsRaw() {
		w.add(string(value), around)
	} else {
		w.add(unescape(value), around)
	}
	switch {
	case n.HardLineBreak(), n.SoftLineBreak() && w.definitionAt(n.Segment.Stop):
		w.breakLine()
	case n.SoftLineBreak():
		w.add(" ", around)
	}
}

// definitionAt reports whether the line that begins after an offset looks like the definition of a
// link. Each has its own line.
func (w *spanWalker) definitionAt(offset int) bool {
	rest := w.source[offset:]
	rest = rest[min(len(rest), 1+indexOr(rest, '\n')):]
	line := strings.TrimLeft(string(rest[:indexOr(rest, '\n')]), " >")
	return strings.HasPrefix(line, "[") && strings.Contains(line, "]:")
}

// indexOr returns the index of a byte, or the length of the text.
func indexOr(text []byte, c byte) int {
	for i := range text {
		if text[i] == c {
			return i
		}
	}
	return len(text)
}

func (w *spanWalker) code(n *ast.CodeSpan, around Span) {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Segment.Value(w.source))
		}
	}
	around.Marks |= InlineCode
	w.add(strings.ReplaceAll(b.String(), "\n", " "), around)
}

// link adds a link or a picture. One without text has its target as text.
func (w *spanWalker) link(n ast.Node, target []byte, around Span) {
	around.Target = unescape(target)
	before := len(w.spans)
	w.children(n, around)
	if len(w.spans) == before {
		w.add(around.Target, around)
	}
}

// tag adds a tag as text, except for the line break, for which Markdown has no sign in cells of
// tables.
func (w *spanWalker) tag(tag string, around Span) {
	switch strings.ToLower(strings.ReplaceAll(tag, " ", "")) {
	case "<br>", "<br/>":
		w.breakLine()
	default:
		w.add(tag, around)
	}
}

// unescape returns a text without backslashes before signs, and with the characters that its
// entities stand for.
func unescape(text []byte) string {
	const longest = 40 // bytes of an entity
	if !bytes.ContainsAny(text, `\&`) {
		return string(text)
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text) && util.IsPunct(text[i+1]):
			i++
			b.WriteByte(text[i])
		case c == '&':
			entity := text[i:min(len(text), i+longest)]
			entity = entity[:min(len(entity), 1+indexOr(entity, ';'))]
			resolved := util.ResolveEntityNames(util.ResolveNumericReferences(entity))
			if string(resolved) == string(entity) {
				b.WriteByte(c)
				continue
			}
			b.Write(resolved)
			i += len(entity) - 1
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
