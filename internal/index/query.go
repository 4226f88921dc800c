package index

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A Role is what a text is in a conversation.
type Role uint8

// The roles. The zero value is any of them.
const (
	AnyRole  Role = iota
	Prompt        // of the user, or of another agent
	Answer        // of the model, summaries of compactions among them
	Tool          // the input or the result of a tool, or what a command or the agent itself has printed
	Thinking      // of the model
)

// Roles are the names of the roles.
var Roles = []string{AnyRole: "", Prompt: "prompt", Answer: "answer", Tool: "tool", Thinking: "thinking"}

func (r Role) String() string { return Roles[r] }

// A Query says what to find. All that is set has to fit.
type Query struct {
	phrases []phrase
	pattern *regexp.Regexp

	Role Role
	// Tool is the name of the tool whose input or result the text is.
	Tool string
	// Since and Until limit the time of the entry: not before Since, and before
	// Until. The zero time means no limit.
	Since, Until time.Time
	// Projects are the names of the projects to look in. Nil means all.
	Projects map[string]bool
	// Limit is how many results there are at most. 0 and less means no limit.
	Limit int
}

// A phrase is words that follow each other.
type phrase struct {
	words  []string
	prefix bool // the last word may go on
}

// Pattern returns a query for texts that a regular expression matches.
func Pattern(expr string) (*Query, error) {
	pattern, err := regexp.Compile(expr)
	return &Query{pattern: pattern}, err
}

// Words returns a query for texts that have all of the words. Each argument is a
// word or a phrase, or several of them if it has double quotes in it. A word or
// phrase with * behind it may go on.
func Words(args []string) (*Query, error) {
	q := new(Query)
	for _, arg := range args {
		for _, piece := range pieces(arg) {
			p := newPhrase(piece)
			if len(p.words) == 0 {
				return nil, fmt.Errorf("there is no word in %q", piece)
			}
			q.phrases = append(q.phrases, p)
		}
	}
	if len(q.phrases) == 0 {
		return nil, errors.New("there is no word to search for")
	}
	return q, nil
}

// pieces cuts an argument with quotes into words and phrases.
func pieces(arg string) []string {
	if !strings.Contains(arg, `"`) {
		return []string{arg}
	}
	var list []string
	for i, part := range strings.Split(arg, `"`) {
		switch {
		case i%2 == 0 && part == "*" && len(list) > 0:
			list[len(list)-1] += "*"
		case i%2 == 0:
			list = append(list, strings.Fields(part)...)
		case strings.TrimSpace(part) != "":
			list = append(list, part)
		}
	}
	return list
}

func newPhrase(text string) phrase {
	body, prefix := strings.CutSuffix(strings.TrimSpace(text), "*")
	p := phrase{prefix: prefix}
	var c cutter
	for _, end := c.next(body, 0); end > 0; _, end = c.next(body, end) {
		p.words = append(p.words, string(c.word))
	}
	return p
}

// pairs returns the pairs of the phrases. What a prefix may go on to is not known.
func (q *Query) pairs() []pair {
	var list []pair
	for _, p := range q.phrases {
		words := p.words
		if p.prefix {
			words = words[:len(words)-1]
		}
		for i := 1; i < len(words); i++ {
			list = append(list, pairOf(wordSum(words[i-1]), wordSum(words[i])))
		}
	}
	return list
}

// exact reports whether words alone decide.
func (q *Query) exact() bool {
	return !slices.ContainsFunc(q.phrases, func(p phrase) bool { return len(p.words) > 1 })
}

// expression returns what the full-text index is asked for.
func (q *Query) expression() string {
	var terms []string
	for _, p := range q.phrases {
		for i, word := range p.words {
			term := `"` + word + `"`
			if p.prefix && i == len(p.words)-1 {
				term += " *"
			}
			terms = append(terms, term)
		}
	}
	for _, mark := range marks(q.Role, q.Tool) {
		terms = append(terms, `"`+mark+`"`)
	}
	slices.Sort(terms)
	return strings.Join(slices.Compact(terms), " AND ")
}

// marks are words that no text has, and that stand for what it is.
func marks(role Role, tool string) []string {
	var list []string
	if role != AnyRole {
		list = append(list, "\ue000"+role.String())
	}
	if tool != "" {
		list = append(list, "\ue001"+hex.EncodeToString([]byte(strings.ToLower(tool))))
	}
	return list
}

// A Span is a part of a text: the bytes from Start on, before End.
type Span struct{ Start, End int }

// maxSpans is how many places are told of one text.
const maxSpans = 100

// find returns where the text has what is looked for, or nothing if it lacks a
// part of that.
func (q *Query) find(c *cutter, text string) []Span {
	if q.pattern != nil {
		return q.findPattern(text)
	}
	var spans []Span
	found := make([]bool, len(q.phrases))
	var begun []attempt
	for start, end := c.next(text, 0); end > 0; start, end = c.next(text, end) {
		going := begun[:0]
		for _, a := range begun {
			going = q.step(c, a, end, going, found, &spans)
		}
		for i := range q.phrases {
			going = q.step(c, attempt{phrase: i, start: start}, end, going, found, &spans)
		}
		if begun = going; len(spans) >= maxSpans && !slices.Contains(found, false) {
			break
		}
	}
	if slices.Contains(found, false) {
		return nil
	}
	return tidy(spans)
}

// An attempt is a phrase whose first words were found.
type attempt struct{ phrase, words, start int }

// step tries an attempt on the next word, which ends at end. One that goes on is
// added to going.
func (q *Query) step(c *cutter, a attempt, end int, going []attempt, found []bool, spans *[]Span) []attempt {
	p := &q.phrases[a.phrase]
	last := a.words == len(p.words)-1
	if !p.fits(c.word, a.words) {
		return going
	}
	if !last {
		a.words++
		return append(going, a)
	}
	if !found[a.phrase] || len(*spans) < maxSpans {
		*spans = append(*spans, Span{a.start, end})
	}
	found[a.phrase] = true
	return going
}

func (p *phrase) fits(word []byte, i int) bool {
	wanted := p.words[i]
	if p.prefix && i == len(p.words)-1 {
		return len(word) >= len(wanted) && string(word[:len(wanted)]) == wanted
	}
	return string(word) == wanted
}

func (q *Query) findPattern(text string) []Span {
	var spans []Span
	for _, at := range q.pattern.FindAllStringIndex(text, maxSpans) {
		spans = append(spans, Span{at[0], at[1]})
	}
	return spans
}

// tidy sorts spans, and joins those that overlap.
func tidy(spans []Span) []Span {
	slices.SortFunc(spans, func(a, b Span) int { return cmp.Or(a.Start-b.Start, a.End-b.End) })
	joined := spans[:0]
	for _, s := range spans {
		if n := len(joined); n > 0 && s.Start < joined[n-1].End {
			joined[n-1].End = max(joined[n-1].End, s.End)
			continue
		}
		joined = append(joined, s)
	}
	return joined
}
