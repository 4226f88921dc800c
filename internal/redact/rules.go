package redact

import (
	"bytes"
	"encoding/base64"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// keyRules find keys and tokens by how they begin.
func keyRules() []Rule {
	return []Rule{
		{
			Name: "private-key", About: "private keys, such as those of SSH, TLS and PGP",
			anchors: []string{"private key-----", "private key block-----"}, custom: privateKeys,
		},
		{
			Name: "anthropic-key", About: "keys and tokens of Anthropic: sk-ant-...",
			anchors: []string{"sk-ant-"}, before: wordStart, pattern: `sk-ant-[A-Za-z0-9_-]{8,}`,
		},
		{
			Name: "openai-key", About: "keys of OpenAI and similar services: sk-..., sk-proj-...",
			anchors: []string{"sk-"}, before: nameStart, wanted: hasDigit,
			pattern: `sk-(?:(?:proj|svcacct|admin|or-v1|live|test)-)?[A-Za-z0-9_]{20,}[A-Za-z0-9_-]*`,
		},
		{
			Name: "github-token", About: "tokens of GitHub and GitLab: ghp_..., github_pat_..., glpat-...",
			anchors: []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-"}, before: wordStart,
			pattern: `gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}`,
		},
		{
			Name: "slack-token", About: "tokens and hooks of Slack: xoxb-..., hooks.slack.com/services/...",
			anchors: []string{"xox", "xapp-", "hooks.slack.com/"}, before: wordStart,
			pattern: `xox[a-z]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}|hooks\.slack\.com/(?:services|workflows)/([A-Za-z0-9/_-]+)`,
		},
		{
			Name: "aws-key", About: "access keys of AWS: AKIA..., ASIA..., with the secret after them",
			anchors: []string{"akia", "asia"}, before: wordStart,
			pattern: `(?:AKIA|ASIA)[A-Z0-9]{16}\b(?:[\s:,;|]{1,4}[A-Za-z0-9/+]{40}\b)?`,
		},
		{
			Name: "google-key", About: "keys and tokens of Google: AIza..., ya29...., GOCSPX-...",
			anchors: []string{"aiza", "ya29.", "gocspx-"}, before: wordStart,
			pattern: `AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,}`,
		},
		{
			Name: "package-token", About: "tokens of npm, PyPI, Hugging Face and Stripe: npm_..., pypi-..., hf_..., sk_live_...",
			anchors: []string{"npm_", "pypi-", "hf_", "sk_live_", "sk_test_", "rk_live_", "rk_test_"}, before: wordStart,
			pattern: `npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{40,}|hf_[A-Za-z0-9]{30,}|[rs]k_(?:live|test)_[A-Za-z0-9]{16,}`,
		},
		{
			Name: "service-token", About: "tokens of other services: hvs...., SG...., dop_v1_..., gsk_..., shpat_..., AGE-SECRET-KEY-...",
			anchors: []string{
				"hvs.", "sg.", "dop_v1_", "age-secret-key-1", "xai-", "gsk_", "lin_api_", "shpat_", "glptt-", "gldt-", "glrt-",
				"dckr_pat_", "sq0", "whsec_", "api/webhooks/", "api.telegram.org/bot",
			},
			before: wordStart, wanted: hasDigit,
			pattern: `hvs\.[A-Za-z0-9_-]{20,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{20,}|dop_v1_[A-Za-z0-9]{32,}` +
				`|AGE-SECRET-KEY-1[A-Z0-9]{40,}|xai-[A-Za-z0-9]{30,}|gsk_[A-Za-z0-9]{30,}|lin_api_[A-Za-z0-9]{30,}` +
				`|shpat_[A-Za-z0-9]{20,}|gl(?:ptt|dt|rt)-[A-Za-z0-9_-]{16,}|dckr_pat_[A-Za-z0-9_-]{20,}|sq0[a-z]{3}-[A-Za-z0-9_-]{16,}` +
				`|whsec_[A-Za-z0-9]{20,}|api/webhooks/([0-9]{8,}/[A-Za-z0-9_-]{20,})|api\.telegram\.org/bot([0-9]{6,}:[A-Za-z0-9_-]{20,})`,
		},
		{
			Name: "jwt", About: "JSON web tokens: eyJ....eyJ....",
			anchors: []string{"eyj"}, before: nameStart,
			pattern: `eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?`,
		},
	}
}

// keyBegin finds the first line of a private key.
var keyBegin = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----`)
})

// privateKeys finds the text between the first and the last line of a key, or, if the last line is
// missing, the text that looks like lines of a key.
func privateKeys(text string) [][2]int {
	begins := keyBegin().FindAllStringIndex(text, -1)
	var spans [][2]int
	for i, begin := range begins {
		next := len(text)
		if i+1 < len(begins) {
			next = begins[i+1][0]
		}
		body := keyBody(text[begin[1]:next])
		if len(strings.TrimSpace(body)) >= 24 && !strings.Contains(body, markStart) {
			spans = append(spans, [2]int{begin[1], begin[1] + len(body)})
		}
	}
	return spans
}

// keyBody returns the beginning of text that belongs to a key. text follows the key's first line.
func keyBody(text string) string {
	if end := strings.Index(text, "-----END "); end >= 0 {
		return text[:end]
	}
	return text[:len(text)-len(strings.TrimLeft(text, keyLetters))]
}

const base64Letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="

// keyLetters are the characters of base64 and those around its lines, such as line numbers' arrows.
const keyLetters = base64Letters + "\\\r\n\t →|>"

// headerRules find the credentials of requests.
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

// isHeaderValue reports whether a match is the value of a header, not prose or code about headers.
func isHeaderValue(match string) bool {
	if strings.ContainsAny(match, "()[]{}") {
		return false // code
	}
	scheme, rest, _ := strings.Cut(match, " ")
	signed := (strings.EqualFold(scheme, "basic") || strings.EqualFold(scheme, "bearer")) && len(rest) >= 8
	return isValue(match) && (signed || hasDigit(match) || isBasic(match) || len(match) >= 20 && !strings.Contains(match, " "))
}

// isBasic reports whether text is a name and a password in base64, as in HTTP basic authentication.
func isBasic(text string) bool {
	decoded, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	return err == nil && utf8.Valid(decoded) && bytes.IndexByte(decoded, ':') > 0
}

func hasDigit(match string) bool { return strings.ContainsAny(match, "0123456789") }

// secretWords end the names of secrets.
const secretWords = `password|passwd|passphrase|_pass|"pass|secret|token|account[_-]?key|key[_-]data|api[_-]?key|access[_-]?key(?:[_-]?id)?|` +
	`private[_-]?key|secret[_-]?key(?:[_-]?base)?|encryption[_-]?key|signing[_-]?key|credentials?`

// accountWords are the names of settings that identify an account.
const accountWords = `account[_-]?(?:uuid|id)|account[_-]?name|account[_-]?email|billing[_-]?email|organi[sz]ation[_-]?(?:uuid|id|name)|` +
	`org[_-]?(?:uuid|id|name)|user[_-]?(?:uuid|email)|email[_-]?address|credential[_-]?org`

// The value of a setting: in quotes, which may be escaped, or up to the next space or separator.
const (
	quotedValue = `\\*"([^"\\\r\n]{4,})\\*"|\\*'([^'\\\r\n]{4,})\\*'`
	bareValue   = "([^\\s\"'`\\\\,;&|<>$(){}\\[\\]]{4,})"
)

// secretAnchors are the anchors of secretWords.
var secretAnchors = []string{
	"password", "passwd", "passphrase", "_pass", "\"pass", "secret", "token", "api", "access", "private", "encryption", "signing",
	"credential", "account", "key-data", "key_data",
}

// settingRules find secrets by the name before them.
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
			Name: "option", About: "passwords after options and names: -u name:..., --token ..., password ..., secret_key = ...",
			anchors: append([]string{"--", " -u", " -b ", "auth", "pwd", "sshpass", "docker login", "mysql"}, secretAnchors...),
			wanted:  isRandom, pattern: optionPattern,
		},
		{
			Name: "account", personal: true, About: "account data: IDs and names of accounts and organizations, also those of AWS",
			anchors: []string{"account", "billing", "organi", "org", "user", "email", "credential", "arn:aws"},
			wanted:  isSecretValue,
			pattern: `(?i)(?:` + accountWords + `)\\*["']?\s*[:=]\s*(?:` + quotedValue + `|` + bareValue + `)` +
				`|arn:aws[a-z-]*:[a-z0-9-]*:[a-z0-9-]*:([0-9]{12})`,
		},
	}
}

