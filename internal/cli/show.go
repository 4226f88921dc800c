package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
	"github.com/spf13/cobra"
)

type showOptions struct {
	streams  Streams
	look     look
	format   showFormat
	turns    turnRange
	agent    string
	diff     bool
	branches bool
}

const showLong = `Shows a session: prompts, answers, tools and subagents. The session is named by
its ID, by the beginning of it, or as "last": the newest one of this project, or
of all if it has none. A FILE is a transcript or stream-json, and so is what -
reads from stdin; that is shown as it comes.

Formats:
  text      for a terminal
  json      one object with what is known of the session, and its chunks
  ndjson    one object for each chunk
  messages  one object for each message that the agent would continue with,
            with role and content as the API takes them; of sessions only

The text of a transcript of more than 16 MiB is shown while it is read: what a
rewind has left behind is among it, and what subagents did is not. Each of
--agent, --branches, --diff and --format=json reads the whole first.`

func newShow(s Streams) *cobra.Command {
	o := &showOptions{streams: s, format: "text"}
	cmd := &cobra.Command{
		Use:   "show ID|FILE|-",
		Short: "Show a session",
		Long:  showLong,
		Example: `  clew show last
  clew show 4f1c --turn 3..5 --expand
  clew show last --diff
  claude -p --verbose --output-format stream-json hello | clew show -`,
		Args: exactlyOne("a session, a file, or -"),
		RunE: runE(o.run),
	}
	cmd.Flags().Var(&o.format, "format", "text, json, ndjson or messages")
	o.look.addFlags(cmd)
	cmd.Flags().Var(&o.turns, "turn", "show these turns only, such as 3, 3..5 or 3..")
	cmd.Flags().StringVar(&o.agent, "agent", "", "show the subagent with this `ID`, or the beginning of one")
	addOnOff(cmd, &o.diff, "diff", "show what was changed in files instead")
	addOnOff(cmd, &o.branches, "branches", "show what was left behind by rewinds, too")
	return cmd
}

// exactlyOne asks for one argument.
func exactlyOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return misused(cmd, errors.New("an argument is missing: "+what))
		}
		return atMost(1)(cmd, args)
	}
}

// largeFile is the size from which on a transcript is shown while it is read.
const largeFile = 16 << 20

func (o *showOptions) run(ctx context.Context, args []string) error {
	if o.diff && o.format != "text" {
		return &failure{code: exitUsage, err: errors.New("--diff is text only"), hint: "Leave out --format."}
	}
	src, err := findSource(ctx, args[0])
	switch {
	case err != nil:
		return err
	case o.format == "messages":
		return o.messages(ctx, src)
	case src.info.ID != "" && (o.whole() || src.info.Size < largeFile):
		return o.session(ctx, src)
	}
	return o.file(ctx, src, args[0])
}

// whole reports whether everything has to be read before something is shown.
func (o *showOptions) whole() bool {
	return o.format != "text" || o.agent != "" || o.diff || o.branches
}

func (o *showOptions) session(ctx context.Context, src source) error {
	t, err := sessions.Read(ctx, src.info.ID, &sessions.ReadOptions{
		Options: sessions.Options{ProjectName: src.info.Project},
	})
	return o.finish(ctx, t, err, src.info.ID)
}

// file shows a file or stdin.
func (o *showOptions) file(ctx context.Context, src source, name string) error {
	if !src.stdin {
		name = src.path
	}
	in, err := openInput(ctx, name, o.streams.In)
	if err != nil {
		return err
	}
	defer in.Close()
	r := bufio.NewReaderSize(in, sniffed)
	f := sniff(r)
	if ctx.Err() != nil {
		return errInterrupted()
	}
	switch {
	case f == transcriptForm && in.file != nil && in.size >= 0 && (o.whole() || in.size < largeFile):
		t, err := sessions.ReadFile(ctx, in.name, nil)
		return o.finish(ctx, t, err, in.name)
	case f == transcriptForm && in.file != nil && !o.whole():
		return o.large(ctx, r, in)
	}
	return o.live(ctx, r, in, f)
}

