package agentcli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/cmd/clew/internal/ask"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
)

// A sheet is a question in pages, with our rows below the last page that explain the answers.
type sheet struct {
	*ask.Sheet
	always  []ask.Change // the ones that the answer "always" makes
	shown   int          // number of rows shown
	choices []string     // our rows that explain the answers, or nil if there is no room
	letters []string     // of the choices, if they are numbered
}

// describe returns a question about a tool use: everything in its input, and the changes that the
// answer "always" makes.
func describe(q *ask.Question, v ask.Surface) *sheet {
	s := &sheet{Sheet: q.Sheet(v), always: q.Marked()}
	var texts []string
	for _, change := range s.always {
		texts = append(texts, change.Text)
	}
	if s.offer(texts) {
		return s
	}
	for _, text := range texts {
		s.Add(0, "always: "+text)
	}
	s.offer([]string{"does what is said above"})
	return s
}

// describeChoice returns a question with options.
func describeChoice(q *clew.Question, v ask.Surface, aside string) *sheet {
	s := &sheet{Sheet: ask.ChoiceSheet(q, v)}
	s.Aside = aside
	return s
}

// Indents of the choices.
const (
	choiceIndent = len("  a  ")
	alwaysIndent = len("  a  always     ")
	minChoice    = 26 // columns for choices that are explained
	minChoices   = 46 // columns for always and its changes in a row
	minPrompt    = 20 // columns for prompts that name all answers
)

// offer sets the choices. always has the clean texts of the choice always, or is empty if there is
// no such choice. They are beside the choice if they are short: often they are about more than the
// question, and sometimes for later sessions. Without room on the screen it sets no choices, and
// returns false if always has texts, which would be shown nowhere else.
func (s *sheet) offer(always []string) bool {
	const maxAlways, least = 4, 3
	s.letters = nil
	rows := []string{s.choice("y") + "yes, once"}
	if len(always) > 0 {
		said := s.alwaysRows(always)
		if len(said) > maxAlways {
			return false
		}
		rows = append(rows, said...)
	}
	rows = append(rows, s.choice("n")+"no", s.choice("e")+"no, and say why", s.choice("?")+"explain the answers")
	if s.Rows < len(rows)+1+2+least || s.Columns < minChoice {
		return len(always) == 0
	}
	s.choices = rows
	return true
}

// choice returns the start of a choice's row. Without a box, choices are numbered.
func (s *sheet) choice(key string) string {
	if s.Plain && key != "?" {
		s.letters = append(s.letters, key)
		key = strconv.Itoa(len(s.letters))
	}
	return "  " + tty.Strong.Paint(key, s.Color) + "  "
}

// letter returns the letter of the choice whose number was typed, and other lines as they are.
func (s *sheet) letter(line string) string {
	n, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || n < 1 || n > len(s.letters) || len(s.choices) == 0 {
		return line
	}
	return s.letters[n-1]
}

// alwaysRows returns the rows for the choice always.
func (s *sheet) alwaysRows(texts []string) []string {
	head, indent := s.choice("a")+"always     ", alwaysIndent
	var rows []string
	if s.Columns < minChoices {
		rows, head, indent = []string{s.choice("a") + "always"}, strings.Repeat(" ", choiceIndent), choiceIndent
	}
	for _, text := range texts {
		for i, row := range tty.Break(text, s.Columns-1-indent) {
			if i > 0 {
				head = strings.Repeat(" ", indent)
			}
			rows = append(rows, strings.TrimRight(head+row, " "))
		}
		head = strings.Repeat(" ", indent)
	}
	return rows
}

// page returns the next rows with our own around them, so that all of it and a prompt of that many
// rows fit on the screen.
func (s *sheet) page(promptRows int) string {
	const borders = 2
	from := s.shown
	left := len(s.Text) - from
	ending := len(s.choices) + 1 // our rows below the last page
	if len(s.choices) == 0 {
		ending = promptRows
	}
	n := left
	if left > s.Rows-borders-ending {
		n = max(min(left-1, s.Rows-borders-promptRows), 1)
	}
	s.shown += n
	count := ""
	if !s.complete() || from > 0 {
		count = fmt.Sprintf("lines %d-%d of %d", from+1, s.shown, len(s.Text))
	}
	rows := append([]string{s.Top("")}, s.Body(from, s.shown)...)
	if bottom := s.Bottom(count); bottom != "" {
		rows = append(rows, bottom)
	}
	if s.complete() {
		rows = append(rows, s.choices...)
	}
	return lines(rows)
}

