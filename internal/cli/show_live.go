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
	"time"

	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/sessions"
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

// messages prints the conversation that the agent would continue.
func (o *showOptions) messages(ctx context.Context, src source, name string) error {
	if o.turns.text != "" || o.branches {
		return &failure{
			code: exitUsage,
			err:  errors.New("messages are without --turn and --branches"),
			hint: "Leave them out, or use --format=ndjson.",
		}
	}
	if src.info.ID == "" {
		return o.fileMessages(ctx, name)
	}
	folder := sessions.NewFolder(filepath.Dir(filepath.Dir(src.path)))
	folder.Skipped = func(l sessions.SkippedLine) { o.warn(fmt.Sprintf("line %d is no entry and was left out", l.Line)) }
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

// writeMessage writes the message of a frame or an entry, if it has one. The role is
// for one that tells none.
func (o *showOptions) writeMessage(w io.Writer, raw, role string) error {
	var entry struct {
		Message struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"message"`
	}
	if json.Unmarshal([]byte(raw), &entry) != nil || entry.Message.Content == nil {
		return nil //nolint:nilerr // it is no message, and the agent would pass over it, too
	}
	entry.Message.Role = cmp.Or(entry.Message.Role, role)
	if o.redact {
		entry.Message.Content = json.RawMessage(newRedactor().JSON(string(entry.Message.Content)))
	}
	return writeJSON(w, entry.Message)
}

// fileMessages prints the messages of a file or of stdin.
func (o *showOptions) fileMessages(ctx context.Context, name string) error {
	if o.agent != "" {
		return &failure{
			code: exitUsage,
			err:  errors.New("the messages of a subagent are those of a session"),
			hint: "Give the ID of a session, or leave out --agent.",
		}
	}
	in, err := openInput(ctx, name, o.streams.In)
	if err != nil {
		return err
	}
	defer in.Close()
	r := bufio.NewReaderSize(in, sniffed)
	switch sniff(r) {
	case streamForm:
		return o.streamMessages(ctx, r, in)
	case exportForm:
		return &failure{
			code: exitUsage,
			err:  errors.New("what was exported has no messages as the API takes them"),
			hint: "Give the session or its transcript, or use --format=ndjson.",
		}
	}
	return o.entryMessages(ctx, r, in)
}

// streamMessages prints the messages of stream-json as they come.
func (o *showOptions) streamMessages(ctx context.Context, r io.Reader, in *input) error {
	var left noise
	for msg, err := range wire.NewReader(r, nil).Messages() {
		if err != nil {
			return o.readFailure(ctx, in, err, nil)
		}
		left.count(msg, false)
		if role := speaker(msg); role != "" {
			if err := o.writeMessage(o.streams.Out, msg.Raw(), role); err != nil {
				return outputError(err)
			}
		}
	}
	left.warn(o)
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

// pipedSession is where the entries of a file are kept while they are read.
var pipedSession = wire.SessionKey{Project: "file", SessionID: "00000000-0000-4000-8000-000000000000"}

// entryMessages prints the messages of a transcript.
func (o *showOptions) entryMessages(ctx context.Context, r *bufio.Reader, in *input) error {
	store := sessions.NewMemory()
	var entries []wire.JSON
	var left lineCount
	for n := 1; ; n++ {
		line, err := r.ReadString('\n')
		entry := wire.JSON(strings.TrimSpace(line))
		if _, bad := sessions.EntryUUID(entry); bad == nil {
			entries = append(entries, entry)
		} else if entry != "" {
			left.add(n)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return o.readFailure(ctx, in, err, nil)
		}
	}
	if len(entries) == 0 {
		return noConversation(in.name)
	}
	if left.n > 0 {
		o.warn(fmt.Sprintf("lines that are no entries were left out: %d, the first is line %d", left.n, left.first))
	}
	if err := store.Append(ctx, pipedSession, entries); err != nil {
		return findError(ctx, err)
	}
	opts := &sessions.Options{Store: store, ProjectName: pipedSession.Project}
	return o.writeMessages(ctx, sessions.Messages(ctx, pipedSession.SessionID, opts))
}
