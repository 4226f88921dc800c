package export

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	extensionast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/clewdev/clew/internal/clip"
	"github.com/clewdev/clew/internal/markdown"
)

// safeMarkdown returns a Markdown text in a form in which nothing is loaded or run, whatever shows
// it, or why there is none. The text is parsed and written again: tags become text, images become
// links, links to anything but pages become code, and link definitions are resolved.
func safeMarkdown(prose string) (string, markdown.Reason) {
	source := []byte(clean(prose))
	root, reason := markdown.Tree(source)
	if reason != "" {
		return "", reason
	}
	w := &proseWriter{source: source}
	made := w.children(root, false)
	if !isSafe([]byte(made)) {
		return "", markdown.TooComplex
	}
	return made, ""
}

// isSafe reports whether a Markdown text has no tags, images or link definitions.
func isSafe(source []byte) bool {
	if !markdown.IsCheap(source) {
		return false
	}
	safe := true
	root := markdown.Parser().Parse(text.NewReader(source))
	_ = ast.Walk(root, func(n ast.Node, _ bool) (ast.WalkStatus, error) { // it never fails
		switch n.Kind() {
		case ast.KindRawHTML, ast.KindHTMLBlock, ast.KindImage, ast.KindLinkReferenceDefinition:
			safe = false
			return ast.WalkStop, nil
		}
		return ast.WalkContinue, nil
	})
	return safe
}

// A proseWriter writes a parsed Markdown text as Markdown.
type proseWriter struct {
	source []byte
	line   strings.Builder // the content of the current block
	text   strings.Builder // the end of it, which is not yet escaped
	single bool            // the block is one line
	cell   bool            // the block is a cell of a table
	inLink bool
	sign   string // of the emphasis around the text
}

// hardBreak marks a line that ends with a line break. It is in no text, since texts are clean.
const hardBreak = "\x01"

// children writes the blocks in a block. Those in a list item without empty lines are tight.
func (w *proseWriter) children(n ast.Node, tight bool) string {
	var blocks []string
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if block := w.block(c); block != "" {
			blocks = append(blocks, block)
		}
	}
	if tight {
		return strings.Join(blocks, "\n")
	}
	return strings.Join(blocks, "\n\n")
}

func (w *proseWriter) block(n ast.Node) string {
	switch n := n.(type) {
	case *ast.Heading:
		return strings.TrimSpace(strings.Repeat("#", n.Level) + " " + headingEnd(w.oneLine(n)))
	case *ast.ThematicBreak:
		if n.Parent().Kind() == ast.KindListItem {
			return "___" // "---" could be the line below a heading
		}
		return "---"
	case *ast.FencedCodeBlock:
		return fenced(string(n.Lines().Value(w.source)), fenceLanguage(string(n.Language(w.source))))
	case *ast.CodeBlock:
		return fenced(string(n.Lines().Value(w.source)), "")
	case *ast.HTMLBlock:
		return w.htmlBlock(n)
	case *ast.LinkReferenceDefinition:
		w.text.Write(n.Lines().Value(w.source))
		w.flush(nil)
		return w.paragraph()
	case *ast.Blockquote:
		return prefixed(w.children(n, false), "> ", "> ")
	case *ast.List:
		return w.list(n)
	case *extensionast.Table:
		return w.table(n)
	}
	w.inlines(n)
	return w.paragraph()
}

func (w *proseWriter) htmlBlock(n *ast.HTMLBlock) string {
	content := string(n.Lines().Value(w.source))
	if n.HasClosure() {
		content += string(n.ClosureLine.Value(w.source))
	}
	return fenced(content, "html")
}

// prefixed puts a prefix before the first line of a text, and another one before all others.
func prefixed(block, first, others string) string {
	var b strings.Builder
	prefix := first
	for line := range strings.SplitSeq(block, "\n") {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(strings.TrimRight(prefix+line, " "))
		prefix = others
	}
	return b.String()
}

// fenced returns a block of code. The fence is longer than any run of backticks in the code.
func fenced(code, language string) string {
	ticks := strings.Repeat("`", max(3, longestRun(code, '`')+1))
	return ticks + language + "\n" + strings.Trim(code, "\n") + "\n" + ticks
}

