package render

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/clewdev/clew/internal/highlight"
	"github.com/clewdev/clew/internal/rows"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/transcript"
)

// RowBody returns the painted lines below the line of an open row, at most limit of them, and how many
// more there are. That number is an estimate if a text is long. Its cost depends on the limit, and
// hardly on the lengths of texts. A row that has nothing to unfold has no lines.
func (o Options) RowBody(r *rows.Row, limit int) (lines []string, more int) {
	c := collector{limit: limit}
	if isProse(r.Kind) {
		c.skip = 1 // RowLine has it
	}
	o.rowOptions(r).rowBody(r, &c)
	return c.lines, c.more
}

// HasBody reports whether a row has something to unfold, not counting the rows below it.
func (o Options) HasBody(r *rows.Row) bool {
	if isProse(r.Kind) && o.Width > 0 && len(strings.Trim(r.Text, blanks)) > utf8.UTFMax*o.Width {
		return true
	}
	lines, _ := o.RowBody(r, 1)
	return len(lines) > 0
}

// EstimateRow returns about how many lines the body of a row has, as far as there are at most
// limit. It looks at the beginnings of its texts. It is 0 for a row that has nothing to unfold.
func (o Options) EstimateRow(r *rows.Row, limit int) int {
	in := o.rowOptions(r)
	columns := in.columns()
	if o.Width <= 0 {
		columns = 80
	}
	switch r.Kind {
	case rows.Prompt, rows.Answer, rows.Result, rows.Notice:
		if len(r.Text) <= columns { // it is cheap to find out
			return in.countBody(r)
		}
		lines := linesOf(strings.Trim(r.Text, blanks), "\n", columns, limit)
		if r.Kind == rows.Notice {
			return lines + linesOf(r.Chunk.Stderr, "\n", columns, limit)
		}
		if isProse(r.Kind) {
			return max(lines-1, 1)
		}
		return lines
	case rows.Call, rows.Subagent:
		return in.estimateCall(r, max(columns-nameColumns, 1), limit)
	case rows.Thinking, rows.Teammate, rows.Compaction:
		return linesOf(r.Text, "\n", columns, limit)
	case rows.Invalid:
		return 2 * len(r.Transcript.Invalid)
	}
	return 0
}

// linesOf returns about how many lines of some columns a text has, or a number of at least limit.
// Its own lines end with a separator. Of a long text it looks at the beginning.
func linesOf(text, end string, columns, limit int) (lines int) {
	const short, sample = 1 << 10, 8 << 10
	text = trimBlank(text)
	if len(text) > short {
		part := text[:min(len(text), sample)]
		lines = max(strings.Count(part, end)+1, len(part)/columns)
		return int(float64(lines) * float64(len(text)) / float64(len(part)))
	}
	for text != "" && lines < limit {
		line, _, found := strings.Cut(text, end)
		lines += max((len(line)+columns-1)/columns, 1)
		if text = text[len(line):]; found {
			text = text[len(end):]
		}
	}
	return lines
}

// countBody returns the number of lines of the body of a row that is short.
func (o Options) countBody(r *rows.Row) int {
	const enough = 1000
	c := collector{limit: enough}
	if isProse(r.Kind) {
		c.skip = 1
	}
	o.rowBody(r, &c)
	return len(c.lines) + c.more
}

// openingColumns returns the columns of the first line of a prompt or an answer.
func (o Options) openingColumns(r *rows.Row, columns int) int {
	if r.Kind != rows.Prompt {
		return columns
	}
	room := columns - tty.Width(Join(Attached(r.Chunk), o.time(r.Time))) - 2
	if room < nameColumns+minSummary {
		return columns
	}
	return room
}

