package search

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

	"github.com/clewdev/clew/sqlite/search/internal/sqlite"
)

// A Role is the kind of a passage.
type Role uint8

// The roles. The zero value is any of them.
const (
	AnyRole  Role = iota
	Prompt        // a prompt of the user or of another agent
	Answer        // text of the model, and summaries of compactions
	Tool          // the input or the result of a tool, or the output of a command or of the agent
	Thinking      // thinking of the model
	Title         // a title of the session, which the user gave or the agent generated
)

// roleNames are the names of the roles.
var roleNames = []string{AnyRole: "", Prompt: "prompt", Answer: "answer", Tool: "tool", Thinking: "thinking", Title: "title"}

// String returns prompt, answer, tool, thinking or title, and "" for any role.
func (r Role) String() string {
	if int(r) >= len(roleNames) {
		return ""
	}
	return roleNames[r]
}

// ParseRole returns the role with a name, as [Role.String] returns it. It returns an error for
// another name, and for "".
func ParseRole(name string) (Role, error) {
	i := slices.Index(roleNames, name)
	if i <= 0 {
		return AnyRole, fmt.Errorf("search: unknown role %q", name)
	}
	return Role(i), nil
}

// A Query describes what to find. [Parse], [Words] and [Pattern] return one, whose fields may then be set. A
// passage has to match all of them.
type Query struct {
	phrases []phrase
	pattern *regexp.Regexp
	typed   bool // made by Parse: hits are turns

	// Role is the kind of passage to find. The zero value means any.
	Role Role
	// Tool is the name of a tool, for its inputs and results.
	Tool string
	// Since and Until limit the time of the entry: not before Since, and before Until. The zero
	// time means no limit.
	Since, Until time.Time
	// Source is the writer of the passage. The zero value means anyone.
	Source Source
	// Projects are the names of the projects to search. Nil means all.
	Projects map[string]bool
	// Sessions are the IDs of the sessions to search. Nil means all.
	Sessions map[string]bool
	// Limit is the most results. 0 or less means no limit.
	Limit int

	// Order is the order of the hits. The zero value means the newest first.
	Order Order
	// PerSession is the most hits of one session, for the order Relevance. There are more of them if
	// the result would have fewer than Limit hits otherwise. 0 or less means no limit.
	PerSession int
	// PerTurn is the most hits of one turn, for a query by [Parse]. 0 or less means 1: the text of the
	// turn that has the most words.
	PerTurn int
	// Now is the time against which the age of hits counts, for the order Relevance. The zero time
	// means the time of the search.
	Now time.Time
}

// A phrase is a list of words that follow each other.
type phrase struct {
	words  []string
	prefix bool // the last word is a prefix

	// The following are for queries by Parse.
	required, excluded bool
	weight             float64
	text               string // as it was typed
	loose              bool   // other forms of the word count, and longer words
	stem, key          string // of a loose word: see stem and formKey
	letters            int    // of a loose word
}

// Pattern returns a query for texts that a regular expression of package regexp matches. Only
// [Scan] can run it: an index has no texts.
func Pattern(expr string) (*Query, error) {
	pattern, err := regexp.Compile(expr)
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	return &Query{pattern: pattern}, nil
}

// Words returns a query for texts that have all of the words. Each argument is a word or a phrase,
// or several of them if it contains double quotes. A trailing * makes the last word a prefix. Case
// and accents don't matter. It returns an error if an argument has no words, but only punctuation.
//
//	q, err := search.Words("login page", "valid*")
func Words(args ...string) (*Query, error) {
	q := new(Query)
	for _, arg := range args {
		for _, piece := range pieces(arg) {
			p := newPhrase(piece)
			if len(p.words) == 0 {
				return nil, fmt.Errorf("search: %q contains no words", piece)
			}
			q.phrases = append(q.phrases, p)
		}
	}
	if len(q.phrases) == 0 {
		return nil, errors.New("search: the query contains no words")
	}
	return q, nil
}

// check returns an error for a query that no function made.
func (q *Query) check() error {
	if q == nil || q.phrases == nil && q.pattern == nil {
		return errors.New("search: the query is empty: make it with Parse, Words or Pattern")
	}
	return nil
}

