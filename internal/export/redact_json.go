package export

import (
	"bytes"
	"encoding/json"
	"strings"
)

// JSON returns a JSON text without what the rules find in its strings and names,
// and without the strings that stand under the name of a secret. All else stays
// as it is, so that what was valid is valid. A text that is not JSON is treated
// as one of words.
func (r *Redactor) JSON(text string) string {
	if !json.Valid([]byte(text)) {
		return r.Text(text)
	}
	w := jsonRedactor{Redactor: r, text: text}
	return w.run()
}

// A jsonRedactor goes through the strings of a JSON text.
type jsonRedactor struct {
	*Redactor
	text string
	out  strings.Builder
	kept int    // where the part begins that is not yet in out
	name string // of the member whose value comes next
	list bool   // inside of a list, all of which has that name
	key  bool   // inside of a private key, whose lines are strings of their own
}

func (w *jsonRedactor) run() string {
	for i := 0; i < len(w.text); {
		switch c := w.text[i]; c {
		case '"':
			end := stringEnd(w.text, i)
			w.literal(i, end)
			i = end
			continue
		case '[':
			w.list = true
		case ',':
			if !w.list {
				w.name = ""
			}
		case '{', '}', ']':
			w.name, w.list = "", false
		}
		i++
	}
	if w.kept == 0 {
		return w.text
	}
	w.out.WriteString(w.text[w.kept:])
	return w.out.String()
}

// stringEnd returns where the string ends that begins at start.
func stringEnd(text string, start int) int {
	for i := start + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// literal redacts one string, quotes included.
func (w *jsonRedactor) literal(start, end int) {
	var value string
	if json.Unmarshal([]byte(w.text[start:end]), &value) != nil {
		return
	}
	changed := ""
	switch {
	case isPicture(value):
		changed = mark("picture")
		w.count("picture", 1)
	case isName(w.text, end):
		changed = w.Text(value)
		w.name = value
	default:
		changed = w.keyLine(value, w.member(value, w.Text(value)))
	}
	if changed == value {
		return
	}
	w.out.WriteString(w.text[w.kept:start])
	w.out.WriteString(quoteJSON(changed))
	w.kept = end
}

// isPicture reports whether a string is a picture in base64, by how that begins.
func isPicture(value string) bool {
	for _, start := range []string{"iVBORw0KGgo", "/9j/", "R0lGOD", "UklGR"} {
		if strings.HasPrefix(value, start) && len(value) >= 64 && strings.Trim(value[:64], base64Letters) == "" {
			return true
		}
	}
	return false
}

func isName(text string, at int) bool {
	return strings.HasPrefix(strings.TrimLeft(text[at:min(at+64, len(text))], " \t\r\n"), ":")
}

// member redacts the value of a member by its name.
func (w *jsonRedactor) member(value, changed string) string {
	if w.name == "" || strings.HasPrefix(changed, markStart) {
		return changed
	}
	for _, rule := range namedRules() {
		if rule.names.MatchString(w.name) && rule.wanted(value) {
			w.count(rule.rule, 1)
			return mark(rule.rule)
		}
	}
	return changed
}

// keyLine redacts the lines of a private key where each is a string, as those of
// a diff are.
func (w *jsonRedactor) keyLine(value, changed string) string {
	begins := keyBegin().FindStringIndex(value)
	ends := strings.Contains(value, "-----END ")
	inside := w.key
	if begins != nil {
		w.key = !ends
	} else if ends {
		w.key = false
	}
	if !inside || begins != nil || ends {
		return changed
	}
	w.count("private-key", 1)
	return value[:len(value)-len(strings.TrimLeft(value, "+- "))] + mark("private-key")
}

func quoteJSON(text string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a string can always be encoded
	return strings.TrimSuffix(b.String(), "\n")
}
