package redact

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A Rule describes one kind of secret or of personal data.
type Rule struct {
	Name  string `json:"name"`  // such as "github-token"
	About string `json:"about"` // one line for people, with examples

	// personal marks data that names a person or an account and is not secret. Mask leaves it.
	personal bool

	// anchors are lower-case texts. Every match of the rule begins with one of them. The rule
	// searches for the anchors and tries its pattern only there, which is many times as fast as
	// trying it everywhere.
	anchors []string
	// pattern matches at an anchor. The first group that matched is replaced, or else the whole
	// match.
	pattern string
	// with replaces the match; empty means the mark of the rule.
	with string
	// before reports whether an anchor counts after the given text; nil means that it always does.
	before func(text string) bool
	// wanted reports whether a match is a secret; nil means that every match is.
	wanted func(match string) bool
	// custom finds the matches in place of pattern, before and wanted, in texts that have an
	// anchor.
	custom func(text string) [][2]int

	// match matches pattern at the beginning of a text. It returns the bounds of the match and its
	// groups, or nil.
	match func(text string) []int
}

// Rules returns all rules, in the order in which a [Redactor] applies them.
func Rules() []Rule {
	return append(slices.Clone(allRules()), Rule{
		Name: "picture", About: "pictures in results, since their content is unknown", personal: true,
	})
}

// allRules makes the rules when they are first needed, and each rule compiles its pattern when its
// first anchor is found. A program that never sees anything like a secret pays nothing.
var allRules = sync.OnceValue(func() []Rule {
	rules := slices.Concat(keyRules(), headerRules(), settingRules(), personalRules())
	for i := range rules {
		find := sync.OnceValue(rules[i].compile)
		rules[i].match = func(text string) []int { return find().FindStringSubmatchIndex(text) }
	}
	return rules
})

func (r *Rule) compile() *regexp.Regexp { return regexp.MustCompile("^(?:" + r.pattern + ")") }

// mark returns the text that a Redactor writes for a match.
func (r *Rule) mark() string { return cmp.Or(r.with, mark(r.Name)) }

// apply replaces the matches in text by with, and returns how many it replaced. lower is the text
// in lower case.
func (r *Rule) apply(text, lower, with string) (string, int) {
	var b strings.Builder
	copied, n := 0, 0
	for _, span := range r.spans(text, lower) {
		if span[0] < copied || text[span[0]:span[1]] == with {
			continue
		}
		b.WriteString(text[copied:span[0]])
		b.WriteString(with)
		copied = span[1]
		n++
	}
	if n == 0 {
		return text, 0
	}
	b.WriteString(text[copied:])
	return b.String(), n
}

// spans returns the bounds of the matches, sorted by start. They may overlap.
func (r *Rule) spans(text, lower string) [][2]int {
	var spans [][2]int
	for _, anchor := range r.anchors {
		if r.custom != nil {
			if strings.Contains(lower, anchor) {
				return r.custom(text)
			}
			continue
		}
		spans = r.at(anchor, text, lower, spans)
	}
	slices.SortFunc(spans, func(a, b [2]int) int { return cmp.Or(a[0]-b[0], b[1]-a[1]) })
	return spans
}

// at appends the matches at one anchor. It continues after each match, also after an unwanted one,
// so that no stretch of the text is read many times.
func (r *Rule) at(anchor, text, lower string, spans [][2]int) [][2]int {
	for from := 0; ; {
		i := strings.Index(lower[from:], anchor)
		if i < 0 {
			return spans
		}
		start := from + i
		from = start + len(anchor)
		if start > 0 && r.before != nil && !r.before(text[:start]) {
			continue
		}
		match := r.match(text[start:])
		if match == nil {
			continue
		}
		from = max(from, start+match[1])
		first, last := group(match)
		if r.wanted == nil || r.wanted(text[start+first:start+last]) {
			spans = append(spans, [2]int{start + first, start + last})
		}
	}
}

// group returns the bounds of the first group that matched, or of the whole match.
func group(match []int) (start, end int) {
	for i := 2; i < len(match); i += 2 {
		if match[i] >= 0 {
			return match[i], match[i+1]
		}
	}
	return match[0], match[1]
}

// lowerASCII returns text with ASCII letters in lower case. The result is as long as the text.
func lowerASCII(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r >= 'A' && r <= 'Z' }) {
		return text
	}
	lower := []byte(text)
	for i, c := range lower {
		if c >= 'A' && c <= 'Z' {
			lower[i] = c + 'a' - 'A'
		}
	}
	return string(lower)
}

func isAlphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// wordStart reports whether a word can start after the given text.
func wordStart(before string) bool { return !isAlphanumeric(before[len(before)-1]) }

// nameStart reports whether a name, which may contain - and _, can start after the given text.
func nameStart(before string) bool {
	last := before[len(before)-1]
	return !isAlphanumeric(last) && last != '-' && last != '_'
}
