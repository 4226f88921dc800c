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
	shown := visible(text)
	changed := allRules().replace(shown, func(r *Rule) string {
		if r.personal {
			return ""
		}
		return Masked
	}, func(*Rule, int) {})
	if changed == shown {
		return text
	}
	return changed
}

// wideRules find more than the rules of the same subjects: also short values, and values that could
// be code or prose. Only Mask applies them, before the other rules.
func wideRules() []Rule {
	return []Rule{
		// Keys with a well-known prefix.
		{anchors: []string{"sk-ant-"}, pattern: `sk-ant-([A-Za-z0-9_-]+)`},
		{
			anchors: []string{"sk-", "gho_", "ghp_", "ghs_", "ghu_", "ghr_", "github_pat_", "glpat-", "xox", "akia", "asia", "aiza"},
			before:  wordStart,
			pattern: `(?:sk-|gh[opsur]_|github_pat_|glpat-|xox[abeoprs]-|AKIA|ASIA|AIza)([A-Za-z0-9_-]{12,})`,
		},
		// A JSON web token.
		{anchors: []string{"eyj"}, before: wordStart, pattern: `eyJ([A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?)`},
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

// wideSettings are like wideRules, for settings with the name of a secret. They are applied after the
// other rules, which know better where a value begins and ends.
func wideSettings() []Rule {
	return []Rule{{
		anchors: []string{"api", "access", "private", "token", "secret", "password", "passwd"},
		pattern: `(?i)(?:api[_-]?key|access[_-]?key|private[_-]?key|token|secret|password|passwd)` +
			`["']?\s*(?:[:=]|%3[AD])\s*["']?(?:(?:bearer|basic)\s+)?([^\s"',;&}\])]+)`,
	}}
}

// MaskJSON is like [Mask] for a JSON object. It replaces every value in members named "env" and
// "headers", every value whose name is [SecretName], and what Mask finds in the other strings. The
// result is encoded again, so the order of members and the spacing may change. A text that is not a
// JSON object is passed to Mask.
func MaskJSON(text string) string {
	var members map[string]any
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&members); err != nil || members == nil || decoder.More() {
		return Mask(text)
	}
	data, _ := json.Marshal(maskValue(members)) // a decoded value can always be encoded
	return string(data)
}

func maskValue(value any) any {
	switch v := value.(type) {
	case string:
		return Mask(v)
	case []any:
		for i := range v {
			v[i] = maskValue(v[i])
		}
	case map[string]any:
		for name, member := range v {
			v[name] = maskMember(name, member)
		}
	}
	return value
}

func maskMember(name string, value any) any {
	if SecretName(name) {
		return maskWhole(value)
	}
	if text, ok := value.(string); ok {
		if rule := ruleOfMember(name, text); rule != "" && rule != "account" {
			return Masked
		}
	}
	return maskValue(value)
}

// maskWhole replaces a value. The names in an object stay.
func maskWhole(value any) any {
	members, ok := value.(map[string]any)
	if !ok {
		return Masked
	}
	for name := range members {
		members[name] = Masked
	}
	return members
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
