package markdown

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/clewdev/clew/internal/highlight"
	"github.com/clewdev/clew/internal/tty"
)

// Options configures the layout of a text for a terminal. The zero value is for a pipe.
type Options struct {
	Width int  // the columns of a line; 0 means that no line is wrapped
	Color bool // whether to paint
	Links bool // whether the terminal knows links (OSC 8)
}

const (
	// minColumns is the minimum width of a text beside an indentation. If there is less, it is not
	// indented.
	minColumns = 12
	// maxRule is the width of the widest rule.
	maxRule = 80
	// maxTarget is the length of the longest target of a link that the terminal gets.
	maxTarget = 2000
)

// A layout makes lines of blocks.
type layout struct {
	Options
	base       tty.StyleSet // the styles of all text
	codeIndent string       // before lines of code
}

func newLayout(opts Options) layout { return layout{Options: opts, codeIndent: "  "} }

// text returns the lines of a text that is parsed as a whole.
func (l layout) text(text string) []string {
	blocks, reason := ParsePart(text)
	if reason != "" {
		return tty.Wrap(l.clean(text), l.Width)
	}
	return l.blocks(blocks, false)
}

// clean returns a text that is safe for the terminal.
func (l layout) clean(text string) string { return tty.CleanIn(text, l.Width) }

// blocks returns the lines of blocks, with empty lines between them unless they are tight.
func (l layout) blocks(blocks []Block, tight bool) []string {
	var lines []string
	for i := range blocks {
		made := l.block(&blocks[i])
		if !tight && len(lines) > 0 && len(made) > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, made...)
	}
	return lines
}

func (l layout) block(b *Block) []string {
	switch b.Kind {
	case Heading:
		return l.heading(b)
	case Quote:
		return l.quote(b)
	case List:
		return l.list(b)
	case Code:
		return l.code(b.Text, b.Language)
	case HTML:
		return tty.Wrap(l.clean(b.Text), l.Width)
	case Table:
		return l.table(b)
	case Rule:
		width := maxRule
		if l.Width > 0 {
			width = min(width, l.Width)
		}
		return []string{tty.Dim.Paint(strings.Repeat("─", width), l.Color)}
	}
	return l.paint(l.words(b.Spans))
}

func (l layout) paint(words []word) []string {
	rows := wrap(words, l.Width)
	lines := make([]string, len(rows))
	for i := range rows {
		lines[i] = rows[i].paint(l.Color)
	}
	return lines
}

// heading marks the first level with a line, and lower ones with slanted letters. Without colors
// it keeps the marks of Markdown.
func (l layout) heading(b *Block) []string {
	l.base = l.base.With(tty.Heading)
	switch b.Level {
	case 1:
		l.base = l.base.With(tty.Link)
	case 2:
	default:
		l.base = l.base.With(tty.Emphasis)
	}
	var words wordList
	if !l.Color {
		words.add(strings.Repeat("#", b.Level)+" ", look{}, false)
	}
	l.addSpans(&words, b.Spans)
	return l.paint(words.words)
}

// fits reports whether text can be indented.
func (l layout) fits(indent int) bool { return l.Width == 0 || l.Width-indent >= minColumns }

// indented returns the layout beside an indentation.
func (l layout) indented(indent int) layout {
	if l.Width > 0 {
		l.Width -= indent
	}
	return l
}

func (l layout) quote(b *Block) []string {
	const bar = "│ "
	inner := l
	inner.base = l.base.With(tty.Emphasis)
	if !l.fits(tty.Width(bar)) {
		return inner.blocks(b.Children, false)
	}
	inner = inner.indented(tty.Width(bar))
	lines := inner.blocks(b.Children, false)
	for i, line := range lines {
		if line == "" {
			lines[i] = tty.Dim.Paint(strings.TrimRight(bar, " "), l.Color)
		} else {
			lines[i] = tty.Dim.Paint(bar, l.Color) + line
		}
	}
	return lines
}

func (l layout) list(b *Block) []string {
	var lines []string
	digits := len(strconv.Itoa(b.Start + max(len(b.Children)-1, 0)))
	for i := range b.Children {
		marker := "-"
		if b.Ordered {
			marker = strconv.Itoa(b.Start+i) + "."
			marker = strings.Repeat(" ", digits+1-len(marker)) + marker
		}
		if i > 0 && !b.Tight {
			lines = append(lines, "")
		}
		lines = append(lines, l.item(&b.Children[i], marker, b.Tight)...)
	}
	return lines
}

// item returns the lines of an item, which start beside its marker.
func (l layout) item(b *Block, marker string, tight bool) []string {
	indent := tty.Width(marker) + 1
	children := b.Children
	if box := taskBox(b.Task); box != "" {
		children = beginWith(children, box)
	}
	if !l.fits(indent) {
		return l.blocks(beginWith(children, strings.TrimSpace(marker)), tight)
	}
	lines := l.indented(indent).blocks(children, tight)
	if len(lines) == 0 {
		return []string{marker}
	}
	prefix := marker + " "
	for i, line := range lines {
		if line != "" || i == 0 {
			lines[i] = strings.TrimRight(prefix, " ")
			if line != "" {
				lines[i] = prefix + line
			}
		}
		prefix = strings.Repeat(" ", indent)
	}
	return lines
}

