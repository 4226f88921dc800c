// Package clip shortens texts without cutting a character in half. Package tty does the same for the
// columns of a terminal.
package clip

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bytes returns the start of a text: n bytes, or up to three less, so that no rune is cut in half. It
// shares the memory of the text. A negative n means 0.
func Bytes[T ~string | ~[]byte](text T, n int) T {
	n = max(n, 0)
	if len(text) <= n {
		return text
	}
	for end := n; end > max(0, n-utf8.UTFMax); end-- {
		if utf8.RuneStart(text[end]) {
			return text[:end]
		}
	}
	if n < utf8.UTFMax {
		return text[:0]
	}
	return text[:n] // not UTF-8
}

// Marked is like [Bytes], and adds "…" to a text that was longer, and shares no memory with it.
func Marked(text string, n int) string {
	if len(text) <= max(n, 0) {
		return text
	}
	return Bytes(text, n) + "…"
}

// Words returns the words of a text in one line, with single spaces between them, as [Runes] returns
// a text.
func Words(text string, n int) string { return Runes(strings.Join(strings.Fields(text), " "), n) }

// Runes returns a text in at most n characters: the end of a longer one, with the spaces before it,
// becomes "…".
func Runes(text string, n int) string {
	count, kept := 0, 0
	for i := range text {
		if count++; count == n {
			kept = i
		}
		if count > n {
			return strings.TrimRightFunc(text[:kept], unicode.IsSpace) + "…"
		}
	}
	return text
}
