package redact

import (
	"encoding/base64"
	"regexp"
	"strings"
	"sync"
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
	setting := func(judge func(around, value string) bool, pattern string) Rule {
		return Rule{
			Name: "setting", About: "values of settings with secret names: password: ..., \"apiKey\": \"...\", --token=...",
			anchors: secretAnchors, before: secretStart, named: judge, pattern: named + pattern,
		}
	}
	argument := setting(isQuotedSecret, `\\*["']\s*,\s*(?:`+quotedValue+`)\s*\)`)
	argument.before = func(before string) bool { return firstArgument(before) && secretStart(before) }
	record := Rule{
		Name: "option", anchors: []string{"login"}, before: recordStart, wanted: isValue,
		pattern: `(?i)login[ \t\r\n]+\S{1,100}[ \t\r\n]+password[ \t\r\n]+([^\s#]+)`,
	}
	return []Rule{
		{
			Name: "env", About: "values of variables with secret names: GITHUB_TOKEN=..., DB_PASSWORD=...",
			anchors: append([]string{"_pwd", "_pw", "_pat"}, secretAnchors...), named: isVariable,
			pattern: `(?:PASSWORD|PASSWD|PASSPHRASE|PASSCODE|_PASS|_PWD?|SECRET|TOKEN|API_?KEY|ACCESS_KEY(?:_ID)?|SECRET_KEY_BASE|CREDENTIALS?|CREDS|_PAT|_KEY)` +
				`(?:_?[0-9]+|_(?:PROD|PRODUCTION|STAGING|STAGE|DEV|TEST|LIVE|V[0-9]))?` +
				`(?:=|[ \t]*(?:\?=|::?=)[ \t]*|\\*["']?:[ \t]*|%3D)(?:` + quotedValue + `|` + bareValue + `)`,
		},
		setting(isQuotedSecret, typeName+"\\\\*[\"'`]?\\]?"+`\s*(?:(?:[:?+.]|\|\||\?\?)?=>?|:{1,3}=|:)\s*(?:\[\]byte\(|[bfru@L])?(?:`+quotedValue+`)`),
		setting(isBareSecret, `\\*["']?\]?(?:=|[ \t]*\?=[ \t]*|(?:%22)?%3[AD](?:%2[02])*)`+bareValue+`(?:[^(\[{]|$)`),
		setting(isBareSecret, `\\*["']?\]?:[ \t]+`+bareValue+`[ \t]*(?:[\r\n#]|$)`),
		setting(isRandomSecret, `\\*["']?\]?:[ \t]+`+bareValue+`(?:[^(\[{]|$)`),
		setting(isBareSecret, `(?:\\*["'])?>\s*(?:<!\[CDATA\[)?([^<>\s\]]{4,})(?:\]\]>)?\s*</`),
		argument,
		setting(isQuotedSecret, `["']\s+value=(?:`+quotedValue+`)`),
		setting(isBlockSecret, `:[ \t]*[|>][+-]?[ \t]*\r?\n[ \t]+([^\r\n]{4,}(?:\r?\n[ \t]+[^\s:]+)*)`),
		{
			Name: "option", About: "passwords after options and names: -u name:..., --token ..., password ..., secret_key = ...",
			anchors: append([]string{"--", " -u", " -b ", "pwd", "sshpass", "docker login", "podman login", "mysql", "mariadb", "redis-cli"}, secretAnchors...),
			named:   isOption, pattern: optionPattern,
		},
		record,
		{
			Name:    "option",
			anchors: []string{":5432:", ":5433:", ":6432:", ":*:", "?key=", "&key=", "?pass=", "&pass=", "identified by"},
			wanted:  isValue, pattern: recordPattern,
		},
		{
			Name: "kubernetes-secret", About: "values of Kubernetes secrets in YAML",
			anchors: []string{"kind: secret", "kind: \"secret", "kind: 'secret"}, custom: kubernetesSecrets,
		},
		{
			Name: "account", personal: true, About: "IDs and names of accounts and organizations, including AWS",
			anchors: []string{"account", "billing", "organi", "org", "user", "email", "credential", "arn:aws"},
			named:   isAccount,
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

// recordPattern finds passwords by the form of the whole record: lines of .pgpass, queries of URLs
// and statements of SQL.
const recordPattern = `(?i):(?:5432|5433|6432|\*):[^:\s]{1,100}:[^:\s]{1,100}:([^\s:"'<>]{4,})` +
	`|[?&](?:key|pass)=([A-Za-z0-9._~%-]{12,})|identified by '([^'\r\n]{4,})'`

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

// firstArgument reports whether text ends with the beginning of a function's first argument, a
// string: setProperty("db.
func firstArgument(text string) bool {
	text = text[max(0, len(text)-64):]
	text = strings.TrimRightFunc(text, func(r rune) bool { return isDomain(r) || r == '_' })
	text = strings.TrimRight(text, `"'`)
	return strings.HasSuffix(strings.TrimRight(text, `\ `), "(")
}

// secretStart reports whether the name of a secret can continue after the given text: not after words
// that make it the name of something that everyone sees.
func secretStart(before string) bool {
	name := strings.TrimRight(strings.ToLower(before[max(0, len(before)-24):]), "_-.")
	for _, word := range []string{"public", "csrf", "xsrf", "authenticity", "page", "continuation"} {
		if strings.HasSuffix(name, word) {
			return false
		}
	}
	return true
}

// recordStart reports whether a record of .netrc can continue after the given text: after the name of
// a machine, or at the beginning of a line.
func recordStart(before string) bool {
	line := before[max(0, len(before)-128):]
	if i := strings.LastIndexAny(line, "\r\n"); i >= 0 {
		line = line[i+1:]
	}
	words := strings.Fields(line)
	n := len(words)
	return n == 0 || words[n-1] == "default" || n > 1 && words[n-2] == "machine"
}

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
		if len(value) >= 4 && value[0] != '#' && isValue(value) && len(decoded(value)) >= 4 && !isPlaceholder(value) && !strings.Contains(line, markStart) {
			first := at + len(name) + left
			spans = append(spans, [2]int{first, first + len(value)})
		}
		at += len(line)
	}
	return spans
}

// decoded returns what a value in base64 stands for, or the value itself.
func decoded(value string) string {
	if text, err := base64.StdEncoding.DecodeString(value); err == nil {
		return strings.TrimSpace(string(text))
	}
	return value
}
