package render

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/clewdev/clew/internal/highlight"
	"github.com/clewdev/clew/internal/markdown"
	"github.com/clewdev/clew/internal/rows"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/transcript"
)

// RowBody returns the painted lines below the line of an open row, at most limit of them, and how many
// more there are. That number is an estimate if the text is long. Its cost depends on the limit, and
// hardly on the length of the text. A row that has nothing to unfold has no lines.
func (o Options) RowBody(r *rows.Row, limit int) (lines []string, more int) {
	in := o.rowOptions(r)
	c := collector{limit: limit}
	if isProse(r.Kind) {
		c.skip = 1 // RowLine has it
	}
	in.rowBody(r, &c)
	return c.lines, c.more
}

// opening returns the text of the line of a prompt or an answer.
func (o Options) opening(r *rows.Row, mark Mark) string {
	if mark != Open {
		return tty.Line(head(r.Text, o.headBytes()))
	}
	c := collector{limit: 1}
	if o.Width > 0 {
		o.Width = o.columns()
	}
	o.indent = 0
	if r.Kind == rows.Prompt {
		o.promptText(r, &c, true)
	} else {
		o.proseText(r.Text, &c)
	}
	if len(c.lines) == 0 {
		return ""
	}
	return c.lines[0]
}

// EstimateRow returns about how many lines the body of a row has, from the lengths of its texts. It is
// 0 for a row that has nothing to unfold.
func (o Options) EstimateRow(r *rows.Row) int {
	columns := max(o.rowOptions(r).columns(), 1)
	if o.Width <= 0 {
		columns = 80
	}
	lines := func(text string) int {
		if text == "" {
			return 0
		}
		// A line of a text is often shorter than the window is wide.
		return 1 + len(text)/min(columns, 48)
	}
	switch r.Kind {
	case rows.Prompt, rows.Answer:
		if len(r.Text) < columns/2 && !strings.Contains(r.Text, "\n") {
			return 0
		}
		return max(lines(r.Text)-1, 1)
	case rows.Call, rows.Subagent:
		return lines(r.Item.ToolResult) + min(lines(string(r.Item.ToolInput)), lines(string(r.Item.ToolInput))-1)
	case rows.Thinking, rows.Result, rows.Teammate, rows.Compaction:
		return lines(r.Text)
	case rows.Notice:
		return lines(r.Text) + lines(r.Chunk.Stderr)
	case rows.Invalid:
		return 2 * len(r.Transcript.Invalid)
	}
	return 0
}

// HasBody reports whether a row has something to unfold, not counting the rows below it.
func (o Options) HasBody(r *rows.Row) bool {
	lines, _ := o.RowBody(r, 1)
	return len(lines) > 0
}

// rowBody adds the lines of an open row to a collector.
func (o Options) rowBody(r *rows.Row, c *collector) {
	switch r.Kind {
	case rows.Prompt:
		o.promptText(r, c, false)
	case rows.Answer, rows.Teammate, rows.Compaction:
		o.proseText(r.Text, c)
	case rows.Thinking:
		c.text(o, tty.Dim, r.Text)
	case rows.Call, rows.Subagent:
		o.callBody(r, c)
	case rows.Result:
		c.text(o, tty.Dim, r.Text)
	case rows.Notice:
		c.text(o, tty.Plain, r.Text)
		c.text(o, tty.Failure, r.Chunk.Stderr)
	case rows.Invalid:
		o.invalidBody(r.Transcript.Invalid, c)
	}
	if r.Item != nil && r.Item.ResultImages > 0 {
		c.add(o, tty.Dim.Paint(o.fit("["+Counted(r.Item.ResultImages, "image")+"]"), o.Color))
	}
}

// promptText adds the lines of a prompt. The first one leaves room for the note beside it. If it is
// the line of the row, it is not painted.
func (o Options) promptText(r *rows.Row, c *collector, line bool) {
	style := tty.Prompt
	if line {
		style = tty.Plain
	}
	text := strings.Trim(r.Text, "\n ")
	if note := Join(attached(r.Chunk), o.time(r.Time)); o.Width > 0 {
		room := o.columns() - tty.Width(note) - 2
		if room < nameColumns+leastSummary {
			room = o.columns()
		}
		source := text[:pieceEnd(text, 0, room*utf8.UTFMax+64)]
		first := tty.Wrap(tty.Clean(source), room)[0]
		if rest, ok := strings.CutPrefix(text, first); ok && len(source) < len(text) || ok && source == text {
			c.add(o, style.Paint(first, o.Color))
			text = strings.TrimPrefix(strings.TrimLeft(rest, " "), "\n")
		}
	}
	c.text(o, style, text)
}