// fenceLanguage returns the name of a language, or "" if it is none.
func fenceLanguage(name string) string {
	for i := range len(name) {
		if c := name[i]; !isAlphanumeric(c) && strings.IndexByte("+#-_.", c) < 0 {
			return ""
		}
	}
	return clip.Bytes(name, 40)
}

func (w *proseWriter) list(n *ast.List) string {
	var items []string
	number := n.Start
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		marker := string(n.Marker) + " "
		if n.IsOrdered() {
			marker = fmt.Sprintf("%d%c ", min(number, 999_999_999), n.Marker)
			number++
		}
		items = append(items, prefixed(w.children(item, n.IsTight), marker, strings.Repeat(" ", len(marker))))
	}
	if n.IsTight {
		return strings.Join(items, "\n")
	}
	return strings.Join(items, "\n\n")
}

var alignmentMarks = map[extensionast.Alignment]string{
	extensionast.AlignLeft: ":---", extensionast.AlignRight: "---:", extensionast.AlignCenter: ":---:",
}

func (w *proseWriter) table(n *extensionast.Table) string {
	w.cell = true
	defer func() { w.cell = false }()
	var rows []string
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []string
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, w.oneLine(cell))
		}
		if rows = append(rows, tableRow(cells)); len(rows) == 1 {
			rows = append(rows, delimiterRow(n.Alignments))
		}
	}
	return strings.Join(rows, "\n")
}

func tableRow(cells []string) string { return "| " + strings.Join(cells, " | ") + " |" }

func delimiterRow(alignments []extensionast.Alignment) string {
	var marks []string
	for _, a := range alignments {
		mark, ok := alignmentMarks[a]
		if !ok {
			mark = "---"
		}
		marks = append(marks, mark)
	}
	return tableRow(marks)
}

// oneLine writes the content of a block as one line.
func (w *proseWriter) oneLine(n ast.Node) string {
	w.single = true
	defer func() { w.single = false }()
	w.inlines(n)
	return strings.TrimSpace(strings.NewReplacer(hardBreak, "", "\n", " ").Replace(w.take()))
}

