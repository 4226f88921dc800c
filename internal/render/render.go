// Package render formats the chunks of a transcript as text for a terminal. It is pure: chunks
// become lines, and everything in them that a terminal would interpret is escaped.
//
// A folded row takes exactly one line. An open row is laid out as far as it is looked at, so that
// the first lines of a result of 10 MB cost about a millisecond.
package render

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/transcript"
)

// Options configure how chunks are shown.
type Options struct {
	// Width is the number of columns. 0 means that lines are not wrapped.
	Width int
	// Color allows escape sequences for colors.
	Color bool
	// Links allows escape sequences for links.
	Links bool
	// Expand shows complete tool inputs and results, and the transcripts of subagents.
	Expand bool
	// Thinking shows the thinking of the agent.
	Thinking bool
	// Zone is the time zone to show times in. Nil means the local one.
	Zone *time.Location
	// Day is the day of which times are shown without their date. The zero value means none.
	Day time.Time
	// ASCII means that marks and bars are drawn with characters of ASCII.
	ASCII bool
	// Dir is the working directory. Paths below it are shown relative to it.
	Dir string

	indent int
}

const maxDepth = 8 // of subagents below subagents

// Chunk returns the lines of a chunk, followed by an empty line.
func (o Options) Chunk(c *transcript.Chunk) string {
	var b strings.Builder
	b.WriteString(o.head(c))
	last := noGroup
	for i := range c.Items {
		b.WriteString(o.item(c, &c.Items[i], &last))
	}
	b.WriteString(o.tail(c))
	return b.String()
}

// Chunks returns the lines of several chunks.
func (o Options) Chunks(chunks []transcript.Chunk) string {
	var b strings.Builder
	for i := range chunks {
		b.WriteString(o.Chunk(&chunks[i]))
	}
	return b.String()
}

// head returns the lines before the items of a chunk.
func (o Options) head(c *transcript.Chunk) string {
	switch c.Type {
	case transcript.UserChunk:
		return o.prompt(c)
	case transcript.AIChunk:
		text := o.line(tty.Dim, Join(cmp.Or(ShortModel(c.Model), "agent"), o.time(c.Timestamp), o.took(c.DurationMs)))
		if len(c.Items) == 0 {
			text += o.in(2).prose(c.Text)
		}
		return text
	case transcript.CompactChunk:
		return o.line(tty.Title, Join("compacted", compacted(c.Compaction), o.time(c.Timestamp))) + o.in(2).prose(c.Text)
	}
	style := tty.Dim
	if c.IsError {
		style = tty.Failure
	}
	return o.line(style, Join("system", o.time(c.Timestamp))) + o.in(2).block(tty.Plain, c.Text)
}

// minPrompt is the minimum width of a prompt beside its number and time. In a narrower window they
// have a separate line.
const minPrompt = 40

// prompt returns what the user said, marked with an angle, with the number of the turn and the time
// at the right.
func (o Options) prompt(c *transcript.Chunk) string {
	at := Join(fmt.Sprintf("#%d", c.Turn), Attached(c), o.time(c.Timestamp))
	text := strings.Trim(tty.Clean(c.Text), "\n ")
	mark, columns := "> ", o.columns()-len("> ")
	switch {
	case o.Width == 0:
		columns = 0
	case columns < minColumns:
		mark, columns = "", o.columns()
	}
	if columns-tty.Width(at)-2 < minPrompt {
		return o.prefixed(mark, tty.Wrap(text, columns), "") + o.in(2).line(tty.Dim, at)
	}
	first := tty.Wrap(text, columns-tty.Width(at)-2)
	rest := strings.TrimLeft(strings.TrimPrefix(text, first[0]), " ")
	lines := first[:1]
	if rest != "" {
		lines = append(lines, tty.Wrap(strings.TrimPrefix(rest, "\n"), columns)...)
	}
	return o.prefixed(mark, lines, at)
}

// prefixed returns the lines of a prompt, the first of them with a mark, and with a note at the
// right.
func (o Options) prefixed(mark string, lines []string, note string) string {
	var b strings.Builder
	for i, line := range lines {
		if i > 0 {
			mark = strings.Repeat(" ", len(mark))
		}
		text := o.styled(tty.Prompt, strings.TrimRight(mark+line, " "))
		if i == 0 && note != "" {
			space := o.Width - o.indent - tty.Width(mark+line) - tty.Width(note)
			text += strings.Repeat(" ", max(space, 2)) + tty.Dim.Paint(note, o.Color)
		}
		b.WriteString(text + "\n")
	}
	return b.String()
}

// Attached describes the attachments of a prompt, or returns "".
func Attached(c *transcript.Chunk) string {
	images, documents, queued := "", "", ""
	if c.Images > 0 {
		images = wording.Count(c.Images, "image")
	}
	if c.Documents > 0 {
		documents = wording.Count(c.Documents, "document")
	}
	if c.Queued {
		queued = "queued"
	}
	return Join(images, documents, queued)
}

func compacted(c *transcript.Compaction) string {
	if c == nil || c.PreTokens == 0 {
		return ""
	}
	text := wording.Rounded(c.PreTokens)
	if c.PostTokens > 0 {
		text += " to " + wording.Rounded(c.PostTokens)
	}
	return text + " tokens"
}

// time returns a time: without the date if it is on the current day, and "" if it is not known.
func (o Options) time(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	zone := cmp.Or(o.Zone, time.Local)
	return wording.Clock(at, o.Day.In(zone))
}

// took returns how long something took, unless that is nothing to speak of.
func (o Options) took(ms int64) string {
	if ms < 50 {
		return ""
	}
	return wording.Milliseconds(ms)
}

// tail returns the lines after the items of a chunk.
func (o Options) tail(c *transcript.Chunk) string {
	text := o.in(2).block(tty.Failure, c.Stderr)
	if c.Interrupted {
		text += o.in(2).line(tty.Failure, "interrupted")
	}
	return text + "\n"
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
	return text + o.in(2).Chunks(a.Transcript.Chunks)
}

// Unlinked returns the lines of the subagents whose start is not known.
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

// minColumns is the least width of a text that is indented. In a narrower window it is not.
const minColumns = 16

// in returns the options for text that is indented by so many columns more.
func (o Options) in(columns int) Options {
	if o.Width <= 0 || o.Width-o.indent-columns >= minColumns {
		o.indent += columns
	}
	return o
}

// columns returns the number of columns without the indentation. 0 means no limit.
func (o Options) columns() int {
	if o.Width <= 0 {
		return 0
	}
	return max(o.Width-o.indent, 1)
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
