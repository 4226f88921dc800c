package tui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clewdev/clew/internal/compose"
)

// A Question is asked by the agent: whether it may use a tool, or which of several options the user
// wants. Its texts are clean.
type Question struct {
	// ID identifies the question. It is never used again.
	ID int
	// Sheet returns the subject of the question in a box of a width: everything that will run.
	Sheet func(columns int, color bool) Sheet
	// Always lists the changes that the answer "always" can make. If it is nil, that answer is not
	// offered.
	Always []Change
	// Rule is the rule that the first change adds, if the user may narrow it, or "".
	Rule string
	// Narrow returns why a rule can't replace Rule, or "".
	Narrow func(rule string) string
	// Choices are the questions with options. If there are any, the question is not about a tool.
	Choices []Choice
}

// A Change is a change of the permissions.
type Change struct {
	Text string // the change, and where it is kept
	// Marked means that "always" makes it unless the user decides otherwise.
	Marked bool
}

// A Sheet is the text of a question, laid out for a width. Its rows are painted, and have the sides
// of a box if there is room for one.
type Sheet struct {
	Rows []string
	// Top and Bottom return the first and the last row of a box, with a text at the right end.
	Top, Bottom func(aside string) string
}

// A Choice is a question with options.
type Choice struct {
	Sheet    func(columns int, color bool) Sheet
	Options  []Option
	Multiple bool
}

// An Option is one answer to choose.
type Option struct{ Label, Description string }

// An AnswerKind is the kind of the user's answer to a question.
type AnswerKind int

// The answers.
const (
	Denied AnswerKind = iota
	AllowedOnce
	AllowedAlways
	Chosen
)

// An Answer is the user's answer to a question.
type Answer struct {
	Kind    AnswerKind
	Reason  string     // of a denial, or ""
	Changes []int      // the changes to make, as indexes
	Rule    string     // the rule to add by the first change, if it was narrowed
	Chosen  [][]string // the labels or own words for each of the choices; empty for a skipped one
}

// A questionMode determines the effect of keys on a question.
type questionMode int

const (
	asking    questionMode = iota
	explained              // the answers are explained
	reasoning              // a reason is typed
	narrowing              // the rule is shown, and may be edited
	inWords                // an answer is typed in own words
)

// A dock is a question as it is shown above the composer.
type dock struct {
	*Question
	mode   questionMode
	line   compose.Editor // the reason, the rule or the own words
	top    int            // the first row that is shown
	seen   int            // number of rows that were shown
	rows   int            // number of rows
	shown  int            // number of rows shown at a time
	hidden bool           // there is no room for the whole rule
	remark string         // why a key did nothing

	partial bool // there is no room for all options

	part   int // of the choices
	at     int // the option under the cursor
	marked map[int]bool
	chosen [][]string
}

func newDock(q *Question) *dock { return &dock{Question: q, marked: map[int]bool{}} }

// parts returns the number of questions in it.
func (d *dock) parts() int { return max(len(d.Choices), 1) }

// complete reports whether the user saw everything.
func (d *dock) complete() bool { return d.rows > 0 && d.seen >= d.rows }

// sheet returns the text of the question.
func (d *dock) sheet(columns int, color bool) Sheet {
	if len(d.Choices) > 0 {
		return d.Choices[d.part].Sheet(columns, color)
	}
	return d.Question.Sheet(columns, color)
}

// takesText reports whether typed text belongs to the question.
func (d *dock) takesText() bool {
	return d.mode == reasoning || d.mode == narrowing || d.mode == inWords
}

// A dockEvent is the effect of a key.
type dockEvent int

const (
	kept     dockEvent = iota // the key was for the question
	foreign                   // it was not
	answered                  // the question has an answer
	left                      // the user leaves the question
	skipped                   // the user wants to see the next one
)

// press handles a key. name is the key's name in the key table; text is the text that it types.
func (d *dock) press(name string, key compose.Key, ok bool) (Answer, dockEvent) {
	d.remark = ""
	if d.takesText() {
		return d.edit(name, key, ok)
	}
	if d.mode == explained {
		d.mode = asking
	}
	if d.scroll(name) {
		return Answer{}, kept
	}
	if len(d.Choices) > 0 {
		return d.choose(name)
	}
	switch name {
	case "y":
		return d.allow(Answer{Kind: AllowedOnce})
	case "a":
		return d.always()
	case "n":
		return Answer{Kind: Denied}, answered
	case "e":
		d.begin(reasoning, "")
	case "?":
		d.mode = explained
	case "s":
		return Answer{}, skipped
	case "esc":
		return Answer{}, left
	default:
		return Answer{}, foreign
	}
	return Answer{}, kept
}

// scroll moves the text in its box.
func (d *dock) scroll(name string) bool {
	page := max(d.shown, 1)
	switch name {
	case "space", "pgdown":
		if name == "space" && len(d.Choices) > 0 {
			return false
		}
		d.top += page
	case "pgup", "b":
		d.top -= page
	case "down", "j":
		if len(d.Choices) > 0 {
			return false
		}
		d.top++
	case "up", "k":
		if len(d.Choices) > 0 {
			return false
		}
		d.top--
	default:
		return false
	}
	d.top = max(min(d.top, d.rows-d.shown, d.seen), 0) // keys that come faster than frames skip nothing
	return true
}

// allow returns an answer that allows something, if the user knows what.
func (d *dock) allow(a Answer) (Answer, dockEvent) {
	if !d.complete() {
		d.remark = fmt.Sprintf("%d more lines: press space to see them first", d.rows-d.seen)
		return Answer{}, kept
	}
	return a, answered
}

