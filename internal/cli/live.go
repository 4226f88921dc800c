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
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/internal/clikit"
	"github.com/clewdev/clew/internal/input"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/termio"
	"github.com/clewdev/clew/internal/tty"
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
	if out, ok := o.streams.Out.(*os.File); ok && clikit.IsTerminal(out) && os.Getenv("TERM") != "dumb" {
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

// messages prints the conversation that the agent would continue.
func (o *showOptions) messages(ctx context.Context, src *input.Source) error {
	if src.Info.ID == "" {
		return o.fileMessages(ctx, src)
	}
	folder := sessions.NewFolder(filepath.Dir(filepath.Dir(src.Path)))
	folder.Skipped = func(l sessions.SkippedLine) { o.warn(fmt.Sprintf("skipped line %d: not an entry", l.Line)) }
	opts := &sessions.Options{Store: folder, ProjectName: src.Info.Project}
	if o.agent != "" {
		return o.writeMessages(ctx, sessions.SubagentMessages(ctx, src.Info.ID, o.agent, opts))
	}
	return o.writeMessages(ctx, sessions.Messages(ctx, src.Info.ID, opts))
}

func (o *showOptions) writeMessages(ctx context.Context, all iter.Seq2[*sessions.RecordedMessage, error]) error {
	out := bufio.NewWriterSize(o.streams.Out, 64<<10)
	for m, err := range all {
		if err != nil {
			return errors.Join(input.FindError(ctx, err), out.Flush())
		}
		if err := o.writeMessage(out, m.Raw(), ""); err != nil {
			return clikit.OutputError(err)
		}
	}
	if err := out.Flush(); err != nil {
		return clikit.OutputError(err)
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
	return clikit.WriteJSON(w, entry.Message)
}

// fileMessages prints the messages of a file or of stdin.
func (o *showOptions) fileMessages(ctx context.Context, src *input.Source) error {
	if o.agent != "" {
		return clikit.UsageError("--agent needs a session ID with --format messages, not a file",
			"Give the ID of a session, or leave out --agent.")
	}
	if err := src.Open(ctx, o.streams.In); err != nil {
		return err
	}
	defer src.Close()
	switch src.Format {
	case input.StreamJSON:
		return o.streamMessages(ctx, src)
	case input.Exported:
		return clikit.UsageError("exported JSON does not contain API messages",
			"Give the session or its transcript, or use --format ndjson.")
	}
	return o.entryMessages(ctx, src)
}

// streamMessages prints the messages of stream-json as they arrive.
func (o *showOptions) streamMessages(ctx context.Context, src *input.Source) error {
	var skipped input.Skipped
	for msg, err := range wire.NewReader(src.R, nil).Messages() {
		if err != nil {
			return src.ReadError(ctx, err)
		}
		skipped.Count(msg, false)
		if role := speaker(msg); role != "" {
			if err := o.writeMessage(o.streams.Out, msg.Raw(), role); err != nil {
				return clikit.OutputError(err)
			}
		}
	}
	skipped.Warn(o.warn)
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
func (o *showOptions) entryMessages(ctx context.Context, src *input.Source) error {
	entries, err := o.readEntries(ctx, src)
	if err != nil {
		return err
	}
	store := sessions.NewMemory()
	if err := store.Append(ctx, fileSession, entries); err != nil {
		return input.FindError(ctx, err)
	}
	opts := &sessions.Options{Store: store, ProjectName: fileSession.Project}
	return o.writeMessages(ctx, sessions.Messages(ctx, fileSession.SessionID, opts))
}

// readEntries reads the entries of a transcript, and warns about lines that are not entries.
func (o *showOptions) readEntries(ctx context.Context, src *input.Source) ([]wire.JSON, error) {
	var entries []wire.JSON
	var skipped input.Lines
	for n := 1; ; n++ {
		line, err := src.R.ReadString('\n')
		entry := wire.JSON(strings.TrimSpace(line))
		if _, bad := sessions.EntryUUID(entry); bad == nil {
			entries = append(entries, entry)
		} else if entry != "" {
			skipped.Add(n)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, src.ReadError(ctx, err)
		}
	}
	if len(entries) == 0 {
		return nil, input.NoConversation(src.Name())
	}
	if skipped.N > 0 {
		o.warn(fmt.Sprintf("skipped lines that are not entries: %d, the first is line %d", skipped.N, skipped.First))
	}
	return entries, nil
}

type tailOptions struct {
	streams  Streams
	style    style
	project  string
	lines    int
	onlyMain bool

	started time.Time
	head    *showHead
	main    *transcript.Transcript  // of the session, as of the last update
	feeds   map[string]*render.Feed // by the ID of the subagent; "" is the session
	speaker string                  // whose feed was shown last
}

const tailHint = `Give a session ID or a prefix of one, or the path of a transcript.
Run "clew ls --all" to list sessions.`

const tailHelp = `Show the end of a session, and follow it until interrupted. Without an argument,
follow the newest session of this project, or of all projects if this one has none.

Prompts appear at once, answers when they are complete, and tool calls when they
have results. A line with the name of a subagent precedes its work. The line
"@ session" shows that the main session continues.`

func newTail(s Streams) *cobra.Command {
	o := &tailOptions{streams: s}
	cmd := &cobra.Command{
		Use:   "tail [ID|FILE]",
		Short: "Follow a session as it grows",
		Long:  tailHelp,
		Example: `  clew tail
  clew tail 4f1c -n 1 --thinking`,
		Args: clikit.AtMost(1),
		RunE: clikit.RunE(o.run),
	}
	cmd.Flags().IntVarP(&o.lines, "number", "n", 4, "`number` of prompts and answers to start with")
	input.AddProjectFlag(cmd, &o.project)
	o.style.addFlags(cmd)
	clikit.AddOnOff(cmd, &o.onlyMain, "only-main", "do not show subagents")
	return cmd
}

func (o *tailOptions) run(ctx context.Context, args []string) error {
	word := "last"
	if len(args) > 0 {
		word = args[0]
	}
	src, err := input.Find(ctx, o.project, word)
	if err != nil {
		return err
	}
	if src.Stdin {
		return &clikit.Failure{Code: clikit.ExitUsage, Err: errors.New("cannot follow stdin"), Hint: "Use \"clew show -\"."}
	}
	if src.Info.ID == "" {
		in, err := input.Open(ctx, src.Path, nil) // returns a readable error
		if err != nil {
			return input.MissingHint(err, tailHint)
		}
		_ = in.Close() // opened to be read
	}
	o.started, o.feeds = time.Now(), map[string]*render.Feed{}
	return o.follow(ctx, o.updates(ctx, src))
}

func (o *tailOptions) updates(ctx context.Context, src *input.Source) iter.Seq2[*sessions.Update, error] {
	opts := &sessions.TailOptions{OnlyMain: o.onlyMain}
	if src.Info.ID == "" {
		return sessions.TailFile(ctx, src.Path, opts)
	}
	opts.ProjectName = src.Info.Project
	return sessions.Tail(ctx, src.Info.ID, opts)
}

func (o *tailOptions) follow(ctx context.Context, updates iter.Seq2[*sessions.Update, error]) error {
	for u, err := range updates {
		if err != nil {
			if ctx.Err() != nil {
				return o.end()
			}
			return input.SessionsError(err)
		}
		o.remark(u)
		if err := o.begin(u); err != nil {
			return clikit.OutputError(err)
		}
		if _, err := io.WriteString(o.streams.Out, o.text(u)); err != nil {
			return clikit.OutputError(err)
		}
	}
	return nil
}

// begin writes the head of the session, once it is known.
func (o *tailOptions) begin(u *sessions.Update) error {
	if u.Agent != nil || u.Transcript == nil {
		return nil
	}
	o.main = u.Transcript
	if o.head != nil || len(u.Transcript.Chunks) == 0 { // the first prompt is the title
		return nil
	}
	o.head = headOfTranscript(u.Transcript, o.style.options(o.streams))
	return errors.Join(o.head.begin(o.streams.Out), o.head.figures(o.streams.Out, figuresOf(u.Transcript, nil)))
}

// end writes the totals below a session that is no longer followed.
func (o *tailOptions) end() error {
	if o.head != nil {
		text := ""
		if feed := o.feeds[o.speaker]; feed != nil {
			text = feed.Leave()
		}
		_, err := io.WriteString(o.streams.Out, text)
		if err := errors.Join(err, o.head.end(o.streams.Out, figuresOf(o.main, nil))); err != nil {
			return clikit.OutputError(err)
		}
	}
	return clikit.Stopped()
}

// remark reports what happened to the files.
func (o *tailOptions) remark(u *sessions.Update) {
	switch {
	case u.Err != nil:
		clikit.Remark(o.streams.Err, tty.Waiting, "clew tail", clikit.Printable(u.Err.Error()))
	case u.Gone && u.Agent == nil:
		clikit.Remark(o.streams.Err, tty.Waiting, "clew tail", "the transcript was removed; waiting for it to appear again")
	}
}

// text returns the text of an update.
func (o *tailOptions) text(u *sessions.Update) string {
	if u.Transcript == nil || u.Agent != nil && u.Agent.Kind() != transcript.AgentWork {
		return ""
	}
	id := ""
	if u.Agent != nil {
		id = u.Agent.ID
	}
	chunks := u.Transcript.Chunks
	feed := o.feeds[id]
	if feed == nil {
		feed = &render.Feed{Options: o.style.options(o.streams)}
		o.feeds[id] = feed
		feed.Skip(chunks, o.past(u))
	}
	feed.Day, feed.Dir = u.Transcript.Created, u.Transcript.CWD // the first lines have neither
	switch {
	case u.Agent != nil:
		feed.Label = render.AgentTitle(u.Agent)
	case o.speaker != "":
		feed.Label = "@ session"
	default:
		feed.Label = ""
	}
	text := feed.Next(chunks, u.First, false)
	if text != "" && o.speaker != id {
		if before := o.feeds[o.speaker]; before != nil {
			text = before.Leave() + text
		}
		o.speaker = id
	}
	return text
}

// past returns the number of chunks to skip at the start: all of a subagent that ended before, and
// otherwise all but the last few.
func (o *tailOptions) past(u *sessions.Update) int {
	n := len(u.Transcript.Chunks)
	if u.Agent != nil && !u.Agent.Ongoing() && u.Transcript.Modified.Before(o.started) {
		return n
	}
	return max(n-max(o.lines, 0), 0)
}