// finish shows a transcript that was read whole, or as far as err let it.
func (o *showOptions) finish(ctx context.Context, t *transcript.Transcript, err error, name string) error {
	switch {
	case ctx.Err() != nil:
		return errInterrupted()
	case t == nil:
		why := escaped(cause(err).Error())
		return &failure{code: exitInput, err: fmt.Errorf("%s cannot be read: %s", printable(name), why)}
	case err != nil:
		o.warn(escaped(err.Error()))
	}
	if len(t.Chunks) == 0 {
		return noConversation(name)
	}
	o.warnInvalid(t)
	return o.print(t)
}

func noConversation(name string) error {
	return &failure{
		code: exitInput,
		err:  fmt.Errorf("there is no conversation in %s", printable(name)),
		hint: "Give a transcript or a file of stream-json.",
	}
}

// warn tells of something that is not shown, if stderr can be written.
func (o *showOptions) warn(text string) { _, _ = fmt.Fprintln(o.streams.Err, "clew show: "+text) }

func (o *showOptions) warnInvalid(t *transcript.Transcript) {
	if n := len(t.Invalid); n > 0 {
		first := t.Invalid[0].Position.Line
		o.warn(fmt.Sprintf("lines that are no entries were left out: %d, the first is line %d", n, first))
	}
}

// large shows a long transcript while it is read.
func (o *showOptions) large(ctx context.Context, r io.Reader, in *input) error {
	out := bufio.NewWriterSize(o.streams.Out, 16<<10)
	opts, turn, empty := o.look.options(o.streams), 0, true
	for c, err := range transcript.Stream(&patient{ctx: ctx, src: r}, nil) {
		if err != nil {
			return o.readFailure(ctx, in, err, out.Flush())
		}
		empty = false
		if c.Type == transcript.UserChunk {
			turn++
		}
		if o.turns.last > 0 && turn > o.turns.last {
			break
		}
		if !o.turns.has(turn) {
			continue
		}
		if _, err := io.WriteString(out, opts.Chunk(c, turn)); err != nil {
			return outputError(err)
		}
	}
	if err := out.Flush(); err != nil {
		return outputError(err)
	}
	if empty {
		return noConversation(in.name)
	}
	return nil
}

func (o *showOptions) readFailure(ctx context.Context, in *input, err, flushErr error) error {
	switch {
	case flushErr != nil:
		return outputError(flushErr)
	case ctx.Err() != nil:
		return errInterrupted()
	}
	return &failure{code: exitInput, err: in.readError(err)}
}

// live shows what is read as it comes, if that can be shown in parts.
func (o *showOptions) live(ctx context.Context, r io.Reader, in *input, f form) error {
	b := transcript.NewBuilder(nil)
	feed := &render.Feed{Options: o.look.options(o.streams)}
	parts := !o.whole() && o.turns.text == ""
	show := func(final bool) error {
		if !parts {
			return nil
		}
		_, err := io.WriteString(o.streams.Out, feed.Next(b.Transcript().Chunks, b.Changed(), final))
		return err
	}
	err := take(b, r, f, func() error { return show(false) })
	_ = b.Close() // a last line without an end is among the invalid ones
	t := b.Transcript()
	if showErr := show(true); showErr != nil {
		return outputError(showErr)
	}
	var written *writeError
	switch {
	case errors.As(err, &written):
		return outputError(written.err)
	case err != nil:
		return o.readFailure(ctx, in, err, nil)
	case parts && len(t.Chunks) > 0:
		o.warnInvalid(t)
		return nil
	}
	transcript.Link(t, transcript.InlineAgents(t))
	return o.finish(ctx, t, nil, in.name)
}

// take reads to the end, and calls shown whenever there is something new.
func take(b *transcript.Builder, r io.Reader, f form, shown func() error) error {
	if f != streamForm {
		return takeLines(b, r, shown)
	}
	for msg, err := range wire.NewReader(r, nil).Messages() {
		if err != nil {
			return err
		}
		b.AddMessage(msg, time.Time{})
		if err := shown(); err != nil {
			return &writeError{err}
		}
	}
	return nil
}

func takeLines(b *transcript.Builder, r io.Reader, shown func() error) error {
	buf := make([]byte, sniffed)
	for {
		n, err := r.Read(buf)
		_, _ = b.Write(buf[:n]) // never fails
		if err := shown(); err != nil {
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
