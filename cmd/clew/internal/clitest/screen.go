package clitest

import (
	"strconv"
	"testing"
	"time"
	"unicode/utf8"
)

// Widths are the widths of the goldens.
var Widths = []int{40, 80, 200}

// Now is the time of the goldens, a Tuesday.
var Now = time.Date(2026, time.November, 17, 14, 30, 0, 0, time.FixedZone("", 3600))

// CheckHarmless fails if a terminal might obey or hide a part of the text.
func CheckHarmless(t *testing.T, stream, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("%s is not UTF-8", stream)
	}
	for i, r := range text {
		if r != '\n' && !strconv.IsPrint(r) {
			t.Errorf("%s has %U in %q", stream, r, text[max(i-20, 0):min(i+20, len(text))])
			return
		}
	}
}

// Choices are below each question that has no rule to suggest.
const Choices = "  y  yes, once\n  n  no\n  e  no, and say why\n  ?  explain the answers\nAllow it? "

// PlainChoices are choices where nothing is drawn.
const PlainChoices = "  1  yes, once\n  2  no\n  3  no, and say why\n  ?  explain the answers\nAllow it? "
