package transcript

import (
	"bytes"
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
// command printed without the tags around it, and other text without what the agent put around it
// for the model. Tags inside the text stay, since a person wrote them. Its cost grows with the
// length of the text.
//
// Escape sequences of terminals stay: escape the text before it is shown. For example, it returns
// "/review main.go" for the tags in which the agent wraps that command.
func Sanitize(text string) string {
	text, _ = entryfacts.CutAdded(text)
	switch name := entryfacts.LeadingTag(text); name {
	case "local-command-stdout", "local-command-stderr":
		inner, rest, _ := entryfacts.CutElement(text, name)
		return joinLines(trimOutput(inner), trimOutput(rest))
	case "bash-input":
		inner, rest, closed := entryfacts.CutElement(text, name)
		if closed {
			return joinLines(strings.TrimSpace(inner), strings.TrimSpace(rest))
		}
	case "command-name", "command-message", "command-args":
		if !entryfacts.IsCommand(text) { // a person wrote about the tag
			return text
		}
		return joinLines(entryfacts.TypedCommand(text))
	}
	return text
}

// handBack starts the line before the report of a subagent, and reportFollows ends it.
const (
	handBack      = "[Subagent hand-back]"
	reportFollows = "The report follows:"
)

// usedBefore is the element with the names of tools that the model got.
const usedBefore = "tools-used-before-summary"

// AgentReport returns what a person has to see of a subagent's result: its report, without the
// tags and the note that the agent puts before it for the model, and without the indentation that
// goes with the note. Other notes before the report stay, such as warnings. A text without such a
// note is returned unchanged.
func AgentReport(result string) string {
	notes, report, found := cutHandBack(result)
	if !found {
		return result
	}
	notes = strings.TrimSpace(notes)
	for entryfacts.LeadingTag(notes) == usedBefore {
		_, rest, closed := entryfacts.CutElement(notes, usedBefore)
		if !closed {
			break
		}
		notes = strings.TrimSpace(rest)
	}
	if notes != "" {
		notes += "\n\n"
	}
	const indent = "  "
	report = strings.TrimPrefix(report, indent)
	return notes + strings.TrimSpace(strings.ReplaceAll(report, "\n"+indent, "\n"))
}

// cutHandBack splits a result at the note, which starts a line: the agent indents the report. Old
// recordings have only the beginning of the note.
func cutHandBack(result string) (before, after string, found bool) {
	at := 0
	if !strings.HasPrefix(result, handBack) {
		if at = strings.Index(result, "\n"+handBack) + 1; at == 0 {
			return "", "", false
		}
	}
	line, after, _ := strings.Cut(result[at+len(handBack):], "\n")
	if rest := strings.TrimSpace(line); rest != "" && !strings.HasSuffix(rest, reportFollows) {
		return "", "", false
	}
	return result[:at], after, true
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

const ellipsis = "…"

// Truncate returns s as one line of at most maxLen runes. Line breaks, other control characters and
// characters that change the direction of text become spaces. If s is longer, the line ends with an
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

// belowDir returns a path relative to dir, if it is below it.
func belowDir(dir string, path []byte) []byte {
	rest, ok := bytes.CutPrefix(path, []byte(dir))
	switch {
	case !ok:
		return path
	case len(rest) == 0:
		return []byte(".")
	case rest[0] == '/' || rest[0] == '\\':
		return bytes.TrimLeft(rest, `/\`)
	case strings.HasSuffix(dir, "/") || strings.HasSuffix(dir, `\`): // a root
		return rest
	}
	return path
}

// separator returns a test for the rune that separates the segments of a path. Windows has a
// different one.
func separator(path []byte) func(rune) bool {
	if bytes.IndexByte(path, '/') >= 0 {
		return func(r rune) bool { return r == '/' }
	}
	return func(r rune) bool { return r == '\\' }
}
