package redact

import (
	"bytes"
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

// headerRules find the credentials of requests.
func headerRules() []Rule {
	return []Rule{
		{
			Name: "authorization", About: "Authorization, Cookie and x-api-key headers, Basic and Bearer tokens, URL signatures",
			anchors: []string{"authorization", "cookie", "x-api-key", "bearer ", "basic ", "sig=", "signature="},
			before:  wordStart, named: isHeaderValue,
			pattern: `(?i)(?:authorization|cookie|x-api-key)\\*["']?\s*[:=]\s*\\*["']?([^\r\n"'\\]{6,})` +
				`|cookie\s+\\*["']([^\r\n"'\\]{6,})|bearer\s+([A-Za-z0-9._~+/=-]{12,})|basic\s+([A-Za-z0-9+/]{12,}={0,2})` +
				`|sig(?:nature)?=([A-Za-z0-9%+/_=-]{16,})`,
		},
		{
			Name: "url-password", About: "passwords and tokens in URLs: https://name:password@host, https://token@host",
			anchors: []string{"://"}, wanted: func(value string) bool { return isValue(value) && !isSamplePassword(value) },
			pattern: `://(?:([A-Za-z0-9_.-]{20,}(?::[^\s/@"'<>]*)?)|[^\s/:@"'<>\[]*:([^\s/@"'<>]+))@`,
		},
	}
}

// isHeaderValue reports whether a match is the value of a header, not prose or code about headers.
func isHeaderValue(around, value string) bool {
	if strings.ContainsAny(value, "()[]{}<>") {
		return false // code, or a placeholder
	}
	name := strings.ToLower(around)
	scheme, rest, _ := strings.Cut(value, " ")
	signed := (strings.EqualFold(scheme, "basic") || strings.EqualFold(scheme, "bearer")) && len(rest) >= 8
	switch {
	case signed && (!isValue(rest) || isPlaceholder(rest)), isReference(value), isPlaceholder(value):
		return false
	case strings.HasPrefix(name, "cookie") && !strings.Contains(value, "="):
		return false
	}
	return isValue(value) && !strings.HasPrefix(value, "0x") && (signed || hasDigit(value) || isBasic(value) || len(value) >= 20 && !strings.Contains(value, " "))
}

// isBasic reports whether text is a name and a password in base64, as in HTTP basic authentication.
func isBasic(text string) bool {
	decoded, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	return err == nil && utf8.Valid(decoded) && bytes.IndexByte(decoded, ':') > 0
}

func hasDigit(match string) bool { return strings.ContainsAny(match, "0123456789") }

// personalRules find data that identifies a person.
func personalRules() []Rule {
	return []Rule{
		{
			Name: "email", personal: true, About: "email addresses, except in git remotes and noreply",
			anchors: []string{"@"}, custom: emails,
		},
		{
			Name: "home", personal: true, About: "user names in paths of home directories (/home/..., /Users/..., Windows) and in project names",
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
