package cli

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/internal/clikit"
	"github.com/clewdev/clew/internal/permit"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/tty"
)

// A sheet is the text of a question, in rows that fit a terminal. Rows of the agent's text are in a
// box, or indented, so that nothing that the agent asks for looks like a part of the question.
type sheet struct {
	surface
	head    string     // a clean line that names the question
	aside   string     // a clean text that may be left out, at the other end of the head
	subject string     // a clean line, for reminders
	rows    []sheetRow // the agent's text
	shown   int        // number of rows shown
	choices []string   // our rows that explain the answers, or nil if there is no room
	letters []string   // of the choices, if they are numbered
}

// A surface is the part of a terminal that shows a question.
type surface struct {
	columns, rows int
	color         bool
	plain         bool // no box
	lines         bool // a box of lines, see drawsLines
}

// A boxFrame has the characters that a box is made of.
type boxFrame struct{ topLeft, topRight, bottomLeft, bottomRight, across, side string }

func (v *surface) frame() boxFrame {
	if v.lines {
		return boxFrame{"┌", "┐", "└", "┘", "─", "│"}
	}
	return boxFrame{"+", "+", "+", "+", "-", "|"}
}

// drawsLines reports whether boxes are drawn with lines on this terminal.
var drawsLines = func() bool {
	return narrowLines(cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"), os.Getenv("LANG")))
}

// narrowLines reports whether a terminal in this locale has lines, in one column each. In East Asia
// they may take two.
func narrowLines(locale string) bool {
	locale = strings.ToLower(locale)
	if !strings.Contains(locale, "utf-8") && !strings.Contains(locale, "utf8") {
		return false
	}
	return !slices.Contains([]string{"ja", "ko", "zh"}, locale[:2])
}

// A sheetRow is a row with the agent's text.
type sheetRow struct {
	text  string // painted
	width int    // the columns that a terminal uses at most
	exact bool   // every terminal uses as many
}

// indents of the parts of a sheet
const (
	partIndent  = 2 // further rows of a line, and text outside of a box
	valueIndent = 2 // the lines of a part
	minText     = 4 // columns beside an indent
	minBox      = 20
	boxSides    = len("|  |")
)

// boxed reports whether the agent's text is in a box.
func (v *surface) boxed() bool { return !v.plain && v.columns >= minBox }

// inner returns the number of columns for the agent's text. The last column of the terminal stays
// free: some terminals start a row after it.
func (v *surface) inner() int {
	if v.boxed() {
		return v.columns - 1 - boxSides
	}
	return v.columns - 1 - partIndent
}

// add adds a line to the sheet. Its other rows are indented further.
func (s *sheet) add(indent int, line string) { s.addStyled(tty.Plain, indent, line) }

func (s *sheet) addStyled(style tty.Style, indent int, line string) {
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
		s.addRow(indent, row, style.Paint(row, s.color))
	}
}

// addRow adds a clean row. painted is the same row in colors.
func (s *sheet) addRow(indent int, row, painted string) {
	widest := tty.WidestWidth(row)
	s.rows = append(s.rows, sheetRow{
		text: strings.Repeat(" ", indent) + painted, width: indent + widest, exact: widest == tty.Width(row),
	})
}

// addText adds a named text: on one line if it is one.
func (s *sheet) addText(name, text string) {
	name = word(name) + ":"
	switch {
	case text == "":
		s.add(0, name+` ""`)
	case !strings.Contains(text, "\n"):
		s.add(0, name+" "+text)
	default:
		s.add(0, name)
		for line := range strings.SplitSeq(text, "\n") {
			s.add(valueIndent, line)
		}
	}
}

// addDiff adds the lines of a diff.
func (s *sheet) addDiff(lines []render.DiffLine) {
	for _, line := range lines {
		plain := line.Rows(s.inner(), false)
		for i, painted := range line.Rows(s.inner(), s.color) {
			s.addRow(0, plain[i], painted)
		}
	}
}

