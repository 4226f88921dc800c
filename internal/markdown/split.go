package markdown

import (
	"bytes"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A state is the kind of a text's last line.
type state uint8

const (
	outside     state = iota // of all blocks
	inParagraph              // or a table
	inQuote
	inList
	inIndented // code
	inTags     // HTML that ends with an empty line
	inHTML     // HTML that ends with a text
	inFence
	atEnd // of a block
)

const codeColumns = 4 // the indentation of code

// A splitter finds out where blocks end, from the lines of a text. It follows CommonMark, except
// that it reads only the start of deeply nested blocks.
type splitter struct {
	state   state
	fence   fence
	htmlEnd []string  // what ends HTML
	item    listItem  // the last one of a list
	inner   *splitter // of the content of a quote or an item; nil if that is nested too deep
	depth   int
}

// next takes a line. It reports whether the open block ended before it, and whether a block ends
// with it.
func (p *splitter) next(line []byte) (before, after bool) {
	l := newSourceLine(line)
	if before = p.endsBefore(l); before {
		*p = splitter{depth: p.depth}
	}
	if p.state == outside {
		p.begin(l)
	} else {
		p.continued(l)
	}
	if p.state == inHTML && containsAny(l.rest, p.htmlEnd) {
		p.state = atEnd
	}
	if after = p.state == atEnd; after {
		*p = splitter{depth: p.depth}
	}
	return before, after
}

// clone returns a splitter that takes other lines from here on.
func (p *splitter) clone() *splitter {
	if p == nil {
		return nil
	}
	c := *p
	c.inner = p.inner.clone()
	return &c
}

// endsBefore reports whether a line does not belong to the open block.
func (p *splitter) endsBefore(l sourceLine) bool {
	switch p.state {
	case inParagraph:
		return l.blank() || l.interrupts() && !l.isUnderline() || l.isQuote()
	case inQuote:
		return l.blank() || !l.isQuote() && (!p.inner.inOpenParagraph() || l.interrupts() || l.isItem())
	case inTags:
		return l.blank()
	case inIndented:
		return !l.blank() && !l.isCode()
	case inList:
		return !l.blank() && l.indent < p.item.offset && !l.isItem() &&
			(!p.inner.inOpenParagraph() || l.interrupts() || l.isQuote())
	}
	return false
}

// inOpenParagraph reports whether a line that has less indentation, or no sign of a quote, may
// continue a paragraph.
func (p *splitter) inOpenParagraph() bool {
	if p == nil || p.state == inParagraph {
		return true
	}
	return (p.state == inQuote || p.state == inList) && p.inner.inOpenParagraph()
}

// begin takes the first line of a block.
func (p *splitter) begin(l sourceLine) {
	if l.blank() {
		return
	}
	kind, ends := l.htmlStart()
	item, isItem := l.item()
	switch {
	case l.isCode():
		p.state = inIndented
	case l.isFence():
		p.state = inFence
		p.fence, _ = openFence(l.rest, l.indent)
	case kind != outside:
		p.state, p.htmlEnd = kind, ends
	case isTag(l.rest):
		p.state = inTags
	case l.isHeading(), l.isRule():
		p.state = atEnd
	case l.isQuote():
		p.state = inQuote
		p.nest()
		p.inner.take(l.quoted())
	case isItem:
		p.state = inList
		p.beginItem(item)
	default:
		p.state = inParagraph
	}
}

func (p *splitter) nest() {
	p.inner = nil
	if p.depth < maxNesting {
		p.inner = &splitter{depth: p.depth + 1}
	}
}

// take takes a line of a quote or an item.
func (p *splitter) take(line []byte) {
	if p != nil {
		p.next(line)
	}
}

func (p *splitter) beginItem(item listItem) {
	p.item = item
	p.nest()
	p.inner.take(item.content)
}

// continued takes another line of the open block.
func (p *splitter) continued(l sourceLine) {
	switch p.state {
	case inParagraph:
		if l.isUnderline() {
			p.state = atEnd
		}
	case inFence:
		if p.fence.closedBy(l) {
			p.state = atEnd
		}
	case inQuote:
		if l.isQuote() {
			p.inner.take(l.quoted())
		}
	case inList:
		p.continueList(l)
	}
}

func (p *splitter) continueList(l sourceLine) {
	switch {
	case l.blank():
		if p.item.empty {
			p.item.offset = math.MaxInt // nothing more belongs to it
		}
		p.inner.take(nil)
	case l.indent >= p.item.offset:
		p.item.empty = false
		p.inner.take(dropColumns(l.text, p.item.offset))
	case l.isItem():
		item, _ := l.item()
		p.beginItem(item)
	}
}

// A sourceLine is a line of Markdown, without its end.
type sourceLine struct {
	text   []byte
	indent int    // columns
	rest   []byte // after the indentation
}

func newSourceLine(line []byte) sourceLine {
	indent, rest := indentation(line)
	return sourceLine{text: line, indent: indent, rest: rest}
}

func (l sourceLine) blank() bool { return len(l.rest) == 0 }

func (l sourceLine) isCode() bool { return l.indent >= codeColumns }

func (l sourceLine) isQuote() bool { return !l.isCode() && !l.blank() && l.rest[0] == '>' }

// quoted returns the content of a line of a quote.
func (l sourceLine) quoted() []byte {
	content := l.rest[1:]
	if len(content) > 0 && (content[0] == ' ' || content[0] == '\t') {
		return dropColumns(content, 1)
	}
	return content
}

func (l sourceLine) isFence() bool {
	_, ok := openFence(l.rest, l.indent)
	return ok && !l.isCode()
}

// interrupts reports whether a line ends the paragraph before it, other than as a quote.
func (l sourceLine) interrupts() bool {
	if l.blank() || l.isCode() {
		return false
	}
	if kind, _ := l.htmlStart(); kind != outside || l.isFence() || l.isHeading() || l.isRule() {
		return true
	}
	item, ok := l.item()
	return ok && !item.empty && (item.number == "" || item.number == "1")
}

func (l sourceLine) isHeading() bool {
	after := bytes.TrimLeft(l.rest, "#")
	level := len(l.rest) - len(after)
	return !l.isCode() && level > 0 && level <= 6 && (len(after) == 0 || after[0] == ' ' || after[0] == '\t')
}

func (l sourceLine) isRule() bool {
	if l.isCode() || l.blank() || strings.IndexByte("-*_", l.rest[0]) < 0 {
		return false
	}
	sign := l.rest[:1]
	return bytes.Count(l.rest, sign) >= 3 && len(bytes.Trim(l.rest, string(sign)+" \t")) == 0
}

// isUnderline reports whether a line makes a heading of the paragraph before it.
func (l sourceLine) isUnderline() bool {
	if l.isCode() || l.blank() || l.rest[0] != '=' && l.rest[0] != '-' {
		return false
	}
	return len(bytes.Trim(bytes.TrimRight(l.rest, " \t"), string(l.rest[:1]))) == 0
}

// A listItem is the first line of an item.
type listItem struct {
	number  string // before it
	offset  int    // the indentation of the content
	content []byte
	empty   bool
}

// isItem reports whether a line starts an item, which a paragraph before it in another block does
// not prevent.
func (l sourceLine) isItem() bool {
	_, ok := l.item()
	return ok && !l.isRule()
}

func (l sourceLine) item() (listItem, bool) {
	if l.blank() || l.isCode() || l.rest[0] == '>' {
		return listItem{}, false
	}
	n, ok := lineHead(l.rest)
	if !ok {
		return listItem{}, false
	}
	spaces, content := indentation(l.rest[n:])
	empty := len(content) == 0
	if empty || spaces > codeColumns {
		spaces = 1
	}
	return listItem{
		number: string(l.rest[:n-1]), empty: empty,
		offset: l.indent + n + spaces, content: dropColumns(l.rest[n:], spaces),
	}, true
}

// indentation returns the columns of the space at the beginning of a line, and the rest, which is
// empty in an empty line.
func indentation(line []byte) (columns int, rest []byte) {
	for i, c := range line {
		switch c {
		case ' ':
			columns++
		case '\t':
			columns += codeColumns - columns%codeColumns
		default:
			return columns, line[i:]
		}
	}
	return columns, nil
}

// dropColumns returns a line without some columns of space.
func dropColumns(line []byte, n int) []byte {
	columns := 0
	for len(line) > 0 && columns < n && (line[0] == ' ' || line[0] == '\t') {
		columns++
		if line[0] == '\t' {
			columns += codeColumns - 1 - (columns-1)%codeColumns
		}
		line = line[1:]
	}
	if columns > n {
		return append(bytes.Repeat([]byte(" "), columns-n), line...)
	}
	return line
}

// A fence is the line that starts fenced code.
type fence struct {
	sign     byte
	size     int
	indent   int
	language string
}

// openFence returns the fence of a line that has an indentation.
func openFence(rest []byte, indent int) (fence, bool) {
	f := fence{indent: indent}
	if len(rest) == 0 || rest[0] != '`' && rest[0] != '~' {
		return f, false
	}
	f.sign = rest[0]
	info := bytes.TrimLeft(rest, string(f.sign))
	f.size = len(rest) - len(info)
	if f.size < 3 || f.sign == '`' && bytes.IndexByte(info, '`') >= 0 {
		return f, false
	}
	if words := strings.Fields(Unescape(string(info))); len(words) > 0 {
		f.language = words[0]
	}
	return f, true
}

// closedBy reports whether a line ends the code.
func (f *fence) closedBy(l sourceLine) bool {
	after := bytes.TrimLeft(l.rest, string(f.sign))
	return !l.isCode() && len(l.rest)-len(after) >= f.size && len(bytes.TrimSpace(after)) == 0
}

// content returns a line of the code without the indentation of the fence.
func (f *fence) content(line []byte) []byte { return dropColumns(line, f.indent) }

// rawTags are tags whose content is not Markdown.
var rawTags = []string{"script", "pre", "style", "textarea"}

// htmlStart returns inHTML or inTags if a line starts HTML that may interrupt a paragraph, and the
// texts that end it.
func (l sourceLine) htmlStart() (kind state, ends []string) {
	rest := l.rest
	if l.isCode() || len(rest) < 2 || rest[0] != '<' {
		return outside, nil
	}
	for _, mark := range [][2]string{{"<!--", "-->"}, {"<?", "?>"}, {"<![CDATA[", "]]>"}} {
		if bytes.HasPrefix(rest, []byte(mark[0])) {
			return inHTML, []string{mark[1]}
		}
	}
	if rest[1] == '!' && len(rest) > 2 && isLetter(rest[2]) {
		return inHTML, []string{">"}
	}
	name, after, closing := tagName(rest)
	ended := after == "" || strings.ContainsRune(" \t>", rune(after[0]))
	switch {
	case !closing && ended && slices.Contains(rawTags, name):
		return inHTML, []string{"</script>", "</pre>", "</style>", "</textarea>"}
	case (ended || strings.HasPrefix(after, "/>")) && blockTags()[name]:
		return inTags, nil
	}
	return outside, nil
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// tagName returns the name of the tag at the start of a line in lower case, and the rest of the
// line.
func tagName(rest []byte) (name, after string, closing bool) {
	text := strings.TrimPrefix(string(rest), "<")
	text, closing = strings.CutPrefix(text, "/")
	n := 0
	for n < len(text) && (isLetter(text[n]) || n > 0 && text[n] >= '0' && text[n] <= '9') {
		n++
	}
	return strings.ToLower(text[:n]), text[n:], closing
}

// blockTags are tags that start HTML wherever they are.
var blockTags = sync.OnceValue(func() map[string]bool {
	tags := map[string]bool{}
	for _, name := range strings.Fields(`address article aside base basefont blockquote body caption center col colgroup dd
		details dialog dir div dl dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hr
		html iframe legend li link main menu menuitem meta nav noframes ol optgroup option p param search section summary
		table tbody td tfoot th thead title tr track ul`) {
		tags[name] = true
	}
	return tags
})

// lineOfTag matches a line that is one tag.
var lineOfTag = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:<[a-zA-Z][a-zA-Z0-9-]*(?:\s+[a-zA-Z_:][\w.:-]*(?:\s*=\s*(?:[^\s"'=<>` + "`" +
		`]+|'[^']*'|"[^"]*"))?)*\s*/?>|</[a-zA-Z][a-zA-Z0-9-]*\s*>)\s*$`)
})

// isTag reports whether a line is one tag, which starts HTML only outside of paragraphs.
func isTag(rest []byte) bool {
	if rest[0] != '<' || !lineOfTag().Match(rest) {
		return false
	}
	name, _, _ := tagName(rest)
	return !slices.Contains(rawTags, name)
}

// containsAny reports whether a line contains one of some texts, in upper or lower case.
func containsAny(line []byte, texts []string) bool {
	lower := strings.ToLower(string(line))
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(lower, strings.ToLower(text)) })
}
