package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
)

type tailOptions struct {
	streams  Streams
	style    style
	lines    int
	onlyMain bool

	started time.Time
	feeds   map[string]*render.Feed // by the ID of the subagent; "" is the session
	speaker string                  // whose feed was shown last
}

const tailHint = `Give a session ID or the beginning of one, or the path of a transcript.
Run "clew ls --all" to list sessions.`

const tailHelp = `Show the end of a session, and then what is added to it, until interrupted.
Without an argument, follow the newest session of this project, or of all projects
if this one has none.

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
		Args: atMost(1),
		RunE: runE(o.run),
	}
	cmd.Flags().IntVarP(&o.lines, "number", "n", 4, "start with this `number` of prompts and answers")
	o.style.addFlags(cmd)
	addOnOff(cmd, &o.onlyMain, "only-main", "do not show subagents")
	return cmd
}

func (o *tailOptions) run(ctx context.Context, args []string) error {
	word := "last"
	if len(args) > 0 {
		word = args[0]
	}
	src, err := findSource(ctx, word)
	if err != nil {
		return err
	}
	if src.stdin {
		return &failure{code: exitUsage, err: errors.New("cannot follow stdin"), hint: "Use \"clew show -\"."}
	}
	if src.info.ID == "" {
		in, err := openInput(ctx, src.path, nil) // returns a readable error
		if err != nil {
			return missingHint(err, tailHint)
		}
		_ = in.Close() // opened to be read
	}
	o.started, o.feeds = time.Now(), map[string]*render.Feed{}
	return o.follow(ctx, o.updates(ctx, src))
}

func (o *tailOptions) updates(ctx context.Context, src *source) iter.Seq2[*sessions.Update, error] {
	opts := &sessions.TailOptions{OnlyMain: o.onlyMain}
	if src.info.ID == "" {
		return sessions.TailFile(ctx, src.path, opts)
	}
	opts.ProjectName = src.info.Project
	return sessions.Tail(ctx, src.info.ID, opts)
}

func (o *tailOptions) follow(ctx context.Context, updates iter.Seq2[*sessions.Update, error]) error {
	for u, err := range updates {
		if err != nil {
			if ctx.Err() != nil {
				return errStopped()
			}
			return sessionsError(err)
		}
		o.remark(u)
		if _, err := io.WriteString(o.streams.Out, o.text(u)); err != nil {
			return outputError(err)
		}
	}
	return nil
}

// remark reports what happened to the files. There is nowhere to report that stderr is closed.
func (o *tailOptions) remark(u *sessions.Update) {
	switch {
	case u.Err != nil:
		_, _ = fmt.Fprintln(o.streams.Err, "clew tail: "+escaped(u.Err.Error()))
	case u.Gone && u.Agent == nil:
		_, _ = fmt.Fprintln(o.streams.Err, "clew tail: the transcript was removed; waiting for it to appear again")
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

// past returns the number of chunks to skip at the beginning: all of a subagent that had ended
// before, and otherwise all but the last few.
func (o *tailOptions) past(u *sessions.Update) int {
	n := len(u.Transcript.Chunks)
	if u.Agent != nil && !u.Agent.Ongoing() && u.Transcript.Modified.Before(o.started) {
		return n
	}
	return max(n-max(o.lines, 0), 0)
}
