package cli

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/clewdev/clew/internal/render"
)

// printable makes a text that comes from elsewhere fit for a terminal: control
// characters, invisible ones and bytes that are not UTF-8 are escaped as in a Go
// string, so that it neither moves the cursor nor leaves its line.
func printable(s string) string {
	quoted := strconv.Quote(s)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

// escaped is printable for a text that is one of ours, but for what it quotes: if
// nothing of it needs escaping, it stays as it is.
func escaped(s string) string {
	for _, r := range s {
		if !strconv.IsPrint(r) || r == utf8.RuneError {
			return printable(s)
		}
	}
	return s
}

// maxText is how many bytes are kept of a text that comes from elsewhere.
const maxText = 160

// clip shortens a text to what is worth keeping, and holds on to no more memory
// than that.
func clip(s string) string {
	if len(s) <= maxText {
		return s
	}
	end := maxText
	for end > maxText-utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// escapeLine escapes the characters of a line of JSON that a terminal might obey
// or hide.
func escapeLine(line []byte) []byte { return render.JSON(line) }

// harmless makes a text of several lines fit for a terminal, and leaves the rest of
// it as it is.
func harmless(s string) string { return render.CleanExactly(s) }
