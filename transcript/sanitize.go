package transcript

import (
	"strings"
)

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