// page returns the next rows with our own around them, so that all of it and a prompt of that many
// rows fit on the screen.
func (s *sheet) page(promptRows int) string {
	const borders = 2
	from := s.shown
	left := len(s.rows) - from
	ending := len(s.choices) + 1 // our rows below the last page
	if len(s.choices) == 0 {
		ending = promptRows
	}
	n := left
	if left > s.surface.rows-borders-ending {
		n = max(min(left-1, s.surface.rows-borders-promptRows), 1)
	}
	s.shown += n
	text := s.top() + lines(s.body(from, s.shown)) + s.bottom(from)
	if s.complete() {
		text += lines(s.choices)
	}
	return text
}

// all returns the whole question, unpaged.
func (s *sheet) all() string {
	s.surface.rows = len(s.rows) + len(s.choices) + 10
	return s.page(1)
}

// complete reports whether the user saw everything.
func (s *sheet) complete() bool { return s.shown == len(s.rows) }

// body returns rows with the agent's text, in their box.
func (s *sheet) body(from, to int) []string {
	var rows []string
	side, width := tty.Waiting.Paint(s.frame().side, s.color), s.boxWidth()
	for _, row := range s.rows[from:to] {
		switch {
		case !s.boxed():
			rows = append(rows, strings.Repeat(" ", partIndent)+row.text)
		case !row.exact: // terminals differ in where the other side would be
			rows = append(rows, side+" "+row.text)
		default:
			rows = append(rows, side+" "+row.text+strings.Repeat(" ", max(width-boxSides-row.width, 0))+" "+side)
		}
	}
	return rows
}

// boxWidth returns the number of columns of the box: the width of the terminal, up to 80, or more
// if a row needs it.
func (s *sheet) boxWidth() int {
	width := 80
	for _, row := range s.rows {
		width = max(width, row.width+boxSides)
	}
	return min(width, s.columns-1)
}

// top returns the first row of a question: its head, and the text beside it if there is room.
func (s *sheet) top() string {
	if !s.boxed() {
		return tty.Waiting.Paint(tty.FitWidest("? "+s.head, s.columns-1), s.color) + "\n"
	}
	f := s.frame()
	return tty.Waiting.Paint(f.topLeft+s.border(s.head, s.aside)+f.topRight, s.color) + "\n"
}

// bottom returns the row below the rows from an index on, if there is a box, or more to show.
func (s *sheet) bottom(from int) string {
	count := ""
	if !s.complete() || from > 0 {
		count = fmt.Sprintf("lines %d-%d of %d", from+1, s.shown, len(s.rows))
	}
	return s.underline(count)
}

// underline returns the row below the agent's text, with a count or "" in it.
func (s *sheet) underline(count string) string {
	if s.boxed() {
		f := s.frame()
		return tty.Waiting.Paint(f.bottomLeft+s.border("", count)+f.bottomRight, s.color) + "\n"
	}
	if count == "" {
		return ""
	}
	return tty.FitWidest("? ("+count+")", s.columns-1) + "\n"
}

