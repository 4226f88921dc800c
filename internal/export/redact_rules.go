package export

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// A Rule says what a [Redactor] takes out.
type Rule struct {
	Name  string `json:"name"`
	About string `json:"about"`

	// anchors are texts in small letters with one of which all begins that the rule finds. They are searched for, and the
	// pattern is tried there alone: that is many times as fast as to try it everywhere.
	anchors []string
	// pattern is what stands at an anchor. The first group that has matched is replaced, by the rule's mark or by with.
	pattern string
	with    string
	// before says whether an anchor may stand behind a text; nil means behind any.
	before func(text string) bool
	// wanted says whether a match is meant; nil means that all are.
	wanted func(match string) bool
	// custom finds what to replace in another way.
	custom func(text string) [][2]int

	// match returns the bounds of the pattern and of its groups at the beginning of a text, or nil.
	match func(text string) []int
}

// Rules returns the rules in the order in which they are used.
func Rules() []Rule {
	return append(slices.Clone(allRules()), Rule{Name: "picture", About: "pictures in results, since nobody can tell what they show"})
}

// allRules makes the rules when they are first needed: a program that redacts
// nothing pays nothing for them.
var allRules = sync.OnceValue(func() []Rule {
	rules := slices.Concat(keyRules(), headerRules(), settingRules(), personalRules())
	for i := range rules {
		find := sync.OnceValue(rules[i].compile)
		rules[i].match = func(text string) []int { return find().FindStringSubmatchIndex(text) }
	}
	return rules
})

func (r *Rule) compile() *regexp.Regexp { return regexp.MustCompile("^(?:" + r.pattern + ")") }

// apply returns the text without what the rule finds, and how much that was.
// lower is the text in small letters.
func (r *Rule) apply(text, lower string) (string, int) {
	var b strings.Builder
	kept, n := 0, 0
	for _, span := range r.spans(text, lower) {
		if span[0] < kept || text[span[0]:span[1]] == r.with {
			continue
		}
		b.WriteString(text[kept:span[0]])
		b.WriteString(cmp.Or(r.with, mark(r.Name)))
		kept = span[1]
		n++
	}
	if n == 0 {
		return text, 0
	}
	b.WriteString(text[kept:])
	return b.String(), n
}

// spans returns what to replace, in order. Parts may overlap.
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

// at adds what is found at one of the anchors. It goes on behind each match, also
// one that is not wanted: so no part of a text is looked at again and again.
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

// group returns the bounds of the first group that has matched, or of the whole.
func group(match []int) (start, end int) {
	for i := 2; i < len(match); i += 2 {
		if match[i] >= 0 {
			return match[i], match[i+1]
		}
	}
	return match[0], match[1]
}

// lowerASCII returns a text with small letters in place of capital ones, byte for
// byte.
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

// wordStart is for anchors that are no part of another word.
func wordStart(before string) bool { return !isAlphanumeric(before[len(before)-1]) }

// nameStart is for anchors that are no part of a name, either.
func nameStart(before string) bool {
	last := before[len(before)-1]
	return !isAlphanumeric(last) && last != '-' && last != '_'
}

// headerRules find what requests are signed with.
func headerRules() []Rule {
	return []Rule{
		{
			Name: "authorization", About: "Authorization, Cookie and x-api-key headers, Basic and Bearer tokens, signatures of URLs",
			anchors: []string{"authorization", "cookie", "x-api-key", "bearer ", "basic ", "sig=", "signature="},
			before:  wordStart, wanted: isHeaderValue,
			pattern: `(?i)(?:authorization|cookie|x-api-key)\\*["']?\s*[:=]\s*\\*["']?([^\r\n"'\\]{6,})` +
				`|cookie\s+\\*["']([^\r\n"'\\]{6,})|bearer\s+([A-Za-z0-9._~+/=-]{12,})|basic\s+([A-Za-z0-9+/]{12,}={0,2})` +
				`|sig(?:nature)?=([A-Za-z0-9%+/_=-]{16,})`,
		},
		{
			Name: "url-password", About: "passwords and tokens in URLs: https://name:password@host, https://token@host",
			anchors: []string{"://"}, wanted: isValue,
			pattern: `://(?:([A-Za-z0-9_.-]{20,}(?::[^\s/@"'<>]*)?)|[^\s/:@"'<>\[]*:([^\s/@"'<>]+))@`,
		},
	}
}

// isHeaderValue tells the value of a header from words about one.
func isHeaderValue(match string) bool {
	if strings.ContainsAny(match, "()[]{}") {
		return false // code
	}
	scheme, rest, _ := strings.Cut(match, " ")
	signed := (strings.EqualFold(scheme, "basic") || strings.EqualFold(scheme, "bearer")) && len(rest) >= 8
	return isValue(match) && (signed || hasDigit(match) || isBasic(match) || len(match) >= 20 && !strings.Contains(match, " "))
}

// isBasic reports whether a text is a name and a password in base64.
func isBasic(text string) bool {
	decoded, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	return err == nil && utf8.Valid(decoded) && bytes.IndexByte(decoded, ':') > 0
}

func hasDigit(match string) bool { return strings.ContainsAny(match, "0123456789") }
