package ask

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/internal/clip"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/tty"
)

// A Surface is the part of a terminal that shows a question.
type Surface struct {
	Columns, Rows int
	Color         bool
	Plain         bool // no box
	Lines         bool // a box of lines
}

// A Sheet is the text of a question in rows that fit a terminal. Rows of the agent's text are in a
// box, or indented, so that nothing that the agent asks for looks like a part of the question.
type Sheet struct {
	Surface
	// Head is a clean line that names the question. Aside is a clean text that may be left out, at the
	// other end of the head.
	Head, Aside string
	// Subject is a clean line, for reminders.
	Subject string
	// Text are the rows with the agent's text.
	Text []Row
}

// A Row is a row with the agent's text.
type Row struct {
	Painted string
	width   int  // the columns that a terminal uses at most
	exact   bool // every terminal uses as many
}

// indents of the parts of a sheet
const (
	partIndent  = 2 // further rows of a line, and text outside of a box
	valueIndent = 2 // the lines of a part
	minText     = 4 // columns beside an indent
	minBox      = 20
	boxSides    = len("|  |")
)

// Sheet returns everything in a call's input.
func (q *Question) Sheet(v Surface) *Sheet {
	tool := Word(q.Tool)
	s := &Sheet{Surface: v, Head: tool, Subject: tool}
	if q.Subject != "" {
		s.Subject += ": " + tty.CleanLine(render.RelativePath(q.dir, q.Subject))
	}
	if !s.HeadFits(tool) {
		s.Add(0, "(tool) "+tool)
	}
	if q.Reason != "" {
		s.Add(0, "("+clip.Marked(q.Reason, maxClipped)+")")
	}
	if q.Input != "" {
		s.addText("input", q.Input)
	}
	s.addMembers(q)
	if len(s.Text) == 0 && s.Head == tool {
		s.Add(0, "(without input)")
	}
	return s
}

// maxClipped is the number of bytes that are shown of a text that does not have to be shown.
const maxClipped = 160

// addMembers adds all members. It shows a change of a file as a diff, and the path of a file in the
// head of the question.
func (s *Sheet) addMembers(q *Question) {
	inHead := false
	if q.Path != "" {
		head := s.Head + " " + tty.CleanLine(render.RelativePath(q.dir, q.Path))
		if inHead = s.HeadFits(head); inHead {
			s.Head = head
		}
	}
	changed := false
	for _, m := range q.Members {
		switch {
		case inHead && m.Name == PathNames[q.Tool]:
		case !m.Replaced:
			s.addText(m.Name, m.Text())
		case !changed:
			s.addChange(q)
			changed = true
		}
	}
	if !changed {
		s.addChange(q)
	}
}

// addChange adds the change of a file, and why it is not shown better.
func (s *Sheet) addChange(q *Question) {
	if q.Remark != "" {
		s.addStyled(tty.Dim, 0, "("+q.Remark+")")
	}
	if q.Diff == nil {
		return
	}
	for _, line := range (render.Options{}).FileDiff(q.Diff) {
		plain := line.Rows(s.inner(), false)
		for i, painted := range line.Rows(s.inner(), s.Color) {
			s.addRow(0, plain[i], painted)
		}
	}
	s.Aside = fmt.Sprintf("+%d -%d", q.Diff.Added, q.Diff.Removed)
	if q.Diff.Created {
		s.Aside = fmt.Sprintf("new file, +%d", q.Diff.Added)
	}
}

// ChoiceSheet returns one of the agent's own questions with its options.
func ChoiceSheet(q *clew.Question, v Surface) *Sheet {
	s := &Sheet{Surface: v, Head: "Question"}
	if q.Header != "" {
		s.Head += ": " + tty.CleanLine(clip.Marked(q.Header, maxClipped))
	}
	for line := range strings.SplitSeq(strings.TrimRight(q.Question, "\n"), "\n") {
		s.addStyled(tty.Strong, 0, line)
	}
	for i, option := range q.Options {
		label := fmt.Sprintf("%d. %s", i+1, option.Label)
		if option.Description != "" {
			label += ": " + option.Description
		}
		s.Add(partIndent, label)
		for line := range strings.Lines(option.Preview) {
			s.Add(partIndent+len("1. "), strings.TrimSuffix(line, "\n"))
		}
	}
	return s
}

// Word returns the name of a tool or a member, quoted if it is not a word.
func Word(name string) string {
	isOther := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' && r != '.'
	}
	if name == "" || strings.ContainsFunc(name, isOther) {
		return tty.CleanLine(strconv.Quote(name))
	}
	return name
}

// Boxed reports whether the agent's text is in a box.
func (v *Surface) Boxed() bool { return !v.Plain && v.Columns >= minBox }

// inner returns the number of columns for the agent's text. The last column of the terminal stays
// free: some terminals start a row after it.
func (v *Surface) inner() int {
	if v.Boxed() {
		return v.Columns - 1 - boxSides
	}
	return v.Columns - 1 - partIndent
}

