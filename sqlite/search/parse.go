package search

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Parse returns a query for words that somebody remembers of a conversation. A hit is a turn: a
// prompt with its answers and calls. It may have the words in several of these texts, and in other
// forms: leaks for leak, WebSocket for socket. Turns with all words come first, then those with
// most of them. The following is exact:
//
//	"login page"  the turn must have a text with these words side by side
//	-draft        the turn must not have this word; -"first draft" works as well
//	valid*        a word that starts with valid
//
// A name such as main.go or parse_line finds the name and, much later, its words. Words that say
// nothing, such as "the", are left out if there are others. It returns an error if there are no
// words to find, or more than 64.
func Parse(text string) (*Query, error) {
	q := &Query{typed: true}
	var plain []phrase
	for _, field := range fieldsOf(text) {
		p := newPhrase(field.text)
		p.prefix = p.prefix || field.prefix
		switch {
		case len(p.words) == 0:
		case field.excluded:
			p.excluded = true
			q.addTerm(p, 1)
		case field.quoted:
			p.required = true
			q.addTerm(p, 1)
		default:
			p.text = field.text
			plain = append(plain, p)
		}
	}
	informative := slices.DeleteFunc(slices.Clone(plain), func(p phrase) bool { return isFunctionWord(&p) })
	if len(informative) == 0 && !slices.ContainsFunc(q.phrases, func(p phrase) bool { return p.required }) {
		informative = plain
	}
	for _, p := range informative {
		p.loosen()
		q.addTerm(p, 1)
	}
	switch typed := len(q.phrases); {
	case q.wanted() == 0:
		return nil, errors.New("search: the query contains no words to find")
	case typed > maxTerms:
		return nil, fmt.Errorf("search: the query contains %d words, and at most %d can be searched for at once", typed, maxTerms)
	}
	for i := range informative {
		q.addParts(&informative[i])
	}
	for i := 1; i < len(informative) && i < maxJoined; i++ {
		a, b := &informative[i-1], &informative[i]
		if a.joins() && b.joins() { // some write time out, and others timeout
			q.addTerm(phrase{words: []string{a.words[0] + b.words[0]}}, partWeight)
		}
	}
	return q, nil
}

const (
	// maxTerms is the most words and phrases of a query by Parse: there is a bit for each.
	maxTerms = 64
	// maxJoined is the most words that are also looked for as one.
	maxJoined = 12
	// partWeight is the weight of a part of a name, relative to a word.
	partWeight = 0.3
)

// wanted returns the number of words and phrases to find that were typed.
func (q *Query) wanted() (n int) {
	for i := range q.phrases {
		if p := &q.phrases[i]; !p.excluded && p.weight == 1 {
			n++
		}
	}
	return n
}

// A typedField is a word or a quoted phrase of a query.
type typedField struct {
	text                     string
	quoted, excluded, prefix bool
}

// fieldsOf splits a query at spaces and quotes. A quote without an end ends with the text.
func fieldsOf(text string) []typedField {
	var list []typedField
	for text = strings.TrimLeftFunc(text, unicode.IsSpace); text != ""; text = strings.TrimLeftFunc(text, unicode.IsSpace) {
		var f typedField
		if next, _ := utf8.DecodeRuneInString(text[1:]); text[0] == '-' && (next == '"' || inWord(next)) {
			f.excluded, text = true, text[1:]
		}
		if rest, ok := strings.CutPrefix(text, `"`); ok {
			f.quoted = true
			f.text, text, _ = strings.Cut(rest, `"`)
			text, f.prefix = strings.CutPrefix(text, "*")
		} else {
			end := strings.IndexFunc(text, func(r rune) bool { return r == '"' || unicode.IsSpace(r) })
			if end < 0 {
				end = len(text)
			}
			f.text, text = text[:end], text[end:]
		}
		list = append(list, f)
	}
	return list
}

// addTerm adds a word or phrase, unless the query has it. It adds no part if there are too many.
func (q *Query) addTerm(p phrase, weight float64) {
	p.weight = weight
	same := func(other phrase) bool {
		return slices.Equal(other.words, p.words) && other.prefix == p.prefix && other.excluded == p.excluded && other.required == p.required
	}
	if full := weight < 1 && len(q.phrases) >= maxTerms; !full && !slices.ContainsFunc(q.phrases, same) {
		q.phrases = append(q.phrases, p)
	}
}

// loosen lets a word find other forms of it, and longer words. A word of accents alone has none.
func (p *phrase) loosen() {
	if len(p.words) != 1 || p.prefix || !hasForms(p.words[0]) {
		return
	}
	word := p.words[0]
	if key := formKey(word); key != "" {
		p.loose, p.stem, p.key, p.letters = true, stem(word), key, utf8.RuneCountInString(word)
	}
}

// joins reports whether a phrase is a plain word, which some write together with the next one.
func (p *phrase) joins() bool { return len(p.words) == 1 && !p.prefix && hasForms(p.words[0]) }

// addParts adds the words of a name, or the pairs of characters of a phrase without spaces.
func (q *Query) addParts(p *phrase) {
	for i, word := range p.words {
		switch {
		case len(p.words) == 1:
		case !aloneAt(word):
			one := phrase{words: p.words[i : i+1], prefix: p.prefix && i == len(p.words)-1}
			if !isFunctionWord(&one) {
				one.loosen()
				q.addTerm(one, partWeight)
			}
		case i > 0 && len(p.words) > 2:
			q.addTerm(phrase{words: p.words[i-1 : i+1]}, partWeight)
		}
	}
	for _, hump := range humps(p.text) {
		one := newPhrase(hump)
		if len(p.words) == 1 && len(one.words) == 1 {
			one.loosen()
			q.addTerm(one, partWeight)
		}
	}
}

// humps returns the words in a name such as parseLine, or nil.
func humps(name string) []string {
	var list []string
	start, last := 0, ' '
	for i, r := range name {
		if unicode.IsUpper(r) && unicode.IsLower(last) {
			list = append(list, name[start:i])
			start = i
		}
		last = r
	}
	if start == 0 {
		return nil
	}
	return append(list, name[start:])
}

// isFunctionWord reports whether a word tells nothing about a text.
func isFunctionWord(p *phrase) bool {
	return len(p.words) == 1 && !p.prefix && functionWords[p.words[0]]
}

var functionWords = func() map[string]bool {
	const all = `
		a an the and or of to in on at is are was were be been it its this that these those i we you he she they my our your me us
		do does did how what when where which who why with for from by as if then than so but can could should would will may might must shall have has
		had there their them into about der das und ist nicht mit für dem den le les des une est dans el los las una para con del`
	words := map[string]bool{}
	for word := range strings.FieldsSeq(all) {
		words[word] = true
	}
	return words
}()