// checkIndexed returns an error for a query that an index can't run.
func (q *Query) checkIndexed() error {
	if err := q.check(); err != nil {
		return err
	}
	if q.pattern != nil {
		return errors.New("search: an index can't match a Pattern: use Scan")
	}
	return nil
}

// pieces splits an argument with quotes into words and phrases.
func pieces(arg string) []string {
	if !strings.Contains(arg, `"`) {
		return []string{arg}
	}
	var list []string
	for i, piece := range strings.Split(arg, `"`) {
		switch {
		case i%2 == 0 && piece == "*" && len(list) > 0:
			list[len(list)-1] += "*"
		case i%2 == 0:
			list = append(list, strings.Fields(piece)...)
		case strings.TrimSpace(piece) != "":
			list = append(list, piece)
		}
	}
	return list
}

func newPhrase(text string) phrase {
	body, prefix := strings.CutSuffix(strings.TrimSpace(text), "*")
	p := phrase{prefix: prefix}
	var c tokenizer
	for _, end := c.next(body, 0); end > 0; _, end = c.next(body, end) {
		p.words = append(p.words, string(c.word))
	}
	return p
}

// pairs returns the pairs of the phrases, without the pairs of a prefix, whose whole word is
// unknown.
func (q *Query) pairs() []pair {
	var list []pair
	if q.typed {
		return nil
	}
	for i := range q.phrases {
		list = q.phrases[i].pairs(list)
	}
	return list
}

// pairs appends the pairs of a phrase to a list.
func (p *phrase) pairs(list []pair) []pair {
	words := p.words
	if p.prefix {
		words = words[:len(words)-1]
	}
	for i := 1; i < len(words); i++ {
		list = append(list, pairOf(wordSum(words[i-1]), wordSum(words[i])))
	}
	return list
}

// exact reports whether the words of a passage decide whether it matches, without its text.
func (q *Query) exact() bool {
	return !slices.ContainsFunc(q.phrases, func(p phrase) bool { return len(p.words) > 1 && (!q.typed || p.required || p.excluded) })
}

// expression returns the expression for the full-text index.
func (q *Query) expression() string {
	var terms []string
	for i := range q.phrases {
		terms = append(terms, q.phrases[i].expressions()...)
	}
	slices.Sort(terms)
	return q.narrowed(slices.Compact(terms))
}

// expressions returns the expressions for a phrase's words.
func (p *phrase) expressions() []string {
	var terms []string
	for i, word := range p.words {
		term := `"` + word + `"`
		if p.prefix && i == len(p.words)-1 {
			term += " *"
		}
		terms = append(terms, term)
	}
	return terms
}

// narrowed returns the expression for all of the terms in passages that the query wants.
func (q *Query) narrowed(terms []string) string {
	source := q.Source
	if source == Said {
		source = AnySource // it has a table of its own
	}
	for _, mark := range marks(q.Role, source, "") {
		terms = append(terms, `"`+mark+`"`)
	}
	for _, mark := range marks(AnyRole, AnySource, q.Tool) {
		terms = append(terms, `("`+mark+`" OR "`+spillMark+`")`) // the tool of a spill is known later
	}
	return strings.Join(terms, " AND ")
}

// table returns the table of the index that has all passages of the source.
func (q *Query) table() sqlite.Table {
	if q.Source == Said {
		return sqlite.Said
	}
	return sqlite.Words
}

// marks returns words for the role, the source and the tool of a passage. No text contains such a
// word.
func marks(role Role, source Source, tool string) []string {
	var list []string
	if role != AnyRole {
		list = append(list, "\ue000"+role.String())
	}
	if source != AnySource {
		list = append(list, "\ue003"+source.String())
	}
	if tool != "" {
		list = append(list, "\ue001"+hex.EncodeToString([]byte(strings.ToLower(tool))))
	}
	return list
}

// spillMark is the word for passages of spills.
const spillMark = "\ue002"

// A Span is a range of bytes of a text, from Start to End, without End.
type Span struct{ Start, End int }

// maxSpans is the most matches that are returned for one text.
const maxSpans = 100

// Find returns the matches in a text, or nil if the text does not match. It considers the words or
// the pattern of the query only, and none of its fields.
func (q *Query) Find(text string) []Span { return q.find(new(tokenizer), text) }

