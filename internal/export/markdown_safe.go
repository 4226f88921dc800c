package export

import (
	"html"
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// markdownSigns are what has a meaning in a line of Markdown.
const markdownSigns = "\\`*_[]<>#|~&!"

// escapeLine returns a line of text that Markdown shows as it is.
func escapeLine(line string) string {
	var b strings.Builder
	indented := strings.TrimLeft(line, " \t")
	b.WriteString(strings.Repeat("&nbsp;", min(len(line)-len(indented), 40)))
	for i := range len(indented) {
		c := indented[i]
		if strings.IndexByte(markdownSigns, c) >= 0 || c == ':' || i == 0 && (c == '-' || c == '+' || c == '=') {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return numbered().ReplaceAllString(b.String(), `$1\$2`)
}

// numbered finds the number of a list.
var numbered = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\d{1,9})([.)])`) })

// safeMarkdown returns a text in Markdown without tags, and without links other
// than those to pages: whoever shows it may not look at them. What is code stays
// as it is.
func safeMarkdown(text string) string {
	var b strings.Builder
	fence := ""
	for line := range strings.Lines(clean(text)) {
		switch mark := fenceOf(line); {
		case fence == "" && mark != "":
			fence = mark
		case fence != "" && strings.HasPrefix(mark, fence) && strings.Trim(strings.TrimSpace(line), mark[:1]) == "":
			fence = ""
		case fence == "":
			line = safeLine(line)
		}
		b.WriteString(line)
	}
	if fence != "" {
		b.WriteString("\n" + fence)
	}
	return b.String()
}

// fenceOf returns the backticks or tildes that a line of code begins or ends
// with, or "".
func fenceOf(line string) string {
	trimmed := strings.TrimLeft(line, " ")
	if len(line)-len(trimmed) > 3 {
		return ""
	}
	for _, sign := range []string{"`", "~"} {
		run := trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, sign))]
		if len(run) >= 3 && (sign == "~" || !strings.Contains(trimmed[len(run):], "`")) {
			return run
		}
	}
	return ""
}

// linkTarget finds where links lead, behind "](" and "]:".
var linkTarget = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\](?:\(|:)[ \t]*<?)([^\s)<>]+)`) })

// harmlessTarget is a page, an address, or a file beside the document.
var harmlessTarget = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?i:https?://|mailto:|#|[\w./~-]+(?:[#?:][\w.-]*)?$)`)
})

// safeLine escapes the tags of a line, also in code: a span of code may have
// begun on another line, or not at all.
func safeLine(line string) string {
	line = linkTarget().ReplaceAllStringFunc(line, func(match string) string {
		parts := linkTarget().FindStringSubmatch(match)
		if harmlessTarget().MatchString(parts[2]) && !startsScript(parts[2]) {
			return match
		}
		return parts[1] + "#"
	})
	// The target of a link may stand on a line of its own.
	if first := strings.TrimLeft(line, " \t>"); startsScript(first) {
		line = line[:len(line)-len(first)] + "#" + first
	}
	return strings.ReplaceAll(withoutPictures(line), "<", "&lt;")
}

// withoutPictures makes links of pictures, since whoever shows a picture loads it.
func withoutPictures(line string) string {
	var b strings.Builder
	for {
		i := strings.Index(line, "![")
		if i < 0 {
			b.WriteString(line)
			return b.String()
		}
		before := line[:i]
		backslashes := i - len(strings.TrimRight(before, `\`))
		b.WriteString(before)
		if backslashes%2 == 0 && !isMacro(before, line[i+2:]) {
			b.WriteByte('\\')
		}
		b.WriteByte('!')
		line = line[i+1:]
	}
}

// isMacro reports whether "![" stands behind a word and leads nowhere, as in Rust.
func isMacro(before, after string) bool {
	_, target, closed := strings.Cut(cutAt(after, 200), "]")
	leads := strings.HasPrefix(target, "(") || strings.HasPrefix(target, "[")
	return before != "" && isAlphanumeric(before[len(before)-1]) && closed && !leads
}

// startsScript reports whether a text begins as a URL that a browser would run or
// open itself.
func startsScript(text string) bool {
	scheme, _, found := strings.Cut(html.UnescapeString(cutAt(text, 200)), ":")
	if !found {
		return false
	}
	letters := func(r rune) rune {
		if r <= ' ' || r == '\\' || r == '<' {
			return -1 // as browsers pass over it
		}
		return unicode.ToLower(r)
	}
	switch strings.Map(letters, scheme) {
	case "javascript", "vbscript", "data", "file":
		return true
	}
	return false
}
