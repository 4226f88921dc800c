package index

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
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

// maxWord is how many bytes of a word count.
const maxWord = 64

// A cutter cuts texts into words: runs of letters and digits, in small letters.
// Where a script puts no spaces between words, or not between all, each character is
// a word of its own.
type cutter struct {
	word   []byte // the word that next has found, valid until the next call
	marked bool   // it has marks that belong to the letters before them
}

// small maps the bytes of ASCII that belong to words to small letters.
var small = func() (table [utf8.RuneSelf]byte) {
	for c := range byte(utf8.RuneSelf) {
		switch {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z':
			table[c] = c
		case c >= 'A' && c <= 'Z':
			table[c] = c - 'A' + 'a'
		}
	}
	return table
}()

// next finds the first word from an index of text on, and returns where it begins
// and ends. The end is 0 if there is none.
func (c *cutter) next(text string, from int) (start, end int) {
	if start, end = c.cut(text, from); c.marked {
		c.word = norm.NFC.Append(nil, c.word...)
	}
	return start, end
}

func (c *cutter) cut(text string, from int) (start, end int) {
	c.word, c.marked = c.word[:0], false
	start = from
	for i := from; i < len(text); {
		if b := text[i]; b < utf8.RuneSelf {
			if b = small[b]; b != 0 {
				c.add(b)
				i++
				continue
			}
			if len(c.word) > 0 {
				return start, i
			}
			i += separator(text[i:])
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case alone(r) && len(c.word) > 0, !inWord(r) && len(c.word) > 0:
			return start, i
		case alone(r):
			c.word = utf8.AppendRune(c.word, r)
			return start, i + size
		case inWord(r):
			c.addRune(folded(r))
			c.marked = c.marked || unicode.IsMark(r)
		default:
			start = i + size
		}
		i += size
	}
	if len(c.word) == 0 {
		return 0, 0
	}
	return start, len(text)
}

// separator returns the length of what begins a text and is no word: one byte, or
// a whole escape sequence that sets colours, behind which words often stand.
func separator(text string) int {
	if !strings.HasPrefix(text, "\x1b[") {
		return 1
	}
	for i := 2; i < len(text) && i < 32; i++ {
		switch c := text[i]; {
		case c >= '0' && c <= '9' || c == ';' || c == ':':
		case c == 'm' || c == 'K':
			return i + 1
		default:
			return 1
		}
	}
	return 1
}

func (c *cutter) add(b byte) {
	if len(c.word) < maxWord {
		c.word = append(c.word, b)
	}
}

func (c *cutter) addRune(r rune) {
	if len(c.word)+utf8.RuneLen(r) <= maxWord {
		c.word = utf8.AppendRune(c.word, r)
	}
}

func inWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r))
}

// folded returns the same for capital and small letters, ς and σ among them.
func folded(r rune) rune { return unicode.ToLower(unicode.ToUpper(r)) }

// alone reports whether a character is a word of its own.
func alone(r rune) bool {
	const longVowel, halfLongVowel = 'ー', 'ｰ' // of kana, but by Unicode of no script
	return r >= 0x0E00 && (r == longVowel || r == halfLongVowel || unicode.In(r,
		unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar))
}

// A vocabulary collects the words of a text, each once, and their pairs. It is a hash
// table that needs no clearing: a slot counts if it is of the text at hand.
type vocabulary struct {
	cutter
	pairs pairList
	seed  maphash.Seed
	slots []slot // a power of two
	text  uint32 // the number of the text, from 1
	count int    // of its words
	words []byte // with a space behind each
}

type slot struct{ text, start, end uint32 }

// of returns the words of a text, with the marks in front. It is valid until the
// next call.
func (v *vocabulary) of(text string, marks ...string) []byte {
	if v.slots == nil || v.text == math.MaxUint32 {
		v.seed, v.slots, v.text = maphash.MakeSeed(), make([]slot, 1<<10), 0
	}
	v.text, v.count, v.words = v.text+1, 0, v.words[:0]
	v.pairs.begin()
	for _, m := range marks {
		v.words = append(append(v.words, m...), ' ')
	}
	for _, end := v.next(text, 0); end > 0; _, end = v.next(text, end) {
		v.pairs.add(v.word)
		if at := v.slot(v.word); at.text != v.text {
			start := len(v.words)
			v.words = append(v.words, v.word...)
			*at = slot{v.text, uint32(start), uint32(len(v.words))} //nolint:gosec // no text is that long
			v.words = append(v.words, ' ')
			v.grow()
		}
	}
	return v.words
}

// slot returns the slot of a word, or the one where it belongs.
func (v *vocabulary) slot(word []byte) *slot {
	mask := uint64(len(v.slots) - 1)
	for i := maphash.Bytes(v.seed, word) & mask; ; i = (i + 1) & mask {
		at := &v.slots[i]
		if at.text != v.text || string(v.words[at.start:at.end]) == string(word) {
			return at
		}
	}
}

// grow counts a word, and makes room for more.
func (v *vocabulary) grow() {
	if v.count++; v.count <= len(v.slots)/2 {
		return
	}
	old := v.slots
	v.slots = make([]slot, 2*len(old))
	for _, s := range old {
		if s.text == v.text {
			*v.slot(v.words[s.start:s.end]) = s
		}
	}
}
