package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"strings"

	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/sessions"
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
	said    turnText
	skipped skippedInput
}

// live shows stream-json, or a transcript from a pipe, as it arrives.
func (o *showOptions) live(ctx context.Context, src *source) error {
	l := &liveShow{
		showOptions: o,
		builder:     transcript.NewBuilder(nil),
		feed:        &render.Feed{Options: o.style.options(o.streams)},
	}
	readErr := src.feed(l.builder, func(msg wire.Message) error {
		if err := l.show(l.extra(msg), false); err != nil {
			return &writeError{err}
		}
		return nil
	})
	if err := l.show("", true); err != nil {
		return outputError(err)
	}
	if written, ok := errors.AsType[*writeError](readErr); ok {
		return outputError(written.err)
	}
	if readErr != nil {
		return src.readError(ctx, readErr)
	}
	l.skipped.warn(o.warn)
	t := l.builder.Transcript()
	warnInvalid(invalidLines(t), o.warn)
	switch {
	case l.shown || len(t.Chunks) > 0:
		return nil
	case ctx.Err() != nil:
		return errInterrupted()
	}
	return noConversation(src.name())
}

// show writes the chunks that are new, and then a text.
func (l *liveShow) show(text string, final bool) error {
	chunks := l.feed.Next(l.builder.Transcript().Chunks, l.builder.Changed(), final)
	_, err := io.WriteString(l.streams.Out, chunks+text)
	return err
}

