package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// A liveShow shows what is read as it comes, if that can be shown in parts.
type liveShow struct {
	*showOptions
	parts   bool
	builder *transcript.Builder
	feed    *render.Feed
	shown   bool   // something besides chunks was
	model   string // that writes
	said    speech
	noise   noise
}

// live shows a stream, or a transcript that comes from a pipe.
func (o *showOptions) live(ctx context.Context, r io.Reader, in *input, f form) error {
	l := &liveShow{
		showOptions: o,
		parts:       !o.whole() && o.turns.text == "",
		builder:     transcript.NewBuilder(nil),
		feed:        &render.Feed{Options: o.look.options(o.streams)},
	}
	err := l.take(r, f)
	_ = l.builder.Close() // a last line without an end is among the invalid ones
	t := l.builder.Transcript()
	if err := l.show("", true); err != nil {
		return outputError(err)
	}
	var written *writeError
	switch {
	case errors.As(err, &written):
		return outputError(written.err)
	case err != nil:
		return o.readFailure(ctx, in, err, nil)
	}
	l.noise.warn(o)
	if l.parts && (l.shown || len(t.Chunks) > 0) {
		o.warnInvalid(t)
		return nil
	}
	transcript.Link(t, transcript.InlineAgents(t))
	return o.finish(ctx, reading{Transcript: t, name: in.name}, nil)
}

// take reads to the end, and shows what is new.
func (l *liveShow) take(r io.Reader, f form) error {
	if f != streamForm {
		return l.takeLines(r)
	}
	for msg, err := range wire.NewReader(r, nil).Messages() {
		if err != nil {
			return err
		}
		l.builder.AddMessage(msg, time.Time{})
		text := l.aside(msg)
		if err := l.show(text, false); err != nil {
			return &writeError{err}
		}
	}
	return nil
}

func (l *liveShow) takeLines(r io.Reader) error {
	buf := make([]byte, sniffed)
	for {
		n, err := r.Read(buf)
		_, _ = l.builder.Write(buf[:n]) // never fails
		if err := l.show("", false); err != nil {
			return &writeError{err}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// show shows the chunks that are new, and a text behind them.
func (l *liveShow) show(aside string, final bool) error {
	if !l.parts {
		return nil
	}
	text := l.feed.Next(l.builder.Transcript().Chunks, l.builder.Changed(), final)
	_, err := io.WriteString(l.streams.Out, text+aside)
	return err
}

// aside returns what is shown of a message that no chunk has, or not yet.
func (l *liveShow) aside(msg wire.Message) string {
	l.noise.count(msg, l.parts)
	if !l.parts {
		return ""
	}
	text := ""
	switch m := msg.(type) {
	case *wire.TextLine:
		text = l.feed.Interject(m.Text)
	case *wire.StreamEventMessage:
		if m.ParentToolUseID == "" {
			text = l.grow(m.Event)
		}
	case *wire.AssistantMessage:
		if m.ParentToolUseID == "" {
			l.said.next()
			l.said.add(m.Content.Text())
		}
	case *wire.ResultMessage:
		text = l.result(m)
	}
	l.shown = l.shown || text != ""
	return text
}

func (l *liveShow) grow(event wire.Event) string {
	switch e := event.(type) {
	case *wire.MessageStartEvent:
		l.said.next()
		if e.Message != nil {
			l.model = e.Message.Model
		}
		return l.feed.Stop()
	case *wire.TextDeltaEvent:
		l.said.add(e.Text)
		return l.feed.Grow(l.model, e.Text)
	}
	return ""
}

// result returns the result, unless it was said before.
func (l *liveShow) result(r *wire.ResultMessage) string {
	var turn wire.Collector
	turn.Add(r)
	if l.said.has(turn.Text()) {
		return ""
	}
	if turn.IsError() {
		return l.feed.Result("failed", turn.Text())
	}
	return l.feed.Result("result", turn.Text())
}

// A noise is what is no message in a stream.
type noise struct{ lines, frames lineCount }

type lineCount struct{ n, first int }

func (c *lineCount) add(line int) {
	if c.n++; c.n == 1 {
		c.first = line
	}
}

// count counts a message that is none. Lines that are not JSON may be shown, and don't
// count then.
func (n *noise) count(msg wire.Message, linesShown bool) {
	switch m := msg.(type) {
	case *wire.TextLine:
		if !linesShown {
			n.lines.add(m.Line)
		}
	case *wire.InvalidFrame:
		n.frames.add(m.Line)
	}
}

func (n *noise) warn(o *showOptions) {
	for _, left := range []struct {
		lineCount
		what string
	}{{n.lines, "lines that are not JSON"}, {n.frames, "frames that are broken"}} {
		if left.n > 0 {
			o.warn(fmt.Sprintf("%s were left out: %d, the first is line %d", left.what, left.n, left.first))
		}
	}
}
