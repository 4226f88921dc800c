package redact

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// secretWords end the names of secrets.
const secretWords = `password|passwd|passphrase|passcode|(?:_|-|\.|["'](?:db|smtp|ftp|http|proxy|redis|require|root|admin|user)?)pass|secret|token|account[_-]?key|key[_-]data|` +
	`(?:api|app|auth|master|shared|session|storage|service|deploy|license|access|private|encryption|signing|secret)[_-]?key(?:[_-]?(?:id|base))?|` +
	`credentials?|creds|(?-i:_KEY)`

// afterName matches the text that a name may have after a secret word: a number or an environment.
const afterName = `(?:_?[0-9]+|[_-](?:prod|production|staging|stage|dev|test|live|v[0-9]))?`

// typeName is the type of a variable between its name and its value.
const typeName = `(?:[ \t]*:?[ \t]*&?(?:'static )?(?:string|str|bytes|char|\[\]byte)\??|\[[0-9]*\])?`

// accountWords are the names of settings that identify an account.
const accountWords = `account[_-]?(?:uuid|id)|account[_-]?name|account[_-]?email|billing[_-]?email|organi[sz]ation[_-]?(?:uuid|id|name)|` +
	`org[_-]?(?:uuid|id|name)|user[_-]?(?:uuid|email)|email[_-]?address|credential[_-]?org`

// The value of a setting: in quotes, which may be escaped, or up to the next space or separator.
const (
	quotedValue = `\\*"((?:[^"\\\r\n]|\\[^"\r\n]){3,}[^"\\\r\n])\\*"|\\*'((?:[^'\\\r\n]|\\[^'\r\n]){3,}[^'\\\r\n])\\*'|` + "`([^`\r\n]{4,})`"
	bareValue   = "([^\\s\"'`\\\\,;&|<>$(){}\\[\\]]{4,})"
)

// secretAnchors are the anchors of secretWords.
var secretAnchors = []string{
	"password", "passwd", "passphrase", "passcode", "_pass", "-pass", ".pass", `"pass`, `'pass`, "secret", "token", "account", "key-data", "key_data",
	"api", "app", "auth", "master", "shared", "session", "storage", "service", "deploy", "license", "access", "private", "encryption", "signing",
	"credential", "creds", "_key",
	`"db`, `"smtp`, `"ftp`, `"http`, `"proxy`, `"redis`, `"require`, `"root`, `"admin`, `"user`,
	`'db`, `'smtp`, `'ftp`, `'http`, `'proxy`, `'redis`, `'require`, `'root`, `'admin`, `'user`,
}