func taskBox(t Task) string {
	switch t {
	case OpenTask:
		return "[ ]"
	case DoneTask:
		return "[x]"
	}
	return ""
}

// beginWith returns blocks that start with a word.
func beginWith(blocks []Block, word string) []Block {
	first := Block{Kind: Paragraph, Spans: []Span{{Text: word}}}
	if len(blocks) > 0 && blocks[0].Kind == Paragraph {
		first.Spans = append([]Span{{Text: word + " "}}, blocks[0].Spans...)
		blocks = blocks[1:]
	}
	return append([]Block{first}, blocks...)
}

// words returns the words of spans.
func (l layout) words(spans []Span) []word {
	var words wordList
	l.addSpans(&words, spans)
	return words.words
}

// addSpans adds spans. A text without color keeps its marks if it could be misread without them.
func (l layout) addSpans(words *wordList, spans []Span) {
	struck := false
	for i := 0; i < len(spans); {
		n := sameTarget(spans[i:])
		as := look{styles: l.base}
		target := ""
		if spans[i].Target != "" {
			as, target = l.link(spans[i : i+n])
		}
		for _, s := range spans[i : i+n] {
			if isStruck := s.Marks&Struck != 0; isStruck != struck && !l.Color && !s.Break {
				words.add("~~", as, false)
				struck = isStruck
			}
			l.addSpan(words, s, as)
		}
		if target != "" {
			words.add(" ("+target+")", look{styles: l.base.With(tty.Dim)}, false)
		}
		i += n
	}
	if struck {
		words.add("~~", look{styles: l.base}, false)
	}
}

var markStyles = [...]struct {
	mark  Marks
	style tty.Style
}{{Strong, tty.Strong}, {Emphasis, tty.Emphasis}, {Struck, tty.Struck}, {InlineCode, tty.Code}}

func (l layout) addSpan(words *wordList, s Span, as look) {
	if s.Break {
		words.breakLine()
		return
	}
	for _, m := range markStyles {
		if s.Marks&m.mark != 0 {
			as.styles = as.styles.With(m.style)
		}
	}
	text := l.clean(s.Text)
	code := s.Marks&InlineCode != 0
	if code && !l.Color {
		quote := "`"
		if strings.Contains(text, quote) {
			quote = "``"
		}
		text = quote + text + quote
	}
	words.add(text, as, code)
}

// sameTarget returns how many of the spans belong to the same link, or to none.
func sameTarget(spans []Span) int {
	for i := range spans {
		if spans[i].Target != spans[0].Target {
			return i
		}
	}
	return len(spans)
}

// link returns the look of a link, and its target if that is to be shown: where the terminal can't
// open it, and where the text looks like another address.
func (l layout) link(spans []Span) (as look, shown string) {
	var text strings.Builder
	for _, s := range spans {
		text.WriteString(s.Text)
	}
	as.styles = l.base.With(tty.Link)
	written := spans[0].Target
	if l.Links {
		as.link = openable(written)
	}
	if isAddress(text.String(), written) || as.link != "" && !looksLikeAddress(text.String()) {
		return as, ""
	}
	return as, l.clean(strings.ReplaceAll(written, "\n", " "))
}

// isAddress reports whether the text of a link shows its target.
func isAddress(text, target string) bool {
	return text == target || "http://"+text == target || "https://"+text == target || "mailto:"+text == target
}

func looksLikeAddress(text string) bool {
	return strings.Contains(text, "://") || strings.HasPrefix(strings.ToLower(text), "www.")
}

// openable returns a target that the terminal may open: the address of a page. It is "" for others.
func openable(target string) string {
	u, err := url.Parse(target)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return ""
	}
	target = u.String()
	if len(target) > maxTarget || strings.ContainsFunc(target, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return ""
	}
	return target
}

// code returns the lines of code. They are never wrapped or cut.
func (l layout) code(text, language string) []string {
	if text == "" {
		return nil
	}
	var lines []string
	scanner := highlight.NewScanner(highlight.Find(language))
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		lines = append(lines, l.codeLine(scanner, line))
	}
	return lines
}

// codeStyles are the styles of tokens.
var codeStyles = [...]tty.Style{
	highlight.Plain: tty.Plain, highlight.Comment: tty.Comment, highlight.String: tty.Literal, highlight.Keyword: tty.Keyword,
	highlight.Number: tty.Number, highlight.Call: tty.Plain, highlight.Tag: tty.Keyword, highlight.Added: tty.Addition,
	highlight.Removed: tty.Removal,
}

// CodeStyle returns the style of tokens of a class.
func CodeStyle(c highlight.Class) tty.Style { return codeStyles[c] }

// codeLine returns the next line of code.
func (l layout) codeLine(scanner *highlight.Scanner, line string) string {
	line = tty.Clean(line)
	tokens := scanner.Scan(line + "\n")
	if strings.TrimSpace(line) == "" {
		return ""
	}
	var b strings.Builder
	b.WriteString(l.codeIndent)
	for _, token := range tokens {
		b.WriteString(codeStyles[token.Class].Paint(strings.TrimSuffix(token.Text, "\n"), l.Color))
	}
	return b.String()
}
