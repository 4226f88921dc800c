package record

import (
	"encoding/json"
	"strings"
)

// editStrings returns the JSON text with each of its strings, names of members included, as edit wants it. The edit gets
// the string as it stands in the text, without its quotes and with its escapes, and whether it is a name. All else stays
// byte for byte.
func editStrings(text string, edit func(raw string, name bool) string) string {
	var b strings.Builder
	for {
		start := strings.IndexByte(text, '"')
		if start < 0 {
			b.WriteString(text)
			return b.String()
		}
		end := start + 1 + stringEnd(text[start+1:])
		b.WriteString(text[:start+1])
		rest := strings.TrimLeft(text[min(end+1, len(text)):], " \t")
		b.WriteString(edit(text[start+1:end], strings.HasPrefix(rest, ":")))
		text = text[end:]
		if text != "" {
			b.WriteByte('"')
			text = text[1:]
		}
	}
}

// stringEnd returns where the string ends that text begins within: the place of its closing quote.
func stringEnd(text string) int {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(text)
}

// unescape returns the value of a string as it stands in JSON, without its quotes.
func unescape(raw string) string {
	if !strings.Contains(raw, `\`) {
		return raw
	}
	var value string
	if err := json.Unmarshal([]byte(`"`+raw+`"`), &value); err != nil {
		return raw
	}
	return value
}

// escape returns a string as it stands in JSON, without its quotes and with no more escapes than it needs.
func escape(value string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		panic(err) // a string has a JSON form
	}
	return strings.TrimSuffix(strings.TrimPrefix(b.String(), `"`), "\"\n")
}
