package clewtest

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// A difference is one place where a host frame is not what the scenario names.
type difference struct {
	pointer   string // a JSON pointer; "" is the whole frame
	want, got string
}

func (d difference) String() string {
	want, got := shortenPair(d.want, d.got)
	return fmt.Sprintf("%s: want %s, got %s", d.pointer, want, got)
}

// mostShown is how many bytes of a text are printed for people.
const mostShown = 240

// shorten cuts a text that is printed for people.
func shorten(text string) string { return excerpt(text, 0) }

// shortenPair cuts two texts that differ, so that the first difference is in what is left.
func shortenPair(a, b string) (string, string) {
	const before = 40
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	start := 0
	if max(len(a), len(b)) > mostShown && same > mostShown-before {
		start = same - before
	}
	return excerpt(a, start), excerpt(b, start)
}

// excerpt returns what of text is printed, from about start on.
func excerpt(text string, start int) string {
	for start > 0 && start < len(text) && !utf8.RuneStart(text[start]) {
		start--
	}
	start = min(start, len(text))
	shown := text[start:]
	if start == 0 && len(shown) <= mostShown {
		return shown
	}
	note := fmt.Sprintf(" (%d bytes)", len(text))
	if start > 0 {
		note = fmt.Sprintf(" (from byte %d of %d)", start, len(text))
		shown = "…" + shown
	}
	if len(shown) > mostShown {
		shown = strings.ToValidUTF8(shown[:mostShown], "") + "…"
	}
	return shown + note
}
