package lineedit

import (
	"slices"
	"strings"
	"unicode"

	"github.com/clewdev/clew/internal/tty"
)

// An Event is the result of a key press.
type Event int

// The results of a key press.
const (
	Edited    Event = iota // the text may have changed
	Submitted              // the text is complete
	Ended                  // the user has ended the input
)

// An Editor holds the text that the user is editing.
type Editor struct {
	// Header is a line above the text. It may be cut.
	Header string
	// Complete returns the completions of the text before the cursor, and the offset of the part
	// that they replace. Nil means no completion.
	Complete func(before string) (from int, choices []Choice)
	// History has earlier texts. Nil means none.
	History *History

	text   []rune
	at     int      // the position of the cursor
	hints  []string // lines below the text, clean
	leave  bool     // the next interrupt ends the input
	recall int      // the position in the history, or 0 for the draft
	draft  []rune   // the text that is not from the history
}

// Text returns the text.
func (e *Editor) Text() string { return string(e.text) }

// SetText replaces the text, and moves the cursor to its end.
func (e *Editor) SetText(text string) {
	e.text = []rune(text)
	e.at = len(e.text)
}

// Press handles a key.
func (e *Editor) Press(k Key) Event {
	leave := e.leave
	e.hints, e.leave = nil, false
	switch k.Code {
	case Enter:
		return e.enter()
	case EOF:
		if len(e.text) == 0 {
			return Ended
		}
		e.cut(e.at, e.after(e.at))
	case Interrupt:
		return e.interrupt(leave)
	case Tab:
		e.complete()
	case Up, Down:
		e.moveLine(k.Code == Up)
	default:
		e.edit(k)
	}
	return Edited
}

// enter submits the text. If it ends in a backslash, a line break replaces that instead.
func (e *Editor) enter() Event {
	if n := len(e.text); n > 0 && e.text[n-1] == '\\' {
		e.text[n-1] = '\n'
		e.at = n
		return Edited
	}
	if strings.TrimSpace(e.Text()) == "" {
		e.SetText("")
		return Edited
	}
	return Submitted
}

func (e *Editor) interrupt(leave bool) Event {
	switch {
	case len(e.text) > 0:
		e.SetText("")
		e.recall, e.draft = 0, nil
	case leave:
		return Ended
	default:
		e.leave, e.hints = true, []string{"Ctrl-C once more, or Ctrl-D, ends the chat."}
	}
	return Edited
}

// edit changes the text or moves the cursor.
func (e *Editor) edit(k Key) {
	switch k.Code {
	case Rune:
		e.insert([]rune{k.Rune})
	case Paste:
		e.insert([]rune(k.Text))
	case Newline:
		e.insert([]rune{'\n'})
	case Backspace:
		e.cut(e.before(e.at), e.at)
	case Delete:
		e.cut(e.at, e.after(e.at))
	case KillEnd:
		e.cut(e.at, max(e.lineEnd(e.at), min(e.at+1, len(e.text)))) // at the end of a line, its break
	case KillStart:
		e.cut(e.lineStart(e.at), e.at)
	case KillWord:
		e.cut(e.wordStart(), e.at)
	default:
		e.move(k.Code)
	}
}

func (e *Editor) move(code Code) {
	switch code {
	case Left:
		e.at = e.before(e.at)
	case Right:
		e.at = e.after(e.at)
	case WordLeft:
		e.at = e.wordStart()
	case WordRight:
		e.at = e.wordEnd()
	case Home:
		e.at = e.lineStart(e.at)
	case End:
		e.at = e.lineEnd(e.at)
	}
}

func (e *Editor) insert(text []rune) {
	e.text = slices.Insert(e.text, e.at, text...)
	e.at += len(text)
}

func (e *Editor) cut(from, to int) {
	e.text = slices.Delete(e.text, from, to)
	e.at = from
}

// before returns the start of the character before i, including its combining marks.
func (e *Editor) before(i int) int {
	for i > 0 {
		i--
		if !e.joined(i) {
			break
		}
	}
	return i
}

