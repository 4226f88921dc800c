package redact

import (
	"encoding/json"
	"strings"
)

// Masked replaces a secret in the results of [Mask] and [MaskJSON].
const Masked = "***"

// Mask returns text with every secret replaced by [Masked]: what the rules find, except personal
// data, and a few wider patterns. It is for errors, logs and recordings, where a needless *** does
// less harm than a key. The text may be anything, also invalid UTF-8. The cost is linear in its
// length, and small for a text that has nothing like a secret.
func Mask(text string) string {
	// A replacement can complete a wider match. So the result is masked again, until it stays as it
	// is.
	for range maxRounds {
		masked := maskOnce(text)
		if masked == text {
			break
		}
		text = masked
	}
	return text
}

// maxRounds bounds the work of Mask. A second round rarely finds anything.
const maxRounds = 8

func maskOnce(text string) string {
	mark := func(r *Rule) string {
		if r.personal {
			return ""
		}
		return Masked
	}
	return replaceVisible(text, func(text string) string { return allRules().replace(text, mark, func(*Rule, int) {}) })
}

// wideRules find more than the rules of the same subjects: also short values, and values that could
// be code or prose. Only Mask applies them, before the other rules.
func wideRules() []Rule {
	return []Rule{
		// Keys with a well-known prefix.
		{anchors: []string{"sk-ant-"}, broken: true, pattern: `sk-ant-([A-Za-z0-9_-]+)`},
		{
			anchors: []string{"sk-", "gho_", "ghp_", "ghs_", "ghu_", "ghr_", "github_pat_", "glpat-", "xox", "akia", "asia", "aiza"},
			before:  wordStart,
			broken:  true,
			pattern: `(?:sk-|gh[opsur]_|github_pat_|glpat-|xox[abeoprs]-|AKIA|ASIA|AIza)([A-Za-z0-9_-]{12,})`,
		},
		// A JSON web token.
		{anchors: []string{"eyj"}, before: wordStart, broken: true, pattern: `eyJ([A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?)`},
		// The user and the password of a URL.
		{anchors: []string{"://"}, pattern: `://([^\s/?#"'<>]+)@`},
		// The authentication scheme before the value of a header stays.
		{
			anchors: []string{"authorization"},
			pattern: `(?i)authorization["']?\s*[:=]\s*["']?(?:(?:bearer|basic)\s+)?([^\s"',;&}\])]+)`,
		},
		{anchors: []string{"bearer"}, before: wordStart, pattern: `(?i)bearer\s+([A-Za-z0-9._~+/=-]{8,})`},
	}
}

// wideSettings are like wideRules, for settings with the name of a secret. They are applied after
// the other rules, which know better where a value starts and ends.
func wideSettings() []Rule {
	return []Rule{{
		anchors: []string{"api", "access", "private", "token", "secret", "password", "passwd"},
		pattern: `(?i)(?:api[_-]?key|access[_-]?key|private[_-]?key|token|secret|password|passwd)` +
			`["']?\s*(?:[:=]|%3[AD])\s*["']?(?:(?:bearer|basic)\s+)?([^\s"',;&}\])]+)`,
	}}
}

// MaskJSON is like [Mask] for a JSON text. It replaces every string and number in members named
// "env" and "headers" and in members whose name is [SecretName], and everything Mask finds in other
// strings. A number becomes 0. Everything else stays as it is, byte for byte. A text that is not
// JSON is passed to Mask.
func MaskJSON(text string) string {
	if !json.Valid([]byte(text)) {
		return Mask(text)
	}
	m := jsonMasker{text: text}
	return m.run()
}

// A jsonMasker goes through the values of a JSON text.
type jsonMasker struct {
	text   string
	out    strings.Builder
	copied int    // how much of text is in out
	name   string // the name of the member whose value comes next
	flag   string // the string before it in the same list
	around []container
}

// A container is an object or a list around a value.
type container struct {
	list   bool
	secret bool   // all its values are secrets
	name   string // its own name
}

func (m *jsonMasker) run() string {
	for i := 0; i < len(m.text); {
		switch c := m.text[i]; {
		case c == '"':
			end := stringEnd(m.text, i)
			m.literal(i, end)
			i = end
			continue
		case c == '-' || c >= '0' && c <= '9':
			end := len(m.text) - len(strings.TrimLeft(m.text[i:], "-+.eE0123456789"))
			if m.isSecret() {
				m.replace(i, end, "0")
			}
			i = end
			continue
		case c == '{' || c == '[':
			m.around = append(m.around, container{list: c == '[', secret: m.isSecret(), name: m.name})
			m.flag = ""
		case c == '}' || c == ']':
			last := len(m.around) - 1
			m.name, m.flag, m.around = m.around[last].name, "", m.around[:last]
		case c == ',' && !m.around[len(m.around)-1].list:
			m.name = ""
		}
		i++
	}
	m.out.WriteString(m.text[m.copied:])
	return m.out.String()
}

// isSecret reports whether the next value is a secret, by its name or by its container.
func (m *jsonMasker) isSecret() bool {
	if len(m.around) == 0 {
		return false
	}
	in := m.around[len(m.around)-1]
	return in.secret || SecretName(m.name) || in.list && isFlag(m.flag) && SecretName(m.flag)
}

// isFlag reports whether an argument of a command line is a flag whose value is the next argument.
func isFlag(arg string) bool {
	return strings.HasPrefix(arg, "-") && !strings.Contains(arg, "=")
}

// literal masks the string from start to end, quotes included.
func (m *jsonMasker) literal(start, end int) {
	var value string
	if json.Unmarshal([]byte(m.text[start:end]), &value) != nil {
		return
	}
	masked := Mask(value)
	switch {
	case isName(m.text, end):
		m.name = value
	case value == "":
	case m.isSecret():
		masked = Masked
	default:
		if rule := ruleOfMember(m.name, value); rule != "" && rule != "account" {
			masked = Masked
		}
	}
	m.flag = value
	if masked != value {
		m.replace(start, end, quoteJSON(masked))
	}
}

func (m *jsonMasker) replace(start, end int, with string) {
	m.out.WriteString(m.text[m.copied:start])
	m.out.WriteString(with)
	m.copied = end
}

// SecretName reports whether the value of a setting, a flag or a JSON member with that name is a
// secret, whatever it looks like. Examples are "apiKey", "--auth-token" and "headers".
func SecretName(name string) bool {
	name = strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name))
	switch name {
	case "env", "headers", "authorizationcode", "callbackurl":
		return true
	}
	for _, end := range []string{"token", "secret", "password", "passwd", "key", "authorization", "credential", "cookie"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}
