package export

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
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

// secretWords end the names of secrets.
const secretWords = `password|passwd|passphrase|_pass|"pass|secret|token|account[_-]?key|key[_-]data|api[_-]?key|access[_-]?key(?:[_-]?id)?|` +
	`private[_-]?key|secret[_-]?key(?:[_-]?base)?|encryption[_-]?key|signing[_-]?key|credentials?`

// accountWords are the names of what tells whose account it is.
const accountWords = `account[_-]?(?:uuid|id)|account[_-]?name|account[_-]?email|billing[_-]?email|organi[sz]ation[_-]?(?:uuid|id|name)|` +
	`org[_-]?(?:uuid|id|name)|user[_-]?(?:uuid|email)|email[_-]?address|credential[_-]?org`

// value is that of a setting: in quotes, which may be escaped, or up to a space.
const (
	quotedValue = `\\*"([^"\\\r\n]{4,})\\*"|\\*'([^'\\\r\n]{4,})\\*'`
	bareValue   = "([^\\s\"'`\\\\,;&|<>$(){}\\[\\]]{4,})"
)

// secretAnchors begin or are the last words of the names of secrets.
var secretAnchors = []string{
	"password", "passwd", "passphrase", "_pass", "\"pass", "secret", "token", "api", "access", "private", "encryption", "signing",
	"credential", "account", "key-data", "key_data",
}

// settingRules find secrets by the names that stand before them.
func settingRules() []Rule {
	return []Rule{
		{
			Name: "env", About: "values of variables with secret names: GITHUB_TOKEN=..., DB_PASSWORD=...",
			anchors: append([]string{"_key"}, secretAnchors...), wanted: isSecretValue,
			pattern: `(?:PASSWORD|PASSWD|PASSPHRASE|_PASS|SECRET|TOKEN|API_?KEY|ACCESS_KEY(?:_ID)?|PRIVATE_KEY|` +
				`SECRET_KEY(?:_BASE)?|ENCRYPTION_KEY|SIGNING_KEY|CREDENTIALS?|_KEY)(?:_?[0-9]+)?(?:=|\\*["']?:[ \t]*)(?:` + quotedValue + `|` + bareValue + `)`,
		},
		{
			Name: "setting", About: "values of settings with secret names: password: ..., \"apiKey\": \"...\", --token=...",
			anchors: secretAnchors, wanted: isSecretValue,
			pattern: `(?i)(?:` + secretWords + `)(?:\\*["']?\]?(?:\s*(?:[:=]|:=|=>)\s*(?:` + quotedValue + `)|(?::[ \t]+|=)` + bareValue + `)` +
				`|>([^<>\s]{4,})</)`,
		},
		{
			Name: "option", About: "passwords behind options and names: -u name:..., --token ..., password ..., secret_key = ...",
			anchors: append([]string{"--", " -u", " -b ", "auth", "pwd", "sshpass", "docker login", "mysql"}, secretAnchors...),
			wanted:  isRandom, pattern: optionPattern,
		},
		{
			Name: "account", About: "account data: IDs and names of accounts and organizations, also those of AWS",
			anchors: []string{"account", "billing", "organi", "org", "user", "email", "credential", "arn:aws"},
			wanted:  isSecretValue,
			pattern: `(?i)(?:` + accountWords + `)\\*["']?\s*[:=]\s*(?:` + quotedValue + `|` + bareValue + `)` +
				`|arn:aws[a-z-]*:[a-z0-9-]*:[a-z0-9-]*:([0-9]{12})`,
		},
	}
}

// optionPattern finds secrets that stand behind a word and a space, or have a name
// that means other things, too: they have to look like secrets themselves.
const optionPattern = `(?i)\s-u\s*\\*["']?[^\s:"'$/]{1,64}:([^\s"'\\:]{4,})` +
	`|--user[ =]\\*["']?[^\s:"'$/]{1,64}:([^\s"'\\:]{4,})` +
	`|\s-b\s+\\*["']([^"'\s=]{1,64}=[^"'\\\r\n]{8,})` +
	`|--[a-z-]{0,30}(?:password|passphrase|token|secret|api-?key|access-?key)[ \t]+\\*["']?([^\s"'\\-][^\s"'\\]{3,})` +
	`|auth\\*["']?\s*[:=]\s*\\*["']?([A-Za-z0-9+/]{10,}={0,2})` +
	`|pwd\\*["']?\s*[:=]\s*\\*["']?([^\s"'\\,;&|<>$(){}\[\]/~.][^\s"'\\,;&|<>$(){}\[\]]{3,})` +
	`|sshpass\s+-p\s*["']?([^\s"']{4,})` +
	`|(?:docker login|mysql)[^\r\n|;&]{0,60}\s-p\s?["']?([^\s"'-][^\s"']{3,})` +
	`|(?:` + secretWords + `)(?:[ \t]+is)?[ \t]+["']?([^\s"'\\<>(){}\[\],;:=]{8,})` +
	`|(?:` + secretWords + `)[ \t]+=[ \t]+([^\s"'\\<>(){}\[\],;]{8,})[ \t]*(?:[\r\n]|$)`

// isRandom is isSecretValue for what stands in the place of a word: it has to have
// digits and letters, as words have not.
func isRandom(value string) bool {
	letters := strings.ContainsFunc(value, unicode.IsLetter)
	return letters && hasDigit(value) && isSecretValue(value) || isBasic(value)
}

