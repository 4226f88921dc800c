package transcript

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clewdev/clew/internal/entryfacts"
)

// cutAttributes cuts a tag with attributes, as in <name key="value">, from the start of text. ok is
// false if the tag has no end.
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
		if c := text[at]; c != '/' && !entryfacts.IsTagLetter(c) {
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

// Sanitize returns what a person has to see of a prompt's text: a command as it was typed, what a
// command printed without the tags around it, and other text without what the agent put in for the
// model. Its cost grows with the length of the text.
//
// Escape sequences of terminals stay: escape the text before it is shown. For example, it returns
// "/review main.go" for the tags in which the agent wraps that command.
func Sanitize(text string) string {
	text = strings.TrimSpace(text)
	switch name := entryfacts.LeadingTag(text); name {
	case "local-command-stdout", "local-command-stderr":
		inner, _, _ := entryfacts.CutElement(text, name)
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

// typedCommand returns a command as the user typed it, or "" if text does not name one. The names
// of skills have no slash in some versions.
func typedCommand(text string) string {
	name := entryfacts.Element(text, "command-name")
	if name == "" {
		return ""
	}
	if !strings.HasPrefix(name, "/") {
		name = "/" + name
	}
	return strings.TrimSpace(name + " " + entryfacts.Element(text, "command-args"))
}

// trimOutput removes empty lines and white space around a command's output, but not the indentation
// of its first line.
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
	if n := entryfacts.StartTag(here, "bash-input") + entryfacts.EndTag(here, "bash-input"); n > 0 {
		return i + n
	}
	for k, name := range stripped {
		n := entryfacts.StartTag(here, name)
		if n == 0 || s.open[k] {
			continue
		}
		end := entryfacts.IndexEnd(here[n:], name)
		if end < 0 {
			s.open[k] = true
			return i
		}
		end += n
		return i + end + entryfacts.EndTag(here[end:], name)
	}
	return i
}

const ellipsis = "…"

// Truncate returns s as one line of at most maxLen runes. Line breaks, other control characters and
// those that change the direction of text become spaces. If s is longer, the line ends with an
// ellipsis, which counts. The line is safe to print to a terminal. Truncate returns "" if maxLen is
// 0 or less.
//
//	transcript.Truncate("one\ntwo three", 8) // "one two…"
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
