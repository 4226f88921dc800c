package tui

import (
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"github.com/clewdev/clew/cmd/clew/internal/keymap"
	"github.com/clewdev/clew/cmd/clew/internal/paint"
	"github.com/clewdev/clew/internal/tty"
)

// A field is a line of text that the user edits.
type field struct {
	text []rune
	at   int // the position of the cursor
}

// maxField is the maximum number of characters in a line. The rest of a longer paste is left out.
const maxField = 2000

func (f *field) String() string { return string(f.text) }

// set replaces the text, and moves the cursor to its end.
func (f *field) set(text string) {
	f.text, f.at = nil, 0
	f.insert(text)
}

// insert adds a text at the cursor, on one line.
func (f *field) insert(text string) {
	var added []rune
	for _, r := range text {
		if unicode.IsControl(r) {
			r = ' '
		}
		if added = append(added, r); len(f.text)+len(added) >= maxField {
			break
		}
	}
	f.text = append(f.text[:f.at], append(added, f.text[f.at:]...)...)
	f.at += len(added)
}

// press handles a key that edits the line. It reports false for all others.
func (f *field) press(key tea.KeyPressMsg) bool {
	switch key.String() {
	case "left", "ctrl+b":
		f.at = max(f.at-1, 0)
	case "right":
		f.at = min(f.at+1, len(f.text))
	case "home", "ctrl+a":
		f.at = 0
	case "end", "ctrl+e":
		f.at = len(f.text)
	case "backspace", "ctrl+h":
		f.cut(f.at - 1)
	case "delete", "ctrl+d":
		if f.at < len(f.text) {
			f.at++
			f.cut(f.at - 1)
		}
	case "ctrl+w", "alt+backspace", "ctrl+backspace":
		f.cut(f.wordStart())
	case "ctrl+u":
		f.cut(0)
	default:
		if key.Text == "" || key.Mod&(tea.ModCtrl|tea.ModAlt|tea.ModSuper) != 0 {
			return false
		}
		f.insert(key.Text)
	}
	return true
}

// cut removes the text between a position and the cursor.
func (f *field) cut(from int) {
	from = max(from, 0)
	f.text = append(f.text[:from], f.text[f.at:]...)
	f.at = from
}

func (f *field) wordStart() int {
	at := f.at
	for at > 0 && f.text[at-1] == ' ' {
		at--
	}
	for at > 0 && f.text[at-1] != ' ' {
		at--
	}
	return at
}

// draw returns the part of the line around the cursor that fits, and the column of the cursor.
func (f *field) draw(width int) (line string, cursor int) {
	from := 0
	for from < f.at && tty.Width(tty.CleanLine(string(f.text[from:f.at]))) >= width {
		from += max(1, (f.at-from)/16) // long lines are not measured for each character
	}
	cursor = tty.Width(tty.CleanLine(string(f.text[from:f.at])))
	return tty.Cut(tty.CleanLine(string(f.text[from:])), max(width, 0)), min(cursor, max(width-1, 0))
}

// A dialog is a question on the last line of the screen below it.
type dialog struct {
	base
	below    screen
	question string // clean
	field    field
	line     bool // a line is asked for, and not a yes
	done     func(answer string) tea.Cmd
}

// confirm asks a question for which y is yes, and everything else is no.
func (a *app) confirm(question string, yes func() tea.Cmd) tea.Cmd {
	return a.push(&dialog{
		base: newBase(a), below: a.top(), question: tty.Line(question),
		done: func(string) tea.Cmd { return yes() },
	})
}

// askLine asks for a line of text. The field initially holds text.
func (a *app) askLine(question, text string, done func(answer string) tea.Cmd) tea.Cmd {
	d := &dialog{base: newBase(a), below: a.top(), question: tty.Line(question), line: true, done: done}
	d.field.set(text)
	return a.push(d)
}

func (d *dialog) scope() keymap.Scope      { return 0 }
func (d *dialog) do(keymap.Action) tea.Cmd { return nil }

func (d *dialog) paste(text string) tea.Cmd {
	if d.line {
		d.field.insert(text)
	}
	return nil
}

// typed takes every key, so that none of them does anything to the screen below.
func (d *dialog) typed(key tea.KeyPressMsg) (tea.Cmd, bool) {
	switch name := key.String(); {
	case name == "esc" || name == "ctrl+c":
		return d.pop(), true
	case d.line && name == "enter":
		return tea.Batch(d.pop(), d.done(d.field.String())), true
	case d.line:
		d.field.press(key)
		return nil, true
	case name == "y" || name == "Y":
		return tea.Batch(d.pop(), d.done("")), true
	case key.Text != "" || name == "enter":
		return d.pop(), true
	}
	return nil, true
}

// draw draws the screen below, with the question instead of its last line. A question that has no
// room for its end is wrapped.
func (d *dialog) draw(width, height int) Frame {
	frame := d.below.draw(width, height)
	text := d.question + " "
	var lines []string
	cursor := paint.Cursor{}
	if d.line {
		room := width - tty.Width(text)
		if room < min(width/2, 20) {
			lines, room = wrapLines(d.question, width), width
			text = ""
		}
		line, x := d.field.draw(room)
		cursor.X = tty.Width(text) + x
		lines = append(lines, tty.Waiting.Paint(text, d.opts.Color)+line)
	} else {
		lines = wrapLines(text+"y/n ", width)
		cursor.X = min(tty.Width(lines[len(lines)-1]), max(width-1, 0))
		for i := range lines {
			lines[i] = tty.Waiting.Paint(lines[i], d.opts.Color)
		}
	}
	lines = lines[max(len(lines)-height, 0):]
	frame.Lines = replaceEnd(frame.Lines, lines, height)
	cursor.Y = min(len(frame.Lines), height) - 1
	frame.Cursor = &cursor
	return frame
}

// wrapLines wraps a clean text. Each line keeps the space at its end.
func wrapLines(text string, width int) []string {
	lines := tty.Wrap(strings.TrimRight(text, " "), max(width, 1))
	if last := &lines[len(lines)-1]; strings.HasSuffix(text, " ") && tty.Width(*last) < width {
		*last += " "
	}
	for i := range lines {
		lines[i] = tty.Cut(lines[i], width)
	}
	return lines
}

// replaceEnd puts lines at the bottom of a screen.
func replaceEnd(frame, lines []string, height int) []string {
	out := make([]string, height)
	copy(out, frame)
	copy(out[height-len(lines):], lines)
	return out
}
