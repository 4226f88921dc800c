package tty

import (
	"strings"
	"unicode/utf8"
)

// A Style is the meaning of a text on a screen. It is drawn in the terminal's own 16 colors, which
// its theme makes legible, on light and on dark. Without colors every screen reads as well.
type Style uint8

// The styles by meaning.
const (
	Plain    Style = iota
	Title          // the name of a session, the heads of tables
	Prompt         // what the user said
	Tool           // the name of a tool
	Path           // a file, a directory, a command
	Failure        // what failed
	Success        // what was checked and is right
	Addition       // a line or word that was added
	Removal        // a line or word that was removed
	Waiting        // what waits for the user
	Cost           // money
	Dim            // what is secondary
	Heading        // a heading in an answer
	Strong         // strong emphasis in an answer
	Emphasis       // emphasis in an answer
	Struck         // struck out in an answer
	Code           // code within a line of an answer
	Link           // a link in an answer
	Keyword        // in highlighted code, as are the following ones
	Literal
	Comment
	Number
	AddedWord   // the changed part of an added line
	RemovedWord // the changed part of a removed line
	Match       // what was searched for
)

// parameters are the parameters of the escape sequences that start the styles.
var parameters = [...]string{
	Plain: "", Title: "1", Prompt: "1;36", Tool: "1", Path: "36", Failure: "31", Success: "32", Addition: "32", Removal: "31",
	Waiting: "33", Cost: "33", Dim: "2", Heading: "1", Strong: "1", Emphasis: "3", Struck: "9", Code: "36", Link: "4",
	Keyword: "35", Literal: "32", Comment: "2", Number: "33", AddedWord: "1;7;32", RemovedWord: "1;7;31", Match: "1;31",
}

// Paint returns a clean text in a style, if color is set. Lines are painted one by one, so that each
// can be shown without the others.
func (s Style) Paint(text string, color bool) string {
	code := parameters[s]
	if !color || code == "" || text == "" {
		return text
	}
	const end = "\x1b[0m"
	begin := "\x1b[" + code + "m"
	return begin + strings.ReplaceAll(text, "\n", end+"\n"+begin) + end
}

// A StyleSet is a set of styles that a text has at once.
type StyleSet uint32

// With returns the set with another style.
func (set StyleSet) With(s Style) StyleSet { return set | 1<<s }

// Has reports whether a style is in the set.
func (set StyleSet) Has(s Style) bool { return set&(1<<s) != 0 }

// Paint is like [Style.Paint] for a line of a set of styles.
func (set StyleSet) Paint(line string, color bool) string {
	if !color || line == "" {
		return line
	}
	codes := ""
	for s, code := range parameters {
		if code != "" && set.Has(Style(s)) { //nolint:gosec // there are few styles
			codes += ";" + code
		}
	}
	if codes == "" {
		return line
	}
	return "\x1b[" + codes[1:] + "m" + line + "\x1b[0m"
}

// Hyperlink returns a clean and painted line as a link to a target, for a terminal that knows OSC 8. The
// line stays as it is if the target has any character but the visible ones of ASCII.
func Hyperlink(line, target string) string {
	for i := range len(target) {
		if target[i] <= ' ' || target[i] > '~' {
			return line
		}
	}
	const begin, end = "\x1b]8;;", "\x1b\\"
	return begin + target + end + line + begin + end
}

// Notification returns the sequences that make a terminal notify the user, even if its window is
// not in front: the bell, and a desktop notification in both of its forms, OSC 9 and OSC 777.
// Terminals ignore forms that they don't know. A terminal of a kind that knows both gets only one,
// and an old console, which would show the text, only the bell. The texts may be untrusted.
func Notification(terminal, program, title, text string) string {
	const bell, end = "\a", "\x1b\\"
	if terminal == "linux" {
		return bell
	}
	title, text = noticeText(title), noticeText(text)
	// The text of OSC 9 starts with ours: a leading digit means another request.
	short := "\x1b]9;" + title + ": " + text + end
	knowsBoth := strings.HasPrefix(terminal, "foot") || strings.HasSuffix(terminal, "ghostty") ||
		program == "ghostty" || program == "WezTerm"
	if knowsBoth {
		return bell + short
	}
	return bell + short + "\x1b]777;notify;" + title + ";" + text + end
}

// noticeText returns a text in a form that can be a part of a notification: a short clean line,
// without what separates its parts, and without a byte that some terminals take for its end.
func noticeText(text string) string {
	const maxColumns = 80
	return strings.Map(func(r rune) rune {
		switch {
		case r == ';':
			return ','
		case strings.Contains(string(r), "\x9c"):
			return '?'
		}
		return r
	}, Fit(Line(text), maxColumns))
}

// CutPainted returns the beginning of a painted line that fits into columns. Escape sequences take no
// room, and those after the cut are kept, so that the line ends as it would.
func CutPainted(line string, columns int) string {
	if len(line) <= columns || PaintedWidth(line) <= columns {
		return line
	}
	var b strings.Builder
	used := 0
	for line != "" {
		if n := EscapeLength(line); n > 0 {
			b.WriteString(line[:n])
			line = line[n:]
			continue
		}
		r, size := utf8.DecodeRuneInString(line)
		if used += RuneWidth(r); used <= columns {
			b.WriteString(line[:size])
		}
		line = line[size:]
	}
	return b.String()
}

// PaintedWidth returns the number of columns of a painted line.
func PaintedWidth(line string) int {
	used := 0
	for line != "" {
		if n := EscapeLength(line); n > 0 {
			line = line[n:]
			continue
		}
		r, size := utf8.DecodeRuneInString(line)
		used += RuneWidth(r)
		line = line[size:]
	}
	return used
}

// BrokenRows returns how many rows a painted line takes on a terminal of so many columns that breaks it,
// and in which of them, from 0, is what was in a column before.
func BrokenRows(line string, columns, column int) (rows, row int) {
	used, before := 0, 0 // of the row, and of the whole line
	rows = 1
	for line != "" {
		if n := EscapeLength(line); n > 0 {
			line = line[n:]
			continue
		}
		r, size := utf8.DecodeRuneInString(line)
		line = line[size:]
		w := RuneWidth(r)
		if used+w > columns && used > 0 {
			rows, used = rows+1, 0
		}
		used += w
		if before += w; column >= before-w {
			row = rows - 1
		}
	}
	return rows, row
}
