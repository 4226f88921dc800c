package cli

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/input"
	"github.com/clewdev/clew/cmd/clew/internal/termio"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// A liveShow shows the input as it arrives.
type liveShow struct {
	*showOptions
	builder *transcript.Builder
	feed    *render.Feed
	shown   bool   // something other than chunks was shown
	model   string // of the answer that is being written
	said    clikit.TurnText
	skipped input.Skipped

	terminal *os.File // nil if the output can't be drawn again
	live     clikit.LiveRows
}

// live shows stream-json, or a transcript from a pipe, as it arrives.
func (o *showOptions) live(ctx context.Context, src *input.Source) error {
	l := &liveShow{
		showOptions: o,
		builder:     transcript.NewBuilder(nil),
		feed:        &render.Feed{Options: o.style.options(o.streams)},
	}
	if out, ok := o.streams.Out.(*os.File); ok && clikit.Redraws(out) {
		l.terminal, l.feed.Redraws = out, true
	}
	readErr := src.Feed(l.builder, func(msg wire.Message) error {
		if err := l.show(l.extra(msg), false); err != nil {
			return &clikit.WriteError{Err: err}
		}
		return nil
	})
	if err := l.show("", true); err != nil {
		return clikit.OutputError(err)
	}
	if written, ok := errors.AsType[*clikit.WriteError](readErr); ok {
		return clikit.OutputError(written.Err)
	}
	if readErr != nil {
		return src.ReadError(ctx, readErr)
	}
	l.skipped.Warn(o.warn)
	t := l.builder.Transcript()
	input.WarnInvalid(input.InvalidLines(t), o.warn)
	switch {
	case l.shown || len(t.Chunks) > 0:
		return nil
	case ctx.Err() != nil:
		return clikit.Interrupted()
	}
	return input.NoConversation(src.Name())
}

// show writes the chunks that are new, and then a text.
func (l *liveShow) show(text string, final bool) error {
	chunks := l.feed.Next(l.builder.Transcript().Chunks, l.builder.Changed(), final)
	if text = chunks + text; text != "" {
		text = l.live.Replace(nil) + text
	}
	if l.terminal != nil {
		width, height := termio.Size(l.terminal)
		text += l.live.Replace(clikit.LastRows(l.feed.Open(), width, height))
	}
	_, err := io.WriteString(l.streams.Out, text)
	return err
}

// extra returns the text of a message that is in no chunk, or not yet.
func (l *liveShow) extra(msg wire.Message) string {
	l.skipped.Count(msg, true)
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
			l.said.Next()
			l.said.Add(m.Content.Text())
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
		l.said.Next()
		if e.Message != nil {
			l.model = e.Message.Model
		}
		return l.feed.Stop()
	case *wire.TextDeltaEvent:
		l.said.Add(e.Text)
		return l.feed.Grow(l.model, e.Text)
	}
	return ""
}

// result returns the text of a result, unless it was shown before.
func (l *liveShow) result(r *wire.ResultMessage) string {
	var turn wire.Collector
	turn.Add(r)
	if l.said.Has(turn.Text()) {
		return ""
	}
	if turn.IsError() {
		return l.feed.Result("failed", turn.Text())
	}
	return l.feed.Result("result", turn.Text())
}
