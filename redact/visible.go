package redact

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// visible returns text without terminal escapes and without characters that show nothing. A secret
// is found even if there is a color code before it, or a zero-width space in it. The text is
// returned as it is if it has none of them, or if it is not certain to be text.
func visible(text string) string {
	i := firstHidden(text, 0)
	if i < 0 {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for copied := 0; ; {
		b.WriteString(text[copied:i])
		copied = i + hiddenLength(text[i:])
		if i = firstHidden(text, copied); i < 0 {
			b.WriteString(text[copied:])
			return b.String()
		}
	}
}

// firstHidden returns the offset of the first escape or invisible character at from or after it, or
// -1.
func firstHidden(text string, from int) int {
	for i := from; i < len(text); i++ {
		c := text[i]
		if c == escape {
			return i
		}
		if c < utf8.RuneSelf {
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if isInvisible(r) {
			return i
		}
		i += size - 1
	}
	return -1
}

// The characters that start and end terminal escapes.
const (
	escape  = '\x1b'
	bell    = '\a'
	csi     = '\u009b' // as escape and [
	control = '\u009c' // ends a control string
)

// hiddenLength returns the length of the escape or invisible character at the beginning of text.
func hiddenLength(text string) int {
	r, size := utf8.DecodeRuneInString(text)
	switch {
	case r == csi:
		return size + sequenceLength(text[size:])
	case r >= '\u0080' && r <= '\u009f' && isStringStart(byte(r-0x40)):
		return size + controlStringLength(text[size:])
	case r != escape || len(text) == 1:
		return size
	}
	switch c := text[1]; {
	case c == '[':
		return 2 + sequenceLength(text[2:])
	case isStringStart(c):
		return 2 + controlStringLength(text[2:])
	case c >= ' ' && c <= '/': // such as a character set
		n := len(text[1:]) - len(strings.TrimLeft(text[1:], " !\"#$%&'()*+,-./"))
		return min(1+n+1, len(text))
	case c > '/' && c < utf8.RuneSelf-1:
		return 2
	}
	return 1
}

// sequenceLength returns the length of a control sequence after its introducer: parameters,
// intermediate characters and a final one.
func sequenceLength(text string) int {
	for i := range len(text) {
		switch c := text[i]; {
		case c >= '@' && c <= '~':
			return i + 1
		case c < ' ' || c > '?':
			return i
		}
	}
	return len(text)
}

// isStringStart reports whether a control string starts with an escape and this character.
func isStringStart(c byte) bool { return strings.IndexByte("]PX^_", c) >= 0 }

// maxControlString bounds a control string. A sequence that does not end by then, or in its line,
// does not count as one, and its text is read.
const maxControlString = 4096

// controlStringLength returns the length of a control string with its end, or 0 if it has none.
func controlStringLength(text string) int {
	text = text[:min(len(text), maxControlString)]
	for i, r := range text {
		switch {
		case r == bell:
			return i + 1
		case r == control:
			return i + utf8.RuneLen(control)
		case r == escape && strings.HasPrefix(text[i+1:], `\`):
			return i + 2
		case r == '\n', r == escape, r >= '\u0080' && r <= '\u009f':
			return 0
		}
	}
	return 0
}

// isInvisible reports whether a character shows nothing and takes no room: formatting characters,
// variation selectors, fillers and control characters beyond ASCII.
func isInvisible(r rune) bool {
	switch {
	case r <= '\u00ad':
		return r >= '\u0080' && r <= '\u009f' || r == '\u00ad'
	case r > '\u3164' && r < '\ufe00', r > '\u00ad' && r < '\u034f', r == utf8.RuneError:
		return false
	case r == '\u2800':
		return true
	}
	return unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}
