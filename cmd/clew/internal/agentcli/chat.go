package agentcli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/keymap"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/screens"
	"github.com/clewdev/clew/wire"
)

type chatOptions struct {
	Program
	flags Flags
	plain bool
}

const chatHelp = `Chat with Claude Code, turn by turn.

On a terminal, finished output stays in the scrollback. Below it are the text that
you type and a line with the model, the permission mode, the use of the context and
the cost. The keys are listed below; text is edited with the usual keys of a shell.
Prompts that you send while the agent works wait in a queue, and Up on an empty line
takes the last one back.

Text that starts with a word such as /help is a command of clew chat or of the
agent; /help lists them. Unknown commands are not sent. A space before the / sends
the text as it is. @ completes the names of files. An image whose path is in the text
is sent with it. Text after a ! is run as a shell command; the agent sees the output
with the next prompt.

Tools that no rule and no permission mode allows need your answer. The question is
above the text, and shows the whole input of the tool, and for a change the diff of
the file. Keys that you type into the text never answer it: the question gets the
focus only when there is no text and you have not typed for half a second, or when you
press Ctrl-G.
"Always" lists what it changes, with the rules marked; you can narrow a rule before
you confirm. Esc goes back to the text, without an answer. If the input does not fit,
the space bar shows more of it, and y and a work at its end.

Hooks and MCP servers of a directory that you have not trusted also need your answer:
see "clew run --help".

With --plain, on a dumb terminal, or if the variable ACCESSIBLE is set, the chat only
prints lines, for screen readers and logs. Type a line to answer a question.

The terminal is notified when a turn ends or a question waits, and you have not
typed anything for 10 seconds, unless the setting notify is false.

If the agent crashes, another one continues the conversation. A prompt that was
lost is offered again.

If stdin is not a terminal, each line is a prompt; a \ at the end of a line joins
the next one to it. Only answers go to stdout. If a turn fails, the chat continues,
and the exit code is 1.

The history is saved in $XDG_STATE_HOME/clew/history, or ~/.local/state/clew/history.`

// chatKeysHelp returns the key table for a chat and its questions.
func chatKeysHelp() string {
	keys, err := keymap.New(nil)
	if err != nil {
		panic(err) // a test of the table finds it
	}
	var b strings.Builder
	for _, part := range []struct {
		title string
		scope keymap.Scope
	}{{"Chat", keymap.InChat}, {"A question that has the focus", keymap.InQuestion}} {
		fmt.Fprintf(&b, "\n\n%s:", part.title)
		for _, k := range keys.In(part.scope) {
			if part.scope != keymap.InChat && k.Scope&keymap.InChat != 0 {
				continue // it is listed above
			}
			fmt.Fprintf(&b, "\n  %-31s %s", k.KeyNames(), k.Text)
		}
	}
	return b.String()
}

func newChat(p Program) *cobra.Command {
	o := &chatOptions{Program: p}
	cmd := &cobra.Command{
		Use:   "chat",
		Short: "Chat with Claude Code, turn by turn",
		Long:  chatHelp + chatKeysHelp(),
		Example: `  clew chat
  clew chat --continue --model opus
  clew chat --resume 5e7b0a4c-1d2f-4e3a-8b9c-0d1e2f3a4b5c --fork-session
  printf 'Read main.go.\nWhat does it do?\n' | clew chat`,
		Args: clikit.AtMost(0),
		RunE: clikit.RunE(o.run),
	}
	cmd.Flags().SortFlags = false
	o.flags.add(cmd)
	clikit.AddOnOff(cmd, &o.plain, "plain", "use lines only, for screen readers: no boxes, and nothing is drawn again")
	return cmd
}

