package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/clewdev/clew"
	"github.com/spf13/cobra"
)

type chatOptions struct {
	streams Streams
	flags   agentFlags
}

const chatHelp = `Talks with Claude Code, turn by turn, until you end it.

On a terminal, the line above the input shows the model, the permission mode, the
cost and how full the context is:
  Enter      sends the text; where that ends with a \, makes a line break of it
  Alt-Enter  makes a line break, as Ctrl-J does; pasted text keeps its own
  Up, Down   go through what was sent before, in other chats, too
  Tab        completes commands, models and modes
  Ctrl-C     interrupts the turn, or clears the text; twice, it ends the chat
  Ctrl-D     ends the chat
What begins with / is a command: one of this program, which /help lists, or one of
the agent.

A tool that neither a rule nor the permission mode decides about is asked about.

An agent that dies is replaced by another one, which goes on with the conversation.
A prompt that was lost with it is offered for another try.

Where stdin is no terminal, each of its lines is a prompt; a \ at the end joins the
next one to it. stdout gets the answers alone. If a turn fails, the next one follows,
and the exit code is 1 in the end.

The history is kept in $XDG_STATE_HOME/clew/history, or ~/.local/state/clew/history.`

func newChat(s Streams) *cobra.Command {
	o := &chatOptions{streams: s}
	cmd := &cobra.Command{
		Use:   "chat",
		Short: "Talk with Claude Code, turn by turn",
		Long:  chatHelp,
		Example: `  clew chat
  clew chat --continue --model opus
  clew chat --resume 5e7b0a4c-1d2f-4e3a-8b9c-0d1e2f3a4b5c --fork-session
  printf 'Read main.go.\nWhat does it do?\n' | clew chat`,
		Args: atMost(0),
		RunE: runE(o.run),
	}
	cmd.Flags().SortFlags = false
	o.flags.add(cmd)
	return cmd
}

func (o *chatOptions) run(ctx context.Context, _ []string) error {
	opts, err := o.flags.options(ctx)
	if err != nil {
		return ofChat(err)
	}
	scr := newScreen(o.streams)
	defer scr.close()
	opts.IncludePartialMessages = true
	if !opts.Ephemeral {
		opts.Reconnect = new(clew.ReconnectOptions)
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	c := &chat{screen: scr, opts: opts, end: end}
	if c.user, err = o.user(ctx, c); err != nil {
		return err
	}
	c.user.asks().serve(opts)
	err = c.talk(ctx)
	scr.rest()
	return ofChat(runFailure(ctx, explain(ctx, err)))
}

// A user is whom a chat is with.
type user interface {
	// begin is called when there is a session, and returns what ends it all.
	begin() (end func(), err error)
	// next returns the next prompt, or io.EOF. It proposes a text, which may be "".
	next(ctx context.Context, proposal string) (string, error)
	// attend calls interrupt, while a turn runs, each time that the user wants to
	// interrupt it, until it is told that the turn is over.
	attend(interrupt func()) (over func())
	// asks returns who puts questions to this user.
	asks() *asker
}

// user returns who is at the other end of the streams.
func (o *chatOptions) user(ctx context.Context, c *chat) (user, error) {
	asked := isTerminal(o.streams.In) && isTerminal(o.streams.Err)
	if asked && os.Getenv("TERM") != "dumb" {
		return newTypist(ctx, o.streams, c), nil
	}
	return newLineReader(ctx, o.streams, c.screen)
}

// ofChat makes the advice in a failure fit for this command.
func ofChat(err error) error {
	if f, ok := errors.AsType[*failure](err); ok {
		f.hint = strings.ReplaceAll(f.hint, "clew run", "clew chat")
	}
	return err
}

// A chat is a session and who talks in it.
type chat struct {
	opts    *clew.Options
	screen  *screen
	user    user
	session *clew.Session
	status  chatStatus
	end     context.CancelCauseFunc // ends the chat, as an interrupt does
	turns   int
	failed  int
}

// talk has one turn after the other.
func (c *chat) talk(ctx context.Context) error {
	c.screen.busy("starting")
	session, err := clew.Connect(ctx, c.opts)
	if err != nil {
		return err
	}
	defer session.Close() //nolint:errcheck // how the agent ends after all was said is of no interest
	c.screen.rest()
	c.session = session
	c.status.begin(session.Info())
	end, err := c.user.begin()
	if err != nil {
		return err
	}
	defer c.farewell()
	defer end()
	return c.exchange(ctx)
}

func (c *chat) exchange(ctx context.Context) error {
	lost := ""
	for c.session.Err() == nil {
		text, err := c.user.next(ctx, lost)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, io.EOF):
			return c.verdict()
		case err != nil:
			return err
		}
		lost = ""
		if command, ok := c.ownCommand(text); ok {
			err = command(ctx)
		} else {
			lost, err = c.turn(ctx, text)
		}
		switch {
		case errors.Is(err, io.EOF):
			return c.verdict()
		case err != nil:
			return err
		}
	}
	return c.session.Err()
}

// verdict returns how a chat ended that was ended by its user. At a terminal, failed
// turns have been dealt with.
func (c *chat) verdict() error {
	if _, typed := c.user.(*typist); typed || c.failed == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d turns failed", c.failed, c.turns)
}

// farewell says how to go on.
func (c *chat) farewell() {
	_ = c.screen.newLine() // an error has been told
	if id := c.session.ID(); id != "" && !c.opts.Ephemeral {
		c.screen.note("Session " + id)
		c.screen.note("Go on with: clew chat --resume " + id)
	}
}
