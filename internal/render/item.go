package render

import (
	"fmt"
	"strings"

	"github.com/clewdev/clew/internal/rows"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/transcript"
)

// A group is a kind of items that stand together, without empty lines between them.
type group int

const (
	noGroup   group = iota
	textGroup       // each is apart from the next
	callGroup
)

// item returns the lines of an item. An empty line sets it apart from the last group, which item
// updates.
func (o Options) item(c *transcript.Chunk, i *transcript.DisplayItem, last *group) string {
	text, group := o.in(2).body(c, i)
	if text == "" {
		return ""
	}
	if *last != noGroup && (*last != group || group == textGroup) {
		text = "\n" + text
	}
	*last = group
	return text
}

func (o Options) body(c *transcript.Chunk, i *transcript.DisplayItem) (string, group) {
	switch i.Type {
	case transcript.ItemThinking:
		if !o.Thinking {
			return "", noGroup
		}
		return o.line(tty.Dim, "~ thinking") + o.in(2).block(tty.Dim, i.Text), textGroup
	case transcript.ItemToolCall, transcript.ItemSubagent:
		return o.call(c, i), callGroup
	case transcript.ItemTeammateMessage:
		return o.line(tty.Dim, "@ "+tty.Line(i.TeammateID)) + o.in(2).prose(i.Text), textGroup
	}
	text := o.prose(i.Text)
	if i.ResultImages > 0 { // of a result without its call
		text += o.line(tty.Dim, "["+wording.Count(i.ResultImages, "image")+"]")
	}
	return text, textGroup
}

// nameColumns is the width of the column of names of tools. Longer names reach into the next one.
const nameColumns = 7

// call returns the lines of a tool call, its result and its subagents.
func (o Options) call(c *transcript.Chunk, i *transcript.DisplayItem) string {
	below := o.in(nameColumns)
	diffs := i.Diffs()
	line := o.CallLine(c, i, diffs)
	text := o.row(line.Name, line.Summary, o.notes(line.outcome(), rows.WorkOfAgents(i.Agents), i.DurationMs))
	if o.Expand {
		text += below.block(tty.Dim, string(i.ToolInput))
	}
	text += below.result(i, diffs)
	if o.Expand {
		text += below.block(tty.Dim, Permission(i, true))
	}
	for _, agent := range i.Agents {
		text += below.agent(agent)
	}
	return text
}

// ToolCalls counts the tool calls in a transcript, and in the subagents below it.
func ToolCalls(t *transcript.Transcript) (calls int) {
	for _, item := range t.All() {
		if item.IsCall() {
			calls++
		}
	}
	return calls
}

// row returns the line of a call: its name, its summary, and its outcome at the right. The summary
// is cut to the room that is left.
func (o Options) row(name, what string, notes []Note) string {
	width, painted := 0, ""
	for _, n := range notes {
		width += 2 + tty.Width(n.Text)
		painted += "  " + n.Style.Paint(n.Text, o.Color)
	}
	if o.Width > 0 && o.columns()-width < nameColumns+minSummary {
		width, painted = 0, ""
		if len(notes) > 0 && notes[0].Style == tty.Failure && o.columns() >= minColumns {
			width, painted = 2+len(notes[0].Text), "  "+notes[0].Style.Paint(notes[0].Text, o.Color)
		}
	}
	gap := max(nameColumns-tty.Width(name), 2)
	if what == "" || what == name {
		gap, what = 0, ""
	}
	if o.Width > 0 {
		room := max(o.columns()-width, 1)
		name = tty.Fit(name, room)
		if left := room - tty.Width(name) - gap; left > 0 {
			what = tty.Fit(what, left)
		} else {
			gap, what = 0, ""
		}
	}
	line := tty.Tool.Paint(name, o.Color) + strings.Repeat(" ", gap) + tty.Path.Paint(what, o.Color)
	if o.Width > 0 && width > 0 {
		line += strings.Repeat(" ", max(o.columns()-width-tty.Width(name)-gap-tty.Width(what), 0))
	}
	return strings.Repeat(" ", o.indent) + line + painted + "\n"
}

// minSummary is the minimum width of a call's summary. In a narrower window its outcome is left
// out, unless it failed.
const minSummary = 12

const (
	shortLines = 3  // of a result that is not expanded
	shortDiff  = 16 // of a diff that is not expanded
)

// result returns a call's result: its changes, or its text, all of it or its first lines.
func (o Options) result(i *transcript.DisplayItem, diffs []transcript.FileDiff) string {
	pictures := ""
	if i.ResultImages > 0 {
		pictures = o.line(tty.Dim, "["+wording.Count(i.ResultImages, "image")+"]")
	}
	if len(diffs) > 0 && (!o.Expand || !i.IsCommand()) {
		return o.changes(diffs) + pictures
	}
	if o.Expand {
		return o.block(tty.Dim, i.ShownResult()) + pictures
	}
	text, more := firstLines(i.ShownResult(), shortLines)
	return o.dimLines(text) + o.more(more) + pictures
}

// maxShortLine is the maximum number of bytes of a line that are read to show its beginning.
const maxShortLine = 4096

// dimLines returns the lines of an untrusted text that are not blank, each cut to the width.
func (o Options) dimLines(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		if o.Width > 0 {
			line = line[:min(len(line), maxShortLine)]
		}
		if line = strings.TrimRight(tty.Clean(line), " "); line != "" {
			b.WriteString(o.styled(tty.Dim, o.fit(line)) + "\n")
		}
	}
	return b.String()
}

// more returns a line with the number of hidden lines.
func (o Options) more(lines int) string {
	if lines <= 0 {
		return ""
	}
	return o.line(tty.Dim, o.fit(fmt.Sprintf("… %s (--expand)", wording.Count(lines, "more line"))))
}

// firstLines returns the first n lines of a text, and the number of lines after them.
func firstLines(text string, n int) (head string, more int) {
	text = strings.Trim(text, "\n")
	end := 0
	for range n {
		i := strings.IndexByte(text[end:], '\n')
		if i < 0 {
			return text, 0
		}
		end += i + 1
	}
	return text[:end-1], strings.Count(text[end:], "\n") + 1
}