// settingRules find secrets by the name before them.
func settingRules() []Rule {
	const named = `(?i)(?:` + secretWords + `)` + afterName
	setting := func(wanted func(string) bool, pattern string) Rule {
		return Rule{
			Name: "setting", About: "values of settings with secret names: password: ..., \"apiKey\": \"...\", --token=...",
			anchors: secretAnchors, wanted: wanted, pattern: named + pattern,
		}
	}
	argument := setting(isQuotedSecret, `\\*["']\s*,\s*(?:`+quotedValue+`)\s*\)`)
	argument.before = firstArgument
	return []Rule{
		{
			Name: "env", About: "values of variables with secret names: GITHUB_TOKEN=..., DB_PASSWORD=...",
			anchors: append([]string{"_pwd", "_pw", "_pat"}, secretAnchors...), wanted: isSecretValue,
			pattern: `(?:PASSWORD|PASSWD|PASSPHRASE|PASSCODE|_PASS|_PWD?|SECRET|TOKEN|API_?KEY|ACCESS_KEY(?:_ID)?|SECRET_KEY_BASE|CREDENTIALS?|CREDS|_PAT|_KEY)` +
				`(?:_?[0-9]+|_(?:PROD|PRODUCTION|STAGING|STAGE|DEV|TEST|LIVE|V[0-9]))?` +
				`(?:=|[ \t]*(?:\?=|::?=)[ \t]*|\\*["']?:[ \t]*|%3D)(?:` + quotedValue + `|` + bareValue + `)`,
		},
		setting(isQuotedSecret, typeName+"\\\\*[\"'`]?\\]?"+`\s*(?:(?:[:?+.]|\|\||\?\?)?=>?|:)\s*(?:\[\]byte\(|[bfru@L])?(?:`+quotedValue+`)`),
		setting(isSecretValue, `\\*["']?\]?(?:=|[ \t]*\?=[ \t]*|(?:%22)?%3[AD](?:%2[02])*)`+bareValue+`(?:[^(\[{]|$)`),
		setting(isSecretValue, `\\*["']?\]?:[ \t]+`+bareValue+`[ \t]*(?:[\r\n#]|$)`),
		setting(isRandom, `\\*["']?\]?:[ \t]+`+bareValue+`(?:[^(\[{]|$)`),
		setting(isSecretValue, `(?:\\*["'])?>(?:<!\[CDATA\[)?([^<>\s\]]{4,})(?:\]\]>)?</`),
		argument,
		setting(isQuotedSecret, `["']\s+value=(?:`+quotedValue+`)`),
		setting(isValue, `:[ \t]*[|>][+-]?[ \t]*\r?\n[ \t]+([^\r\n]{4,}(?:\r?\n[ \t]+[^\s:]+)*)`),
		{
			Name: "option", About: "passwords after options and names: -u name:..., --token ..., password ..., secret_key = ...",
			anchors: append([]string{"--", " -u", " -b ", "pwd", "sshpass", "docker login", "podman login", "mysql", "mariadb", "redis-cli"}, secretAnchors...),
			wanted:  isRandom, pattern: optionPattern,
		},
		{
			Name:    "option",
			anchors: []string{"login", ":5432:", ":5433:", ":6432:", ":*:", "?key=", "&key=", "?pass=", "&pass=", "identified by"},
			wanted:  isValue, pattern: recordPattern,
		},
		{Name: "kubernetes-secret", About: "values of Kubernetes secrets in YAML", anchors: []string{"kind: secret", "kind: \"secret"}, custom: kubernetesSecrets},
		{
			Name: "account", personal: true, About: "IDs and names of accounts and organizations, including AWS",
			anchors: []string{"account", "billing", "organi", "org", "user", "email", "credential", "arn:aws"},
			wanted:  isSecretValue,
			pattern: `(?i)(?:` + accountWords + `)\\*["']?\s*[:=]\s*(?:` + quotedValue + `|` + bareValue + `)` +
				`|arn:aws[a-z-]*:[a-z0-9-]*:[a-z0-9-]*:([0-9]{12})`,
		},
	}
}

// optionPattern finds secrets after a word and a space, or after a name that also has other
// meanings. Rule option checks with isRandom that they look like secrets.
const optionPattern = `(?i)(?:\s-u\s*|--user[ =])\\*["']?[^\s:"'$/]{1,64}:\\*["']?([^\s"'\\:]{4,})` +
	`|(?:\s-u\s*|--user[ =])\\*["']?([^\s:"'$/\\]{12,200}):(?:\\*["']|\s|$)` + // a key without a password
	`|\s-b\s+\\*["']([^"'\s=]{1,64}=[^"'\\\r\n]{8,})` +
	`|--[a-z-]{0,30}(?:password|passphrase|pass|token|secret|api-?key|access-?key)[ \t]+\\*["']?([^\s"'\\-][^\s"'\\]{3,})` +
	`|auth\\*["']?\s*[:=]\s*\\*["']?([A-Za-z0-9+/]{10,}={0,2})` +
	`|pwd\\*["']?\s*[:=]\s*\\*["']?([^\s"'\\,;&|<>$(){}\[\]/~.][^\s"'\\,;&|<>$(){}\[\]]{3,})` +
	`|sshpass\s+-p\s*["']?([^\s"']{4,})|redis-cli[^\r\n|;&]{0,60}\s-a\s+["']?([^\s"']{4,})` +
	`|(?:docker login|podman login|mysql|mysqldump|mysqladmin|mariadb)[^\r\n|;&]{0,60}\s-p\s?["']?([^\s"'-][^\s"']{3,})` +
	`|(?:` + secretWords + `)(?:[ \t]+is)?[ \t]+["']?([^\s"'\\<>(){}\[\],;:=]{8,})` +
	`|(?:` + secretWords + `)[ \t]+[?:]?=[ \t]+([^\s"'\\<>(){}\[\],;]{6,})[ \t]*(?:[\r\n]|$)`

