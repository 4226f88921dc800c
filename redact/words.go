package redact

import (
	_ "embed"
	"slices"
	"strings"
	"unicode"
)

// letterPairs has how rare each pair of characters is in names and words, as the comments and the
// code of Go's source use them: one line for each first character, with a character for each second
// one. The characters are a to z, any digit, and the border of a word. The value is the number of
// bits that the second character costs after the first one, in quarters, above '0'. TestLetterPairs
// writes the file.
//
//go:embed pairs.txt
var letterPairs string

const (
	pairDigit  = 26
	pairBorder = 27
	pairKinds  = 28
	// digitBits is the cost of one of ten digits, in quarters of a bit.
	digitBits = 13
	// maxWordBits is the greatest mean cost of a character of words, in quarters of a bit. Random
	// characters cost more: 98 of 100 texts of eight small letters do, and 997 of 1,000 texts of eight
	// letters and digits.
	maxWordBits = 19
)

// pairBits returns the cost of a character after another one, in quarters of a bit.
func pairBits(first, second int) int {
	bits := int(letterPairs[first*(pairKinds+1)+second]) - '0'
	if second == pairDigit {
		bits += digitBits
	}
	return bits
}

// pairKind returns the row and the column of a character in letterPairs.
func pairKind(c byte) int {
	switch {
	case c >= 'a' && c <= 'z':
		return int(c - 'a')
	case c >= 'A' && c <= 'Z':
		return int(c - 'A')
	case c >= '0' && c <= '9':
		return pairDigit
	}
	return pairBorder
}

// sampleWords are the words that names of tests and examples consist of. They cost nothing.
var sampleWords = map[string]bool{
	"abc": true, "access": true, "api": true, "apikey": true, "app": true, "auth": true, "authkey": true, "bar": true, "bot": true, "change": true,
	"client": true, "cred": true, "creds": true, "credential": true, "credentials": true, "db": true, "def": true, "demo": true, "dummy": true, "env": true,
	"example": true, "fake": true, "foo": true, "ghi": true, "here": true, "id": true, "invalid": true, "jwt": true, "key": true, "me": true, "my": true,
	"new": true, "oauth": true, "old": true, "pass": true, "passwd": true, "password": true, "placeholder": true, "private": true, "pwd": true,
	"replace": true, "sample": true, "secret": true, "some": true, "test": true, "testing": true, "the": true, "token": true, "user": true, "valid": true, "value": true,
	"wrong": true, "xyz": true, "your": true,
}

// isWords reports whether a value consists of words and small numbers, as names, types, selectors
// and sentences do. Random characters don't.
func isWords(value string) bool {
	bits, n := wordBits(value)
	return n > 0 && bits <= maxWordBits*n && !hasManyDigits(value)
}

// hasManyDigits reports whether a value has more digits than a date.
func hasManyDigits(value string) bool {
	n := 0
	for i := range len(value) {
		if isDigit(value[i]) {
			n++
		}
	}
	return n > len("20060102")
}

// isSample reports whether a value consists only of words such as "my-test-password", and of numbers.
func isSample(value string) bool {
	bits, n := wordBits(value)
	return n > 0 && bits == 0
}

// exampleWords are the sample words that make a password one of an example, and passwordWords those
// that a setting with a password ends with.
var (
	exampleWords  = []string{"change", "dummy", "example", "fake", "here", "invalid", "placeholder", "replace", "sample", "test", "wrong", "your"}
	passwordWords = []string{"credentials", "key", "pass", "passwd", "password", "pwd", "secret", "token"}
)

// isSamplePassword is like isSample, for a password. People choose weak passwords such as Password123
// from the same words. A placeholder has no digits. It has a word of examples, as in your-password, or
// is the name of a password, as in password and db_password.
func isSamplePassword(value string) bool {
	if hasDigit(value) || !isSample(value) {
		return false
	}
	value = strings.ToLower(value)
	isIn := func(word string) bool { return strings.Contains(value, word) }
	last := value[strings.LastIndexFunc(value, func(r rune) bool { return !unicode.IsLetter(r) })+1:]
	return slices.ContainsFunc(exampleWords, isIn) || slices.Contains(passwordWords, last)
}

// wordBits returns the cost of a value, in quarters of a bit, and its number of letters and digits.
func wordBits(value string) (bits, n int) {
	for at := 0; at < len(value); {
		if !isAlphanumeric(value[at]) {
			at++
			continue
		}
		end := wordEnd(value, at)
		word := value[at:end]
		letters := strings.TrimRight(word, "0123456789")
		n += len(word)
		if known := isSampleWord(strings.ToLower(letters)); !known || len(word)-len(letters) > 4 {
			if known {
				word = word[len(letters):]
			}
			bits += rarity(word, at == 0 || !isAlphanumeric(value[at-1]))
		}
		at = end
	}
	return bits, n
}

// isSampleWord reports whether a word is one of sampleWords, or two of them.
func isSampleWord(word string) bool {
	if sampleWords[word] {
		return true
	}
	for i := 2; i < len(word)-1 && len(word) <= 20; i++ {
		if sampleWords[word[:i]] && sampleWords[word[i:]] {
			return true
		}
	}
	return false
}

// wordEnd returns the end of the word at the given offset: where its letters and digits end, before
// a capital letter after a small one, and before a letter after a digit.
func wordEnd(value string, at int) int {
	for at++; at < len(value) && isAlphanumeric(value[at]); at++ {
		last, c := value[at-1], value[at]
		if isUpper(c) && !isUpper(last) || !isDigit(c) && isDigit(last) {
			break
		}
	}
	return at
}

// rarity returns the cost of a word, in quarters of a bit. A border before it that does not show, as
// in camelCase, costs as well.
func rarity(word string, border bool) int {
	bits, last := 0, pairBorder
	if !border {
		bits += pairBits(0, pairBorder) // as rare as after an a
	}
	for i := range len(word) {
		kind := pairKind(word[i])
		bits += pairBits(last, kind)
		last = kind
	}
	return bits
}

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
