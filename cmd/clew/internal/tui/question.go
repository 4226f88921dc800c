package tui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/cmd/clew/internal/ask"
	"github.com/clewdev/clew/cmd/clew/internal/compose"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
)

// maxOptions is the number of options that digits can choose, beside one for own words.
const maxOptions = 8

// CanAsk reports whether a question can be answered with keys.
func CanAsk(q *ask.Question) bool {
	return !slices.ContainsFunc(q.Choices, func(c clew.Question) bool { return len(c.Options) > maxOptions })
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
	*ask.Question
	last   *laidOut
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

// A laidOut is a part of a question, laid out for a surface.
type laidOut struct {
	*ask.Sheet
	body    []string
	surface ask.Surface
	part    int
}

func newDock(q *ask.Question) *dock { return &dock{Question: q, marked: map[int]bool{}} }

// parts returns the number of questions in it.
func (d *dock) parts() int { return max(len(d.Choices), 1) }

// complete reports whether the user saw everything.
func (d *dock) complete() bool { return d.rows > 0 && d.seen >= d.rows }

// layOut returns the text of the question. Options that fit on a row are below the box; others are in
// it as well.
func (d *dock) layOut(v ask.Surface) *laidOut {
	if last := d.last; last != nil && last.surface == v && last.part == d.part {
		return last
	}
	sheet := d.Sheet(v)
	if len(d.Choices) > 0 {
		c := d.Choices[d.part]
		if optionsFit(&c, v.Columns) {
			c.Options = nil
		}
		sheet = ask.ChoiceSheet(&c, v)
	}
	d.last = &laidOut{sheet, sheet.Body(0, len(sheet.Text)), v, d.part}
	return d.last
}

func optionsFit(c *clew.Question, columns int) bool {
	for _, o := range c.Options {
		row := fmt.Sprintf("> 1  [ ] %s  %s", tty.CleanLine(o.Label), tty.CleanLine(o.Description))
		if o.Preview != "" || tty.WidestWidth(row) >= columns {
			return false
		}
	}
	return true
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
func (d *dock) press(name string, key compose.Key, ok bool) (ask.Answer, dockEvent) {
	d.remark = ""
	if d.takesText() {
		return d.edit(name, key, ok)
	}
	if d.mode == explained {
		d.mode = asking
	}
	if d.scroll(name) {
		return ask.Answer{}, kept
	}
	if len(d.Choices) > 0 {
		return d.choose(name)
	}
	switch name {
	case "y":
		return d.allow(ask.Answer{Kind: ask.AllowOnce})
	case "a":
		return d.always()
	case "n":
		return ask.Answer{Kind: ask.Denied}, answered
	case "e":
		d.begin(reasoning, "")
	case "?":
		d.mode = explained
	case "s":
		return ask.Answer{}, skipped
	case "esc":
		return ask.Answer{}, left
	default:
		return ask.Answer{}, foreign
	}
	return ask.Answer{}, kept
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
func (d *dock) allow(a ask.Answer) (ask.Answer, dockEvent) {
	if !d.complete() {
		rest, them := d.rows-d.seen, "them"
		if rest == 1 {
			them = "it"
		}
		d.remark = wording.Count(rest, "more line") + ": press space to see " + them + " first"
		return ask.Answer{}, kept
	}
	return d.give(a)
}

// give returns an answer, if it is a valid one.
func (d *dock) give(a ask.Answer) (ask.Answer, dockEvent) {
	if err := d.Check(a); err != nil {
		d.remark = err.Error()
		return ask.Answer{}, kept
	}
	return a, answered
}

// always shows the rule, which another key confirms.
func (d *dock) always() (ask.Answer, dockEvent) {
	a := ask.Answer{Kind: ask.AllowAlways}
	for _, change := range d.Marked() {
		a.Changes = append(a.Changes, change.Index)
	}
	if _, event := d.allow(a); event == kept {
		return ask.Answer{}, kept
	}
	d.begin(narrowing, d.Rule)
	d.at = 0
	clear(d.marked)
	for i, change := range d.Always {
		d.marked[i] = change.Marked
	}
	return ask.Answer{}, kept
}

func (d *dock) begin(mode questionMode, text string) {
	d.mode = mode
	d.line.Reset()
	d.line.SetText(text)
}

// edit handles a key while a line is typed.
func (d *dock) edit(name string, key compose.Key, ok bool) (ask.Answer, dockEvent) {
	switch {
	case name == "esc":
		d.mode = asking
		return ask.Answer{}, kept
	case name == "enter":
		return d.entered(strings.TrimSpace(d.line.Text()))
	case d.mode == narrowing && d.mark(name):
		return ask.Answer{}, kept
	case d.mode == narrowing && (d.Rule == "" || d.at != 0):
		return ask.Answer{}, kept
	case !ok:
		return ask.Answer{}, foreign
	}
	if key.Code == compose.Paste {
		key.Text = strings.Join(strings.Fields(key.Text), " ")
	}
	if key.Code != compose.Newline && key.Code != compose.Up && key.Code != compose.Down {
		d.line.Press(key)
	}
	return ask.Answer{}, kept
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

// entered handles the line that was typed.
func (d *dock) entered(text string) (ask.Answer, dockEvent) {
	switch d.mode {
	case reasoning:
		return d.give(ask.Answer{Kind: ask.Denied, Reason: text})
	case narrowing:
		return d.narrow(text)
	}
	if text == "" {
		d.mode = asking
		return ask.Answer{}, kept
	}
	return d.chose(append(d.labels(), text))
}

// narrow returns the answer "always", with the rule that was typed if its change is marked.
func (d *dock) narrow(rule string) (ask.Answer, dockEvent) {
	a := ask.Answer{Kind: ask.AllowAlways}
	for i, change := range d.Always {
		if d.marked[i] {
			a.Changes = append(a.Changes, change.Index)
		}
	}
	switch {
	case d.hidden:
		d.remark = "the window is too low to show the rule"
		return ask.Answer{}, kept
	case d.Rule == "" || !d.marked[0] || rule == d.Rule:
	case rule == "":
		d.remark = "the rule is empty"
		return ask.Answer{}, kept
	default:
		a.Rule = rule
	}
	return d.give(a)
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
func (d *dock) choose(name string) (ask.Answer, dockEvent) {
	c := &d.Choices[d.part]
	last := len(c.Options)
	switch name {
	case "up", "k":
		d.at = max(d.at-1, 0)
	case "down", "j":
		d.at = min(d.at+1, last)
	case "space":
		if c.MultiSelect && d.at < last {
			d.marked[d.at] = !d.marked[d.at]
		}
	case "enter":
		return d.pick()
	case "n":
		return ask.Answer{Kind: ask.Denied}, answered
	case "s":
		return ask.Answer{}, skipped
	case "esc":
		return ask.Answer{}, left
	default:
		if len(name) != 1 || name < "1" || int(name[0]-'0') > last+1 {
			return ask.Answer{}, foreign
		}
		d.at = int(name[0] - '1')
		switch {
		case c.MultiSelect && d.at < last:
			d.marked[d.at] = !d.marked[d.at]
		case d.partial: // it has to be seen: enter takes it
		default:
			return d.pick()
		}
	}
	return ask.Answer{}, kept
}

// pick chooses the option under the cursor, or the marked options.
func (d *dock) pick() (ask.Answer, dockEvent) {
	c := &d.Choices[d.part]
	if !d.complete() {
		return d.allow(ask.Answer{})
	}
	labels := d.labels()
	switch {
	case d.at == len(c.Options):
		d.begin(inWords, "")
		return ask.Answer{}, kept
	case len(labels) == 0:
		labels = []string{c.Options[d.at].Label}
	}
	return d.chose(labels)
}

// chose takes an answer and moves to the next question with options. The last one is answered again
// if the first answer did not reach its agent.
func (d *dock) chose(labels []string) (ask.Answer, dockEvent) {
	d.chosen = append(slices.Clone(d.chosen[:d.part]), labels)
	d.mode = asking
	if d.part++; d.part == len(d.Choices) {
		d.part--
		return d.give(ask.Answer{Kind: ask.Chosen, Chosen: d.chosen})
	}
	d.at, d.top, d.seen, d.rows = 0, 0, 0, 0
	clear(d.marked)
	return ask.Answer{}, kept
}

// isOpen reports whether a question is among others.
func isOpen(id string, open []*ask.Question) bool {
	return slices.ContainsFunc(open, func(q *ask.Question) bool { return q.ID == id })
}
