package markdown

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	extensionast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
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

// An Align is the alignment of a column's cells.
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
	Target string // of a link or a picture, without escapes
	Break  bool   // a line break, without text
}

// Marks are the emphases of a text.
type Marks uint8

// The marks.
const (
	Strong Marks = 1 << iota
	Emphasis
	Struck
	InlineCode
	Picture // the text of a picture that is not in a link
)

// Parse returns the blocks of a Markdown text, or why it is to be shown as it is.
func Parse(text string) ([]Block, Reason) { return parse(Parser(), text) }

// ParsePart is like Parse for a part of a text. Link definitions are paragraphs, and don't apply to
// anything: they may be in parts that are not known yet.
func ParsePart(text string) ([]Block, Reason) { return parse(blockwiseParser(), text) }

func parse(p parser.Parser, text string) ([]Block, Reason) {
	w := &walker{text: text, source: []byte(text)}
	root, reason := boundedTree(p, w.source)
	if reason != "" {
		return nil, reason
	}
	return w.blocks(root), ""
}

// A walker makes blocks of the nodes of a tree. It is the only one: everything that is drawn is
// made of blocks.
type walker struct {
	text   string
	source []byte // the same
	spans  []Span // of all blocks
	end    int    // where the text of the last span ends, or -1 if that is not a piece of the text
}

// value returns a piece of the text, mostly without a copy.
func (w *walker) value(s text.Segment) string {
	if s.Padding == 0 && !s.ForceNewline {
		return w.text[s.Start:s.Stop]
	}
	return string(s.Value(w.source))
}

func (w *walker) blocks(parent ast.Node) []Block {
	blocks := make([]Block, 0, parent.ChildCount())
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if n.Kind() != ast.KindLinkReferenceDefinition {
			blocks = append(blocks, w.block(n))
		}
	}
	return blocks
}

func (w *walker) block(n ast.Node) Block {
	switch n := n.(type) {
	case *ast.Heading:
		return Block{Kind: Heading, Level: n.Level, Spans: w.content(n)}
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
	return Block{Kind: Paragraph, Spans: w.content(n)}
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

func (w *walker) table(n *extensionast.Table) Block {
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
		cells := make([][]Span, 0, row.ChildCount())
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, w.content(cell))
		}
		table.Rows = append(table.Rows, cells)
	}
	return table
}

// content returns the spans in a block.
func (w *walker) content(block ast.Node) []Span {
	from := len(w.spans)
	w.end = -1
	w.children(block, Span{})
	return w.spans[from:len(w.spans):len(w.spans)]
}

// children adds what is in a node. around has the marks and the target of the node.
func (w *walker) children(parent ast.Node, around Span) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		w.node(n, around)
	}
}

func (w *walker) node(n ast.Node, around Span) {
	switch n := n.(type) {
	case *ast.Text:
		w.plain(n, around)
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
		around.Target = Unescape(string(n.Destination))
		w.link(n, around)
	case *ast.Image:
		w.picture(n, around)
	case *ast.AutoLink:
		w.autoLink(n, around)
	case *ast.RawHTML:
		w.tag(string(n.Segments.Value(w.source)), around)
	}
}

func (w *walker) add(text string, around Span) {
	if text != "" {
		around.Text = text
		w.spans = append(w.spans, around)
		w.end = -1
	}
}

// addPiece adds a piece of the text. It extends the last span if it can.
func (w *walker) addPiece(from, to int, around Span) {
	if from == to {
		return
	}
	if last := len(w.spans) - 1; w.end == from && w.spans[last].Marks == around.Marks && w.spans[last].Target == around.Target {
		w.spans[last].Text = w.text[from-len(w.spans[last].Text) : to]
	} else {
		w.add(w.text[from:to], around)
	}
	w.end = to
}

func (w *walker) breakLine(around Span) {
	around.Break = true
	w.spans = append(w.spans, around)
	w.end = -1
}

func (w *walker) plain(n *ast.Text, around Span) {
	s := n.Segment
	if value := w.value(s); n.IsRaw() || !strings.ContainsAny(value, `\&`) {
		w.addPiece(s.Start, s.Stop, around)
	} else {
		w.add(Unescape(value), around)
	}
	switch {
	case n.HardLineBreak(), n.SoftLineBreak() && w.definitionAt(s.Stop):
		w.breakLine(around)
	case n.SoftLineBreak() && s.Stop < len(w.text) && w.text[s.Stop] == '\n':
		w.addPiece(s.Stop, s.Stop+1, around)
	case n.SoftLineBreak():
		w.add("\n", around)
	}
}

// definitionAt reports whether the line that starts after an offset looks like the definition of a
// link. Each has its own line.
func (w *walker) definitionAt(offset int) bool {
	_, rest, _ := strings.Cut(w.text[offset:], "\n")
	if rest = strings.TrimLeft(rest, " >"); !strings.HasPrefix(rest, "[") {
		return false
	}
	line, _, _ := strings.Cut(rest, "\n")
	return strings.Contains(line, "]:")
}

func (w *walker) code(n *ast.CodeSpan, around Span) {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.WriteString(w.value(t.Segment))
		}
	}
	around.Marks |= InlineCode
	w.add(strings.ReplaceAll(b.String(), "\n", " "), around)
}

// link adds the text of a link or a picture. One without text has its target as text.
func (w *walker) link(n ast.Node, around Span) {
	before := len(w.spans)
	w.children(n, around)
	if len(w.spans) == before {
		w.add(around.Target, around)
	}
}

// picture adds the text of a picture. A picture in a link leads where the link does.
func (w *walker) picture(n *ast.Image, around Span) {
	if around.Target == "" {
		around.Target = Unescape(string(n.Destination))
		around.Marks |= Picture
	}
	w.add("picture: ", around)
	w.link(n, around)
}

// autoLink adds an address. One that is neither of a page nor of a mailbox is only text.
func (w *walker) autoLink(n *ast.AutoLink, around Span) {
	target := string(n.URL(w.source))
	scheme, _, _ := strings.Cut(strings.ToLower(target), ":")
	switch {
	case scheme == "http", scheme == "https", scheme == "mailto":
		around.Target = target
	case n.AutoLinkType == ast.AutoLinkEmail:
		around.Target = "mailto:" + target
	}
	w.add(string(n.Label(w.source)), around)
}

// tag adds a tag as text, except for the line break, for which Markdown has no sign in cells of
// tables.
func (w *walker) tag(tag string, around Span) {
	switch strings.ToLower(strings.ReplaceAll(tag, " ", "")) {
	case "<br>", "<br/>":
		w.breakLine(around)
	default:
		w.add(tag, around)
	}
}

// Unescape returns a text without backslashes before signs, and with the characters that its
// entities stand for.
func Unescape(text string) string {
	const longest = 40 // bytes of an entity
	if !strings.ContainsAny(text, `\&`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text) && util.IsPunct(text[i+1]):
			i++
			b.WriteByte(text[i])
		case c == '&':
			entity := text[i:min(len(text), i+longest)]
			entity = entity[:strings.IndexByte(entity, ';')+1]
			resolved := string(util.ResolveEntityNames(util.ResolveNumericReferences([]byte(entity))))
			if resolved == entity {
				b.WriteByte(c)
				continue
			}
			b.WriteString(resolved)
			i += len(entity) - 1
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