// after returns the end of the character at i.
func (e *Editor) after(i int) int {
	for i < len(e.text) {
		i++
		if !e.joined(i) {
			break
		}
	}
	return i
}

const joiner = '\u200d'

// joined reports whether the rune at i belongs to the character before it.
func (e *Editor) joined(i int) bool {
	if i == 0 || i >= len(e.text) || e.text[i-1] == '\n' {
		return false
	}
	return e.text[i] == joiner || e.text[i-1] == joiner || unicode.In(e.text[i], unicode.Mn, unicode.Me)
}

func (e *Editor) lineStart(i int) int {
	for i > 0 && e.text[i-1] != '\n' {
		i--
	}
	return i
}

func (e *Editor) lineEnd(i int) int {
	for i < len(e.text) && e.text[i] != '\n' {
		i++
	}
	return i
}

func (e *Editor) wordStart() int {
	i := e.at
	for i > 0 && unicode.IsSpace(e.text[i-1]) {
		i--
	}
	for i > 0 && !unicode.IsSpace(e.text[i-1]) {
		i--
	}
	return i
}

func (e *Editor) wordEnd() int {
	i := e.at
	for i < len(e.text) && unicode.IsSpace(e.text[i]) {
		i++
	}
	for i < len(e.text) && !unicode.IsSpace(e.text[i]) {
		i++
	}
	return i
}

// moveLine moves up or down by a line. Before the first and after the last line is the history.
func (e *Editor) moveLine(up bool) {
	start, end := e.lineStart(e.at), e.lineEnd(e.at)
	column := e.at - start
	switch {
	case up && start > 0:
		above := e.lineStart(start - 1)
		e.at = min(above+column, start-1)
	case !up && end < len(e.text):
		e.at = min(end+1+column, e.lineEnd(end+1))
	case up:
		e.remember(e.recall + 1)
	default:
		e.remember(e.recall - 1)
	}
}

// remember shows the nth newest text of the history, or for 0 the draft.
func (e *Editor) remember(n int) {
	if e.History == nil || n < 0 || n > e.History.Len() {
		return
	}
	if e.recall == 0 {
		e.draft = e.text
	}
	e.recall = n
	if n == 0 {
		e.SetText(string(e.draft))
		return
	}
	e.SetText(e.History.Newest(n))
}

// A Choice is a completion with a description.
type Choice struct {
	Text string
	Note string
}

// maxHints is the number of choices that are shown.
const maxHints = 12

// complete inserts the common beginning of all choices, and shows them if there are several.
func (e *Editor) complete() {
	if e.Complete == nil {
		return
	}
	typed := string(e.text[:e.at])
	from, choices := e.Complete(typed)
	if len(choices) == 0 {
		return
	}
	common := choices[0].Text
	for _, c := range choices[1:] {
		common = commonPrefix(common, c.Text)
	}
	if len(choices) == 1 {
		common += " "
	} else {
		e.hints = list(choices)
	}
	if strings.HasPrefix(common, typed[from:]) {
		e.insert([]rune(common[len(typed)-from:]))
	}
}

func commonPrefix(a, b string) string {
	i := 0
	for _, r := range a {
		if !strings.HasPrefix(b[i:], string(r)) {
			break
		}
		i += len(string(r))
	}
	return a[:i]
}

func list(choices []Choice) []string {
	var lines []string
	shown := choices
	if len(choices) > maxHints {
		shown = choices[:maxHints-1]
	}
	wide := 0
	for _, c := range shown {
		wide = max(wide, tty.Width(tty.Line(c.Text)))
	}
	for _, c := range shown {
		name := tty.Line(c.Text)
		lines = append(lines, strings.TrimRight(name+strings.Repeat(" ", wide-tty.Width(name)+2)+tty.Line(c.Note), " "))
	}
	if len(shown) < len(choices) {
		lines = append(lines, "…")
	}
	return lines
}