func (o *chatOptions) run(ctx context.Context, _ []string) error {
	opts, err := o.flags.Options(ctx)
	if err != nil {
		return ofChat(err)
	}
	note, err := o.flags.settleTrust(ctx, o.Streams, opts)
	if err != nil {
		return ofChat(err)
	}
	scr := newScreen(o.Streams)
	defer scr.close()
	if note != "" {
		scr.note(note)
	}
	opts.IncludePartialMessages = true
	if !opts.Session.Ephemeral {
		opts.Reconnect = new(clew.ReconnectOptions)
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	c := &chat{ctx: ctx, streams: o.Streams, screen: scr, opts: opts, end: end, setting: make(chan struct{}, 1)}
	if c.user, err = o.user(ctx, c); err != nil {
		return err
	}
	c.user.questions().serve(opts)
	scr.worksIn(c.user.questions().dir(), opts.Session.Title)
	err = c.talk(ctx)
	scr.idle()
	return ofChat(runFailure(ctx, explain(ctx, err)))
}

// A user is the other side of a chat: a terminal, or lines from stdin.
type user interface {
	// begin is called before the session is connected. end is called when the chat ends.
	begin() (end func(), err error)
	// next returns the next prompt, or io.EOF. The proposal is the initial text, or "".
	next(ctx context.Context, proposal string) (string, error)
	// onInterrupt makes the user's interrupts call interrupt until over is called.
	onInterrupt(interrupt func()) (over func())
	// questions returns how the agent asks this user.
	questions() questions
	// showStatus shows the status of the session.
	showStatus(s *chatStatus)
}

// questions presents the agent's questions to the user.
type questions interface {
	// serve makes the agent ask, unless the options name another way.
	serve(opts *clew.Options)
	// waitForAnswer waits until no question is open, if one would be within other text.
	waitForAnswer()
	// dir returns the working directory of the agent, or "".
	dir() string
}

func (a *questioner) dir() string { return a.workspace.Dir }

// user returns the user of the streams.
func (o *chatOptions) user(ctx context.Context, c *chat) (user, error) {
	terminal := clikit.IsTerminal(o.In) && clikit.IsTerminal(o.Out) && clikit.IsTerminal(o.Err)
	if terminal && !o.isPlain() {
		u := newTerminalUser(ctx, o.Streams, c)
		u.keys, u.environ = o.Keys(), o.Environ()
		return u, nil
	}
	return newLineReader(ctx, o.Streams, c.screen)
}

// isPlain reports whether the terminal gets only lines.
func (o *chatOptions) isPlain() bool {
	accessible := os.Getenv("ACCESSIBLE")
	return o.plain || clikit.Dumb() || accessible != "" && accessible != "0"
}

// ofChat changes the hint of a failure from run to chat.
func ofChat(err error) error {
	if f, ok := errors.AsType[*clikit.Failure](err); ok {
		f.Hint = strings.ReplaceAll(f.Hint, "clew run", "clew chat")
	}
	return err
}

// A chat is a session with its user.
type chat struct {
	ctx     context.Context //nolint:containedctx // it ends with the chat
	streams clikit.Streams
	opts    *clew.Options
	screen  *screen
	user    user
	session *clew.Session
	ready   atomic.Pointer[clew.Session] // the session, for other goroutines
	status  chatStatus
	setting chan struct{}           // has a value while the permission mode is being changed
	end     context.CancelCauseFunc // ends the chat, as an interrupt does
	ran     []string                // shell commands that the user ran since the last prompt
	turns   int
	failed  int
}

// connected returns the session, or nil before it is connected.
func (c *chat) connected() *clew.Session { return c.ready.Load() }

// talk runs one turn after the other.
func (c *chat) talk(ctx context.Context) error {
	end, err := c.user.begin()
	if err != nil {
		return err
	}
	over := sync.OnceFunc(end)
	defer over()
	c.screen.busy("starting")
	session, err := clew.Connect(ctx, c.opts)
	c.screen.idle()
	if err != nil {
		return err
	}
	defer session.Close() //nolint:errcheck // the chat is over
	c.session = session
	c.ready.Store(session)
	c.status.begin(session.Info())
	c.user.showStatus(&c.status)
	defer c.closing()
	defer over()
	return c.exchange(ctx)
}

func (c *chat) exchange(ctx context.Context) error {
	if lines, ok := c.user.(*lineReader); ok && lines.typed {
		c.say(c.agentName() + ". Enter sends, /help lists commands, Ctrl-D ends.")
	}
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
		} else if command, ok := shellCommand(text); ok {
			err = c.runShell(ctx, command)
		} else if problem := c.unknownCommand(text); problem != "" {
			c.refuse(problem)
			lost = text
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

// endError returns the error of a chat that its user ended. On a terminal, the user saw the failed
// turns.
func (c *chat) endError() error {
	if _, typed := c.user.(*terminalUser); typed || c.failed == 0 {
		return nil
	}
	return fmt.Errorf("%d of %s failed", c.failed, wording.Count(c.turns, "turn"))
}

// closing prints how to resume the session.
func (c *chat) closing() {
	_ = c.screen.newLine() // an error was returned before
	if _, typed := c.user.(*terminalUser); typed {
		c.screen.say("\n")
	}
	if id := c.session.ID(); id != "" && !c.opts.Session.Ephemeral {
		resume := "Resume with: clew chat --resume "
		if width := c.screen.width; width > 0 && tty.Width(resume+clikit.Printable(id)) >= width {
			resume, id = "Resume: clew chat --resume ", tty.Cut(tty.Line(id), 8) // that is enough to find it
		}
		c.screen.note("Session " + id)
		c.screen.note(resume + id)
	}
}

var errChatInterrupted = errors.New("interrupted twice")

// turn runs one turn. It returns a prompt that was lost with an agent. An error ends the chat.
func (c *chat) turn(ctx context.Context, prompt string) (lost string, err error) {
	c.turns++
	c.screen.busy("thinking")
	c.screen.state("working")
	p := &textPrinter{screen: c.screen, structured: len(c.opts.OutputSchema) > 0}
	stopped, err := c.answer(ctx, prompt, p)
	c.screen.idle()
	if broken, ok := errors.AsType[*clikit.WriteError](errors.Join(err, p.finish(err))); ok {
		return "", broken
	}
	if ctx.Err() == nil && !stopped {
		defer c.screen.turnEnded()
	}
	if err == nil && !stopped {
		c.screen.state("done in " + wording.Duration(c.screen.elapsed()))
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
		c.screen.note("the agent crashed; it may have started to act on the prompt")
		return prompt, nil
	}
	if c.session.Err() != nil {
		return "", err
	}
	c.screen.say(tty.CleanExactly(reason(ctx, err)) + "\n")
	return "", nil
}

// answer sends a prompt and prints the agent's messages. The first interrupt stops the turn, the
// second one the chat.
func (c *chat) answer(ctx context.Context, prompt string, p printer) (stopped bool, err error) {
	turn, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	var stopping atomic.Bool
	stop := func() {
		if stopping.Swap(true) {
			return
		}
		c.screen.interrupting()
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
	for msg, err := range c.session.Turn(turn, c.message(prompt)) {
		if err != nil {
			return stopping.Load(), err
		}
		c.user.questions().waitForAnswer()
		if err := p.print(msg); err != nil {
			return false, &clikit.WriteError{Err: err} // Close interrupts the turn
		}
		c.follow(msg)
	}
	return stopping.Load(), nil
}

// follow updates the status from a message, and reports everything outside of the answer on stderr.
func (c *chat) follow(msg wire.Message) {
	if c.status.follow(msg) {
		c.user.showStatus(&c.status)
	}
	c.screen.follow(msg)
	if m, ok := msg.(*wire.SessionReconnectedMessage); ok {
		how := "another agent continues the conversation"
		if !m.Resumed {
			how = "another agent starts the conversation again"
		}
		c.screen.note(strings.TrimPrefix(m.Error, "clew: ") + "; " + how)
		c.screen.busy("thinking")
	}
}

// A chatStatus is the status of a session. Unknown values are zero.
type chatStatus struct {
	mu       sync.Mutex
	model    string
	mode     wire.PermissionMode
	cost     float64
	counted  bool // the cost is known
	context  *screens.ContextFill
	commands []wire.SlashCommand
	models   []clew.ModelInfo
}

func (s *chatStatus) begin(info *clew.ServerInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.model, s.mode = info.CurrentModel, info.CurrentPermissionMode
	s.commands, s.models = info.Commands, info.Models
}

// follow updates the status from a message. It reports whether the message has some of it.
func (s *chatStatus) follow(msg wire.Message) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
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
	default:
		return false
	}
	return true
}

// change changes the status.
func (s *chatStatus) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *chatStatus) permissionMode() wire.PermissionMode {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mode
}

func (s *chatStatus) currentModel() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.model
}

// known returns the agent's commands and models.
func (s *chatStatus) known() ([]wire.SlashCommand, []clew.ModelInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.commands), s.models
}

// learn adds commands known only by name.
func (s *chatStatus) learn(names []string) {
	for _, name := range names {
		if !slices.ContainsFunc(s.commands, func(c wire.SlashCommand) bool { return c.Name == name }) {
			s.commands = append(s.commands, wire.SlashCommand{Name: name})
		}
	}
}

// updateContext asks the agent for the use of its context, and shows it once it is known.
func (c *chat) updateContext(ctx context.Context) {
	report, err := screens.Context(ctx, c.session, &screens.ContextOptions{Estimate: true})
	if ctx.Err() != nil {
		return // the next prompt did not wait for it
	}
	if err != nil {
		report = nil
	}
	c.status.change(func() {
		if report != nil {
			c.status.model = cmp.Or(c.status.model, report.Model)
		}
		c.status.context = report
	})
	c.user.showStatus(&c.status)
}
