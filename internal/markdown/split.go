package markdown

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/clewdev/clew/internal/highlight"
)

// A state is what the last lines of a stream are. Where they could be several things, it is the one
// that ends latest: then a block is final later than it could be, and its lines are the same.
type state uint8

const (
	outside     state = iota // of all blocks
	inParagraph              // or anything that ends with an empty line
	inList                   // or anything that ends, after an empty line, with a line that is not indented
	inIndented               // code
	inTags                   // HTML that ends with an empty line
	inHTML                   // HTML that ends with a text
	inFence
)

const codeColumns = 4 // the indentation of code

// endsBefore reports whether a line does not belong to the open block. At an empty line it ends.
func (s *Stream) endsBefore(line []byte) bool {
	indent, rest := indentation(line)
	blank := len(rest) == 0
	switch s.state {
	case inParagraph:
		return blank || indent < codeColumns && interrupts(rest)
	case inTags:
		return blank
	case inIndented:
		return !blank && indent < codeColumns
	case inList:
		return !blank && indent == 0 && (s.blank && !isItem(rest) || interrupts(rest))
	}
	return false
}

// interrupts reports whether a line begins code or HTML, whatever is before it.
func interrupts(rest []byte) bool {
	if _, ok := openFence(rest, 0); ok {
		return true
	}
	kind, _ := htmlStart(rest)
	return kind == inHTML || kind == inTags
}

// begin takes the first line of a block.
func (s *Stream) begin(line []byte) {
	indent, rest := indentation(line)
	if len(rest) == 0 {
		return
	}
	if indent >= codeColumns {
		s.state = inIndented
		return
	}
	if f, ok := openFence(rest, indent); ok {
		s.state, s.fence, s.inCode = inFence, f, false
		s.scanner = *highlight.NewScanner(highlight.Find(f.language))
		return
	}
	kind, ends := htmlStart(rest)
	switch {
	case kind != outside:
		s.state, s.htmlEnd = kind, ends
	case isTag(rest):
		s.state = inTags
	case isItem(rest):
		s.state = inList
	default:
		s.state = inParagraph
	}
}

// continued takes another line of the open block.
func (s *Stream) continued(line []byte) {
	indent, rest := indentation(line)
	s.blank = len(rest) == 0
	if s.state == inParagraph && (indent >= codeColumns || isItem(rest)) {
		s.state = inList
	}
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

// isItem reports whether a line may begin an item of a list.
func isItem(rest []byte) bool {
	if len(rest) == 0 || rest[0] == '>' {
		return false
	}
	_, marker := lineHead(rest)
	return marker
}

// A fence is the line that begins fenced code.
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
	if words := strings.Fields(unescape(info)); len(words) > 0 {
		f.language = words[0]
	}
	return f, true
}

// closedBy reports whether a line ends the code.
func (f *fence) closedBy(line []byte) bool {
	indent, rest := indentation(line)
	after := bytes.TrimLeft(rest, string(f.sign))
	return indent < codeColumns && len(rest)-len(after) >= f.size && len(bytes.TrimSpace(after)) == 0
}

// content returns a line of the code without the indentation of the fence.
func (f *fence) content(line []byte) []byte {
	for i := 0; i < f.indent && len(line) > 0 && line[0] == ' '; i++ {
		line = line[1:]
	}
	return line
}

// rawTags are tags whose content is not Markdown.
var rawTags = []string{"script", "pre", "style", "textarea"}

// htmlStart returns inHTML or inTags if a line begins HTML that may interrupt a paragraph, and what
// ends it.
func htmlStart(rest []byte) (kind state, ends []string) {
	if len(rest) < 2 || rest[0] != '<' {
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

// tagName returns the name of the tag at the beginning of a line in lower case, and what follows.
func tagName(rest []byte) (name, after string, closing bool) {
	text := strings.TrimPrefix(string(rest), "<")
	text, closing = strings.CutPrefix(text, "/")
	n := 0
	for n < len(text) && (isLetter(text[n]) || n > 0 && text[n] >= '0' && text[n] <= '9') {
		n++
	}
	return strings.ToLower(text[:n]), text[n:], closing
}

// blockTags are tags that begin HTML wherever they are.
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

// isTag reports whether a line is one tag, which begins HTML only outside of paragraphs.
func isTag(rest []byte) bool { return rest[0] == '<' && lineOfTag().Match(rest) }

// containsAny reports whether a line contains one of some texts, in upper or lower case.
func containsAny(line []byte, texts []string) bool {
	lower := strings.ToLower(string(line))
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(lower, strings.ToLower(text)) })
}
