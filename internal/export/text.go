package export

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/clewdev/clew/internal/render"
)

const joiner = '\u200d' // makes one picture of two, and hides nothing

// clean makes a text that comes from elsewhere visible: colours of a terminal go,
// and other control characters, invisible ones and those that turn the direction
// of text are escaped as in a Go string. Line ends and tabs stay.
func clean(text string) string {
	if isClean(text) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		end := 1
		switch n := colourCode(text); {
		case n > 0:
			end = n
		case text[0] == '\t':
			b.WriteByte('\t')
		default:
			if next := strings.IndexAny(text[1:], "\t\x1b"); next >= 0 {
				end = 1 + next
			} else {
				end = len(text)
			}
			b.WriteString(render.Clean(text[:end]))
		}
		text = text[end:]
	}
	return b.String()
}

func isClean(text string) bool {
	for _, r := range text {
		if r == utf8.RuneError || !isVisible(r) {
			return false
		}
	}
	return true
}

func isVisible(r rune) bool { return r == '\n' || r == '\t' || r == joiner || strconv.IsPrint(r) }

// colourCode returns the length of the sequence that a text begins with, if it
// sets a colour and nothing else.
func colourCode(text string) int {
	if !strings.HasPrefix(text, "\x1b[") {
		return 0
	}
	for i := 2; i < min(len(text), 34); i++ {
		switch c := text[i]; {
		case c == 'm':
			return i + 1
		case c != ';' && c != ':' && (c < '0' || c > '9'):
			return 0
		}
	}
	return 0
}

// oneLine makes a clean line of a text, not longer than max characters.
func oneLine(text string, most int) string {
	if len(text) > 8*most {
		text = cutAt(text, 8*most)
	}
	line := strings.Join(strings.Fields(clean(text)), " ")
	if utf8.RuneCountInString(line) <= most {
		return line
	}
	runes := []rune(line)
	return strings.TrimRight(string(runes[:most-1]), " ") + "…"
}

// cutAt returns the first n bytes of a text, or some less: runes stay whole.
func cutAt(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// shorten cuts a text to the limit, at the end of a line if there is one, and
// says how much is missing. A limit of 0 is none.
func shorten(text string, limit int) (head string, missing int) {
	if limit <= 0 || len(text) <= limit {
		return text, 0
	}
	head = cutAt(text, limit)
	if end := strings.LastIndexByte(head, '\n'); end > limit/2 {
		head = head[:end]
	}
	return head, len(text) - len(head)
}

// formatSize writes a number of bytes for people.
func formatSize(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d bytes", n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// formatCount writes a number for people, in about three digits.
func formatCount(n int) string {
	switch {
	case n < 10_000:
		return strconv.Itoa(n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return fmt.Sprintf("%.2fM", float64(n)/1e6)
}

func formatDuration(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", ms)
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
