package cli

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/input"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
)

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