// border returns a horizontal side of the box between its corners, with a text at each end. The
// right text is left out if there is no room for it.
func (s *sheet) border(left, right string) string {
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
func (s *sheet) fitHead(head string, width int) string {
	return tty.FitWidest(head, width-len("+-  -+"))
}

// headFits reports whether a text could be the head of the question without being cut.
func (s *sheet) headFits(head string) bool {
	if s.boxed() {
		return s.fitHead(head, min(80, s.columns-1)) == head
	}
	return tty.FitWidest("? "+head, s.columns-1) == "? "+head
}

// reminder returns a row next to the prompt that names the subject of the question, and how much of
// it the user saw.
func (s *sheet) reminder() string {
	count := strconv.Itoa(len(s.rows)) + " lines"
	switch {
	case !s.complete():
		count = fmt.Sprintf("%d of %d lines", s.shown, len(s.rows))
	case len(s.rows) == 1:
		count = "1 line"
	}
	text := "? (" + count + ") " + s.subject
	if s.columns < 2*minBox {
		text = "? " + s.subject
	}
	return tty.Waiting.Paint(tty.FitWidest(text, s.columns-1), s.color) + "\n"
}

// repeat returns what stands above the prompt when the question is asked again.
func (s *sheet) repeat() string {
	if !s.complete() {
		return s.reminder()
	}
	return s.reminder() + lines(s.choices)
}

// prompt returns a prompt in rows that fit.
func (v *surface) prompt(text string) string { return strings.Join(v.ours(text, 0), "\n") + " " }

// ours returns a text of ours in rows that fit. The rows after the first one are indented.
func (v *surface) ours(text string, indent int) []string {
	if v.columns < 3*indent {
		indent = min(indent, partIndent)
	}
	rows := tty.Break(text, v.columns-1)
	if len(rows) == 1 || indent == 0 {
		return trimmed(rows)
	}
	first := strings.TrimRight(rows[0], " ")
	rest := tty.Break(text[len(rows[0]):], v.columns-1-indent)
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

// describe returns a question about a tool use: everything in its input, and the changes that the
// answer "always" makes.
func describe(req *clew.PermissionRequest, v surface, w permit.Workspace) *sheet {
	s := describeCall(req, v, w)
	if permit.AlwaysPossible(req) {
		s.addAlways(req.Suggestions)
	} else {
		s.offer(nil)
	}
	return s
}

// describeCall returns everything in a tool use's input.
func describeCall(req *clew.PermissionRequest, v surface, w permit.Workspace) *sheet {
	s := &sheet{surface: v}
	tool := word(req.ToolName)
	members, err := permit.Members(req.Input)
	members, subject := permit.MainFirst(members)
	if change, ok := permit.NotebookChange(req.ToolName, members); ok {
		subject = change
	}
	s.head, s.subject = tool, tool
	if subject != "" {
		s.subject += ": " + tty.CleanLine(render.RelativePath(w.Dir, subject))
	}
	if !s.headFits(tool) {
		s.add(0, "(tool) "+tool)
	}
	if req.DecisionReason != "" {
		s.add(0, "("+clikit.Clip(req.DecisionReason)+")")
	}
	if err != nil {
		s.addText("input", string(req.Input))
	}
	s.addMembers(req, members, w)
	if len(s.rows) == 0 && s.head == tool {
		s.add(0, "(without input)")
	}
	return s
}

// word returns the name of a tool or a member, quoted if it is not a word.
func word(name string) string {
	isOther := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' && r != '.'
	}
	if name == "" || strings.ContainsFunc(name, isOther) {
		return tty.CleanLine(strconv.Quote(name))
	}
	return name
}

// addMembers adds all members. It shows a change of a file as a diff, and the path of a file in the
// head of the question.
func (s *sheet) addMembers(req *clew.PermissionRequest, members []permit.Member, w permit.Workspace) {
	path, named := permit.PathOf(req.ToolName, members)
	if named {
		head := s.head + " " + tty.CleanLine(render.RelativePath(w.Dir, path))
		if named = s.headFits(head); named {
			s.head = head
		}
	}
	c := permit.ChangeOf(req, members, w)
	for _, m := range members {
		switch {
		case named && m.Name == permit.PathNames[req.ToolName]:
		case !slices.Contains(c.Replaced, m.Name):
			s.addText(m.Name, m.Text())
		case m.Name == c.Replaced[0]:
			s.addChange(c)
		}
	}
	if len(c.Replaced) == 0 {
		s.addChange(c)
	}
}

// addChange adds the change of a file, and why it is not shown better.
func (s *sheet) addChange(c permit.Change) {
	if c.Remark != "" {
		s.addStyled(tty.Dim, 0, "("+c.Remark+")")
	}
	if c.Diff == nil {
		return
	}
	s.addDiff(render.Options{}.FileDiff(c.Diff))
	s.aside = fmt.Sprintf("+%d -%d", c.Diff.Added, c.Diff.Removed)
	if c.Diff.Created {
		s.aside = fmt.Sprintf("new file, +%d", c.Diff.Added)
	}
}
