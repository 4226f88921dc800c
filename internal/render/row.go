package render

import (
	"cmp"
	"strings"
	"time"
	"unicode"

	"github.com/clewdev/clew/internal/clip"
	"github.com/clewdev/clew/internal/markdown"
	"github.com/clewdev/clew/internal/rows"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/transcript"
)

// A Mark shows whether a row is folded.
type Mark uint8

// The marks of rows.
const (
	NoMark Mark = iota // a row without anything below it
	Folded
	Open
)

// text returns the mark as it is drawn, in one column.
func (m Mark) text(ascii bool) string {
	switch {
	case m == Folded && ascii: // an angle is the mark of a prompt
		return "+"
	case m == Folded:
		return "▸"
	case m == Open && ascii:
		return "-"
	case m == Open:
		return "▾"
	}
	return " "
}

// RowLine returns a row in exactly one painted line of at most [Options.Width] columns: its mark, what
// it is, and at the right how it went. The line of an open prompt or text is the first line of it, and
// [Options.RowBody] returns the others.
func (o Options) RowLine(r *rows.Row, mark Mark) string {
	in := o.rowOptions(r)
	sign := mark.text(o.ASCII)
	line := ""
	switch {
	case r.Kind == rows.Prompt:
		sign = ">"
		line = in.aside(tty.Prompt, in.opening(r, mark), o.promptNotes(r))
	case isProse(r.Kind) && mark == Open:
		sign = " " // most texts are open: a mark at each would be noise
		line = in.fitPainted(in.opening(r, mark))
	default:
		line = in.rowContent(r)
	}
	if in.indent == 0 {
		return line
	}
	switch {
	case r.Kind == rows.Prompt:
		sign = tty.Prompt.Paint(sign, o.Color)
	case sign != " ":
		sign = tty.Dim.Paint(sign, o.Color)
	}
	return strings.Repeat(" ", in.indent-markColumns) + sign + " " + line
}

// markColumns are the columns of a mark and the space after it.
const markColumns = 2

// minRow is the least width of a row beside its indentation and its mark.
const minRow = 24

// rowOptions returns a row's options: indented by its depth, and by its mark. A narrow window has
// neither.
func (o Options) rowOptions(r *rows.Row) Options {
	o.indent = 0
	if o.Width > 0 && o.Width < minColumns/2 {
		return o
	}
	o.indent = markColumns
	if o.Width <= 0 {
		o.indent += 2 * min(r.Depth, maxDepth)
		return o
	}
	o.indent += 2 * min(r.Depth, max(o.Width-markColumns-minRow, 0)/2)
	return o
}

// isProse reports whether the text of a row is laid out as one piece when it is open, so that its
// line is the first one of the text.
func isProse(k rows.Kind) bool { return k == rows.Prompt || k == rows.Answer }

// RowParts are the words of a row's line, before they are laid out. All of them are clean.
type RowParts struct {
	Style tty.Style // of name and text, except for calls
	Name  string    // of the tool, or what the row is; "" for texts
	Text  string
	Notes []Note // how it went, and when

	isCall bool
}

// RowParts returns the words of a row's line.
func (o Options) RowParts(r *rows.Row) RowParts {
	switch r.Kind {
	case rows.Prompt:
		return RowParts{Style: tty.Prompt, Text: tty.Line(head(r.Text, o.headBytes())), Notes: o.promptNotes(r)}
	case rows.Answer:
		return RowParts{Text: plainLine(r.Text, o.headBytes())}
	case rows.Thinking:
		return RowParts{Style: tty.Dim, Name: "thinking", Text: thought(r.Text), Notes: o.rowNotes(r, nil)}
	case rows.Call, rows.Subagent:
		line := o.CallLine(r.Chunk, r.Item, rowDiffs(r.Item))
		return RowParts{Name: line.Name, Text: line.Summary, Notes: o.rowNotes(r, line.changes()), isCall: true}
	case rows.Agent, rows.Unlinked:
		return RowParts{Name: "Agent", Text: agentWhat(r.AgentRef), Notes: o.rowNotes(r, nil), isCall: true}
	case rows.Result:
		return RowParts{Name: "result", Text: tty.Line(head(r.Text, o.headBytes())), Notes: o.rowNotes(r, nil), isCall: true}
	case rows.Teammate:
		text := cmp.Or(r.Item.TeammateSummary, r.Text)
		return RowParts{Name: "@" + tty.Line(r.Item.TeammateID), Text: plainLine(text, o.headBytes())}
	case rows.Compaction:
		return RowParts{Style: tty.Title, Name: "compacted", Text: compacted(r.Chunk.Compaction), Notes: []Note{{tty.Dim, o.time(r.Time)}}}
	case rows.Branch:
		what := tty.Line(head(r.Text, o.headBytes()))
		return RowParts{Style: tty.Dim, Name: "rewound", Text: what, Notes: []Note{{tty.Dim, wording.Count(r.Below, "row")}}}
	case rows.Interruption:
		return RowParts{Style: tty.Failure, Name: "interrupted"}
	case rows.Invalid:
		return RowParts{Style: tty.Failure, Name: "invalid", Text: r.Text}
	}
	return o.noticeParts(r)
}

// promptNotes returns what is at the right of a prompt.
func (o Options) promptNotes(r *rows.Row) []Note {
	return []Note{{tty.Dim, Join(Attached(r.Chunk), o.time(r.Time))}}
}

// noticeParts returns the words of a notice.
func (o Options) noticeParts(r *rows.Row) RowParts {
	p := RowParts{Style: tty.Dim, Name: "system"}
	if r.State == rows.Failed {
		p.Style, p.Notes = tty.Failure, []Note{{tty.Failure, "failed"}}
	}
	p.Text = tty.Line(head(cmp.Or(strings.TrimSpace(r.Text), r.Chunk.Stderr), o.headBytes()))
	return p
}

