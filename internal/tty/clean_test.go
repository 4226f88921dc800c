package tty

import (
	"strings"
	"testing"
	"unicode"
)

// No code point is hidden, whatever stands around it.
func TestCleanShowsEveryCodePoint(t *testing.T) {
	t.Parallel()
	hidden := 0
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if r == '\n' || r == '\t' || unicode.Is(unicode.Cs, r) {
			continue
		}
		text := "a" + string(r) + "b"
		switch {
		case unicode.Is(unicode.Zs, r):
			if got := Clean(text); got != "a b" {
				t.Errorf("Clean shows %U as %q", r, got)
			}
		case isHidden(r):
			hidden++
			want := "a" + escape(r) + "b"
			if got, exact := Clean(text), CleanExactly(text); got != want || exact != want {
				t.Errorf("%U is shown as %q, and exactly as %q", r, got, exact)
			}
			if got := string(JSON([]byte(text))); strings.ContainsRune(got, r) {
				t.Errorf("JSON shows %U as %q", r, got)
			}
		}
	}
	if hidden < 4000 {
		t.Errorf("%d code points are hidden", hidden)
	}
}

// isHidden reports whether a code point is invisible, by another list than the one of the code.
func isHidden(r rune) bool {
	if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
		return true
	}
	for _, span := range [][2]rune{
		{0x34f, 0x34f}, {0x115f, 0x1160}, {0x17b4, 0x17b5}, {0x180b, 0x180f}, {0x200b, 0x200f}, {0x202a, 0x202e},
		{0x2060, 0x206f}, {0x2800, 0x2800}, {0x3164, 0x3164}, {0xfe00, 0xfe0f}, {0xfeff, 0xfeff}, {0xffa0, 0xffa0},
		{0xfff0, 0xfff8}, {0x1bca0, 0x1bca3}, {0x1d159, 0x1d159}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
	} {
		if r >= span[0] && r <= span[1] {
			return true
		}
	}
	return false
}

func TestCleanEmoji(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"❤\ufe0f":                   "❤\ufe0f",
		"❤\ufe0f\ufe0f":             "❤\ufe0f\\ufe0f",
		"❤\ufe0e":                   "❤\\ufe0e",
		"a\ufe0f":                   `a\ufe0f`,
		"1\ufe0f\u20e3 1\ufe0f":     "1\ufe0f\u20e3 1\\ufe0f",
		"👩\u200d💻":                  "👩\u200d💻",
		"👩🏽\u200d💻":                 "👩🏽\u200d💻",
		"🏳\ufe0f\u200d🌈":            "🏳\ufe0f\u200d🌈",
		"👩\u200d":                   `👩\u200d`,
		"👩\u200d\u200d💻":            `👩\u200d\u200d💻`,
		"\u200d💻 a\u200d💻 👩\u200da": `\u200d💻 a\u200d💻 👩\u200da`,
		"\u2800\ufe0f\u200d\u2800":  `\u2800\ufe0f\u200d\u2800`,
		"\ufe0f\u200d":              `\ufe0f\u200d`,
	} {
		if got := Clean(text); got != want {
			t.Errorf("Clean(%q) = %q, want %q", text, got, want)
		}
	}
}

// A text in pieces is cleaned like the complete text.
func TestCleanPiece(t *testing.T) {
	t.Parallel()
	const text = "Hi 👩🏽\u200d💻, ❤\ufe0f\u200d🔥 1\ufe0f\u20e3 a\u200bb می\u200cخواهم."
	for size := 1; size < 6; size++ {
		var got, exact, before string
		for runes := []rune(text); len(runes) > 0; {
			n := min(size, len(runes))
			piece := string(runes[:n])
			got += CleanPiece(before, piece)
			exact += CleanPieceExactly([]byte(before), piece)
			before, runes = before+piece, runes[n:]
		}
		if got != Clean(text) || exact != CleanExactly(text) {
			t.Errorf("by %d: %q and %q, want %q and %q", size, got, exact, Clean(text), CleanExactly(text))
		}
	}
}
