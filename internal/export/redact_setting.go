package export

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
)

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
