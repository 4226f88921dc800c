package redact

import (
	"cmp"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// A Rule describes one kind of secret or of personal data.
type Rule struct {
	Name  string `json:"name"`  // such as "github-token"; empty for a rule that only Mask applies
	About string `json:"about"` // one line for people, with examples

	// personal marks data that names a person or an account and is not secret. Mask leaves it.
	personal bool

	// anchors are lower-case texts. Every match of the rule starts with one of them, or back bytes
	// before it. The rule tries its pattern only there, which is many times as fast as trying it
	// everywhere.
	anchors []string
	back    int
	// pattern matches at an anchor. The first group that matched is replaced, or else the whole
	// match.
	pattern string
	// with replaces the match; empty means the mark of the rule.
	with string
	// before reports whether a match counts after the given text; nil means that it always does.
	before func(text string) bool
	// starts is like before, for the whole text and the offset of the match.
	starts func(text string, at int) bool
	// wanted reports whether a match is a secret; nil means that every match is.
	wanted func(match string) bool
	// named is like wanted, for a value after a name. around is the text from the anchor to the value.
	named func(around, value string) bool
	// entropy is the least entropy of a match, in bits per character.
	entropy float64
	// broken marks a key that is also found if it is broken by line ends.
	broken bool
	// alone marks a key that does not count if it is a part of longer data in base64.
	alone bool
	// custom finds the matches in place of pattern, before and wanted, in texts that have an
	// anchor.
	custom func(text string) [][2]int

	// match matches pattern at the beginning of a text. It returns the bounds of the match and its
	// groups, or nil.
	match func(text *prefix) []int
}

// Rules returns all rules, in the order in which a [Redactor] applies them.
func Rules() []Rule {
	var rules []Rule
	for _, rule := range allRules().rules {
		if rule.Name != "" && !slices.ContainsFunc(rules, func(r Rule) bool { return r.Name == rule.Name }) {
			rules = append(rules, rule)
		}
	}
	return append(rules, Rule{
		Name: "picture", About: "images in results, since their content is unknown", personal: true,
	})
}

// A ruleTable has all rules and finds their anchors. Several rules may have the same name.
type ruleTable struct {
	rules  []Rule
	finder *finder
}

// allRules makes the rules when they are first needed, and each rule compiles its pattern when its
// first anchor is found. A program that never sees anything like a secret pays nothing.
var allRules = sync.OnceValue(func() *ruleTable {
	t := new(ruleTable)
	t.rules = slices.Concat(wideRules(), keyRules(), tokenRules(), headerRules(), settingRules(), serviceRules(),
		t.encodedRules(), wideSettings(), personalRules())
	var anchors [][]string
	for i := range t.rules {
		rule := &t.rules[i]
		find := sync.OnceValue(rule.compile)
		rule.match = func(text *prefix) []int { return find().FindReaderSubmatchIndex(text) }
		anchors = append(anchors, rule.anchors)
	}
	t.finder = newFinder(anchors)
	return t
})

func (r *Rule) compile() *regexp.Regexp { return regexp.MustCompile("^(?:" + r.pattern + ")") }

// mark returns the text that a Redactor writes for a match, or "" if it does not apply the rule.
func (r *Rule) mark() string {
	if r.Name == "" {
		return ""
	}
	return cmp.Or(r.with, mark(r.Name))
}

// replace replaces the matches of each rule by the text that with returns for it, which is "" for a
// rule that is not applied. found is called for each rule that found something.
func (t *ruleTable) replace(text string, with func(*Rule) string, found func(r *Rule, n int)) string {
	places := t.finder.find(text)
	defer t.finder.release(places)
	for _, number := range places.active {
		rule := &t.rules[number]
		mark := with(rule)
		if mark == "" {
			continue
		}
		if changed, spans := rule.apply(text, places.at[number], mark); len(spans) > 0 {
			text = changed
			places.move(number, spans, len(mark))
			found(rule, len(spans))
		}
	}
	return text
}

// apply replaces the matches at the given places by with, and returns what it replaced.
func (r *Rule) apply(text string, places []hit, with string) (string, [][2]int) {
	var b strings.Builder
	copied := 0
	spans := r.spans(text, places)
	replaced := spans[:0]
	for _, span := range spans {
		if span[0] < copied || text[span[0]:span[1]] == with {
			continue
		}
		b.WriteString(text[copied:span[0]])
		b.WriteString(with)
		copied = span[1]
		replaced = append(replaced, span)
	}
	if len(replaced) == 0 {
		return text, nil
	}
	b.WriteString(text[copied:])
	return b.String(), replaced
}

// spans returns the bounds of the matches, sorted by start. They may overlap.
func (r *Rule) spans(text string, places []hit) [][2]int {
	if len(places) == 0 {
		return nil
	}
	if r.custom != nil {
		return r.custom(text)
	}
	var spans [][2]int
	ends := make([]int, len(r.anchors))
	left := readings * len(text)
	for _, place := range places {
		// A search for an anchor continues after each match, even after an unwanted one, so that no
		// stretch of the text is read many times.
		start := place.at - r.back
		if end := &ends[place.number]; start >= *end && start >= 0 {
			spans = r.tryAt(text, start, end, &left, spans)
		}
	}
	slices.SortFunc(spans, func(a, b [2]int) int { return cmp.Or(a[0]-b[0], b[1]-a[1]) })
	return spans
}

const (
	// readings is the number of times a rule may read a text in all. A text that was made for it
	// has many places where a pattern fails only at the end of the text.
	readings = 8
	// minPrefix is the number of bytes that a rule may always read at a place. A match that ends
	// there because the rule read too much already continues to the next space.
	minPrefix = 256
)

// A prefix is the beginning of a text, for a regular expression to read.
type prefix struct {
	text  string
	at    int // the offset of the next character
	limit int // where the reading ends
}

// ReadRune returns the next character.
func (p *prefix) ReadRune() (r rune, size int, err error) {
	if p.at >= min(p.limit, len(p.text)) {
		return 0, 0, io.EOF
	}
	r, size = rune(p.text[p.at]), 1
	if r >= utf8.RuneSelf {
		r, size = utf8.DecodeRuneInString(p.text[p.at:])
	}
	p.at += size
	return r, size, nil
}

// tryAt appends the match at start, and sets end to its end. It takes what it read of the text off
// left.
func (r *Rule) tryAt(text string, start int, end, left *int, spans [][2]int) [][2]int {
	if start > 0 && r.before != nil && !r.before(text[:start]) || r.starts != nil && !r.starts(text, start) {
		return spans
	}
	from := prefix{text: text[start:], limit: max(*left, minPrefix)}
	match := r.match(&from)
	*left -= from.at
	if r.broken {
		if span, found := r.acrossLines(text, start, match, left); found {
			*end = span[1]
			return append(spans, span)
		}
	}
	if match == nil {
		return spans
	}
	*end = start + match[1]
	first, last := group(match)
	found := text[start+first : start+last]
	if !r.accepts(text[:start], text[start:start+first], found) {
		return spans
	}
	if from.limit < len(from.text) && last >= from.limit-utf8.UTFMax {
		last = len(from.text)
		if space := strings.IndexAny(from.text[from.limit:], " \t\r\n"); space >= 0 {
			last = from.limit + space
		}
	}
	return append(spans, [2]int{start + first, start + last})
}

// accepts reports whether a match is a secret. around is the text from the anchor to the match, and
// before the text before the anchor.
func (r *Rule) accepts(before, around, found string) bool {
	return (r.wanted == nil || r.wanted(found)) && (r.named == nil || r.named(around, found)) &&
		(r.entropy == 0 || entropy(found) >= r.entropy) && !(r.alone && r.inBase64(before, found))
}

const (
	// minData is the length of the shortest line that counts as data in base64. Programs break such
	// data into lines of 64 or 76 characters.
	minData = 60
	// maxData bounds the text before a match that is looked at.
	maxData = 256
)

// inBase64 reports whether a match is a part of longer data in base64: it has only characters of
// base64, and so has the text before it on its line, or the whole line before. Paths, hashes and
// other keys of the rule are no such data.
func (r *Rule) inBase64(before, found string) bool {
	if !hasOnlyBase64(found) {
		return false
	}
	lines := strings.Split(before[max(0, len(before)-maxData):], "\n")
	last := len(lines) - 1
	data := lines[last][len(strings.TrimRight(lines[last], base64Letters)):]
	if last > 0 && data == lines[last] && len(data) < minData {
		data = strings.TrimSuffix(lines[last-1], "\r")
	}
	hash := data == strings.ToLower(data) || data == strings.ToUpper(data)
	return len(data) >= minData && hasOnlyBase64(data) && !hash && !isWords(data) && !r.startsWithAnchor(data)
}

// hasOnlyBase64 reports whether a text has only base64 characters.
func hasOnlyBase64(text string) bool { return strings.Trim(text, base64Letters) == "" }

// group returns the bounds of the first group that matched, or of the whole match.
func group(match []int) (start, end int) {
	for i := 2; i < len(match); i += 2 {
		if match[i] >= 0 {
			return match[i], match[i+1]
		}
	}
	return match[0], match[1]
}

// entropy returns the entropy of a text in bits per byte, by how often each byte occurs in it.
func entropy(text string) float64 {
	var counts [256]int
	for i := range len(text) {
		counts[text[i]]++
	}
	bits := 0.0
	for _, n := range counts {
		if n > 0 {
			share := float64(n) / float64(len(text))
			bits -= share * math.Log2(share)
		}
	}
	return bits
}

func isAlphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// wordStart reports whether a word can start after the given text.
func wordStart(before string) bool {
	return !isAlphanumeric(before[len(before)-1]) || endsEscape(before)
}

// nameStart reports whether a name, which may contain - and _, can start after the given text.
func nameStart(before string) bool {
	last := before[len(before)-1]
	return !isAlphanumeric(last) && last != '-' && last != '_' || endsEscape(before)
}

// longestEscape bounds the escapes that endsEscape recognizes.
const longestEscape = 24

// escapeEnd matches a character that is written as an escape, at the end of a text: in a URL, in
// source code, and a color code in source code.
var escapeEnd = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:%(?:25)*[0-9A-Fa-f]{2}|\\(?:[abfnrtv]|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|[0-7]{3})|` +
		`\\(?:x1[bB]|u001[bB]|033|e)\[[0-9;]*m)$`)
})

// endsEscape reports whether text, which ends with a letter or a digit, ends with an escape. The
// next text is not part of the same word.
func endsEscape(text string) bool {
	end := text[max(0, len(text)-longestEscape):]
	return strings.ContainsAny(end, `%\`) && escapeEnd().MatchString(end)
}
