package tty

import "strings"

// EscapeLength returns the length of the escape sequence that a text starts with, or 0 if it starts
// with none. A sequence that is cut off, at the end of the text or by a character that can't belong to
// it, ends there: a terminal shows what follows.
func EscapeLength(text string) int {
	switch {
	case !strings.HasPrefix(text, "\x1b"):
		return 0
	case len(text) == 1:
		return 1
	case text[1] == '[':
		return 2 + controlLength(text[2:])
	case strings.IndexByte("]P_^X", text[1]) >= 0:
		return 2 + stringLength(text[2:])
	case text[1] >= ' ' && text[1] <= '~':
		return 2
	}
	return 1
}

// controlLength returns the length of a control sequence, such as a style, after its introducer.
func controlLength(text string) int {
	for i := range len(text) {
		switch c := text[i]; {
		case c >= '@' && c <= '~':
			return i + 1
		case c < ' ' || c > '~':
			return i
		}
	}
	return len(text)
}

// stringLength returns the length of a control string, such as a link, after its introducer. It ends
// with BEL or ESC \, or before another escape and a line break.
func stringLength(text string) int {
	for i := range len(text) {
		switch text[i] {
		case '\a':
			return i + 1
		case '\x1b':
			if strings.HasPrefix(text[i+1:], `\`) {
				return i + 2
			}
			return i
		case '\n':
			return i
		}
	}
	return len(text)
}