// rowContent returns the line of a folded row without its indentation and its mark.
func (o Options) rowContent(r *rows.Row) string {
	p := o.RowParts(r)
	switch {
	case p.isCall:
		return o.callLine(p.Name, p.Text, p.Notes)
	case p.Name == "":
		return o.fit(p.Text)
	case r.Kind == rows.Compaction:
		return o.aside(p.Style, Join(p.Name, p.Text), p.Notes)
	}
	return o.named(p.Style, p.Name, p.Text, p.Notes)
}

// headBytes returns the maximum number of bytes of a text that are read for its line.
func (o Options) headBytes() int {
	if o.Width <= 0 {
		return 4096
	}
	return 4*o.Width + 256
}

// head returns the beginning of a text without leading white space, cut between characters.
func head(text string, size int) string {
	return clip.Bytes(strings.TrimLeftFunc(text, unicode.IsSpace), size)
}

// plainLine returns the first line of a Markdown text that says something, cleaned and without marks.
// It looks at so many bytes of the text.
func plainLine(text string, size int) string {
	text = head(text, size)
	if blocks, reason := markdown.ParsePart(text); reason == "" {
		if line := firstText(blocks); line != "" {
			return line
		}
	}
	line, _, _ := strings.Cut(text, "\n")
	return tty.Line(line)
}

// firstText returns the first text of blocks, in one clean line.
func firstText(blocks []markdown.Block) string {
	for i := range blocks {
		b := &blocks[i]
		var line string
		switch {
		case len(b.Spans) > 0:
			line = spanText(b.Spans)
		case len(b.Children) > 0:
			line = firstText(b.Children)
		case len(b.Rows) > 0:
			for _, cell := range b.Rows[0] {
				line += spanText(cell) + " "
			}
		default:
			line, _, _ = strings.Cut(strings.TrimLeft(b.Text, "\n"), "\n")
		}
		if line = tty.Line(line); line != "" {
			return line
		}
	}
	return ""
}

// spanText returns the text of spans up to the first line break.
func spanText(spans []markdown.Span) string {
	var b strings.Builder
	for i := range spans {
		if spans[i].Break {
			break
		}
		text, _, broken := strings.Cut(spans[i].Text, "\n")
		b.WriteString(text)
		if broken {
			break
		}
	}
	return b.String()
}

// thought describes the amount of thinking.
func thought(text string) string {
	n := 0
	inWord := false
	for i := range len(text) {
		space := text[i] <= ' '
		if !space && !inWord {
			n++
		}
		inWord = !space
	}
	if n == 0 {
		return "not in the transcript"
	}
	return wording.Count(n, "word")
}

// maxRowDiff is the maximum length of an input and a result whose changes are counted in the line
// of a row.
const maxRowDiff = 256 << 10

// rowDiffs returns the changes of a call, unless it takes long to find out.
func rowDiffs(i *transcript.DisplayItem) []transcript.FileDiff {
	if len(i.ToolInput)+len(i.Patch)+len(i.Structured) > maxRowDiff {
		return nil
	}
	return i.Diffs()
}

// agentWhat returns the type and the task of a subagent.
func agentWhat(a *transcript.Agent) string {
	kind, what := tty.Line(a.Type()), tty.Line(a.Description())
	switch {
	case kind == "" && what == "":
		return tty.Line(a.ID)
	case kind == "" || what == "":
		return kind + what
	}
	return kind + ": " + what
}

// rowNotes returns what is at the right of a row: how it went, how much it changed or did, what it
// cost, and how long it took.
func (o Options) rowNotes(r *rows.Row, changes []Note) []Note {
	outcome := []Note{callNote(r.State, r.Item)}
	if r.Kind == rows.Unlinked {
		outcome = append(outcome, Note{tty.Dim, "call unknown"})
	}
	return o.notes(append(outcome, changes...), r.Work, int64(r.Duration/time.Millisecond))
}

func workCost(w *rows.Work) wording.Cost { return wording.Cost{Amount: w.Cost, Partial: w.UnknownCost} }

// callLine returns the line of a call without its indentation.
func (o Options) callLine(name, what string, notes []Note) string {
	return strings.TrimSuffix(strings.TrimPrefix(o.row(name, what, notes), strings.Repeat(" ", o.indent)), "\n")
}

// named returns a line of a name and a clean text in a style, with notes at the right.
func (o Options) named(style tty.Style, name, text string, notes []Note) string {
	if text == "" {
		return o.aside(style, name, notes)
	}
	gap := strings.Repeat(" ", max(nameColumns-tty.Width(name), 2))
	return o.aside(style, name+gap+text, notes)
}

// aside returns a clean line in a style, cut to the room beside notes at the right. Notes that leave
// too little room are left out, except for one about a failure.
func (o Options) aside(style tty.Style, text string, notes []Note) string {
	width, painted := 0, ""
	for _, n := range notes {
		if n.Text != "" {
			width += 2 + tty.Width(n.Text)
			painted += "  " + n.Style.Paint(n.Text, o.Color)
		}
	}
	if o.Width <= 0 {
		return style.Paint(text, o.Color) + painted
	}
	if o.columns()-width < nameColumns+minSummary {
		width, painted = 0, ""
	}
	text = tty.Fit(text, o.columns()-width)
	line := style.Paint(text, o.Color)
	if width > 0 {
		line += strings.Repeat(" ", max(o.columns()-width-tty.Width(text), 0)) + painted
	}
	return line
}
