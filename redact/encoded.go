package redact

import (
	"encoding/base64"
	"slices"
	"strings"
	"unicode/utf8"
)

// encodedTexts are the texts that make a text in base64 worth decoding.
var encodedTexts = []string{
	"sk-ant-", "sk-proj-", "ghp_", "gho_", "ghs_", "ghu_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "AKIA", "AIza", "ya29.", "npm_", "pypi-",
	"sk_live_", "hvs.", "-----BEGIN", "password", "PASSWORD", "Password", "token", "TOKEN", "Token", "secret", "SECRET", "Secret", "api_key",
	"API_KEY", "apiKey", "apikey", "access_key", "ACCESS_KEY", "private_key",
}

// encodedRules find texts in base64 that have secrets, with the other rules of the table.
func (t *ruleTable) encodedRules() []Rule {
	var anchors []string
	for _, text := range encodedTexts {
		for before := range 3 {
			// The first and the last character also depend on the texts around.
			encoded := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("\x00", before) + text))
			first, last := (before*8+5)/6, (before+len(text))*8/6
			anchors = append(anchors, strings.ToLower(encoded[first:last]))
		}
	}
	slices.Sort(anchors)
	return []Rule{{
		Name: "base64", About: "texts in base64 with secrets: the base64 of token=ghp_...",
		anchors: slices.Compact(anchors), custom: t.encodedSecrets,
	}}
}

// minEncoded is the length of the shortest text in base64 that is decoded.
const minEncoded = 16

// encodedSecrets finds texts in base64 in which a rule finds a secret. It decodes each text once, and
// not what is in base64 in it.
func (t *ruleTable) encodedSecrets(text string) [][2]int {
	var spans [][2]int
	for at := 0; at < len(text); {
		n := 0
		for at+n < len(text) && isBase64(text[at+n]) {
			n++
		}
		if n >= minEncoded && t.hasEncodedSecret(text[at:at+n]) {
			end := at + n
			for end < len(text) && text[end] == '=' {
				end++
			}
			spans = append(spans, [2]int{at, end})
		}
		at += n + 1
	}
	return spans
}

func isBase64(c byte) bool { return isAlphanumeric(c) || c == '+' || c == '/' || c == '-' || c == '_' }

// hasEncodedSecret reports whether a text in base64, without the end, has a secret.
func (t *ruleTable) hasEncodedSecret(encoded string) bool {
	encoded = strings.NewReplacer("-", "+", "_", "/").Replace(encoded)
	if len(encoded)%4 == 1 {
		encoded = encoded[:len(encoded)-1]
	}
	plain, err := base64.RawStdEncoding.DecodeString(encoded)
	if err != nil || !utf8.Valid(plain) || strings.ContainsFunc(string(plain), isControl) {
		return false
	}
	found := false
	mark := func(r *Rule) string {
		if r.personal || r.Name == "base64" {
			return ""
		}
		return r.mark()
	}
	t.replace(string(plain), mark, func(*Rule, int) { found = true })
	return found
}

// isControl reports whether a character is not a part of a text.
func isControl(r rune) bool { return r < ' ' && r != '\n' && r != '\r' && r != '\t' }