// proseText adds the lines of a Markdown text.
func (o Options) proseText(text string, c *collector) {
	if strings.TrimSpace(text) == "" {
		return
	}
	if len(text) > markdown.MaxText {
		c.text(o, tty.Plain, text)
		return
	}
	for _, line := range markdown.Render(text, o.markdown()) {
		c.add(o, o.breakPainted(line)...)
	}
}

// callBody adds the input of a call, and its result or what it has changed.
func (o Options) callBody(r *rows.Row, c *collector) {
	i := r.Item
	o = o.in(nameColumns)
	diffs := rowDiffs(i)
	isCommand := i.ToolName == "Bash" || i.ToolName == "PowerShell"
	if len(diffs) == 0 || isCommand {
		o.inputBody(r, c)
	}
	switch {
	case len(diffs) > 0 && !isCommand:
		o.diffBody(diffs, c)
	case r.Kind == rows.Subagent && i.HasResult && !i.ToolError:
		o.proseText(report(i), c)
	default:
		c.text(o, tty.Dim, report(i))
		if len(diffs) > 0 {
			o.diffBody(diffs, c)
		}
	}
}

// diffBody adds the lines of diffs. Several files are named.
func (o Options) diffBody(diffs []transcript.FileDiff, c *collector) {
	for i := range diffs {
		if len(diffs) > 1 {
			c.add(o, o.fitPainted(o.DiffHead(&diffs[i])))
		}
		most := math.MaxInt
		if room := c.room(); room < math.MaxInt/3 {
			most = 3 * room // more than are shown: see Options.most
		}
		lines, more := diffLines(&diffs[i], most)
		for k := range lines {
			if c.room() == 0 {
				c.more += len(lines) - k
				break
			}
			if o.Width <= 0 {
				c.add(o, lines[k].String(o.Color))
				continue
			}
			c.add(o, o.cutRows(lines[k].Rows(o.columns(), o.Color))...)
		}
		c.more += more
	}
}

// cutRows makes rows fit a window that is too narrow for a diff.
func (o Options) cutRows(rows []string) []string {
	if o.columns() >= leastDiff {
		return rows
	}
	for i := range rows {
		rows[i] = o.fitPainted(rows[i])
	}
	return rows
}

// invalidBody adds the lines of a transcript that are not entries.
func (o Options) invalidBody(invalid []transcript.InvalidLine, c *collector) {
	for i := range invalid {
		line := &invalid[i]
		c.text(o, tty.Failure, fmt.Sprintf("line %d: %v", line.Position.Line, line.Err))
		c.text(o.in(2), tty.Dim, line.Head)
	}
}

// inputBody adds what a call was given, except for what its line says.
func (o Options) inputBody(r *rows.Row, c *collector) {
	shown := o.rowSummary(r.Item, nil)
	for _, f := range inputFields(string(r.Item.ToolInput)) {
		text := strings.TrimRight(f.text, "\n")
		switch {
		case text == "" || text == shown || tty.Line(head(RelativePath(o.Dir, text), len(shown)+8)) == shown:
		case f.name == "command":
			c.code(o, highlight.Find("bash"), text)
		case r.Kind == rows.Subagent && (f.name == "description" || f.name == "subagent_type"):
		case f.name == "":
			c.text(o, tty.Dim, text)
		case strings.Contains(text, "\n") || len(text) > max(o.columns(), 20)-len(f.name)-2:
			c.text(o, tty.Dim, f.name+":")
			c.text(o.in(2), tty.Plain, text)
		default:
			c.text(o, tty.Plain, f.name+": "+text)
		}
	}
}

// A field is a member of the input of a call.
type field struct{ name, text string }

// maxFields is the number of members that are shown of an input.
const maxFields = 100

// inputFields returns the members of an object in their order. Another text is one without a name.
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
			return append(fields, field{text: input[d.InputOffset():]})
		}
		text := string(value)
		if strings.HasPrefix(text, `"`) {
			_ = json.Unmarshal(value, &text)
		}
		fields = append(fields, field{tty.Line(fmt.Sprint(name)), text})
	}
	if d.More() {
		fields = append(fields, field{text: input[d.InputOffset():]})
	}
	return fields
}
