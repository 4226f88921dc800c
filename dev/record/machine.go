package record

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// newRedactor returns the redactor for a recording of a scenario.
func newRedactor(stage *Stage, s *Scenario, rec *Recording) *Redactor {
	r := &Redactor{Own: ownTexts(s, rec)}
	model := stage.Model
	temp := variable(model.Env(), "TMPDIR")
	for _, pair := range [][2]string{
		{stage.Work, redactedWork},
		{model.ConfigDir(), redactedConfig},
		{model.Home(), redactedHome},
		{filepath.Join(temp, fmt.Sprintf("claude-%d", os.Getuid())), redactedTemp},
		{temp, redactedTemp},
		{strings.TrimPrefix(model.URL(), "http://"), redactedModel},
	} {
		r.Replace = append(r.Replace, variants(pair)...)
	}
	return r
}

// variable returns the value that a variable has in env, or "".
func variable(env []string, name string) string {
	for _, setting := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(setting, name+"="); ok {
			return value
		}
	}
	return ""
}

// variants returns a replacement for each way in which the agent writes a path: as it was given,
// without links, and as the name of a directory, with dashes.
func variants(pair [2]string) [][2]string {
	list := [][2]string{pair}
	if real, err := filepath.EvalSymlinks(pair[0]); err == nil && real != pair[0] {
		list = append(list, [2]string{real, pair[1]})
	}
	for _, variant := range list {
		if strings.HasPrefix(pair[1], redactedHome) {
			list = append(list, [2]string{directoryName(variant[0]), directoryName(variant[1])})
		}
	}
	return list
}

var notInName = regexp.MustCompile(`[^a-zA-Z0-9]`)

// directoryName returns the name of the directory in which the agent keeps its files about a path.
func directoryName(path string) string { return notInName.ReplaceAllLiteralString(path, "-") }

// ownTexts returns the strings of the host's frames, the scenario's Files and Own. It leaves out
// strings that repeat what the agent said: they are texts of the agent.
func ownTexts(s *Scenario, rec *Recording) []string {
	own := slices.Clone(s.Own)
	for _, content := range s.Files {
		own = append(own, content)
	}
	var said strings.Builder
	for _, line := range rec.Lines {
		if line.Direction == fromAgent {
			said.WriteString(line.Text)
		}
		if line.Direction == fromHost {
			editStrings(line.Text, func(raw string, _ bool) string {
				if len(raw) >= maxText/2 && !strings.Contains(said.String(), raw) {
					own = append(own, unescape(raw))
				}
				return raw
			})
		}
	}
	slices.SortFunc(own, func(a, b string) int { return len(b) - len(a) })
	return own
}

// maxText is the maximum number of characters that a dialogue keeps of a text of the agent.
const maxText = 100

// The paths, the address and the process ID in a redacted dialogue.
const (
	redactedHome   = "/home/dev"
	redactedWork   = redactedHome + "/project"
	redactedConfig = redactedHome + "/.claude"
	redactedTemp   = redactedHome + "/tmp"
	redactedSocket = redactedTemp + "/cc.sock"
	redactedModel  = "127.0.0.1:8080"
	redactedPID    = "4242"
)

// A Redactor removes traces of the machine, and long texts of the agent, from the frames of a
// dialogue. It changes only strings and the ID of the agent's process; the rest stays byte for
// byte.
type Redactor struct {
	// Replace holds pairs of an old text and its replacement. If two old texts start at the same
	// position, the longer one is replaced.
	Replace [][2]string
	// Own holds the texts of the scenario. A text of the agent that has more than 100 characters
	// without them is replaced by a note of its length.
	Own []string

	replacer *strings.Replacer
}

var (
	socketPath = regexp.MustCompile(`"messaging_socket_path":"[^"]*"`)
	processID  = regexp.MustCompile(`"pid":[0-9]+`)
)

// Redact returns a redacted copy of the dialogue.
func (r *Redactor) Redact(rec *Recording) *Recording {
	out := new(Recording)
	for _, line := range rec.Lines {
		switch line.Direction {
		case fromHost, prose:
			out.add(line.Direction, r.paths(line.Text))
		case fromAgent:
			out.add(line.Direction, r.Frame(line.Text))
		}
	}
	return out
}

// Frame returns a redacted frame of the agent.
func (r *Redactor) Frame(frame string) string {
	frame = editStrings(frame, func(raw string, name bool) string {
		raw = r.paths(raw)
		if name {
			return raw
		}
		return r.elide(raw)
	})
	frame = socketPath.ReplaceAllLiteralString(frame, `"messaging_socket_path":"`+redactedSocket+`"`)
	return processID.ReplaceAllLiteralString(frame, `"pid":`+redactedPID)
}

// paths applies Replace.
func (r *Redactor) paths(text string) string {
	if r.replacer == nil {
		r.replacer = newReplacer(r.Replace)
	}
	return r.replacer.Replace(text)
}

// newReplacer returns a replacer of pairs, as plain text and escaped as in JSON. It prefers longer
// texts.
func newReplacer(pairs [][2]string) *strings.Replacer {
	pairs = slices.Clone(pairs)
	slices.SortStableFunc(pairs, func(a, b [2]string) int { return len(b[0]) - len(a[0]) })
	var list []string
	for _, pair := range pairs {
		if pair[0] != "" {
			list = append(list, escape(pair[0]), pair[1], pair[0], pair[1])
		}
	}
	return strings.NewReplacer(list...)
}

// elide replaces a string if it is a long text. The string is escaped as in JSON.
func (r *Redactor) elide(raw string) string {
	if len(raw) <= maxText {
		return raw
	}
	value := unescape(raw)
	if !strings.ContainsFunc(value, unicode.IsSpace) || utf8.RuneCountInString(r.foreign(value)) <= maxText {
		return raw
	}
	return fmt.Sprintf("(elided %d characters)", utf8.RuneCountInString(value))
}

// notProse matches what does not count for the length of a text: paths in a redacted dialogue, and
// tags.
var notProse = regexp.MustCompile(regexp.QuoteMeta(redactedHome) + `[^\s"']*|</?[a-z-]+>`)

// foreign returns a text without the texts of the scenario.
func (r *Redactor) foreign(text string) string {
	for _, own := range r.Own {
		if strings.Contains(own, text) {
			return ""
		}
		if own != "" {
			text = strings.ReplaceAll(text, own, "")
		}
	}
	return notProse.ReplaceAllLiteralString(text, "")
}

// editStrings replaces each string of a JSON text, also the names of members, by the result of
// edit. It calls edit with the string without its quotes and with its escapes, and with whether it
// is a name. Everything else stays byte for byte.
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

// stringEnd returns the index of the quote that ends a string. The text starts after the string's
// first quote.
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

// unescape returns the value of a JSON string that is given without its quotes.
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

// escape returns a string as in JSON, without its quotes and with no more escapes than it needs.
func escape(value string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		panic(err) // every string has a JSON form
	}
	return strings.TrimSuffix(strings.TrimPrefix(b.String(), `"`), "\"\n")
}
