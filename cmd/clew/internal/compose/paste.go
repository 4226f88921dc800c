package compose

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clewdev/clew/internal/wording"
)

// A pasted text that is longer than this is shown as one element, and so are other texts of more than
// maxEdited characters.
const (
	maxPastedLines = 10
	maxPastedBytes = 2000
	maxEdited      = 100_000
)

// isPaste reports whether a rune of the text stands for a long text that was pasted. No character
// has such a number.
func isPaste(r rune) bool { return r > unicode.MaxRune }

// paste adds a pasted text at the cursor.
func (e *Editor) paste(text string) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	if text != "" {
		e.put(e.packed(text), replacing)
	}
}

// packed returns the runes of a text: one, if it is long.
func (e *Editor) packed(text string) []rune {
	if len(text) <= maxPastedBytes && strings.Count(text, "\n") < maxPastedLines {
		return []rune(text)
	}
	e.pastes = append(e.pastes, text)
	return []rune{unicode.MaxRune + rune(len(e.pastes))}
}

// pasted returns the text that a rune stands for.
func (e *Editor) pasted(r rune) string { return e.pastes[r-unicode.MaxRune-1] }

// expand returns a part of the text, with everything that was pasted.
func (e *Editor) expand(text []rune) string {
	var b strings.Builder
	for _, r := range text {
		if isPaste(r) {
			b.WriteString(e.pasted(r))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// pasteLabel returns the label of a pasted text.
func pasteLabel(text string) string {
	lines := strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1
	if lines == 1 {
		return "[pasted " + wording.Number(utf8.RuneCountInString(text)) + " characters]"
	}
	return "[pasted " + wording.Number(lines) + " lines]"
}