// find returns the matches in a text, or nil if a word or phrase of the query is missing. For a query
// by Parse, one of them suffices.
func (q *Query) find(c *tokenizer, text string) []Span {
	spans, _ := q.findAll(c, text)
	return spans
}

// masks has a bit for each word and phrase that a text has, by how well the best one fits.
type masks struct{ exact, form, part uint64 }

func (m masks) any() uint64 { return m.exact | m.form | m.part }

// tier returns how well a word of a text fits.
func (m masks) tier(i int) tier {
	switch bit := uint64(1) << i; {
	case m.exact&bit != 0:
		return exact
	case m.form&bit != 0:
		return form
	case m.part&bit != 0:
		return part
	}
	return none
}

// findAll also returns which of the words and phrases of a query by Parse were found.
func (q *Query) findAll(c *tokenizer, text string) ([]Span, masks) {
	var m masks
	if q.pattern != nil {
		return q.findPattern(text), m
	}
	var spans []Span
	found := make([]tier, len(q.phrases))
	var begun []attempt
	for start, end := c.next(text, 0); end > 0; start, end = c.next(text, end) {
		going := begun[:0]
		for _, a := range begun {
			going = q.step(c, a, end, going, found, &spans)
		}
		for i := range q.phrases {
			going = q.step(c, attempt{phrase: i, start: start}, end, going, found, &spans)
		}
		if begun = going; len(spans) >= maxSpans && !slices.ContainsFunc(found, func(t tier) bool { return t != exact }) {
			break
		}
	}
	if slices.Contains(found, none) && !q.typed {
		return nil, m
	}
	if q.typed {
		for i, tier := range found {
			bit := uint64(1) << i
			switch tier {
			case exact:
				m.exact |= bit
			case form:
				m.form |= bit
			case part:
				m.part |= bit
			}
		}
	}
	return tidy(spans), m
}

// An attempt is a phrase whose first words were found.
type attempt struct{ phrase, words, start int }

// step tries an attempt on the next word, which ends at end. An attempt that needs more words is
// added to going.
func (q *Query) step(c *tokenizer, a attempt, end int, going []attempt, found []tier, spans *[]Span) []attempt {
	p := &q.phrases[a.phrase]
	last := a.words == len(p.words)-1
	t := p.fits(c.word, a.words)
	if t == none {
		return going
	}
	if !last {
		a.words++
		return append(going, a)
	}
	was := found[a.phrase]
	if !p.excluded && (was == none || t < was || len(*spans) < maxSpans) {
		*spans = append(*spans, Span{a.start, end})
	}
	if was == none || t < was {
		found[a.phrase] = t
	}
	return going
}

// fits returns how well a word fits the word of the phrase with a number.
func (p *phrase) fits(word []byte, i int) tier {
	wanted := p.words[i]
	switch {
	case string(word) == wanted:
		return exact
	case p.loose:
		return p.loosely(word)
	case p.prefix && i == len(p.words)-1 && len(word) >= len(wanted) && string(word[:len(wanted)]) == wanted:
		return exact
	}
	return none
}

// loosely is like fits, for another word than a loose one.
func (p *phrase) loosely(word []byte) tier {
	sameStart := word[0] == p.key[0] || word[0] >= utf8.RuneSelf
	if sameStart && hasForms(word) && formKey(string(word)) == p.key && stem(string(word)) == p.stem {
		return form
	}
	if isPart(p.letters, p.words[0], word) {
		return part
	}
	return none
}

func (q *Query) findPattern(text string) []Span {
	var spans []Span
	for _, at := range q.pattern.FindAllStringIndex(text, maxSpans) {
		spans = append(spans, Span{at[0], at[1]})
	}
	return spans
}

// tidy sorts spans, and joins overlapping ones.
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

// maxWord is the number of bytes of a word that count.
const maxWord = 64

// A tokenizer splits texts into words: runs of letters and digits, in lower case. In scripts
// without spaces between words, or not between all of them, each character is a word.
type tokenizer struct {
	word   []byte // the word that next has found, valid until the next call
	marked bool   // it has marks that belong to the letters before them
}