// estimateCall returns about how many lines the body of a call has. A short call without a result
// is laid out, since its line may say everything.
func (o Options) estimateCall(r *rows.Row, columns, limit int) int {
	const short = 1024
	i := r.Item
	result := linesOf(i.ShownResult(), "\n", columns, limit)
	if result == 0 && len(i.ToolInput)+len(i.Structured)+len(i.Patch) <= short {
		return o.countBody(r)
	}
	decision := 0
	if Permission(i, false) != "" {
		decision = 1
	}
	if i.ToolName == "Read" {
		return max(result, 1) + decision
	}
	lines := linesOf(string(i.ToolInput), `\n`, columns, limit) // its strings have escaped line breaks
	if lines == 1 {
		lines = 0 // the line of the call says it
	}
	if i.IsCommand() || !changesFiles(i) {
		lines += result
	}
	return max(lines, 1) + decision
}

// opening returns the text of the line of a prompt or an answer: all of it in one line, or the first
// line if it is open.
func (o Options) opening(r *rows.Row, mark Mark) string {
	if mark != Open {
		return tty.Line(head(r.Text, o.headBytes()))
	}
	if o.Width > 0 {
		o.Width = o.columns()
	}
	o.indent = 0
	c := collector{limit: 1}
	if r.Kind == rows.Prompt {
		o.promptBody(r, tty.Plain, &c)
	} else {
		c.prose(o, r.Text)
	}
	return strings.Join(c.lines, "")
}

// rowBody gives what is below the line of a row to a sink.
func (o Options) rowBody(r *rows.Row, to sink) {
	switch r.Kind {
	case rows.Prompt:
		o.promptBody(r, tty.Prompt, to)
	case rows.Answer, rows.Teammate, rows.Compaction:
		to.prose(o, r.Text)
	case rows.Thinking:
		to.text(o, tty.Dim, r.Text)
	case rows.Result:
		if !o.isInLine(r.Text) {
			to.text(o, tty.Dim, r.Text)
		}
	case rows.Call, rows.Subagent:
		o.in(nameColumns).callBody(r, to)
		return
	case rows.Notice:
		if r.Chunk.Stderr != "" || !o.isInLine(r.Text) {
			to.text(o, tty.Plain, r.Text)
			to.text(o, tty.Failure, r.Chunk.Stderr)
		}
	case rows.Invalid:
		o.invalidBody(r.Transcript.Invalid, to)
	}
	if r.Item != nil {
		o.pictures(r.Item, to)
	}
}

// pictures counts the pictures of a result.
func (o Options) pictures(i *transcript.DisplayItem, to sink) {
	if i.ResultImages > 0 {
		to.text(o, tty.Dim, "["+wording.Count(i.ResultImages, "image")+"]")
	}
}

// promptBody gives a prompt to a sink. Its first line leaves room for the note beside it.
func (o Options) promptBody(r *rows.Row, style tty.Style, to sink) {
	text := strings.Trim(r.Text, blanks)
	room := o.openingColumns(r, o.columns())
	if o.Width <= 0 || room == o.columns() {
		to.text(o, style, text)
		return
	}
	first := o
	first.Width = o.indent + room
	at := firstRow(text, room)
	to.text(first, style, text[:at])
	to.text(o, style, strings.TrimLeft(text[at:], " \n"))
}

// firstRow returns how much of a text fits into its first row, which ends at a word. It is the whole
// first line if something in it has to be escaped.
func firstRow(text string, columns int) int {
	line := text[:pieceEnd(text, 0, columns*utf8.UTFMax)]
	row := tty.Wrap(tty.Clean(line), columns)[0]
	if strings.HasPrefix(line, row) {
		return len(row)
	}
	return len(line)
}

// callBody gives the lines below the line of a call to a sink.
func (o Options) callBody(r *rows.Row, to sink) {
	i := r.Item
	o.callResult(r, to)
	o.pictures(i, to)
	if text := Permission(i, false); text != "" {
		to.text(o, tty.Dim, text)
	}
}

