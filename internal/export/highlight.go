package export

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The classes of coloured words.
const (
	classComment = "c"
	classString  = "s"
	classKeyword = "k"
	classNumber  = "n"
	classCall    = "f"
	classTag     = "t"
)

// highlight writes code with its words coloured. It knows no grammar, only what
// comments, strings, numbers and keywords look like, takes one pass, and never
// fails: other highlighters go back and forth in what somebody else has written,
// and take as long as that makes them.
func (m *markup) highlight(code string, l *language) {
	if l == nil {
		m.text(code)
		return
	}
	h := &highlighter{markup: m, language: l, code: clean(code)} // before parts of it are looked at one by one
	h.run()
}

type highlighter struct {
	*markup
	*language
	code  string
	plain int // where the text begins that is not yet written
	at    int
}

func (h *highlighter) run() {
	for h.at < len(h.code) {
		class, size := h.token(h.code[h.at:])
		if class == "" {
			h.at += size
			continue
		}
		h.text(h.code[h.plain:h.at])
		h.raw(`<span class="` + class + `">`)
		h.text(h.code[h.at : h.at+size])
		h.raw("</span>")
		h.at += size
		h.plain = h.at
	}
	h.text(h.code[h.plain:])
}

// token returns the class of what rest begins with, or "", and its length.
func (h *highlighter) token(rest string) (class string, size int) {
	if h.changes {
		return changeClass(rest), max(lineLength(rest), 1)
	}
	if n := h.comment(rest); n > 0 {
		return classComment, n
	}
	if n := h.quoted(rest); n > 0 {
		return classString, n
	}
	c := rest[0]
	switch {
	case c == '$' && h.variables:
		return classCall, 1 + wordLength(rest[1:])
	case c == '<' && h.language.tags:
		return h.tag(rest)
	case c >= '0' && c <= '9':
		return h.number(rest)
	}
	if n := wordLength(rest); n > 0 {
		return h.word(rest, n)
	}
	_, size = utf8.DecodeRuneInString(rest)
	return "", size
}

func (h *highlighter) comment(rest string) int {
	for _, begin := range h.lineComments {
		if strings.HasPrefix(rest, begin) && (begin != "#" || h.at == 0 || isSpace(h.code[h.at-1])) {
			return lineLength(rest)
		}
	}
	for _, c := range h.blockComments {
		if strings.HasPrefix(rest, c[0]) {
			return spanLength(rest, len(c[0]), c[1])
		}
	}
	return 0
}

// changeClass returns the class of a line of a diff.
func changeClass(line string) string {
	switch {
	case strings.HasPrefix(line, "@@"), strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "--- "):
		return classComment
	case line[0] == '+':
		return classString
	case line[0] == '-':
		return classTag
	}
	return ""
}

func (h *highlighter) quoted(rest string) int {
	if rest[0] == '\'' && h.isApostrophe() {
		return 0
	}
	for _, quote := range h.rawQuotes {
		if strings.HasPrefix(rest, quote) {
			return spanLength(rest, len(quote), quote)
		}
	}
	for _, quote := range h.longQuotes {
		if strings.HasPrefix(rest, quote) {
			return stringLength(rest, quote, true)
		}
	}
	switch {
	case strings.IndexByte(h.quotes, rest[0]) >= 0:
		return stringLength(rest, rest[:1], false)
	case h.letters && rest[0] == '\'':
		return letterLength(rest)
	}
	return 0
}

// isApostrophe reports whether a quote stands behind a word, other than one that
// strings begin with.
func (h *highlighter) isApostrophe() bool {
	word := h.code[max(h.at-3, 0):h.at]
	word = word[len(strings.TrimRightFunc(word, unicode.IsLetter)):]
	return word != "" && (len(word) > 2 || strings.Trim(word, h.prefixes) != "")
}

// stringLength returns the length of a string that ends with a quote, which may be
// escaped inside, or with its line or the text.
func stringLength(text, quote string, long bool) int {
	for i := len(quote); i < len(text); i++ {
		switch {
		case text[i] == '\\':
			i++
		case text[i] == '\n' && !long:
			return i
		case strings.HasPrefix(text[i:], quote):
			return i + len(quote)
		}
	}
	return len(text)
}

// letterLength returns the length of a single letter in quotes, or 0: the quote
// means something else, too.
func letterLength(text string) int {
	if strings.HasPrefix(text, `'\`) {
		return stringLength(text, "'", false)
	}
	if _, size := utf8.DecodeRuneInString(text[1:]); strings.HasPrefix(text[1+size:], "'") {
		return size + 2
	}
	return 0
}

// word returns the class of a word of n bytes.
func (h *highlighter) word(rest string, n int) (class string, size int) {
	word := rest[:n]
	if h.foldCase {
		word = strings.ToLower(word)
	}
	switch {
	case h.keywords[word]:
		return classKeyword, n
	case n < len(rest) && rest[n] == '(':
		return classCall, n
	}
	return "", n
}

// tag returns the length of the name that a tag begins with.
func (h *highlighter) tag(rest string) (class string, size int) {
	n := 1
	if strings.HasPrefix(rest, "</") {
		n = 2
	}
	if name := wordLength(rest[n:]); name > 0 {
		return classTag, n + name
	}
	return "", 1
}

func wordLength(text string) int {
	for i, r := range text {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return i
		}
	}
	return len(text)
}

// number leaves out the numbers of lines that a file is read with: they are many.
func (h *highlighter) number(rest string) (class string, size int) {
	n := numberLength(rest)
	if strings.HasPrefix(rest[n:], "→") {
		return "", n
	}
	return classNumber, n
}

func numberLength(text string) int {
	for i := range len(text) {
		c := text[i]
		if c != '.' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return i
		}
	}
	return len(text)
}

func lineLength(text string) int {
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		return i
	}
	return len(text)
}

// spanLength returns the length of what begins with so many bytes and goes up to
// an end, or to the end of the text.
func spanLength(text string, begin int, end string) int {
	if i := strings.Index(text[begin:], end); i >= 0 {
		return begin + i + len(end)
	}
	return len(text)
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' }
