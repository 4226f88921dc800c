// Package fuzzy filters lists with the search syntax of fzf.
//
//	wrd       the characters in this order, with others between them
//	'word     the word as it is
//	'word'    the word as it is, and not a part of another one
//	^word     at the beginning
//	word$     at the end
//	!word     not the word; also !^word and !word$, and !'wrd for the characters
//	a | b     one or the other
//
// Words are separated by spaces, and all of them must match; a backslash before a space makes it a
// part of the word. A word in lower case matches any case. If a text has several lines, each word has
// to match one of them. The package is pure.
package fuzzy

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Query is the parsed text that the user has typed. The zero value matches everything.
type Query struct {
	all []anyOf // each must match
}

// An anyOf is a set of terms of which one must match.
type anyOf []term

type kind uint8

const (
	scattered kind = iota // the characters in order
	exact
	whole // exact, and not a part of another word
	prefix
	suffix
	equal
)

// A term is one word of a query.
type term struct {
	kind    kind
	not     bool
	cased   bool   // upper and lower case differ
	text    string // folded unless it is cased
	letters []string
}

// Parse reads a query. Every text is one: what has no meaning in the syntax stands for itself.
func Parse(text string) Query {
	var q Query
	joined := false // after a bar
	for _, word := range words(strings.ToValidUTF8(text, "�")) {
		if word == "|" && len(q.all) > 0 && !joined {
			joined = true
			continue
		}
		t, ok := parseTerm(strings.ReplaceAll(word, "\x00", " "))
		switch last := len(q.all) - 1; {
		case !ok:
		case joined:
			q.all[last] = append(q.all[last], t)
		default:
			q.all = append(q.all, anyOf{t})
		}
		joined = false
	}
	return q
}

// words splits a query at its spaces. Escaped ones become NUL.
func words(text string) []string {
	text = strings.ReplaceAll(text, "\x00", "")
	return strings.Fields(strings.ReplaceAll(text, `\ `, "\x00"))
}

// parseTerm reads a word. It is not a term if nothing is left of it without its marks.
func parseTerm(word string) (t term, ok bool) {
	word, t.not = strings.CutPrefix(word, "!")
	if t.not {
		t.kind = exact
	}
	if cut, ok := strings.CutSuffix(word, "$"); ok && cut != "" {
		word, t.kind = cut, suffix
	}
	switch {
	case len(word) > 2 && word[0] == '\'' && word[len(word)-1] == '\'':
		word, t.kind = word[1:len(word)-1], whole
	case strings.HasPrefix(word, "'") && t.not:
		word, t.kind = word[1:], scattered
	case strings.HasPrefix(word, "'"):
		word, t.kind = word[1:], exact
	case strings.HasPrefix(word, "^") && t.kind == suffix:
		word, t.kind = word[1:], equal
	case strings.HasPrefix(word, "^"):
		word, t.kind = word[1:], prefix
	}
	t.cased = strings.IndexFunc(word, unicode.IsUpper) >= 0
	if t.text = word; !t.cased {
		t.text = fold(word)
	}
	for i := 0; i < len(t.text); {
		_, size := utf8.DecodeRuneInString(t.text[i:])
		t.letters = append(t.letters, t.text[i:i+size])
		i += size
	}
	return t, word != ""
}

// Empty reports whether the query matches everything because nothing was asked for.
func (q Query) Empty() bool { return len(q.all) == 0 }

// narrows reports whether everything that matches q also matches old, so that the other texts need
// not be looked at again.
func (q Query) narrows(old Query) bool {
	if len(q.all) < len(old.all) {
		return false
	}
	for i, any := range old.all {
		if !q.all[i].narrows(any) {
			return false
		}
	}
	return true
}

func (a anyOf) narrows(old anyOf) bool {
	if len(a) != len(old) {
		return false
	}
	for i := range a {
		if !a[i].narrows(&old[i]) {
			return false
		}
	}
	return true
}

func (t *term) narrows(old *term) bool {
	if old.cased && !t.cased {
		return false
	}
	text := t.text
	if !old.cased {
		text = fold(text)
	}
	switch {
	case t.not != old.not:
		return false
	case t.not: // a longer word is less often there
		return t.kind == old.kind && t.text == old.text && t.cased == old.cased
	case old.kind == scattered:
		return strings.HasPrefix(text, old.text)
	case old.kind == exact:
		return t.kind != scattered && strings.HasPrefix(text, old.text)
	case old.kind == prefix:
		return t.kind == prefix && strings.HasPrefix(text, old.text)
	}
	return t.kind == old.kind && text == old.text
}

// fold returns a text in lower case. Characters keep their places: a character whose other case takes
// another number of bytes stays as it is.
func fold(text string) string {
	ascii := true
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			ascii = false
			break
		}
	}
	if ascii {
		return strings.ToLower(text)
	}
	var b strings.Builder
	b.Grow(len(text))
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if low := unicode.ToLower(r); low != r && utf8.RuneLen(low) == size {
			b.WriteRune(low)
		} else {
			b.WriteString(text[i : i+size])
		}
		i += size
	}
	return b.String()
}