// lower maps the ASCII bytes of words to lower case, and all others to 0.
var lower = func() (table [utf8.RuneSelf]byte) {
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

// next finds the first word at or after an offset, and returns its start and end. The end is 0 if
// there is no word.
func (c *tokenizer) next(text string, from int) (start, end int) {
	if start, end = c.cut(text, from); c.marked {
		c.word = norm.NFC.Append(nil, c.word...)
	}
	return start, end
}

func (c *tokenizer) cut(text string, from int) (start, end int) {
	c.word, c.marked = c.word[:0], false
	start = from
	for i := from; i < len(text); {
		if b := text[i]; b < utf8.RuneSelf {
			if b = lower[b]; b != 0 {
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

// separator returns the length of the separator at the beginning of a text: one byte, or an escape
// sequence for colors, since words often follow one.
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

func (c *tokenizer) add(b byte) {
	if len(c.word) < maxWord {
		c.word = append(c.word, b)
	}
}

func (c *tokenizer) addRune(r rune) {
	if len(c.word)+utf8.RuneLen(r) <= maxWord {
		c.word = utf8.AppendRune(c.word, r)
	}
}

func inWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r))
}

// folded returns the same rune for upper and lower case, and for ς and σ.
func folded(r rune) rune { return unicode.ToLower(unicode.ToUpper(r)) }

// alone reports whether a character is a word by itself.
func alone(r rune) bool {
	const longVowel, halfLongVowel = 'ー', 'ｰ' // used in kana, but Unicode assigns no script to them
	return r >= 0x0E00 && (r == longVowel || r == halfLongVowel || unicode.In(r,
		unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar))
}

// A wordSet collects a text's words, each once, and their pairs. It is a hash table that is
// never cleared: a slot is empty unless it has the number of the current text.
type wordSet struct {
	tokenizer
	pairs pairList
	seed  maphash.Seed
	slots []slot // a power of two
	text  uint32 // the number of the text, from 1
	count int    // of its words, each once
	total int    // of its words
	words []byte // with a space after each

	collects bool     // the following is wanted
	fresh    []string // words that have forms, and were in no text before, as far as recent knows
	recent   []uint64 // the hashes of some words of texts before, by their last bits
}

type slot struct{ text, start, end uint32 }

// of returns a text's words, after the marks. The result is valid until the next call.
func (v *wordSet) of(text string, marks ...string) []byte {
	if v.slots == nil || v.text == math.MaxUint32 {
		if v.slots == nil {
			v.seed = maphash.MakeSeed()
		}
		v.slots, v.text = make([]slot, 1<<10), 0
	}
	v.text, v.count, v.total, v.words = v.text+1, 0, 0, v.words[:0]
	v.pairs.begin()
	for _, m := range marks {
		v.words = append(append(v.words, m...), ' ')
	}
	for _, end := v.next(text, 0); end > 0; _, end = v.next(text, end) {
		v.pairs.add(v.word)
		v.total++
		if at := v.slot(v.word); at.text != v.text {
			start := len(v.words)
			v.words = append(v.words, v.word...)
			v.note(v.word)
			*at = slot{v.text, uint32(start), uint32(len(v.words))} //nolint:gosec // no text is that long
			v.words = append(v.words, ' ')
			v.grow()
		}
	}
	return v.words
}

// recentWords is the number of words that are remembered.
const recentWords = 1 << 15

// note adds a word to the fresh ones.
func (v *wordSet) note(word []byte) {
	if !v.collects || !hasForms(word) {
		return
	}
	if v.recent == nil {
		v.recent = make([]uint64, recentWords)
	}
	sum := maphash.Bytes(v.seed, word)
	if at := &v.recent[sum%recentWords]; *at != sum {
		*at = sum
		v.fresh = append(v.fresh, string(word))
	}
}

// slot returns the slot of a word, or the empty slot for it.
func (v *wordSet) slot(word []byte) *slot {
	mask := uint64(len(v.slots) - 1)
	for i := maphash.Bytes(v.seed, word) & mask; ; i = (i + 1) & mask {
		at := &v.slots[i]
		if at.text != v.text || string(v.words[at.start:at.end]) == string(word) {
			return at
		}
	}
}

// grow counts a word, and makes room for more.
func (v *wordSet) grow() {
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
