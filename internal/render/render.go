// Package render formats the chunks of a transcript as text for a terminal. It is pure: chunks
// become lines, and everything in them that a terminal would interpret is escaped.
package render

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/transcript"
)

// Options configure how chunks are shown.
type Options struct {
	// Width is the number of columns. 0 means that lines are not wrapped.
	Width int
	// Color allows escape sequences for colors.
	Color bool
	// Expand shows complete inputs and results of tools, and the transcripts of subagents.
	Expand bool
	// Thinking shows the thinking of the agent.
	Thinking bool
	// Zone is the time zone to show times in. Nil means the local one.
	Zone *time.Location
	// Dir is the working directory. Paths of files below it are shown relative to it. "" means that
	// all paths are shown as they are.
	Dir string

	indent int
}

const (
	maxDepth   = 8 // of subagents below subagents
	shortLines = 3 // of a result that is not expanded
)

// Chunk returns the lines of a chunk, followed by an empty line. turn is the number of the prompt
// that the chunk belongs to, and is shown at prompts.
func (o Options) Chunk(c *transcript.Chunk, turn int) string {
	var b strings.Builder
	b.WriteString(o.head(c, turn))
	for i := range c.Items {
		b.WriteString(o.item(&c.Items[i]))
	}
	b.WriteString(o.tail(c))
	return b.String()
}

// Chunks returns the lines of several chunks. The first of them belongs to the given turn.
func (o Options) Chunks(chunks []transcript.Chunk, turn int) string {
	var b strings.Builder
	for i := range chunks {
		if i > 0 && chunks[i].Type == transcript.UserChunk {
			turn++
		}
		b.WriteString(o.Chunk(&chunks[i], turn))
	}
	return b.String()
}

// head returns the lines before the items of a chunk.
func (o Options) head(c *transcript.Chunk, turn int) string {
	title := o.title(c, turn)
	if !c.Timestamp.IsZero() {
		title += " " + c.Timestamp.In(cmp.Or(o.Zone, time.Local)).Format("2006-01-02 15:04:05")
	}
	text := o.line(tty.Title, title)
	if c.Type != transcript.AIChunk || len(c.Items) == 0 {
		text += o.in(2).block(tty.Plain, c.Text)
	}
	return text
}

func (o Options) title(c *transcript.Chunk, turn int) string {
	switch c.Type {
	case transcript.UserChunk:
		return fmt.Sprintf("#%d you%s", turn, attached(c))
	case transcript.AIChunk:
		return tty.Line(cmp.Or(c.Model, "agent"))
	case transcript.CompactChunk:
		return "compacted"
	}
	return "system"
}

func attached(c *transcript.Chunk) string {
	text := ""
	if c.Images > 0 {
		text += fmt.Sprintf(" (%s)", Counted(c.Images, "image"))
	}
	if c.Documents > 0 {
		text += fmt.Sprintf(" (%s)", Counted(c.Documents, "document"))
	}
	return text
}

// tail returns the lines after the items of a chunk.
func (o Options) tail(c *transcript.Chunk) string {
	text := o.in(2).block(tty.Failure, c.Stderr)
	if c.Interrupted {
		text += o.in(2).line(tty.Failure, "interrupted")
	}
	return text + "\n"
}

func (o Options) item(i *transcript.DisplayItem) string {
	in := o.in(2)
	switch i.Type {
	case transcript.ItemThinking:
		if !o.Thinking {
			return ""
		}
		return in.line(tty.Dim, "~ thinking") + in.in(2).block(tty.Dim, i.Text)
	case transcript.ItemToolCall, transcript.ItemSubagent:
		return in.call(i)
	case transcript.ItemTeammateMessage:
		return in.line(tty.Dim, "@ "+tty.Line(i.TeammateID)) + in.in(2).block(tty.Plain, i.Text)
	}
	text := in.block(tty.Plain, i.Text)
	if i.ResultImages > 0 { // of a result without its call
		text += in.line(tty.Dim, "["+Counted(i.ResultImages, "image")+"]")
	}
	return text
}

// call returns the lines of a tool call, its result and its subagents.
func (o Options) call(i *transcript.DisplayItem) string {
	mark, style := "*", tty.Plain
	if i.ToolError {
		mark, style = "!", tty.Failure
	}
	name := cmp.Or(tty.Line(i.ToolName), "tool")
	text := strings.TrimSpace(fmt.Sprintf("%s %s %s", mark, name, tty.Line(cmp.Or(i.ToolSummary, i.SubagentDesc))))
	if !i.HasResult {
		text += " (no result)"
	}
	if !o.Expand {
		text = o.line(style, o.fit(text))
	} else {
		text = o.line(style, text) + o.in(2).block(tty.Dim, string(i.ToolInput))
	}
	text += o.in(2).result(i)
	for _, agent := range i.Agents {
		text += o.in(2).agent(agent)
	}
	return text
}

