package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// fold returns a word without accents, and with ss for ß.
func fold(word string) string {
	ascii := true
	for i := range len(word) {
		ascii = ascii && word[i] < utf8.RuneSelf
	}
	if ascii {
		return word
	}
	var b strings.Builder
	for _, r := range norm.NFD.String(word) {
		switch {
		case r == 'ß':
			b.WriteString("ss")
		case !unicode.IsMark(r):
			b.WriteRune(r)
		}
	}
	return b.String()
}

// endings are the endings of words that other forms of them don't have: English, German, French,
// Spanish and Russian ones, the longest first.
var endings = func() (byLength [8][]string) {
	const all = `
		izations ization ifications ification ications ication ations ation ators ator ating ated ates ate
		izing izers izer ized izes ize ising iser ised ises ise ness iness ments ment ingly ings ing ions ion iest ier ies ied ily
		ers er ed es est ly able ible ability ures ure ive ives s
		ungen ung ern en em heit keit lich isch te ten st
		aciones acion ados adas ado ada ando iendo cion ciones ar ir er os as
		ements ement eur euse ees ee
		ами ями ого его ому ему ыми ими ах ях ов ев ей ой ый ий ая яя ое ее ые ие ам ям ом ем а я ы и о е у ю ь`
	for ending := range strings.FieldsSeq(all) {
		n := min(utf8.RuneCountInString(ending), len(byLength)-1)
		byLength[n] = append(byLength[n], ending)
	}
	return byLength
}()

const (
	// minStem is the number of letters that an ending leaves at least.
	minStem = 4
	// minForm is the number of letters of the shortest word that has other forms.
	minForm = 3
)

// stem returns what the forms of a word have in common: "valid" for validate, validates and
// validation. It is no word in many cases. Words of several languages are in one text, so one list
// of endings is for all of them.
func stem(word string) string {
	word = fold(word)
	for range 2 {
		shorter := cutEnding(word)
		if shorter == word {
			break
		}
		word = shorter
	}
	if n := len(word); n > minStem && word[n-1] == word[n-2] {
		word = word[:n-1] // stopped
	}
	if n := len(word); n > minStem && strings.IndexByte("eyi", word[n-1]) >= 0 {
		word = word[:n-1]
	}
	return word
}

// cutEnding returns a word without its longest ending.
func cutEnding(word string) string {
	letters := utf8.RuneCountInString(word)
	for n := min(letters-minStem, len(endings)-1); n > 0; n-- {
		for _, ending := range endings[n] {
			if rest, ok := strings.CutSuffix(word, ending); ok && utf8.RuneCountInString(rest) >= minStem {
				return rest
			}
		}
	}
	if rest, ok := strings.CutSuffix(word, "s"); ok && letters > minForm && !strings.HasSuffix(rest, "s") {
		return rest
	}
	if rest, ok := strings.CutSuffix(word, "ing"); ok && letters > minForm+2 && rest[len(rest)-1] == rest[len(rest)-2] {
		return rest // running
	}
	return word
}

const maxForm = 32 // bytes of the longest word that has other forms

// hasForms reports whether a word may be a form or a part of another one: it has letters only,
// with a few digits at most at its end. The index lists such words.
func hasForms[T string | []byte](word T) bool {
	if len(word) < minForm || len(word) > maxForm {
		return false
	}
	digits := 0
	for i := range len(word) {
		if c := word[i]; c >= '0' && c <= '9' {
			digits++
		} else if digits > 0 {
			return false
		}
	}
	return digits <= 3 && digits < len(word) && !aloneAt(word)
}

// aloneAt reports whether a word is one character of a script without spaces.
func aloneAt[T string | []byte](word T) bool {
	if word[0] < utf8.RuneSelf {
		return false
	}
	r, _ := utf8.DecodeRuneInString(string(word[:min(len(word), utf8.UTFMax)]))
	return alone(r)
}

// formKey returns the first two letters of a word without accents. All forms of a word have the
// same.
func formKey(word string) string {
	word = fold(word)
	end := 0
	for i := range word {
		if end++; end == 3 {
			return word[:i]
		}
	}
	return word
}

// A tier is the closeness of a word to a word of a query.
type tier uint8

const (
	none  tier = iota
	exact      // it is the word
	form       // it is another form of it
	part       // it has the word as a part
)

const (
	minBegin = 4 // letters of the shortest word that finds longer words that start with it
	minPart  = 5 // letters of the shortest word that finds longer words that contain it
)

// isPart reports whether a word is a part of a longer one.
func isPart[T string | []byte](letters int, word string, longer T) bool {
	switch {
	case letters < minBegin || len(longer) <= len(word) || !hasForms(longer):
		return false
	case string(longer[:len(word)]) == word:
		return true
	}
	return letters >= minPart && strings.Contains(string(longer), word)
}
