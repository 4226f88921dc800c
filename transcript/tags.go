package transcript

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The agent wraps what it adds to a prompt into tags, as in <system-reminder>...</system-reminder>. They are no XML:
// nothing is escaped, they may be in any case, and the first end tag ends an element.

// leadingTag returns the name, in lower case, of the tag without attributes that text starts with, or "".
func leadingTag(text string) string {
	if text == "" || text[0] != '<' {
		return ""
	}
	const longest = 40
	for i := 1; i < len(text) && i <= longest; i++ {
		switch c := text[i]; {
		case c == '>':
			return strings.ToLower(text[1:i])
		case c != '_' && c != '-' && !isTagLetter(c):
			return ""
		}
	}
	return ""
}

func isTagLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// startTag returns the length of the tag <name> if text starts with it, or 0.
func startTag(text, name string) int { return prefixFold(text, "<", name) }

// endTag is startTag for </name>.
func endTag(text, name string) int { return prefixFold(text, "</", name) }

func prefixFold(text, open, name string) int {
	n := len(open) + len(name)
	if n >= len(text) || text[n] != '>' || text[:len(open)] != open || !strings.EqualFold(text[len(open):n], name) {
		return 0
	}
	return n + 1
}

// indexEnd returns where the first </name> is, or -1.
func indexEnd(text, name string) int { return indexTag(text, "</", name) }

func indexTag(text, open, name string) int {
	for i := 0; ; i += len(open) {
		n := strings.Index(text[i:], open)
		if n < 0 {
			return -1
		}
		i += n
		if prefixFold(text[i:], open, name) > 0 {
			return i
		}
	}
}

// cutElement cuts the element of that name from the start of text. One without an end goes on to the end of text, and
// is not closed.
func cutElement(text, name string) (inner, rest string, closed bool) {
	inner = text[startTag(text, name):]
	end := indexEnd(inner, name)
	if end < 0 {
		return inner, "", false
	}
	return inner[:end], inner[end+endTag(inner[end:], name):], true
}

// element returns what the first element of that name in text has in it, without white space around. It returns "" if
// the element has no end.
func element(text, name string) string {
	at := indexTag(text, "<", name)
	if at < 0 {
		return ""
	}
	inner, _, closed := cutElement(text[at:], name)
	if !closed {
		return ""
	}
	return strings.TrimSpace(inner)
}

// cutAttributes cuts a tag with attributes, as in <name key="value">, from the start of text. ok is false if the tag
// has no end.
func cutAttributes(text string) (attributes map[string]string, rest string, ok bool) {
	attributes = map[string]string{}
	i := strings.IndexAny(text, " \n\t>")
	for i >= 0 && i < len(text) {
		text = strings.TrimLeft(text[i:], " \n\t/")
		if strings.HasPrefix(text, ">") {
			return attributes, text[1:], true
		}
		name, value, isQuoted := strings.Cut(text, `="`)
		end := strings.IndexByte(value, '"')
		if !isQuoted || end < 0 || strings.ContainsAny(name, "<> \n") {
			i = strings.IndexByte(text, '>')
			continue
		}
		attributes[name] = value[:end]
		i = len(name) + len(`="`) + end + len(`"`)
	}
	return nil, "", false
}

// withoutTags returns text without anything that looks like a tag.
func withoutTags(text string) string {
	var out strings.Builder
	for {
		at := strings.IndexByte(text, '<') + 1
		if at == 0 || at == len(text) {
			break
		}
		if c := text[at]; c != '/' && !isTagLetter(c) {
			out.WriteString(text[:at])
			text = text[at:]
			continue
		}
		end := strings.IndexByte(text[at:], '>')
		if end < 0 {
			break
		}
		out.WriteString(text[:at-1])
		text = text[at+end+1:]
	}
	out.WriteString(text)
	return strings.TrimSpace(out.String())
}

// Sanitize returns what a person has to see of a prompt's text: a command as it was typed, what a command printed
// without the tags around it, and other text without what the agent put in for the model. Its cost grows with the
// length of the text.
//
// Escape sequences of terminals stay: escape the text before it is shown.
func Sanitize(text string) string {
	text = strings.TrimSpace(text)
	switch name := leadingTag(text); name {
	case "local-command-stdout", "local-command-stderr":
		inner, _, _ := cutElement(text, name)
		return trimOutput(inner)
	case "command-name", "command-message":
		if command := typedCommand(text); command != "" {
			return command
		}
	}
	if strings.IndexByte(text, '<') < 0 {
		return text
	}
	return strings.TrimSpace(strip(text))
}

// typedCommand returns a command as the user typed it, or "" if text does not name one. The names of skills have no
// slash in some versions.
func typedCommand(text string) string {
	name := element(text, "command-name")
	if name == "" {
		return ""
	}
	if !strings.HasPrefix(name, "/") {
		name = "/" + name
	}
	return strings.TrimSpace(name + " " + element(text, "command-args"))
}

// trimOutput removes empty lines and white space around a command's output, but not the indentation of its first line.
func trimOutput(text string) string {
	text = strings.TrimRight(text, " \t\r\n")
	for {
		line, rest, more := strings.Cut(text, "\n")
		if !more || strings.TrimSpace(line) != "" {
			return text
		}
		text = rest
	}
}

// stripped are the elements that go away with what they have in them.
var stripped = [...]string{
	"local-command-caveat", "system-reminder", "command-name", "command-message", "command-args",
}

// strip removes the stripped elements and the tags around shell commands.
func strip(text string) string {
	s := stripper{text: text}
	var out strings.Builder
	kept := 0
	for i := 0; i < len(text); {
		n := strings.IndexByte(text[i:], '<')
		if n < 0 {
			break
		}
		i += n
		end := s.end(i)
		if end == i {
			i++
			continue
		}
		out.WriteString(text[kept:i])
		i, kept = end, end
	}
	if kept == 0 {
		return text
	}
	out.WriteString(text[kept:])
	return out.String()
}

type stripper struct {
	text string
	// open are the elements whose end was looked for in vain: it's not looked for again.
	open [len(stripped)]bool
}

// end returns the end of what is to be removed at i, or i.
func (s *stripper) end(i int) int {
	here := s.text[i:]
	if n := startTag(here, "bash-input") + endTag(here, "bash-input"); n > 0 {
		return i + n
	}
	for k, name := range stripped {
		n := startTag(here, name)
		if n == 0 || s.open[k] {
			continue
		}
		end := indexEnd(here[n:], name)
		if end < 0 {
			s.open[k] = true
			return i
		}
		end += n
		return i + end + endTag(here[end:], name)
	}
	return i
}

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
