// Package redact finds secrets in text. It is the one place that decides what a secret looks like,
// for errors, logs, recordings and exports.
//
// It has two users with different needs, and so two entry points:
//
//   - [Mask] and [MaskJSON] are for errors, logs and recordings. These texts are short, and
//     machines wrote them. A value that only might be a secret is replaced by ***.
//   - A [Redactor] is for conversations that a person exports. They are long and full of code and
//     prose, and should stay readable. A value is replaced by [redacted:rule] if a rule is sure.
//     Personal data, such as e-mail addresses and home directories, is replaced as well.
//
// Both use the rules that [Rules] returns. Mask leaves out the personal ones, and looks for a few
// wider patterns first. A rule that is added to the table applies everywhere.
//
// Rules know what secrets look like, not what they mean: a password in a sentence without any hint
// stays.
//
// The rules are one table, which includes the rules of gitleaks. The anchors of all rules are found
// in one pass over a text, and a pattern is compiled and tried only at its anchors. The rules see a
// text without terminal escapes and invisible characters.
//
// A recording that was masked can be replayed: its frames stay valid, and *** in an expected text
// stands for any text.
package redact

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"
)

// A Redactor removes secrets and personal data from texts, by [Rules], and counts what it removed.
// The zero value is ready to use. A Redactor must not be used by several goroutines at once.
type Redactor struct {
	// Home is the user's home directory. It is needed only if it is unusual, such as
	// /data/people/ann: the rules recognize the usual ones.
	Home string

	counts map[string]int
}

// mark replaces a text that the named rule found. No rule finds anything in a mark.
func mark(rule string) string { return markStart + rule + "]" }

const markStart = "[redacted:"

// Counts returns how many texts each rule replaced, by the name of the rule.
func (r *Redactor) Counts() map[string]int {
	counts := make(map[string]int)
	maps.Copy(counts, r.counts)
	return counts
}

// Count adds n to the count of a rule, for callers that remove something themselves.
func (r *Redactor) Count(rule string, n int) {
	if r.counts == nil {
		r.counts = make(map[string]int)
	}
	if n > 0 {
		r.counts[rule] += n
	}
}

// Text returns text with everything replaced that a rule finds. The rules don't see terminal
// escapes and invisible characters, and a text in which they find something is returned without
// these. The cost is linear in the length of the text.
func (r *Redactor) Text(text string) string {
	if len(text) < shortest {
		return text
	}
	return replaceVisible(text, func(text string) string {
		return allRules().replace(r.ownHome(text), (*Rule).mark, func(rule *Rule, n int) { r.Count(rule.Name, n) })
	})
}

// replaceVisible replaces secrets in the visible part of a text and, if there are none, in the
// whole text: an escape can hold one as well, such as the address of a link.
func replaceVisible(text string, replace func(string) string) string {
	shown := visible(text)
	if changed := replace(shown); changed != shown {
		return changed
	}
	if shown == text {
		return text
	}
	return replace(text)
}

// shortest is the length of the shortest text in which a rule can find something.
const shortest = 6

// ownHome replaces the user's own home directory, unless the rules recognize it: they know better
// where its name ends.
func (r *Redactor) ownHome(text string) string {
	switch n := strings.Count(text, r.Home); {
	case len(r.Home) < 4, n == 0, strings.HasPrefix(r.Home, "/home/"), strings.HasPrefix(r.Home, "/Users/"),
		strings.Contains(r.Home, `:\Users\`):
		return text
	default:
		r.Count("home", n)
		return strings.ReplaceAll(text, r.Home, "~")
	}
}

// JSON is like [Redactor.Text] for a JSON text. It replaces what the rules find in strings and in
// the names of members, and each string whose member has the name of a secret. Everything else
// stays as it is, byte for byte, so valid JSON stays valid. A text that is not JSON is passed to
// Text.
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
	text   string
	out    strings.Builder
	copied int    // how much of text is in out
	name   string // the name of the member whose value comes next
	inList bool   // the value is an element of a list, and name is the name of the list
	inKey  bool   // between the first and the last line of a private key, each line a string
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
			w.inList = true
		case ',':
			if !w.inList {
				w.name = ""
			}
		case '{', '}', ']':
			w.name, w.inList = "", false
		}
		i++
	}
	if w.copied == 0 {
		return w.text
	}
	w.out.WriteString(w.text[w.copied:])
	return w.out.String()
}

// stringEnd returns the end of the string that starts at start.
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

// literal redacts the string from start to end, quotes included.
func (w *jsonRedactor) literal(start, end int) {
	var value string
	if json.Unmarshal([]byte(w.text[start:end]), &value) != nil {
		return
	}
	changed := ""
	switch {
	case isPicture(value):
		changed = mark("picture")
		w.Count("picture", 1)
	case isName(w.text, end):
		changed = w.Text(value)
		w.name = value
	default:
		changed = w.keyLine(value, w.member(value, w.Text(value)))
	}
	if changed == value {
		return
	}
	w.out.WriteString(w.text[w.copied:start])
	w.out.WriteString(quoteJSON(changed))
	w.copied = end
}

// isPicture reports whether a string is a picture in base64, by its first bytes.
func isPicture(value string) bool {
	for _, start := range []string{"iVBORw0KGgo", "/9j/", "R0lGOD", "UklGR"} {
		if strings.HasPrefix(value, start) && len(value) >= 64 && strings.Trim(value[:64], base64Letters) == "" {
			return true
		}
	}
	return false
}

// isName reports whether the string that ends at the given offset is the name of a member.
func isName(text string, end int) bool {
	return strings.HasPrefix(strings.TrimLeft(text[end:min(end+64, len(text))], " \t\r\n"), ":")
}

// member redacts the value of a member by the name of the member. changed is the value as the rules
// for text left it.
func (w *jsonRedactor) member(value, changed string) string {
	if w.name == "" || strings.HasPrefix(changed, markStart) {
		return changed
	}
	if rule := ruleOfMember(w.name, value); rule != "" {
		w.Count(rule, 1)
		return mark(rule)
	}
	return changed
}

// keyLine redacts the lines of a private key where each line is a separate string, as in a diff.
func (w *jsonRedactor) keyLine(value, changed string) string {
	begins := keyBegin().FindStringIndex(value)
	ends := strings.Contains(value, "-----END ")
	inside := w.inKey
	if begins != nil {
		w.inKey = !ends
	} else if ends {
		w.inKey = false
	}
	if !inside || begins != nil || ends {
		return changed
	}
	w.Count("private-key", 1)
	return value[:len(value)-len(strings.TrimLeft(value, "+- "))] + mark("private-key")
}

func quoteJSON(text string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a string can always be encoded
	return strings.TrimSuffix(b.String(), "\n")
}
