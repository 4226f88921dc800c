package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/screens"
	"github.com/clewdev/clew/wire"
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
	c.user.questions().serve(opts)
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
	// onInterrupt calls interrupt, while a turn runs, each time that the user wants to
	// interrupt it, until it is told that the turn is over.
	onInterrupt(interrupt func()) (over func())
	// questions returns who puts questions to this user.
	questions() *questioner
}

// user returns who is at the other end of the streams.
func (o *chatOptions) user(ctx context.Context, c *chat) (user, error) {
	asked := isTerminal(o.streams.In) && isTerminal(o.streams.Err)
	if asked && os.Getenv("TERM") != "dumb" {
		return newTerminalUser(ctx, o.streams, c), nil
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
	defer c.closing()
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
			return c.endError()
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
			return c.endError()
		case err != nil:
			return err
		}
	}
	return c.session.Err()
}

// verdict returns how a chat ended that was ended by its user. At a terminal, failed
// turns have been dealt with.
func (c *chat) endError() error {
	if _, typed := c.user.(*terminalUser); typed || c.failed == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d turns failed", c.failed, c.turns)
}

// farewell says how to go on.
func (c *chat) closing() {
	_ = c.screen.newLine() // an error has been told
	if id := c.session.ID(); id != "" && !c.opts.Ephemeral {
		c.screen.note("Session " + id)
		c.screen.note("Go on with: clew chat --resume " + id)
	}
}

var errChatInterrupted = errors.New("interrupted twice")

// turn has a prompt answered. A prompt that was lost with an agent comes back. Errors
// end the chat.
func (c *chat) turn(ctx context.Context, prompt string) (lost string, err error) {
	c.turns++
	c.screen.busy("thinking")
	p := &textPrinter{screen: c.screen, structured: len(c.opts.OutputSchema) > 0}
	stopped, err := c.answer(ctx, prompt, p)
	c.screen.rest()
	if broken, ok := errors.AsType[*writeError](errors.Join(err, p.finish(err))); ok {
		return "", broken
	}
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err == nil:
		return "", nil
	case stopped:
		c.screen.note("interrupted")
		return "", c.session.Err()
	}
	c.failed++
	if _, ok := errors.AsType[*clew.LostError](err); ok {
		c.screen.note("the prompt was lost with the agent, which may have begun to act on it")
		return prompt, nil
	}
	if c.session.Err() != nil {
		return "", err
	}
	c.screen.say(cleanText(reason(ctx, err)) + "\n")
	return "", nil
}

// answer prints what the agent does about a prompt. The first interrupt stops the turn,
// the second one the chat.
func (c *chat) answer(ctx context.Context, prompt string, p printer) (stopped bool, err error) {
	turn, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	var stopping atomic.Bool
	stop := func() {
		if stopping.Swap(true) {
			return
		}
		c.screen.note("interrupting")
		time.AfterFunc(stopLimit, cancel)
		go c.session.Interrupt(turn, nil) //nolint:errcheck // if that fails, the limit ends the turn
	}
	defer context.AfterFunc(ctx, func() {
		c.screen.stop() // the chat ends with this turn
		stop()
	})()
	over := c.user.onInterrupt(func() {
		if stopping.Load() {
			c.end(errChatInterrupted)
			cancel()
		}
		stop()
	})
	defer over()
	for msg, err := range c.session.Turn(turn, clew.Text(prompt)) {
		if err != nil {
			return stopping.Load(), err
		}
		c.user.questions().waitForAnswer()
		if err := p.print(msg); err != nil {
			return false, &writeError{err} // nobody hears the rest: Close interrupts the turn
		}
		c.follow(msg)
	}
	return stopping.Load(), nil
}

// follow takes note of a message, and tells on stderr what happens besides the answer.
func (c *chat) follow(msg wire.Message) {
	c.status.follow(msg)
	c.screen.follow(msg)
	if m, ok := msg.(*wire.SessionReconnectedMessage); ok {
		how := "another one goes on with the conversation"
		if !m.Resumed {
			how = "another one begins the conversation anew"
		}
		c.screen.note(strings.TrimPrefix(m.Error, "clew: ") + "; " + how)
		c.screen.busy("thinking")
	}
}

// A chatStatus is what is known of a session. What is not known is zero.
type chatStatus struct {
	model    string
	mode     wire.PermissionMode
	cost     float64
	counted  bool // the cost is known
	context  *screens.ContextWindow
	commands []wire.SlashCommand
	models   []clew.ModelInfo
}

func (s *chatStatus) begin(info *clew.ServerInfo) {
	s.model, s.mode = info.CurrentModel, info.CurrentPermissionMode
	s.commands, s.models = info.Commands, info.Models
}

// follow takes note of what a message says.
func (s *chatStatus) follow(msg wire.Message) {
	switch m := msg.(type) {
	case *wire.InitMessage:
		s.model, s.mode = cmp.Or(m.Model, s.model), cmp.Or(m.PermissionMode, s.mode)
		s.learn(m.SlashCommands)
	case *wire.StatusMessage:
		s.mode = cmp.Or(m.PermissionMode, s.mode)
	case *wire.CommandsChangedMessage:
		s.commands = m.Commands
	case *wire.ResultMessage:
		s.cost, s.counted = m.TotalCostUSD, true
	}
}

// learn adds commands that only have a name.
func (s *chatStatus) learn(names []string) {
	for _, name := range names {
		if !slices.ContainsFunc(s.commands, func(c wire.SlashCommand) bool { return c.Name == name }) {
			s.commands = append(s.commands, wire.SlashCommand{Name: name})
		}
	}
}

// line is the line above the input.
func (s *chatStatus) line() string {
	var parts []string
	for _, part := range []string{s.model, string(s.mode)} {
		if part != "" {
			parts = append(parts, printable(part))
		}
	}
	if s.counted {
		parts = append(parts, fmt.Sprintf("$%.2f", s.cost))
	}
	if s.context != nil && s.context.MaxTokens > 0 {
		parts = append(parts, fmt.Sprintf("context %.0f%%", s.context.Percentage))
	}
	return strings.Join(parts, " · ")
}

// weigh asks how full the context is.
func (c *chat) updateContext(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, contextLimit)
	defer cancel()
	report, err := screens.Context(ctx, c.session, &screens.ContextOptions{Estimate: true})
	if err != nil {
		report = nil
	} else if c.status.model == "" {
		c.status.model = report.Model
	}
	c.status.context = report
}
