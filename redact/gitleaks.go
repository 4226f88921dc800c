package redact

import (
	_ "embed"
	"encoding/json"
	"hash/fnv"
	"strings"
)

// gitleaksRules are the rules of gitleaks 8.30.1 (https://github.com/gitleaks/gitleaks, MIT, see
// gitleaks.LICENSE), rewritten so that a match starts at an anchor. Those that other rules include
// are left out: private keys, JSON web tokens, options of curl, and values with secret names.
//
//go:embed gitleaks.json
var gitleaksRules []byte

// A gitleaksRule is an element of gitleaks.json.
type gitleaksRule struct {
	ID      string   `json:"id"`
	Anchors []string `json:"anchors"`
	Back    int      `json:"back"`    // see Rule
	Word    bool     `json:"word"`    // the match is at the beginning of a word
	Named   bool     `json:"named"`   // the pattern is that of a value whose name has an anchor
	Pattern string   `json:"pattern"` // see Rule
	Entropy float64  `json:"entropy"` // see Rule
}

// Patterns for the text between an anchor in the name of a setting and its value, and for the end
// of the value.
const (
	restOfName = `[ \t\w.-]{0,30}`
	equals     = `(?:\\*["'\x60]|%22|[\s\]]){0,4}(?:=|>|:{1,3}=|\|\||:|=>|\?=|,|%3[AD])(?:\\*["'\x60]|%2[02]|[\s=(]){0,5}`
	endOfValue = `(?:[^\w-]|$)`
)

// rule returns the rule as one of this package.
func (g *gitleaksRule) rule() Rule {
	r := Rule{Name: "service-key", anchors: g.Anchors, back: g.Back, pattern: g.Pattern, entropy: g.Entropy}
	r.About = "keys and tokens of 200 other services, by prefix or by the name of the service before them"
	if g.Word {
		r.before, r.broken, r.alone = wordStart, true, true
	}
	short := len(g.Anchors[0]) <= 2 // as in selectors
	r.wanted = func(value string) bool { return isKey(value) && !isWords(value) && (!short || hasDigit(value)) }
	if g.Named {
		r.pattern = `(?i)(?:` + strings.Join(g.Anchors, "|") + `)` + restOfName + equals + `(` + g.Pattern + `)` + endOfValue
		r.wanted = func(value string) bool { return hasDigit(value) && isKey(value) }
		r.starts = g.startsName
	}
	return r
}

// startsName reports whether an anchor starts a word, and is not a part of others such as "sumObject".
func (g *gitleaksRule) startsName(text string, at int) bool {
	for _, name := range g.Anchors {
		if len(text)-at < len(name) || !strings.EqualFold(text[at:at+len(name)], name) {
			continue
		}
		found := text[at : at+len(name)]
		first, last := found[0], found[len(found)-1]
		whole := found == strings.ToUpper(found) || !isUpper(last) && (isUpper(first) || found == strings.ToLower(found))
		return whole && (at == 0 || !isLetter(text[at-1]) || isUpper(first) && !isUpper(text[at-1]) || endsEscape(text[:at]))
	}
	return false
}

// publicKeys are the keys that gitleaks knows to be public, such as keys of sample programs, as FNV-1a
// hashes.
var publicKeys = map[uint64]bool{
	0xc800bf2100a21c67: true,
	0x6acbd824bd32bbd4: true,
	0x29a336c7244f48dd: true,
	0x08b545962adc7d8b: true,
	0xe7666dbb286c6c2e: true,
	0x99b2726346a1e92a: true,
	0x12113c2e6979f447: true,
	0x828818f833257868: true,
	0x6835e0f288832a40: true,
	0x816cd10fdb11ead0: true,
	0xadbd04e3fe1b6d49: true,
	0xdb9422f1dd332dcc: true,
	0x515cb771a4238032: true,
	0xe754678ea2b14ef1: true,
	0xc73f1e61952e6987: true,
	0x294c63f8344d5df1: true,
	0xd8e13cded25333c6: true,
}

// isKey reports whether a value can be a key: it is not public, and not the placeholder of an example.
func isKey(value string) bool {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(value)) // never fails
	return !publicKeys[hash.Sum64()] && !isPlaceholder(value)
}

// serviceRules find keys by the rules of gitleaks.
func serviceRules() []Rule {
	var table []gitleaksRule
	if err := json.Unmarshal(gitleaksRules, &table); err != nil {
		panic("redact: gitleaks.json: " + err.Error()) // the file is part of the program
	}
	rules := make([]Rule, len(table))
	for i := range table {
		rules[i] = table[i].rule()
	}
	return rules
}