// optionPattern finds secrets after a word and a space, or after a name that also has other
// meanings. Rule option checks with isRandom that they look like secrets.
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

// isRandom is like isSecretValue, for a value where an ordinary word could stand. The value must
// have both letters and digits, which words don't.
func isRandom(value string) bool {
	letters := strings.ContainsFunc(value, unicode.IsLetter)
	return letters && hasDigit(value) && isSecretValue(value) || isBasic(value)
}

// isRandomNotPath is like isRandom, for a value that could be a path.
func isRandomNotPath(value string) bool {
	return isRandom(value) && !strings.ContainsAny(value[:1], "/~.") && !strings.Contains(value, `:\`)
}

// A memberRule finds the value of a member of a JSON object by the name of the member.
type memberRule struct {
	rule   string
	names  *regexp.Regexp
	wanted func(value string) bool
}

var memberRules = sync.OnceValue(func() []memberRule {
	return []memberRule{
		{"setting", regexp.MustCompile(`(?i)(?:` + secretWords + `|^pass|(?-i:[A-Z0-9]_KEY))(?:_?[0-9]+)?$`), isValue},
		{"setting", regexp.MustCompile(`(?i)^_?auth$`), isRandom},
		{"setting", regexp.MustCompile(`(?i)pwd$`), isRandomNotPath},
		{"account", regexp.MustCompile(`(?i)^(?:` + accountWords + `)$`), isValue},
	}
})

// ruleOfMember returns the name of the rule that finds the value of a member by the member's name,
// or "".
func ruleOfMember(name, value string) string {
	for _, rule := range memberRules() {
		if rule.names.MatchString(name) && rule.wanted(value) {
			return rule.rule
		}
	}
	return ""
}

// isValue reports whether value is a real one: not a variable, a placeholder or a text that was
// redacted before.
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

// codeWords are the words that follow a name in code, where a setting would have its value.
var codeWords = map[string]bool{
	"string": true, "number": true, "boolean": true, "bool": true, "byte": true, "bytes": true, "null": true, "none": true,
	"true": true, "false": true, "undefined": true, "object": true, "optional": true, "required": true, "str": true,
	"self": true, "this": true, "await": true, "func": true, "interface": true, "[]byte": true, "default": true,
	"secret": true, "password": true, "token": true,
}

// isSecretValue is like isValue, for a value in code or prose: a type or an expression is not one.
func isSecretValue(value string) bool {
	word := strings.ToLower(strings.Trim(value, " .,:;!?*"))
	return isValue(value) && !codeWords[word] && len(word) >= 4 && !isExpression(value)
}

var expression = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[a-z][A-Za-z]*(?:\.[A-Za-z_]+)+|process\.env.*|os\.(?:environ|Getenv).*|=.*|[a-z]+[A-Z][A-Za-z]*)$`)
})