// callResult gives a call's input and its result, or its changes, to a sink.
func (o Options) callResult(r *rows.Row, to sink) {
	i := r.Item
	diffs := rowDiffs(i)
	if len(diffs) > 0 && !i.IsCommand() {
		to.diffs(o, diffs)
		return
	}
	o.inputBody(r, to)
	if r.Kind == rows.Subagent && i.HasResult && !i.ToolError {
		to.prose(o, i.ShownResult())
	} else {
		to.text(o, tty.Dim, i.ShownResult())
	}
	to.diffs(o, diffs)
}

// invalidBody gives the lines of a transcript that are not entries to a sink.
func (o Options) invalidBody(invalid []transcript.InvalidLine, to sink) {
	for i := range invalid {
		line := &invalid[i]
		to.text(o, tty.Failure, fmt.Sprintf("line %d: %v", line.Position.Line, line.Err))
		to.text(o.in(2), tty.Dim, line.Head)
	}
}

// inputBody gives a call's input to a sink, except for the part in its line.
func (o Options) inputBody(r *rows.Row, to sink) {
	input := string(r.Item.ToolInput)
	if len(input) > maxRowDiff {
		to.text(o, tty.Dim, input)
		return
	}
	shown := o.callSummary(r.Item, nil)
	for _, f := range inputFields(input) {
		if !o.isSaid(r, f, shown) {
			o.inputField(r.Item, f, to)
		}
	}
}

// isSaid reports whether the line of a call already shows an input field.
func (o Options) isSaid(r *rows.Row, f field, shown string) bool {
	switch {
	case r.Kind == rows.Subagent:
		return f.name == "description" || f.name == "subagent_type"
	case r.Item.IsCommand() && f.name == "description", r.Item.ToolName == "Read" && (f.name == "offset" || f.name == "limit"):
		return true
	}
	const least = 3 // shorter texts may be in a line by chance
	text := RelativePath(o.Dir, f.text)
	return o.hasRoom(shown) && len(text) >= least && len(text) <= len(shown) && strings.Contains(shown, text)
}

// hasRoom reports whether a clean text is not cut in the line of a row.
func (o Options) hasRoom(text string) bool {
	const outcome = 24 // columns
	return o.Width <= 0 || tty.Width(text) <= o.columns()-outcome
}

// isInLine reports whether the line of a notice or of a result says all of it.
func (o Options) isInLine(text string) bool {
	return len(text) <= maxPiece && !strings.Contains(text, "\n") && o.in(nameColumns).hasRoom(tty.Line(text))
}

// inputField gives an input field to a sink.
func (o Options) inputField(i *transcript.DisplayItem, f field, to sink) {
	text := strings.TrimRight(f.text, "\n")
	switch {
	case strings.TrimSpace(text) == "":
	case f.name == "":
		to.text(o, tty.Dim, text)
	case f.name == "command" && i.IsCommand():
		to.code(o, highlight.Find("bash"), text)
	case strings.Contains(text, "\n") || len(text) > max(o.columns(), minPrompt)-len(f.name)-2:
		to.text(o, tty.Dim, f.name+":")
		to.text(o.in(2), tty.Plain, text)
	default:
		to.text(o, tty.Plain, f.name+": "+text)
	}
}

// A field is a member of a call's input. Its name is clean.
type field struct{ name, text string }

// maxFields is the maximum number of input fields that are shown one by one.
const maxFields = 100

// inputFields returns an object's members in their order. Any other text becomes one field without
// a name.
func inputFields(input string) []field {
	d := json.NewDecoder(strings.NewReader(input))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return []field{{text: input}}
	}
	var fields []field
	for d.More() && len(fields) < maxFields {
		name, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return []field{{text: input}}
		}
		text := string(value)
		if strings.HasPrefix(text, `"`) {
			_ = json.Unmarshal(value, &text) // a string always can be
		}
		fields = append(fields, field{tty.Line(fmt.Sprint(name)), text})
	}
	if d.More() {
		fields = append(fields, field{text: input[d.InputOffset():]})
	}
	return fields
}