// headingEnd escapes the number signs at the end of a heading, which would not be shown.
func headingEnd(line string) string {
	before := strings.TrimRight(line, "#")
	if before == line || before != "" && !strings.HasSuffix(before, " ") {
		return line
	}
	return before + `\` + line[len(before):]
}

// take returns the content of the current block, and starts another one.
func (w *proseWriter) take() string {
	w.flush(nil)
	content := w.line.String()
	w.line.Reset()
	return content
}

// paragraph returns the current block as a paragraph. No line starts another kind of block.
func (w *proseWriter) paragraph() string {
	var lines []string
	for line := range strings.SplitSeq(w.take(), "\n") {
		if line = strings.TrimSpace(line); line != "" && line != hardBreak {
			lines = append(lines, lineStart(line))
		}
	}
	made := strings.TrimSuffix(strings.Join(lines, "\n"), hardBreak)
	return strings.ReplaceAll(made, hardBreak, `\`)
}

// lineStart escapes the start of a paragraph's line, if it could start another block.
func lineStart(line string) string {
	rest := strings.TrimLeft(line, "0123456789")
	digits := len(line) - len(rest)
	ends := func(n int) bool {
		return n >= len(line) || line[n] == ' ' || line[n] == '\t' || line[n] == hardBreak[0]
	}
	switch c := line[0]; {
	case digits > 0 && digits < 10 && rest != "" && (rest[0] == '.' || rest[0] == ')') && ends(digits+1):
		return line[:digits] + `\` + rest
	case c == '#', c == '>', strings.HasPrefix(line, "~~~"),
		(c == '-' || c == '+' || c == '*') && ends(1),
		strings.Trim(line, "-=:|*_ \t"+hardBreak) == "":
		return `\` + line
	}
	return line
}

// inlines writes the content of a block or of an inline element.
func (w *proseWriter) inlines(n ast.Node) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		w.inline(c)
	}
}

func (w *proseWriter) inline(n ast.Node) {
	switch n := n.(type) {
	case *ast.Text:
		w.plain(n)
		return
	case *ast.String:
		w.text.Write(n.Value)
		return
	case *ast.RawHTML:
		w.text.Write(n.Segments.Value(w.source))
		return
	case *ast.AutoLink:
		w.autoLink(n)
		return
	case *ast.Image:
		w.image(n)
		return
	}
	w.flush(n)
	switch n := n.(type) {
	case *ast.CodeSpan:
		w.codeSpan(n)
	case *ast.Emphasis:
		w.emphasis(n)
	case *extensionast.Strikethrough:
		w.marked(n, "~~")
	case *extensionast.TaskCheckBox:
		w.line.WriteString(map[bool]string{true: "[x] ", false: "[ ] "}[n.IsChecked])
	case *ast.Link:
		w.link(n, n.Destination, n.Title)
	default:
		w.inlines(n)
	}
}

// plain adds a text, without its escapes.
func (w *proseWriter) plain(n *ast.Text) {
	w.text.WriteString(unescaped(string(n.Value(w.source))))
	switch {
	case n.HardLineBreak():
		w.flush(n)
		w.line.WriteString(hardBreak + "\n")
	case n.SoftLineBreak():
		w.text.WriteByte('\n')
	}
}

// marked writes an element between marks.
func (w *proseWriter) marked(n ast.Node, mark string) {
	w.line.WriteString(mark)
	w.inlines(n)
	w.flush(n)
	w.line.WriteString(mark)
}

// emphasis writes an emphasis. Its sign differs from the sign of an emphasis that starts or ends at
// the same place.
func (w *proseWriter) emphasis(n *ast.Emphasis) {
	outer, sign := w.sign, "*"
	inside, ok := n.Parent().(*ast.Emphasis)
	edges := n.PreviousSibling() == nil || n.NextSibling() == nil
	only := n.PreviousSibling() == nil && n.NextSibling() == nil
	if ok && outer == "*" && edges && (!only || inside.Level == n.Level) {
		sign = "_"
	}
	w.sign = sign
	w.marked(n, strings.Repeat(sign, n.Level))
	w.sign = outer
}

func (w *proseWriter) codeSpan(n *ast.CodeSpan) {
	var b bytes.Buffer
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Value(w.source))
		}
	}
	w.code(b.String())
}

// code writes inline code.
func (w *proseWriter) code(code string) {
	code = strings.ReplaceAll(code, "\n", " ")
	if w.cell {
		code = strings.ReplaceAll(code, "|", `\|`)
	}
	ticks := strings.Repeat("`", longestRun(code, '`')+1)
	if strings.HasPrefix(code, "`") || strings.HasSuffix(code, "`") {
		code = " " + code + " "
	}
	if strings.HasSuffix(w.line.String(), "`") {
		w.line.WriteByte(' ')
	}
	w.line.WriteString(ticks + code + ticks)
}

// link writes a link. A target that a viewer should not open is shown as code.
func (w *proseWriter) link(n ast.Node, written, title []byte) {
	target := markdown.Unescape(string(written))
	safe := harmlessTarget().MatchString(target) && !startsScript(target)
	if !safe || w.inLink {
		w.inlines(n)
		w.flush(n)
		if shown := oneLine(target, 300); shown != "" && !safe {
			w.line.WriteByte(' ')
			w.code(shown)
		}
		return
	}
	w.inLink = true
	w.line.WriteByte('[')
	w.inlines(n)
	w.flush(n)
	w.inLink = false
	w.line.WriteString("](" + linkTargetText(target))
	if shown := oneLine(markdown.Unescape(string(title)), 300); shown != "" {
		w.line.WriteString(` "` + escapeSigns(shown) + `"`)
	}
	w.line.WriteByte(')')
}

// image writes an image as a link, since a viewer would load an image.
func (w *proseWriter) image(n *ast.Image) {
	w.text.WriteByte('!')
	w.flush(n)
	w.link(n, n.Destination, n.Title)
}

// autoLink writes a URL as it is, or in angle brackets if a sign in it could mean something.
func (w *proseWriter) autoLink(n *ast.AutoLink) {
	label, target := string(n.Label(w.source)), string(n.URL(w.source))
	_, safe := safeURL(target)
	if safe && !w.inLink && n.AutoLinkType == ast.AutoLinkURL && target == label && !strings.ContainsAny(label, "<>| ") {
		w.flush(n)
		if e := (&textEscaper{text: label, followed: true}).escaped(); e != label {
			label = "<" + label + ">"
		}
		w.line.WriteString(label)
		return
	}
	w.text.WriteString(label)
}

