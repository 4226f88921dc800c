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

// newRedactor returns what takes the stage, and the texts of the scenario, out of a recording of it.
func newRedactor(stage *Stage, s *Scenario, rec *Recording) *Redactor {
	r := &Redactor{Own: ownTexts(s, rec)}
	model := stage.Model
	temp := variable(model.Env(), "TMPDIR")
	for _, place := range [][2]string{
		{stage.Work, placeWork},
		{model.ConfigDir(), placeConfig},
		{model.Home(), placeHome},
		{filepath.Join(temp, fmt.Sprintf("claude-%d", os.Getuid())), placeTemp},
		{temp, placeTemp},
		{strings.TrimPrefix(model.URL(), "http://"), placeModel},
	} {
		r.Replace = append(r.Replace, forms(place)...)
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

// forms returns a replacement of a path for each form in which the agent writes it: as it was given, without links, and
// as the name of a folder, with dashes.
func forms(place [2]string) [][2]string {
	list := [][2]string{place}
	if real, err := filepath.EvalSymlinks(place[0]); err == nil && real != place[0] {
		list = append(list, [2]string{real, place[1]})
	}
	for _, form := range list {
		if strings.HasPrefix(place[1], placeHome) {
			list = append(list, [2]string{folderName(form[0]), folderName(form[1])})
		}
	}
	return list
}

var notInName = regexp.MustCompile(`[^a-zA-Z0-9]`)

// folderName returns the name of the folder in which the agent keeps what belongs to a path.
func folderName(path string) string { return notInName.ReplaceAllLiteralString(path, "-") }

// ownTexts returns the strings of the host's frames, the scenario's Files and Own. Answers are left out if they give back
// what the agent said: they would make its texts the scenario's.
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

// maxText is how many characters a text of the agent may have.
const maxText = 100

// Where things are in a redacted dialogue.
const (
	placeHome   = "/home/dev"
	placeWork   = placeHome + "/project"
	placeConfig = placeHome + "/.claude"
	placeTemp   = placeHome + "/tmp"
	placeSocket = placeTemp + "/cc.sock"
	placeModel  = "127.0.0.1:8080"
	placePID    = "4242"
)

// A Redactor takes the machine, and the long texts of the agent, out of the frames of a dialogue. Of a frame only strings
// change, and the number of the agent's process; the rest stays byte for byte.
type Redactor struct {
	// Replace holds pairs: what stands in a string, and what takes its place. Where two begin at one place, the
	// longer one counts.
	Replace [][2]string
	// Own holds the texts of the scenario itself. They are not counted in a text of the agent: one of more than 100
	// characters, without them, becomes a note of its length.
	Own []string

	replacer *strings.Replacer
}

var (
	socketPath = regexp.MustCompile(`"messaging_socket_path":"[^"]*"`)
	processID  = regexp.MustCompile(`"pid":[0-9]+`)
)

// Redact returns the dialogue without what r knows. The given one does not change.
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

// Frame returns a frame of the agent, redacted.
func (r *Redactor) Frame(frame string) string {
	frame = editStrings(frame, func(raw string, name bool) string {
		raw = r.paths(raw)
		if name {
			return raw
		}
		return r.elide(raw)
	})
	frame = socketPath.ReplaceAllLiteralString(frame, `"messaging_socket_path":"`+placeSocket+`"`)
	return processID.ReplaceAllLiteralString(frame, `"pid":`+placePID)
}

// paths replaces what Replace names.
func (r *Redactor) paths(text string) string {
	if r.replacer == nil {
		r.replacer = newReplacer(r.Replace)
	}
	return r.replacer.Replace(text)
}

// newReplacer returns a replacer of pairs, as values and as they stand in JSON, that prefers the longer ones.
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

// elide replaces a string that is a long text, given as it stands in JSON.
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

// notProse is what a text may hold without being longer for it: paths in a redacted dialogue, and tags.
var notProse = regexp.MustCompile(regexp.QuoteMeta(placeHome) + `[^\s"']*|</?[a-z-]+>`)

// foreign returns what the text says besides the scenario's own texts.
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