// isNoPath is isRandom for what may be a folder.
func isNoPath(value string) bool {
	return isRandom(value) && !strings.ContainsAny(value[:1], "/~.") && !strings.Contains(value, `:\`)
}

// A namedRule finds the value of a member of a JSON object by its name.
type namedRule struct {
	rule   string
	names  *regexp.Regexp
	wanted func(value string) bool
}

var namedRules = sync.OnceValue(func() []namedRule {
	return []namedRule{
		{"setting", regexp.MustCompile(`(?i)(?:` + secretWords + `|^pass|(?-i:[A-Z0-9]_KEY))(?:_?[0-9]+)?$`), isValue},
		{"setting", regexp.MustCompile(`(?i)^_?auth$`), isRandom},
		{"setting", regexp.MustCompile(`(?i)pwd$`), isNoPath},
		{"account", regexp.MustCompile(`(?i)^(?:` + accountWords + `)$`), isValue},
	}
})

// isValue tells a value from what stands for one: a variable, a placeholder, or
// what was redacted before.
func isValue(value string) bool {
	value = strings.TrimSpace(value)
	switch {
	case value == "", strings.HasPrefix(value, markStart), strings.Contains(value, "[redacted"):
		return false
	case strings.ContainsAny(value[:1], "$<%{"), strings.Trim(value, "*x.•") == "":
		return false
	}
	return true
}

// codeWords are what stands behind a name in code, where a value would be.
var codeWords = map[string]bool{
	"string": true, "number": true, "boolean": true, "bool": true, "byte": true, "bytes": true, "null": true, "none": true,
	"true": true, "false": true, "undefined": true, "object": true, "optional": true, "required": true, "str": true,
	"self": true, "this": true, "await": true, "func": true, "interface": true, "[]byte": true, "default": true,
	"secret": true, "password": true, "token": true,
}

// isSecretValue is isValue for a value in code or prose: not a type, and not an
// expression.
func isSecretValue(value string) bool {
	word := strings.ToLower(strings.Trim(value, " .,:;!?*"))
	return isValue(value) && !codeWords[word] && len(word) >= 4 && !isExpression(value)
}

var expression = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[a-z][A-Za-z]*(?:\.[A-Za-z_]+)+|process\.env.*|os\.(?:environ|Getenv).*|=.*|[a-z]+[A-Z][A-Za-z]*)$`)
})

func isExpression(value string) bool { return len(value) < 80 && expression().MatchString(value) }

// personalRules find what tells who the user is.
func personalRules() []Rule {
	return []Rule{
		{
			Name: "email", About: "e-mail addresses, but for those of git remotes and noreply",
			anchors: []string{"@"}, custom: emails,
		},
		{
			Name: "home", About: "names in home folders: /home/..., /Users/..., those of Windows, and in names of projects",
			anchors: []string{"/home/", "/var/home/", "/users/", `\users\`, "-home-", "-users-"}, with: "user", before: homeStart,
			pattern: `/(?:(?:var/)?home|Users)/([A-Za-z0-9_][A-Za-z0-9._-]*)|-(?:home|Users)-([A-Za-z0-9_]+)` +
				`|(?i:\\users\\+)(?:([A-Za-z0-9_][^\\/:*?"<>|\r\n]{0,60})\\|([A-Za-z0-9_][A-Za-z0-9._-]*))`,
			wanted: func(match string) bool { return match != "Shared" && match != "Public" },
		},
	}
}

// homeStart says what stands before a home folder: nothing, a drive, or what is no
// part of another path or word.
func homeStart(before string) bool {
	n := len(before)
	last := before[n-1]
	if last == '-' || isAlphanumeric(last) { // as in C--Users, C:/Users and /mnt/c/Users
		return last != '-' && (n == 1 || before[n-2] == '/') ||
			last == '-' && n > 1 && isAlphanumeric(before[n-2]) && (n == 2 || !isAlphanumeric(before[n-3]))
	}
	return last != '.' && last != '_' && last != '~'
}

// emails finds addresses around each @.
func emails(text string) [][2]int {
	var spans [][2]int
	for from := 0; ; {
		i := strings.IndexByte(text[from:], '@')
		if i < 0 {
			return spans
		}
		at := from + i
		start := at - len(text[from:at]) + len(strings.TrimRightFunc(text[from:at], isLocal))
		domain := text[at+1 : at+1+len(text[at+1:])-len(strings.TrimLeftFunc(text[at+1:], isDomain))]
		if name := text[start:at]; name != "" && name != "git" && !strings.EqualFold(name, "noreply") {
			if n := domainLength(domain); n > 0 {
				spans = append(spans, [2]int{start, at + 1 + n})
			}
		}
		from = at + 1
	}
}

func isLocal(r rune) bool { return isDomain(r) || r == '_' || r == '%' || r == '+' }

func isDomain(r rune) bool { return r < 0x80 && (isAlphanumeric(byte(r)) || r == '.' || r == '-') }

// domainLength returns how much of a text is a domain: labels with dots between
// them, the last one of letters.
func domainLength(text string) int {
	text = strings.TrimRight(text, ".-")
	last := strings.LastIndexByte(text, '.')
	label := text[last+1:]
	letters := strings.TrimFunc(label, func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' })
	if last <= 0 || len(label) < 2 || len(label) > 24 || letters != "" {
		return 0
	}
	return len(text)
}