// result returns the result of a call: all of it, or its first lines.
func (o Options) result(i *transcript.DisplayItem) string {
	pictures := ""
	if i.ResultImages > 0 {
		pictures = o.line(tty.Dim, "["+Counted(i.ResultImages, "image")+"]")
	}
	if o.Expand {
		return o.block(tty.Dim, report(i)) + pictures
	}
	text, more := firstLines(report(i), shortLines)
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		if line != "" {
			b.WriteString(o.line(tty.Dim, o.fit(strings.TrimRight(tty.Clean(line), " "))))
		}
	}
	if more > 0 {
		b.WriteString(o.line(tty.Dim, fmt.Sprintf("… %s more", Counted(more, "line"))))
	}
	return b.String() + pictures
}

// report returns the result of a call, and that of a subagent without what is for the model alone.
func report(i *transcript.DisplayItem) string {
	if i.Type == transcript.ItemSubagent {
		return transcript.AgentReport(i.ToolResult)
	}
	return i.ToolResult
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

// agent returns a line about a subagent and, if expanded, its transcript.
func (o Options) agent(a *transcript.Agent) string {
	text := o.line(tty.Dim, o.fit(AgentTitle(a)))
	if !o.Expand || a.Transcript == nil {
		return text
	}
	if o.indent > 2*maxDepth {
		return text + o.line(tty.Dim, "… nested too deeply to show")
	}
	return text + o.in(2).Chunks(a.Transcript.Chunks, 1)
}

// Unlinked returns the lines of the subagents that no item is known to have started.
func (o Options) Unlinked(t *transcript.Transcript) string {
	text := ""
	for _, a := range t.Unlinked {
		if a.Kind() == transcript.AgentWork {
			text += o.agent(a)
		}
	}
	return text
}

// AgentTitle returns a clean line that names a subagent.
func AgentTitle(a *transcript.Agent) string {
	text := "@ agent " + tty.Line(a.ID)
	for _, word := range []string{a.Type(), a.Description()} {
		if word != "" {
			text += ", " + tty.Line(word)
		}
	}
	return text
}

func (o Options) in(columns int) Options {
	o.indent += columns
	return o
}

// columns returns the number of columns without the indentation: at least a few, however narrow the
// terminal is. 0 means no limit.
func (o Options) columns() int {
	if o.Width <= 0 {
		return 0
	}
	return max(o.Width-o.indent, 10)
}

// fit cuts a clean line to the width, if there is one.
func (o Options) fit(line string) string {
	if o.Width <= 0 {
		return line
	}
	return tty.Fit(line, o.columns())
}

// line returns a clean text, wrapped and styled.
func (o Options) line(s tty.Style, text string) string {
	var b strings.Builder
	for _, line := range tty.Wrap(text, o.columns()) {
		b.WriteString(o.styled(s, line) + "\n")
	}
	return b.String()
}

// block is like line, for untrusted text. It returns "" for a blank text.
func (o Options) block(s tty.Style, text string) string {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	return o.line(s, tty.Clean(text))
}

func (o Options) styled(s tty.Style, line string) string {
	if line == "" {
		return ""
	}
	return strings.Repeat(" ", o.indent) + s.Paint(line, o.Color)
}

// Diff returns the changes of a file, call by call. Lines are not wrapped, so that the result stays
// a diff.
func (o Options) Diff(f *transcript.FileChanges) string {
	o.Width = 0
	var b strings.Builder
	b.WriteString(o.line(tty.Title, fmt.Sprintf("%s +%d -%d", tty.Line(f.Path), f.Added, f.Removed)))
	for i := range f.Calls {
		for line := range strings.SplitSeq(strings.TrimRight(tty.Clean(f.Calls[i].String()), "\n"), "\n") {
			b.WriteString(o.DiffRow(line, line) + "\n")
		}
	}
	return b.String() + "\n"
}

// DiffRow returns a clean row of a line of a diff, in the color of the line.
func (o Options) DiffRow(line, row string) string { return o.styled(diffStyle(line), row) }

func diffStyle(line string) tty.Style {
	switch {
	case strings.HasPrefix(line, "+"):
		return tty.Addition
	case strings.HasPrefix(line, "-"):
		return tty.Removal
	case strings.HasPrefix(line, "@@"):
		return tty.Dim
	}
	return tty.Plain
}
