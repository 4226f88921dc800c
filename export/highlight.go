package export

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The classes of colored words.
const (
	classComment = "c"
	classString  = "s"
	classKeyword = "k"
	classNumber  = "n"
	classCall    = "f"
	classTag     = "t"
)

// highlight writes code with colored words. It has no grammar: it recognizes comments, strings,
// numbers and keywords in one pass, and never fails. Highlighters that backtrack can take very long
// for untrusted text.
func (m *markup) highlight(code string, l *language) {
	if l == nil {
		m.text(code)
		return
	}
	h := &highlighter{markup: m, language: l, code: clean(code)} // cleaned as a whole, before it is split
	h.run()
}

type highlighter struct {
	*markup
	*language
	code  string
	plain int // the start of the text that is not yet written
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

// token returns the class of the first token of rest, or "", and its length.
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

// isApostrophe reports whether a quote follows a word that is not the prefix of a string.
func (h *highlighter) isApostrophe() bool {
	word := h.code[max(h.at-3, 0):h.at]
	word = word[len(strings.TrimRightFunc(word, unicode.IsLetter)):]
	return word != "" && (len(word) > 2 || strings.Trim(word, h.prefixes) != "")
}

// stringLength returns the length of a string that ends with a quote, or else with its line or the
// text. Quotes inside may be escaped.
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

// letterLength returns the length of a single letter in quotes, or 0, since the quote also has
// other meanings.
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

// tag returns the length of the name at the beginning of a tag.
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

// number ignores the line numbers in the result of a Read, since there are many.
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

// spanLength returns the length of a span that begins with a number of bytes, and ends with the
// given text or at the end of rest.
func spanLength(text string, begin int, end string) int {
	if i := strings.Index(text[begin:], end); i >= 0 {
		return begin + i + len(end)
	}
	return len(text)
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' }

// A language has what is needed to color its words.
type language struct {
	keywords map[string]bool
	// lineComments begin comments that end with their line. blockComments have an end.
	lineComments  []string
	blockComments [][2]string
	// quotes begin strings that end on their line, longQuotes strings that may not, and rawQuotes
	// strings without escapes.
	quotes                string
	longQuotes, rawQuotes []string
	prefixes              string // letters that may precede a quote
	letters               bool   // whether 'x' is a letter, and other single quotes are not
	changes               bool   // whether it is a diff
	// foldCase means that keywords may be in upper case, and tags that words in <> are tags.
	foldCase bool
	tags     bool
	// variables begin with a dollar sign.
	variables bool
}

func words(list string) map[string]bool {
	set := map[string]bool{}
	for _, word := range strings.Fields(list) {
		set[word] = true
	}
	return set
}

var slashes = [][2]string{{"/*", "*/"}}

// languageMakers has functions that make the languages, by name. They are called when needed.
var languageMakers = map[string]func() *language{
	"go": func() *language {
		return &language{keywords: words(`break case chan const continue default defer else fallthrough for func go goto if
			import interface map package range return select struct switch type var true false nil iota any bool byte error
			int int8 int16 int32 int64 uint uint8 uint16 uint32 uint64 float32 float64 rune string`),
			lineComments: []string{"//"}, blockComments: slashes, quotes: `"'`, rawQuotes: []string{"`"}}
	},
	"python": func() *language {
		return &language{keywords: words(`and as assert async await break class continue def del elif else except finally for
			from global if import in is lambda match case nonlocal not or pass raise return try while with yield True False
			None self`), lineComments: []string{"#"}, quotes: `"'`, longQuotes: []string{`"""`, "'''"}, prefixes: "rbfuRBFU"}
	},
	"javascript": func() *language {
		return &language{keywords: words(`abstract any as async await boolean break case catch class const continue debugger
			declare default delete do else enum export extends false finally for from function get if implements import in
			instanceof interface keyof let namespace never new null number of private protected public readonly return set
			static string super switch this throw true try type typeof undefined unknown var void while with yield`),
			lineComments: []string{"//"}, blockComments: slashes, quotes: `"'`, longQuotes: []string{"`"}}
	},
	"rust": func() *language {
		return &language{keywords: words(`as async await break const continue crate dyn else enum extern false fn for if impl
			in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where
			while bool char f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 usize isize str String Option Result Vec Some None Ok Err`),
			lineComments: []string{"//"}, blockComments: slashes, longQuotes: []string{`"`}, letters: true}
	},
	"c": func() *language {
		return &language{keywords: words(`abstract alignas auto bool boolean break byte case catch char class const constexpr
			continue default delete do double else enum explicit export extends extern false final finally float for friend
			fun goto if implements import in inline int interface internal let long namespace native new noexcept null nullptr
			object operator override package private protected public register return sealed short signed sizeof static
			string struct super suspend switch synchronized template this throw throws true try typedef typename union unsigned
			using val var virtual void volatile when while guard func protocol extension nil self`),
			lineComments: []string{"//"}, blockComments: slashes, quotes: `"'`}
	},
	"shell": func() *language {
		return &language{keywords: words(`if then else elif fi for in do done while until case esac function return export
			local readonly set unset source exit cd echo sudo`),
			lineComments: []string{"#"}, longQuotes: []string{`"`}, rawQuotes: []string{"'"}, variables: true}
	},
	"ruby": func() *language {
		return &language{keywords: words(`alias and begin break case class def defined? do else elsif end ensure false for if
			in module next nil not or redo rescue retry return self super then true undef unless until when while yield
			require attr_accessor attr_reader`), lineComments: []string{"#"}, quotes: `"'`}
	},
	"php": func() *language {
		return &language{keywords: words(`abstract and array as break case catch class clone const continue declare default do
			echo else elseif extends final finally fn for foreach function global if implements include instanceof interface
			match namespace new null or private protected public readonly require return static switch throw trait true false
			try use var while yield`), lineComments: []string{"//", "#"}, blockComments: slashes, quotes: `"'`, variables: true}
	},
	"sql": func() *language {
		return &language{keywords: words(`add all alter and as asc begin between by case check column commit constraint create
			cross database default delete desc distinct drop else end exists foreign from full group having if in index inner
			insert into is join key left like limit not null offset on or order outer primary references replace returning
			right rollback select set table then transaction trigger union unique update using values view when where with`),
			lineComments: []string{"--"}, blockComments: slashes, quotes: `"'`, foldCase: true}
	},
	"diff": func() *language { return &language{changes: true} },
	"json": func() *language { return &language{keywords: words(`true false null`), quotes: `"`} },
	"yaml": func() *language {
		return &language{keywords: words(`true false null yes no on off`), lineComments: []string{"#"}, quotes: `"'`}
	},
	"css": func() *language {
		return &language{keywords: words(`important media supports import keyframes font-face root hover focus`),
			blockComments: slashes, quotes: `"'`}
	},
	"html": func() *language {
		return &language{blockComments: [][2]string{{"<!--", "-->"}}, quotes: `"`, tags: true}
	},
	"lua": func() *language {
		return &language{keywords: words(`and break do else elseif end false for function goto if in local nil not or repeat
			return then true until while`), lineComments: []string{"--"}, quotes: `"'`}
	},
}

// languageNames are other names of the languages, as written after ``` and as extensions of files.
var languageNames = map[string]string{
	"golang": "go", "py": "python", "python3": "python", "pyi": "python",
	"js": "javascript", "jsx": "javascript", "mjs": "javascript", "cjs": "javascript", "ts": "javascript",
	"tsx": "javascript", "typescript": "javascript", "vue": "html", "svelte": "html",
	"rs": "rust", "h": "c", "cc": "c", "cpp": "c", "hpp": "c", "c++": "c", "cs": "c", "csharp": "c", "java": "c", "kt": "c",
	"kotlin": "c", "swift": "c", "scala": "c", "dart": "c", "objc": "c", "m": "c", "proto": "c", "zig": "c",
	"sh": "shell", "bash": "shell", "zsh": "shell", "console": "shell", "shell-session": "shell", "dockerfile": "shell",
	"makefile": "shell", "mk": "shell", "ps1": "shell", "powershell": "shell", "fish": "shell",
	"rb": "ruby", "ex": "ruby", "exs": "ruby", "elixir": "ruby", "pl": "ruby", "perl": "ruby", "r": "python", "jl": "python",
	"psql": "sql", "mysql": "sql", "sqlite": "sql", "jsonl": "json", "ndjson": "json", "jsonc": "javascript", "json5": "javascript",
	"yml": "yaml", "toml": "yaml", "ini": "yaml", "conf": "yaml", "cfg": "yaml", "env": "yaml", "tf": "yaml", "hcl": "yaml",
	"properties": "yaml", "scss": "css", "less": "css", "htm": "html", "xml": "html", "svg": "html", "xhtml": "html",
	"patch": "diff", "mod": "go", "tmpl": "html",
}

// findLanguage returns a language by one of its names, or nil.
func findLanguage(name string) *language {
	name = strings.ToLower(name)
	if other, ok := languageNames[name]; ok {
		name = other
	}
	if newLanguage, ok := languageMakers[name]; ok {
		return newLanguage()
	}
	return nil
}

// languageOf returns the language of a file, or nil.
func languageOf(file string) *language {
	base := path.Base(strings.ReplaceAll(file, `\`, "/"))
	return findLanguage(strings.TrimPrefix(nameEnd(base), "."))
}

// nameEnd returns the end of a file name that identifies the language: after the last dot, or all
// of it.
func nameEnd(base string) string {
	if ext := path.Ext(base); ext != "" {
		return ext
	}
	return base
}