// always shows the rule, which another key confirms.
func (d *dock) always() (Answer, dockEvent) {
	if len(d.Always) == 0 {
		d.remark = "the agent suggests no rule for this"
		return Answer{}, kept
	}
	if _, event := d.allow(Answer{}); event == kept {
		return Answer{}, kept
	}
	d.begin(narrowing, d.Rule)
	d.at = 0
	clear(d.marked)
	for i, change := range d.Always {
		d.marked[i] = change.Marked
	}
	return Answer{}, kept
}

func (d *dock) begin(mode questionMode, text string) {
	d.mode = mode
	d.line.Reset()
	d.line.SetText(text)
}

// edit handles a key while a line is typed.
func (d *dock) edit(name string, key compose.Key, ok bool) (Answer, dockEvent) {
	switch {
	case name == "esc":
		d.mode = asking
		return Answer{}, kept
	case name == "enter":
		return d.entered(strings.TrimSpace(d.line.Text()))
	case d.mode == narrowing && d.mark(name):
		return Answer{}, kept
	case d.mode == narrowing && (d.Rule == "" || d.at != 0):
		return Answer{}, kept
	case !ok:
		return Answer{}, foreign
	}
	if key.Code == compose.Paste {
		key.Text = strings.Join(strings.Fields(key.Text), " ")
	}
	if key.Code != compose.Newline && key.Code != compose.Up && key.Code != compose.Down {
		d.line.Press(key)
	}
	return Answer{}, kept
}

// mark moves among the changes, and takes them or not. It reports whether the key does so.
func (d *dock) mark(name string) bool {
	switch name {
	case "up":
		d.at = max(d.at-1, 0)
	case "down":
		d.at = min(d.at+1, len(d.Always)-1)
	case "tab":
		d.marked[d.at] = !d.marked[d.at]
	default:
		return false
	}
	return true
}

// changes returns the changes that are marked.
func (d *dock) changes() []int {
	var marked []int
	for i := range d.Always {
		if d.marked[i] {
			marked = append(marked, i)
		}
	}
	return marked
}

// entered handles the line that was typed.
func (d *dock) entered(text string) (Answer, dockEvent) {
	switch d.mode {
	case reasoning:
		return Answer{Kind: Denied, Reason: text}, answered
	case narrowing:
		if d.hidden {
			d.remark = "the window is too low to show the rule"
			return Answer{}, kept
		}
		a := Answer{Kind: AllowedAlways, Changes: d.changes()}
		if len(a.Changes) == 0 {
			d.remark = "nothing is marked: esc goes back"
			return Answer{}, kept
		}
		if d.Rule != "" && text != d.Rule && d.marked[0] {
			if d.remark = d.Narrow(text); d.remark != "" {
				return Answer{}, kept
			}
			a.Rule = text
		}
		return a, answered
	}
	if text == "" {
		d.mode = asking
		return Answer{}, kept
	}
	return d.chose(append(d.labels(), text))
}

// labels returns the options that are marked.
func (d *dock) labels() []string {
	var labels []string
	for i, o := range d.Choices[d.part].Options {
		if d.marked[i] {
			labels = append(labels, o.Label)
		}
	}
	return labels
}

// choose handles a key at a question with options. The last one is to answer in own words.
func (d *dock) choose(name string) (Answer, dockEvent) {
	c := &d.Choices[d.part]
	last := len(c.Options)
	switch name {
	case "up", "k":
		d.at = max(d.at-1, 0)
	case "down", "j":
		d.at = min(d.at+1, last)
	case "space":
		if c.Multiple && d.at < last {
			d.marked[d.at] = !d.marked[d.at]
		}
	case "enter":
		return d.pick()
	case "n":
		return Answer{Kind: Denied}, answered
	case "s":
		return Answer{}, skipped
	case "esc":
		return Answer{}, left
	default:
		if len(name) != 1 || name < "1" || int(name[0]-'0') > last+1 {
			return Answer{}, foreign
		}
		d.at = int(name[0] - '1')
		switch {
		case c.Multiple && d.at < last:
			d.marked[d.at] = !d.marked[d.at]
		case d.partial: // it has to be seen: enter takes it
		default:
			return d.pick()
		}
	}
	return Answer{}, kept
}

// pick chooses the option under the cursor, or the marked options.
func (d *dock) pick() (Answer, dockEvent) {
	c := &d.Choices[d.part]
	if !d.complete() {
		return d.allow(Answer{})
	}
	labels := d.labels()
	switch {
	case d.at == len(c.Options):
		d.begin(inWords, "")
		return Answer{}, kept
	case len(labels) == 0:
		labels = []string{c.Options[d.at].Label}
	}
	return d.chose(labels)
}

// chose takes an answer and moves to the next question with options. The last one is answered again
// if the first answer did not reach its agent.
func (d *dock) chose(labels []string) (Answer, dockEvent) {
	d.chosen = append(slices.Clone(d.chosen[:d.part]), labels)
	d.mode = asking
	if d.part++; d.part == len(d.Choices) {
		d.part--
		return Answer{Kind: Chosen, Chosen: d.chosen}, answered
	}
	d.at, d.top, d.seen, d.rows = 0, 0, 0, 0
	clear(d.marked)
	return Answer{}, kept
}

// isOpen reports whether a question is among others.
func isOpen(id int, open []*Question) bool {
	return slices.ContainsFunc(open, func(q *Question) bool { return q.ID == id })
}