// all returns the whole question, unpaged.
func (s *sheet) all() string {
	s.Rows = len(s.Text) + len(s.choices) + 10
	return s.page(1)
}

// complete reports whether the user saw everything.
func (s *sheet) complete() bool { return s.shown == len(s.Text) }

// reminder returns a row next to the prompt that names the subject of the question, and how much of
// it the user saw.
func (s *sheet) reminder() string {
	count := wording.Count(len(s.Text), "line")
	if !s.complete() {
		count = wording.Number(s.shown) + " of " + count
	}
	text := "? (" + count + ") " + s.Subject
	if s.Columns < 2*minPrompt {
		text = "? " + s.Subject
	}
	return tty.Waiting.Paint(tty.FitWidest(text, s.Columns-1), s.Color) + "\n"
}

// repeat returns what stands above the prompt when the question is asked again.
func (s *sheet) repeat() string {
	if !s.complete() {
		return s.reminder()
	}
	return s.reminder() + lines(s.choices)
}

// prompt returns the prompt of a question, in rows that fit. Until everything was shown, it names
// the words that are needed.
func (s *sheet) prompt() string {
	text := "Allow it? [y]es, once / [n]o / [e] no, and why / [?]: "
	switch {
	case s.complete() && len(s.choices) > 0:
		return "Allow it? "
	case s.Columns < minPrompt && s.complete():
		text = "Allow it? "
	case s.Columns < minPrompt:
		text = "Enter: more. yes / no: "
	case s.complete() && len(s.always) > 0:
		text = "Allow it? [y]es, once / [a]lways / [n]o / [e] no, and why / [?]: "
	case !s.complete() && len(s.always) > 0:
		text = "Enter shows more. Allow it unread? yes / always / no: "
	case !s.complete():
		text = "Enter shows more. Allow it unread? yes / no: "
	}
	return s.fitted(text)
}

// longestPrompt returns the number of rows that the prompt of a question takes.
func (s *sheet) longestPrompt() int {
	most := 0
	for _, shown := range []int{0, len(s.Text)} {
		other := *s
		other.shown = shown
		other.choices = nil
		most = max(most, strings.Count(other.prompt(), "\n")+1)
	}
	return most
}

// choicePrompt returns the prompt of a question with options.
func (s *sheet) choicePrompt(q *clew.Question) string {
	number, nothing := "Number", "nothing to skip"
	if q.MultiSelect {
		number = "Numbers"
	}
	if !s.complete() {
		nothing = "nothing to see more"
	}
	return s.fitted(number + ", your own words, or " + nothing + ": ")
}

// explanation describes the possible answers.
func (s *sheet) explanation() string {
	const indent = len("  always  ")
	texts := []string{
		"  yes     allows this call. The agent asks again before the next one.",
	}
	if len(s.always) > 0 {
		texts = append(texts, "  always  allows this call, and changes the permissions as the question says, so that calls like it need no answer.")
	}
	texts = append(texts,
		"  no      denies this call. The agent is told so, and continues. No, because ... tells it why.",
		"  e       denies this call, and reads a line for the agent: why, or what to do instead.",
		"  Ctrl-C  denies this call, and ends the turn. In a chat, Esc does as well.")
	var rows []string
	for _, text := range texts {
		rows = append(rows, s.ours(text, indent)...)
	}
	return lines(rows)
}

// fitted returns a prompt in rows that fit.
func (s *sheet) fitted(text string) string { return strings.Join(s.ours(text, 0), "\n") + " " }

// ours returns a text of ours in rows that fit. The rows after the first one are indented.
func (s *sheet) ours(text string, indent int) []string {
	const hanging = 2
	if s.Columns < 3*indent {
		indent = min(indent, hanging)
	}
	rows := tty.Break(text, s.Columns-1)
	if len(rows) == 1 || indent == 0 {
		return trimmed(rows)
	}
	first := strings.TrimRight(rows[0], " ")
	rest := tty.Break(text[len(rows[0]):], s.Columns-1-indent)
	for i, row := range rest {
		rest[i] = strings.Repeat(" ", indent) + row
	}
	return trimmed(append([]string{first}, rest...))
}

func trimmed(rows []string) []string {
	for i := range rows {
		rows[i] = strings.TrimRight(rows[i], " ")
	}
	return rows
}

func lines(rows []string) string {
	var b strings.Builder
	for _, row := range rows {
		b.WriteString(row + "\n")
	}
	return b.String()
}
