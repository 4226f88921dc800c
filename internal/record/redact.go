package record

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

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
