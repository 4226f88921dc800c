package redact

import (
	_ "embed"
	"encoding/json"
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
		r.before = wordStart
	}
	if g.Named {
		r.pattern = `(?i)(?:` + strings.Join(g.Anchors, "|") + `)` + restOfName + equals + `(` + g.Pattern + `)` + endOfValue
		r.wanted = hasDigit
	}
	return r
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
