// Package highlight finds the words of code that are worth a color. It is pure, and knows nothing
// about how they are drawn.
//
// It knows the strings, comments and keywords of some dozen families of languages.
package highlight

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Class is a kind of token.
type Class uint8

// The classes of tokens. Plain is everything else.
const (
	Plain Class = iota
	Comment
	String
	Keyword
	Number
	Call // the name of a function that is called, or of a variable of a shell
	Tag
	Added   // a line that a diff adds
	Removed // a line that a diff removes
)

// A Token is a piece of code of one class.
type Token struct {
	Text  string
	Class Class
}

// A Scanner splits code into tokens. It has no grammar: it recognizes comments, strings, numbers
// and keywords in one pass, and never fails. Highlighters that backtrack can take very long for
// untrusted text.
//
// Code may come in pieces of whole lines. The classes are the same for any pieces.
type Scanner struct {
	*Language
	code string
	at   int
	open span // what the last piece has left open
}

// A span is a comment or a string that has begun.
type span struct {
	class   Class  // Plain if nothing is open
	end     string // what ends it
	escapes bool   // a backslash escapes what follows
	oneLine bool   // it also ends before the end of its line, unless that is escaped
}

// NewScanner returns a scanner of a language. All code is plain if it is nil.
func NewScanner(l *Language) *Scanner { return &Scanner{Language: l} }

// Scan returns the tokens of a piece of code, which are all of its text. A comment or a string that
// continues in the next piece is cut into a token for each piece.
func (s *Scanner) Scan(code string) []Token {
	if s.Language == nil {
		if code == "" {
			return nil
		}
		return []Token{{Text: code}}
	}
	s.code, s.at = code, 0
	var tokens []Token
	plain := 0 // the start of the text that is not yet in a token
	for s.at < len(code) {
		class, size := s.token(code[s.at:])
		if class != Plain {
			if plain < s.at {
				tokens = append(tokens, Token{Text: code[plain:s.at]})
			}
			tokens = append(tokens, Token{Text: code[s.at : s.at+size], Class: class})
			plain = s.at + size
		}
		s.at += size
	}
	if plain < len(code) {
		tokens = append(tokens, Token{Text: code[plain:]})
	}
	return tokens
}

// token returns the class of the first token of rest, and its length.
func (s *Scanner) token(rest string) (Class, int) {
	if s.open.class != Plain {
		return s.span(rest, 0)
	}
	if s.changes {
		return changeClass(rest), max(lineLength(rest), 1)
	}
	if class, n := s.comment(rest); n > 0 {
		return class, n
	}
	if n := s.quoted(rest); n > 0 {
		return String, n
	}
	c := rest[0]
	switch {
	case c == '$' && s.variables:
		return Call, 1 + wordLength(rest[1:])
	case c == '<' && s.tags:
		return tag(rest)
	case c >= '0' && c <= '9':
		return number(rest)
	}
	if n := wordLength(rest); n > 0 {
		return s.word(rest, n)
	}
	_, size := utf8.DecodeRuneInString(rest)
	return Plain, size
}

// begin begins a span with its first n bytes, and returns its length in rest.
func (s *Scanner) begin(rest string, n int, open span) int {
	s.open = open
	_, size := s.span(rest, n)
	return size
}

// span returns the rest of the open span, which is looked for after n bytes. It stays open if the
// piece has no end of it.
func (s *Scanner) span(rest string, n int) (Class, int) {
	open := s.open
	if !open.escapes {
		if i := strings.Index(rest[n:], open.end); i >= 0 {
			s.open = span{}
			return open.class, n + i + len(open.end)
		}
		return open.class, len(rest)
	}
	for i := n; i < len(rest); i++ {
		switch {
		case rest[i] == '\\':
			i++
		case open.oneLine && rest[i] == '\n':
			s.open = span{}
			return open.class, i
		case strings.HasPrefix(rest[i:], open.end):
			s.open = span{}
			return open.class, i + len(open.end)
		}
	}
	return open.class, len(rest)
}

func (s *Scanner) comment(rest string) (Class, int) {
	for _, begin := range s.lineComments {
		if strings.HasPrefix(rest, begin) && (begin != "#" || s.at == 0 || isSpace(s.code[s.at-1])) {
			return Comment, lineLength(rest)
		}
	}
	for _, c := range s.blockComments {
		if strings.HasPrefix(rest, c[0]) {
			return Comment, s.begin(rest, len(c[0]), span{class: Comment, end: c[1]})
		}
	}
	return Plain, 0
}

// changeClass returns the class of a line of a diff.
func changeClass(line string) Class {
	switch {
	case strings.HasPrefix(line, "@@"), strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "--- "):
		return Comment
	case line[0] == '+':
		return Added
	case line[0] == '-':
		return Removed
	}
	return Plain
}

// quoted returns the length of a string, or 0. One that is not long ends with its line.
func (s *Scanner) quoted(rest string) int {
	if rest[0] == '\'' && s.isApostrophe() {
		return 0
	}
	for _, quote := range s.rawQuotes {
		if strings.HasPrefix(rest, quote) {
			return s.begin(rest, len(quote), span{class: String, end: quote})
		}
	}
	for _, quote := range s.longQuotes {
		if strings.HasPrefix(rest, quote) {
			return s.begin(rest, len(quote), span{class: String, end: quote, escapes: true})
		}
	}
	switch {
	case strings.IndexByte(s.quotes, rest[0]) >= 0:
		return s.begin(rest, 1, span{class: String, end: rest[:1], escapes: true, oneLine: true})
	case s.letters && rest[0] == '\'':
		return s.letter(rest)
	}
	return 0
}

// isApostrophe reports whether a quote follows a word that is not the prefix of a string.
func (s *Scanner) isApostrophe() bool {
	word := s.code[max(s.at-3, 0):s.at]
	word = word[len(strings.TrimRightFunc(word, unicode.IsLetter)):]
	return word != "" && (len(word) > 2 || strings.Trim(word, s.prefixes) != "")
}

// letter returns the length of a single letter in quotes, or 0, since the quote also has other
// meanings.
func (s *Scanner) letter(rest string) int {
	if strings.HasPrefix(rest, `'\`) {
		return s.begin(rest, 1, span{class: String, end: "'", escapes: true, oneLine: true})
	}
	r, size := utf8.DecodeRuneInString(rest[1:])
	if r != '\n' && strings.HasPrefix(rest[1+size:], "'") {
		return size + 2
	}
	return 0
}

// word returns the class of a word of n bytes.
func (s *Scanner) word(rest string, n int) (Class, int) {
	word := rest[:n]
	if s.foldCase {
		word = strings.ToLower(word)
	}
	switch {
	case s.keywords[word]:
		return Keyword, n
	case n < len(rest) && rest[n] == '(':
		return Call, n
	}
	return Plain, n
}

// tag returns the length of the name at the beginning of a tag.
func tag(rest string) (Class, int) {
	n := 1
	if strings.HasPrefix(rest, "</") {
		n = 2
	}
	if name := wordLength(rest[n:]); name > 0 {
		return Tag, n + name
	}
	return Plain, 1
}

func wordLength(text string) int {
	for i, r := range text {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return i
		}
	}
	return len(text)
}

// number ignores the line numbers in the result of a Read, since there are many.
func number(rest string) (Class, int) {
	n := numberLength(rest)
	if strings.HasPrefix(rest[n:], "→") {
		return Plain, n
	}
	return Number, n
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

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' }
