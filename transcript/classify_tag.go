package transcript

import "strings"

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
