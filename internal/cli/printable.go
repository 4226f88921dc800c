package cli

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// printable makes a text that comes from elsewhere fit for a terminal: control
// characters, invisible ones and bytes that are not UTF-8 are escaped as in a Go
// string, so that it neither moves the cursor nor leaves its line.
func printable(s string) string {
	quoted := strconv.Quote(s)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

// escaped is printable for a text that is one of ours, but for what it quotes: if
// nothing of it needs escaping, it stays as it is.
func escaped(s string) string {
	for _, r := range s {
		if !strconv.IsPrint(r) || r == utf8.RuneError {
			return printable(s)
		}
	}
	return s
}

// maxText is how many bytes are kept of a text that comes from elsewhere.
const maxText = 160

// clip shortens a text to what is worth keeping, and holds on to no more memory
// than that.
func clip(s string) string {
	if len(s) <= maxText {
		return s
	}
	end := maxText
	for end > maxText-utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// escapeLine escapes the characters of a line of JSON that a terminal might obey
// or hide. In JSON they only occur inside of strings.
func escapeLine(line []byte) []byte {
	if isPlain(line) {
		return line
	}
	escaped := make([]byte, 0, len(line)+16)
	for _, r := range string(line) {
		switch {
		case strconv.IsPrint(r) || r == '\n':
			escaped = utf8.AppendRune(escaped, r)
		case r <= 0xFFFF:
			escaped = appendUnit(escaped, r)
		default:
			r -= 0x10000
			escaped = appendUnit(escaped, 0xD800+r>>10)
			escaped = appendUnit(escaped, 0xDC00+r&0x3FF)
		}
	}
	return escaped
}

func isPlain(line []byte) bool {
	for _, c := range line {
		if c >= 0x7F || c < ' ' && c != '\n' {
			return false
		}
	}
	return true
}

// appendUnit appends one unit of UTF-16 as JSON escapes it.
func appendUnit(dst []byte, unit rune) []byte {
	const digits = "0123456789abcdef"
	return append(dst, '\\', 'u', digits[unit>>12&15], digits[unit>>8&15], digits[unit>>4&15], digits[unit&15])
}

// harmless makes a text of several lines fit for a terminal: what could move the
// cursor, change the order of what is read or hide in it is escaped as in a Go
// string. Line ends, tabs, spaces of all kinds and the joiners of emoji stay.
func harmless(s string) string {
	if !strings.ContainsFunc(s, isHarmful) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if isHarmful(r) {
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func isHarmful(r rune) bool {
	switch r {
	case '\n', '\t', '\u200c', '\u200d':
		return false
	case '\u2028', '\u2029':
		return true
	}
	return unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r)
}