// linkTargetText returns the target of a link as it is written between parentheses.
func linkTargetText(target string) string {
	visible := isClean(target)
	var b strings.Builder
	for i := range len(target) {
		switch c := target[i]; {
		case c <= ' ' || c >= 0x7f && !visible || strings.IndexByte("<>\"`|\\", c) >= 0 || c == '&' && startsReference(target[i:]):
			fmt.Fprintf(&b, "%%%02X", c)
		case strings.IndexByte("()[]", c) >= 0:
			b.WriteByte('\\')
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// startsReference reports whether a text starts with a character reference, such as &amp;.
func startsReference(text string) bool {
	end := strings.IndexByte(clip.Bytes(text, 40), ';')
	return end > 0 && strings.Trim(text[1:end], "#0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// escapeSigns escapes all characters that mean something in Markdown.
func escapeSigns(text string) string {
	var b strings.Builder
	for i := range len(text) {
		if c := text[i]; c == '"' || strings.IndexByte(markdownSigns, c) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// unescaped returns a text of a Markdown source as it is shown.
func unescaped(text string) string {
	if !strings.ContainsAny(text, `\&`) {
		return text
	}
	return strings.NewReplacer("\u00a0", " ", "\n", " ").Replace(clean(markdown.Unescape(text)))
}

// flush writes the text that is not yet escaped. next is the element after it, or nil.
func (w *proseWriter) flush(next ast.Node) {
	if w.text.Len() == 0 {
		return
	}
	e := &textEscaper{text: w.text.String(), followed: next != nil, cell: w.cell, inLink: w.inLink}
	w.text.Reset()
	w.line.WriteString(e.escaped())
}

// A textEscaper escapes a text, so that Markdown shows it as it is. It leaves signs alone that mean
// nothing where they are, since the text is also read by people.
type textEscaper struct {
	text                   string
	followed, cell, inLink bool
	closing                int // the end of brackets that mean nothing
}

func (e *textEscaper) escaped() string {
	var b strings.Builder
	for i := range len(e.text) {
		switch c := e.text[i]; {
		case c == '<':
			b.WriteString("&lt;")
			continue
		case c == '&' && startsReference(e.text[i:]):
			b.WriteString("&amp;")
			continue
		case util.IsPunct(c) && e.means(i):
			b.WriteByte('\\')
		}
		b.WriteByte(e.text[i])
	}
	return b.String()
}

// means reports whether a sign can mean something.
func (e *textEscaper) means(i int) bool {
	before, after := e.neighbor(i-1), e.neighbor(i+1)
	switch e.text[i] {
	case '`':
		return true
	case '*':
		return before != ' ' || after != ' '
	case '_':
		return !isWordByte(before) && before != ' ' || !isWordByte(after) && after != ' '
	case '~':
		return before != ' ' && before != '(' || after != '/' && !isWordByte(after)
	case '\\':
		return after == 0 || after == '\n' || util.IsPunct(after)
	case '!':
		return after == 0 && e.followed
	case '|':
		return e.cell
	case '[':
		return before == '!' || !e.opensPlain(i)
	case ']':
		return i != e.closing
	}
	return false
}

// neighbor returns a byte of the text, or 0 outside of it.
func (e *textEscaper) neighbor(i int) byte {
	if i < 0 || i >= len(e.text) {
		return 0
	}
	return e.text[i]
}

func isWordByte(c byte) bool { return isAlphanumeric(c) || c >= utf8.RuneSelf }

// opensPlain reports whether a bracket starts a few words in brackets, such as [0], that can't be a
// link or a check box, and notes where they end.
func (e *textEscaper) opensPlain(i int) bool {
	words, after, closed := strings.Cut(clip.Bytes(e.text[i+1:], 60), "]")
	if !closed || e.inLink || strings.TrimSpace(words) == "" || strings.EqualFold(words, "x") || after == "" && e.followed {
		return false
	}
	for k := range len(words) {
		if c := words[k]; !isWordByte(c) && strings.IndexByte(" .,-/'\"", c) < 0 {
			return false
		}
	}
	if after != "" && strings.IndexByte("([:", after[0]) >= 0 {
		return false
	}
	e.closing = i + 1 + len(words)
	return true
}
