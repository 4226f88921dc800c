package render

import (
	"strings"

	"github.com/clewdev/clew/internal/markdown"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/transcript"
)

// prose returns the lines of a Markdown text, or "" for a blank one.
func (o Options) prose(text string) string {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	return o.lines(markdown.Render(text, o.markdown()))
}

func (o Options) markdown() markdown.Options {
	return markdown.Options{Width: o.columns(), Color: o.Color, Links: o.Links}
}

// lines returns painted lines, each with its indentation and its end.
func (o Options) lines(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		if line != "" {
			b.WriteString(strings.Repeat(" ", o.indent) + line)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// A composer shows a text that comes in pieces.
type composer interface {
	// add adds a piece, and returns what is final now.
	add(piece string) string
	// end returns the rest.
	end() string
	// open returns lines that are not final, to be drawn again after each piece.
	open() []string
}

// A laidOut lays out Markdown. Each block is final when it is complete.
type laidOut struct {
	Options
	stream *markdown.Stream
}

func (l *laidOut) add(piece string) string { return l.lines(l.stream.Add(piece)) }

func (l *laidOut) end() string { return l.lines(l.stream.End()) }

func (l *laidOut) open() []string {
	rows := l.stream.Open()
	for i, row := range rows {
		if row != "" {
			rows[i] = strings.Repeat(" ", l.indent) + row
		}
	}
	return rows
}

// A growth is the text of an answer that is shown while the model writes it, before it is in a
// chunk.
type growth struct {
	headed   bool // the head of the next chunk was shown
	waiting  bool // an earlier item of the open chunk is not complete, so the text can't be shown yet
	composer composer
	grown    strings.Builder // the text so far
	started  bool            // something of the text was shown
}

// Grow adds the next piece of the text that the model is writing, and returns the text to show now.
// [Feed.Next] shows the rest when the text is in a chunk.
func (f *Feed) Grow(model, piece string) string {
	if f.waiting || piece == "" {
		return ""
	}
	text := ""
	if !f.open && !f.headed {
		f.headed = true
		text = f.heading(&transcript.Chunk{Type: transcript.AIChunk, Model: model})
	}
	if f.composer == nil {
		f.composer = f.compose()
	}
	f.grown.WriteString(piece)
	return text + f.written(f.composer.add(piece))
}

func (f *Feed) compose() composer {
	if in := f.in(2); f.Redraws {
		return &laidOut{Options: in, stream: markdown.NewStream(in.markdown())}
	}
	return &flow{Options: f.in(2)}
}

// Open returns the lines of a text that are not final, for a feed that redraws.
func (f *Feed) Open() []string {
	if f.composer == nil {
		return nil
	}
	rows := f.composer.open()
	if len(rows) > 0 && !f.started && f.last != noGroup {
		rows = append([]string{""}, rows...)
	}
	return rows
}

// written returns a part of the text that is being written. An empty line sets it apart from the item
// before.
func (f *Feed) written(text string) string {
	if text == "" {
		return ""
	}
	if !f.started && f.last != noGroup {
		text = "\n" + text
	}
	f.started, f.last = true, textGroup
	return text
}

// Stop ends the partial text. The next Grow starts another one.
func (f *Feed) Stop() string {
	if f.composer == nil {
		return ""
	}
	text := f.written(f.composer.end())
	f.composer, f.started = nil, false
	f.grown.Reset()
	return text
}

// abandon is like Stop, for a text that will not be in a chunk.
func (f *Feed) abandon() string {
	text := f.Stop()
	if f.headed {
		f.headed = false
		f.last = noGroup
		text += "\n"
	}
	return text
}

// Interject returns a line that is not part of the conversation. A partial text is shown as far as
// it came, and continues below the line.
func (f *Feed) Interject(line string) string {
	text := ""
	if f.composer != nil {
		text = f.written(f.composer.end())
		f.composer = f.compose()
	}
	return text + f.block(tty.Plain, line)
}

// next returns an item of a chunk, without the text of it that was shown already.
func (f *Feed) next(c *transcript.Chunk, i *transcript.DisplayItem) string {
	if f.composer == nil {
		return f.item(c, i, &f.last)
	}
	grown := f.grown.String()
	rest, begun := strings.CutPrefix(i.Text, grown)
	switch {
	case i.Type != transcript.ItemOutput:
	case begun:
		return f.written(f.composer.add(rest)) + f.Stop()
	case strings.TrimSpace(i.Text) == strings.TrimSpace(grown):
		return f.Stop()
	}
	return f.Stop() + f.item(c, i, &f.last)
}
