package highlight

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// A Language has what is needed to color its words.
type Language struct {
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
var languageMakers = map[string]func() *Language{
	"go": func() *Language {
		return &Language{keywords: words(`break case chan const continue default defer else fallthrough for func go goto if
			import interface map package range return select struct switch type var true false nil iota any bool byte error
			int int8 int16 int32 int64 uint uint8 uint16 uint32 uint64 float32 float64 rune string`),
			lineComments: []string{"//"}, blockComments: slashes, quotes: `"'`, rawQuotes: []string{"`"}}
	},
	"python": func() *Language {
		return &Language{keywords: words(`and as assert async await break class continue def del elif else except finally for
			from global if import in is lambda match case nonlocal not or pass raise return try while with yield True False
			None self`), lineComments: []string{"#"}, quotes: `"'`, longQuotes: []string{`"""`, "'''"}, prefixes: "rbfuRBFU"}
	},
	"javascript": func() *Language {
		return &Language{keywords: words(`abstract any as async await boolean break case catch class const continue debugger
			declare default delete do else enum export extends false finally for from function get if implements import in
			instanceof interface keyof let namespace never new null number of private protected public readonly return set
			static string super switch this throw true try type typeof undefined unknown var void while with yield`),
			lineComments: []string{"//"}, blockComments: slashes, quotes: `"'`, longQuotes: []string{"`"}}
	},
	"rust": func() *Language {
		return &Language{keywords: words(`as async await break const continue crate dyn else enum extern false fn for if impl
			in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where
			while bool char f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 usize isize str String Option Result Vec Some None Ok Err`),
			lineComments: []string{"//"}, blockComments: slashes, longQuotes: []string{`"`}, letters: true}
	},
	"c": func() *Language {
		return &Language{keywords: words(`abstract alignas auto bool boolean break byte case catch char class const constexpr
			continue default delete do double else enum explicit export extends extern false final finally float for friend
			fun goto if implements import in inline int interface internal let long namespace native new noexcept null nullptr
			object operator override package private protected public register return sealed short signed sizeof static
			string struct super suspend switch synchronized template this throw throws true try typedef typename union unsigned
			using val var virtual void volatile when while guard func protocol extension nil self`),
			lineComments: []string{"//"}, blockComments: slashes, quotes: `"'`}
	},
	"shell": func() *Language {
		return &Language{keywords: words(`if then else elif fi for in do done while until case esac function return export
			local readonly set unset source exit cd echo sudo`),
			lineComments: []string{"#"}, longQuotes: []string{`"`}, rawQuotes: []string{"'"}, variables: true}
	},
	"ruby": func() *Language {
		return &Language{keywords: words(`alias and begin break case class def defined? do else elsif end ensure false for if
			in module next nil not or redo rescue retry return self super then true undef unless until when while yield
			require attr_accessor attr_reader`), lineComments: []string{"#"}, quotes: `"'`}
	},
	"php": func() *Language {
		return &Language{keywords: words(`abstract and array as break case catch class clone const continue declare default do
			echo else elseif extends final finally fn for foreach function global if implements include instanceof interface
			match namespace new null or private protected public readonly require return static switch throw trait true false
			try use var while yield`), lineComments: []string{"//", "#"}, blockComments: slashes, quotes: `"'`, variables: true}
	},
	"sql": func() *Language {
		return &Language{keywords: words(`add all alter and as asc begin between by case check column commit constraint create
			cross database default delete desc distinct drop else end exists foreign from full group having if in index inner
			insert into is join key left like limit not null offset on or order outer primary references replace returning
			right rollback select set table then transaction trigger union unique update using values view when where with`),
			lineComments: []string{"--"}, blockComments: slashes, quotes: `"'`, foldCase: true}
	},
	"diff": func() *Language { return &Language{changes: true} },
	"json": func() *Language { return &Language{keywords: words(`true false null`), quotes: `"`} },
	"yaml": func() *Language {
		return &Language{keywords: words(`true false null yes no on off`), lineComments: []string{"#"}, quotes: `"'`}
	},
	"css": func() *Language {
		return &Language{keywords: words(`important media supports import keyframes font-face root hover focus`),
			blockComments: slashes, quotes: `"'`}
	},
	"html": func() *Language {
		return &Language{blockComments: [][2]string{{"<!--", "-->"}}, quotes: `"`, tags: true}
	},
	"lua": func() *Language {
		return &Language{keywords: words(`and break do else elseif end false for function goto if in local nil not or repeat
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

// Find returns a language by one of its names, or nil.
func Find(name string) *Language {
	name = strings.ToLower(name)
	if other, ok := languageNames[name]; ok {
		name = other
	}
	if newLanguage, ok := languageMakers[name]; ok {
		return newLanguage()
	}
	return nil
}

// OfFile returns the language of a file by its name, or nil.
func OfFile(file string) *Language {
	base := path.Base(strings.ReplaceAll(file, `\`, "/"))
	return Find(strings.TrimPrefix(nameEnd(base), "."))
}

// nameEnd returns the end of a file name that identifies the language: after the last dot, or all
// of it.
func nameEnd(base string) string {
	if ext := path.Ext(base); ext != "" {
		return ext
	}
	return base
}

// Names returns the names of the languages, without other names of the same ones.
func Names() []string { return slices.Sorted(maps.Keys(languageMakers)) }