// Add adds a line to the sheet. Its other rows are indented further.
func (s *Sheet) Add(indent int, line string) { s.addStyled(tty.Plain, indent, line) }

func (s *Sheet) addStyled(style tty.Style, indent int, line string) {
	hanging := partIndent
	if s.inner()-indent-hanging < minText { // there is no room for indents
		indent, hanging = 0, 0
	}
	rows := tty.Break(tty.CleanLine(line), s.inner()-indent-hanging)
	for i, row := range rows {
		if i == 1 {
			indent += hanging
		}
		if i < len(rows)-1 {
			row = strings.TrimRight(row, " ")
		}
		s.addRow(indent, row, style.Paint(row, s.Color))
	}
}

// addRow adds a clean row. painted is the same row in colors.
func (s *Sheet) addRow(indent int, row, painted string) {
	widest := tty.WidestWidth(row)
	s.Text = append(s.Text, Row{
		Painted: strings.Repeat(" ", indent) + painted, width: indent + widest, exact: widest == tty.Width(row),
	})
}

// addText adds a named text: on one line if it is one.
func (s *Sheet) addText(name, text string) {
	name = Word(name) + ":"
	switch {
	case text == "":
		s.Add(0, name+` ""`)
	case !strings.Contains(text, "\n"):
		s.Add(0, name+" "+text)
	default:
		s.Add(0, name)
		for line := range strings.SplitSeq(text, "\n") {
			s.Add(valueIndent, line)
		}
	}
}

// A boxFrame has the characters that a box is made of.
type boxFrame struct{ topLeft, topRight, bottomLeft, bottomRight, across, side string }

func (v *Surface) frame() boxFrame {
	if v.Lines {
		return boxFrame{"┌", "┐", "└", "┘", "─", "│"}
	}
	return boxFrame{"+", "+", "+", "+", "-", "|"}
}

// Body returns rows with the agent's text, in their box.
func (s *Sheet) Body(from, to int) []string {
	var rows []string
	side, width := tty.Waiting.Paint(s.frame().side, s.Color), s.boxWidth()
	for _, row := range s.Text[from:to] {
		switch {
		case !s.Boxed():
			rows = append(rows, strings.Repeat(" ", partIndent)+row.Painted)
		case !row.exact: // terminals differ in where the other side would be
			rows = append(rows, side+" "+row.Painted)
		default:
			rows = append(rows, side+" "+row.Painted+strings.Repeat(" ", max(width-boxSides-row.width, 0))+" "+side)
		}
	}
	return rows
}

// boxWidth returns the number of columns of the box: the width of the terminal, up to 80, or more
// if a row needs it.
func (s *Sheet) boxWidth() int {
	width := 80
	for _, row := range s.Text {
		width = max(width, row.width+boxSides)
	}
	return min(width, s.Columns-1)
}

// Top returns the first row of a question: its head, and the texts aside if there is room.
func (s *Sheet) Top(aside string) string {
	if !s.Boxed() {
		return tty.Waiting.Paint(tty.FitWidest("? "+s.Head, s.Columns-1), s.Color)
	}
	if s.Aside != "" && aside != "" {
		aside = ", " + aside
	}
	f := s.frame()
	return tty.Waiting.Paint(f.topLeft+s.border(s.Head, s.Aside+aside)+f.topRight, s.Color)
}

// Bottom returns the row below the agent's text, with a count or "" in it. Without a box and a count
// it is "".
func (s *Sheet) Bottom(count string) string {
	if s.Boxed() {
		f := s.frame()
		return tty.Waiting.Paint(f.bottomLeft+s.border("", count)+f.bottomRight, s.Color)
	}
	if count == "" {
		return ""
	}
	return tty.FitWidest("? ("+count+")", s.Columns-1)
}

// border returns a horizontal side of the box between its corners, with a text at each end. The
// right text is left out if there is no room for it.
func (s *Sheet) border(left, right string) string {
	width, across := s.boxWidth(), s.frame().across
	room := width - len("+--+")
	if left != "" {
		left = " " + s.fitHead(left, width) + " "
		room -= tty.WidestWidth(left)
	}
	if right != "" && room > tty.WidestWidth(right)+len("  ") {
		right = " " + right + " "
		room -= tty.WidestWidth(right)
	} else {
		right = ""
	}
	return across + left + strings.Repeat(across, max(room, 0)) + right + across
}

// fitHead cuts a head so that it fits into a side of a box of that width.
func (s *Sheet) fitHead(head string, width int) string {
	return tty.FitWidest(head, width-len("+-  -+"))
}

// HeadFits reports whether a text could be the head of the question without being cut.
func (s *Sheet) HeadFits(head string) bool {
	if s.Boxed() {
		return s.fitHead(head, min(80, s.Columns-1)) == head
	}
	return tty.FitWidest("? "+head, s.Columns-1) == "? "+head
}
