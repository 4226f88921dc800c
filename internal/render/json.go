package render

import (
	"strconv"
	"unicode/utf8"
)

// JSON escapes the characters of a JSON text that a terminal might obey or hide.
// In JSON they only occur inside of strings.
func JSON(text []byte) []byte {
	if isPlain(text) {
		return text
	}
	escaped := make([]byte, 0, len(text)+16)
	for _, r := range string(text) {
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

func isPlain(text []byte) bool {
	for _, c := range text {
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
