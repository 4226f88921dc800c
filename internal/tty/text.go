package tty

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Line is like [Clean], and joins all words into one line.
func Line(s string) string { return strings.Join(strings.Fields(Clean(s)), " ") }

// Width returns the number of columns of a clean line.
func Width(line string) int {
	n := 0
	for _, r := range line {
		n += RuneWidth(r)
	}
	return n
}

// RuneWidth returns the number of columns of a clean character.
func RuneWidth(r rune) int {
	if r < 0x300 {
		return 1
	}
	if r == joiner || unicode.In(r, unicode.Mn, unicode.Me) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Fit cuts a clean line to columns. A line that was cut ends in an ellipsis.
func Fit(line string, columns int) string {
	if cut(line, columns) == len(line) {
		return line
	}
	return strings.TrimRight(Cut(line, columns-1), string(joiner)) + "…" // a joiner joins nothing at the end
}

// Cut returns the beginning of a clean line that fits into columns.
func Cut(line string, columns int) string { return line[:cut(line, columns)] }

// cut returns the number of bytes of a line that fit into columns.
func cut(line string, columns int) int {
	n := 0
	for i, r := range line {
		if n += RuneWidth(r); n > columns {
			return i
		}
	}
	return len(line)
}

// Wrap breaks the lines of a clean text so that they fit into columns, between words if possible. 0
// columns means no limit.
func Wrap(text string, columns int) []string {
	var lines []string
	for line := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		line = strings.TrimRight(line, " ")
		head := line
		for columns > 0 && line != "" {
			head, line = breakLine(line, columns)
			if line != "" {
				lines = append(lines, head)
			}
		}
		lines = append(lines, head)
	}
	return lines
}

// breakLine splits a line after what fits into columns, which is at least one rune.
func breakLine(line string, columns int) (head, rest string) {
	end := cut(line, columns)
	if end == len(line) {
		return line, ""
	}
	if end == 0 {
		_, end = utf8.DecodeRuneInString(line)
	}
	if strings.HasPrefix(line[end:], " ") {
		return strings.TrimRight(line[:end], " "), strings.TrimLeft(line[end:], " ")
	}
	if space := strings.LastIndexByte(line[:end], ' '); space > 0 && strings.Trim(line[:space], " ") != "" {
		end = space + 1
	}
	return strings.TrimRight(line[:end], " "), line[end:]
}

// Break splits a clean line into rows of at most columns, after a space if there is one in the
// second half of a row. It drops nothing, and counts characters as the terminals do that draw them
// widest: ambiguous ones and symbols with two columns, and marks with a column each.
func Break(line string, columns int) []string {
	columns = max(columns, 2)
	var rows []string
	start, used := 0, 0
	space, usedAtSpace := 0, 0 // after the last space of the row
	for i, r := range line {
		w := widest(r)
		if used+w > columns {
			end := i
			if usedAtSpace > columns/2 {
				end = space
			} else {
				usedAtSpace = used
			}
			rows = append(rows, line[start:end])
			start, used, usedAtSpace = end, used-usedAtSpace, 0
		}
		used += w
		if r == ' ' {
			space, usedAtSpace = i+1, used
		}
	}
	return append(rows, line[start:])
}

// FitWidest is like [Fit], and counts like [Break].
func FitWidest(line string, columns int) string {
	used, end := 0, 0 // end is the cut of a line that does not fit
	for i, r := range line {
		if used += widest(r); used > columns {
			return line[:end] + "…"
		}
		if used <= columns-widest('…') {
			end = i + utf8.RuneLen(r)
		}
	}
	return line
}

// WidestWidth is like [Width], and counts like [Break].
func WidestWidth(line string) int {
	n := 0
	for _, r := range line {
		n += widest(r)
	}
	return n
}

// widest returns the most columns that a terminal uses for a rune.
func widest(r rune) int {
	if r < unicode.MaxASCII {
		return 1
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth, width.EastAsianAmbiguous:
		return 2
	}
	if unicode.Is(unicode.So, r) {
		return 2
	}
	return 1
}

// JSON escapes the characters of a JSON text that a terminal might interpret or hide. They occur
// only inside strings.
func JSON(text []byte) []byte {
	if isPlain(text) {
		return text
	}
	escaped := make([]byte, 0, len(text)+16)
	for _, r := range string(text) {
		switch {
		case IsVisible(r) || r == '\n':
			escaped = utf8.AppendRune(escaped, r)
		case r <= 0xFFFF:
			escaped = appendUnit(escaped, r)
		default:
			r -= 0x10000
			escaped = appendUnit(escaped, 0xD800+r>>10)
			escaped = appendUnit(escaped, 0xDC00+r&0x3FF)
		}
	}
	return escaped
}

func isPlain(text []byte) bool {
	for _, c := range text {
		if c >= 0x7F || c < ' ' && c != '\n' {
			return false
		}
	}
	return true
}

// appendUnit appends one unit of UTF-16 as JSON escapes it.
func appendUnit(dst []byte, unit rune) []byte {
	const digits = "0123456789abcdef"
	return append(dst, '\\', 'u', digits[unit>>12&15], digits[unit>>8&15], digits[unit>>4&15], digits[unit&15])
}