// extra returns the text of a message that is in no chunk, or not yet.
func (l *liveShow) extra(msg wire.Message) string {
	l.skipped.count(msg, true)
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

// result returns the text of a result, unless it was shown before.
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

// A skippedInput counts the parts of a stream that are not messages.
type skippedInput struct{ lines, frames lineCount }

type lineCount struct{ n, first int }

func (c *lineCount) add(line int) {
	if c.n++; c.n == 1 {
		c.first = line
	}
}

// count counts lines that are not JSON, unless they are shown, and frames that are invalid.
func (s *skippedInput) count(msg wire.Message, linesShown bool) {
	switch m := msg.(type) {
	case *wire.TextLine:
		if !linesShown {
			s.lines.add(m.Line)
		}
	case *wire.InvalidFrame:
		s.frames.add(m.Line)
	}
}

func (s *skippedInput) warn(warn func(string)) {
	for _, skipped := range []struct {
		lineCount
		what string
	}{{s.lines, "lines that are not JSON"}, {s.frames, "invalid frames"}} {
		if skipped.n > 0 {
			warn(fmt.Sprintf("skipped %s: %d, the first is line %d", skipped.what, skipped.n, skipped.first))
		}
	}
}

// messages prints the conversation that the agent would continue.
func (o *showOptions) messages(ctx context.Context, src *source) error {
	if src.info.ID == "" {
		return o.fileMessages(ctx, src)
	}
	folder := sessions.NewFolder(filepath.Dir(filepath.Dir(src.path)))
	folder.Skipped = func(l sessions.SkippedLine) { o.warn(fmt.Sprintf("skipped line %d: not an entry", l.Line)) }
	opts := &sessions.Options{Store: folder, ProjectName: src.info.Project}
	if o.agent != "" {
		return o.writeMessages(ctx, sessions.SubagentMessages(ctx, src.info.ID, o.agent, opts))
	}
	return o.writeMessages(ctx, sessions.Messages(ctx, src.info.ID, opts))
}

func (o *showOptions) writeMessages(ctx context.Context, all iter.Seq2[*sessions.RecordedMessage, error]) error {
	out := bufio.NewWriterSize(o.streams.Out, 64<<10)
	for m, err := range all {
		if err != nil {
			return errors.Join(findError(ctx, err), out.Flush())
		}
		if err := o.writeMessage(out, m.Raw(), ""); err != nil {
			return outputError(err)
		}
	}
	if err := out.Flush(); err != nil {
		return outputError(err)
	}
	return nil
}

// writeMessage writes the message of a frame or an entry, if it has one. The role is the default
// for a message without one.
func (o *showOptions) writeMessage(w io.Writer, raw, role string) error {
	var entry struct {
		Message struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"message"`
	}
	if json.Unmarshal([]byte(raw), &entry) != nil || entry.Message.Content == nil {
		return nil //nolint:nilerr // it is not a message, and the agent would skip it
	}
	entry.Message.Role = cmp.Or(entry.Message.Role, role)
	if o.redact {
		entry.Message.Content = json.RawMessage(newRedactor().JSON(string(entry.Message.Content)))
	}
	return writeJSON(w, entry.Message)
}

// fileMessages prints the messages of a file or of stdin.
func (o *showOptions) fileMessages(ctx context.Context, src *source) error {
	if o.agent != "" {
		return usageError("--agent needs a session ID with --format messages, not a file",
			"Give the ID of a session, or leave out --agent.")
	}
	if err := src.open(ctx, o.streams.In); err != nil {
		return err
	}
	defer src.close()
	switch src.format {
	case streamInput:
		return o.streamMessages(ctx, src)
	case exportedInput:
		return usageError("exported JSON does not contain API messages",
			"Give the session or its transcript, or use --format ndjson.")
	}
	return o.entryMessages(ctx, src)
}

// streamMessages prints the messages of stream-json as they arrive.
func (o *showOptions) streamMessages(ctx context.Context, src *source) error {
	var skipped skippedInput
	for msg, err := range wire.NewReader(src.r, nil).Messages() {
		if err != nil {
			return src.readError(ctx, err)
		}
		skipped.count(msg, false)
		if role := speaker(msg); role != "" {
			if err := o.writeMessage(o.streams.Out, msg.Raw(), role); err != nil {
				return outputError(err)
			}
		}
	}
	skipped.warn(o.warn)
	return nil
}

// speaker returns the role of a message of the conversation itself, or "".
func speaker(msg wire.Message) string {
	switch m := msg.(type) {
	case *wire.UserMessage:
		if m.ParentToolUseID == "" {
			return "user"
		}
	case *wire.AssistantMessage:
		if m.ParentToolUseID == "" {
			return "assistant"
		}
	}
	return ""
}

// fileSession is the key under which the entries of a file are kept while they are read.
var fileSession = wire.SessionKey{Project: "file", SessionID: "00000000-0000-4000-8000-000000000000"}

// entryMessages prints the messages of a transcript.
func (o *showOptions) entryMessages(ctx context.Context, src *source) error {
	entries, err := o.readEntries(ctx, src)
	if err != nil {
		return err
	}
	store := sessions.NewMemory()
	if err := store.Append(ctx, fileSession, entries); err != nil {
		return findError(ctx, err)
	}
	opts := &sessions.Options{Store: store, ProjectName: fileSession.Project}
	return o.writeMessages(ctx, sessions.Messages(ctx, fileSession.SessionID, opts))
}

// readEntries reads the entries of a transcript, and warns about lines that are not entries.
func (o *showOptions) readEntries(ctx context.Context, src *source) ([]wire.JSON, error) {
	var entries []wire.JSON
	var skipped lineCount
	for n := 1; ; n++ {
		line, err := src.r.ReadString('\n')
		entry := wire.JSON(strings.TrimSpace(line))
		if _, bad := sessions.EntryUUID(entry); bad == nil {
			entries = append(entries, entry)
		} else if entry != "" {
			skipped.add(n)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, src.readError(ctx, err)
		}
	}
	if len(entries) == 0 {
		return nil, noConversation(src.name())
	}
	if skipped.n > 0 {
		o.warn(fmt.Sprintf("skipped lines that are not entries: %d, the first is line %d", skipped.n, skipped.first))
	}
	return entries, nil
}