// recordPattern finds passwords by the form of the whole record: lines of .netrc and .pgpass,
// queries of URLs and statements of SQL.
const recordPattern = `(?i)login[ \t\r\n]+\S{1,100}[ \t\r\n]+password[ \t\r\n]+([^\s#]+)` +
	`|:(?:5432|5433|6432|\*):[^:\s]{1,100}:[^:\s]{1,100}:([^\s:"'<>]{4,})` +
	`|[?&](?:key|pass)=([A-Za-z0-9._~%-]{12,})|identified by '([^'\r\n]{4,})'`

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
		{"setting", regexp.MustCompile(`(?i)(?:` + secretWords + `|^pass|(?-i:[A-Z0-9]_KEY))` + afterName + `$`), isValue},
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

// firstArgument reports whether text ends with the beginning of a function's first argument, a
// string: setProperty("db.
func firstArgument(text string) bool {
	text = text[max(0, len(text)-64):]
	text = strings.TrimRightFunc(text, func(r rune) bool { return isDomain(r) || r == '_' })
	text = strings.TrimRight(text, `"'`)
	return strings.HasSuffix(strings.TrimRight(text, `\ `), "(")
}

// isSecretValue is like isValue, for a value in code or prose: a type or an expression is not one.
func isSecretValue(value string) bool { return isWord(value) && !isExpression(value) }

// isQuotedSecret is like isSecretValue, for a value in quotes, which is not an expression.
func isQuotedSecret(value string) bool { return isWord(value) }

// isWord reports whether value is a real one and not a word of a programming language.
func isWord(value string) bool {
	word := strings.ToLower(strings.Trim(value, " .,:;!?*"))
	return isValue(value) && !codeWords[word] && len(word) >= 4
}

var expression = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[a-z][A-Za-z]*(?:\.[A-Za-z_]+)+|process\.env.*|os\.(?:environ|Getenv).*|[=*].*|[a-z]+[A-Z][A-Za-z]*|-?0x[0-9a-fA-F]{1,16}|` +
		`[a-z]+\.[A-Za-z0-9.]*[A-Za-z](?i:key|secret|token|password)[0-9]*|[A-Za-z0-9]*[A-Za-z](?:Key|Secret|Token|Password)[0-9]*)$`)
})

func isExpression(value string) bool { return len(value) < 80 && expression().MatchString(value) }

// kubernetesData matches the line that starts the values of a secret, and kubernetesKind the line
// that reports that an object is one.
var (
	kubernetesData = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^[ \t]*(?:data|stringData):[ \t]*\r?$`)
	})
	kubernetesKind = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?mi)^[ \t]*kind: ["']?secret["']?[ \t]*\r?$`)
	})
)

// kubernetesSecrets finds the values of Kubernetes secrets in YAML. The documents of a file are
// separated by lines of three dashes.
func kubernetesSecrets(text string) [][2]int {
	var spans [][2]int
	for start := 0; start < len(text); {
		end := len(text)
		if i := strings.Index(text[start:], "\n---"); i >= 0 {
			end = start + i + 1
		}
		if document := text[start:end]; kubernetesKind().MatchString(document) {
			for _, data := range kubernetesData().FindAllStringIndex(document, -1) {
				spans = yamlValues(text[:end], start+data[0], start+data[1], spans)
			}
		}
		start = end
	}
	return spans
}

// yamlValues appends the values of the lines below the line from start to end: the lines that are
// indented further.
func yamlValues(text string, start, end int, spans [][2]int) [][2]int {
	indent := func(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }
	limit := indent(text[start:end])
	for at := end; at < len(text); {
		at++ // the end of the line before
		line, _, _ := strings.Cut(text[at:], "\n")
		if strings.TrimSpace(line) != "" && indent(line) <= limit {
			break
		}
		name, value, found := strings.Cut(line, ":")
		if !found {
			name, value = line[:indent(line)], line[indent(line):]
		} else {
			name += ":"
		}
		left := len(value) - len(strings.TrimLeft(value, " \t\"'"))
		value = strings.TrimRight(value[left:], " \t\r\"'")
		if len(value) >= 4 && isValue(value) && !strings.Contains(line, markStart) {
			first := at + len(name) + left
			spans = append(spans, [2]int{first, first + len(value)})
		}
		at += len(line)
	}
	return spans
}