func isExpression(value string) bool { return len(value) < 80 && expression().MatchString(value) }

// personalRules find data that identifies a person.
func personalRules() []Rule {
	return []Rule{
		{
			Name: "email", personal: true, About: "e-mail addresses, except for git remotes and noreply",
			anchors: []string{"@"}, custom: emails,
		},
		{
			Name: "home", personal: true, About: "names in home directories: /home/..., /Users/..., those of Windows, and in names of projects",
			anchors: []string{"/home/", "/var/home/", "/users/", `\users\`, "-home-", "-users-"}, with: "user", before: homeStart,
			pattern: `/(?:(?:var/)?home|Users)/([A-Za-z0-9_][A-Za-z0-9._-]*)|-(?:home|Users)-([A-Za-z0-9_]+)` +
				`|(?i:\\users\\+)(?:([A-Za-z0-9_][^\\/:*?"<>|\r\n]{0,60})\\|([A-Za-z0-9_][A-Za-z0-9._-]*))`,
			wanted: func(match string) bool { return match != "Shared" && match != "Public" },
		},
	}
}

// homeStart reports whether a home directory can start after the given text: after a drive, or
// after a character that does not belong to another path or word.
func homeStart(before string) bool {
	n := len(before)
	last := before[n-1]
	if last == '-' || isAlphanumeric(last) { // as in C--Users, C:/Users and /mnt/c/Users
		return last != '-' && (n == 1 || before[n-2] == '/') ||
			last == '-' && n > 1 && isAlphanumeric(before[n-2]) && (n == 2 || !isAlphanumeric(before[n-3]))
	}
	return last != '.' && last != '_' && last != '~'
}

// emails finds an address around each @.
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

// domainLength returns the length of the domain at the beginning of text, or 0 if there is none:
// labels with dots between them, the last of letters only.
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
