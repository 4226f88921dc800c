package transcript

import (
	"unicode"
	"unicode/utf8"
)

const ellipsis = "…"

// Truncate makes one line of s that is at most maxLen runes long: line breaks, other control characters and those that
// turn the direction of text become spaces, and what was cut off is replaced by an ellipsis, which counts. So a terminal
// shows it as it is, whoever wrote it. It returns "" if maxLen is 0 or less.
func Truncate(s string, maxLen int) string {
	if maxLen <= 0 {
		return ""
	}
	if isLine(s) && (len(s) <= maxLen || utf8.RuneCountInString(s) <= maxLen) {
		return s
	}
	if maxLen < len(s)/utf8.UTFMax {
		s = s[:utf8.UTFMax*(maxLen+1)]
	}
	return string(appendLine(nil, []byte(s), maxLen))
}

// isLine reports whether s is UTF-8 that needs no change.
func isLine(s string) bool {
	for _, r := range s {
		if breaks(r) || r == utf8.RuneError {
			return false
		}
	}
	return true
}

// breaks reports whether a rune has no place inside a line.
func breaks(r rune) bool {
	if r <= unicode.MaxLatin1 {
		return unicode.IsControl(r)
	}
	return r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r)
}

// appendLine appends text to dst as [Truncate] does.
func appendLine(dst, text []byte, maxLen int) []byte {
	last := len(dst)
	for n := 0; len(text) > 0; n++ {
		if n == maxLen {
			if maxLen <= 0 {
				return dst
			}
			return append(dst[:last], ellipsis...)
		}
		r, size := utf8.DecodeRune(text)
		if breaks(r) {
			r = ' '
		}
		last = len(dst)
		dst = utf8.AppendRune(dst, r)
		text = text[size:]
	}
	return dst
}
