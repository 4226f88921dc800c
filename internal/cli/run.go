package cli

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/wire"
	"github.com/spf13/cobra"
)

type runOptions struct {
	streams Streams
	format  outputFormat
	timeout time.Duration
	partial bool
	flags   agentFlags
}

const runHelp = `Gives Claude Code a prompt and shows what it does. The prompt is the argument, or
what comes from stdin if that is - or left out.

With --output-format text, the answer appears on stdout while it is written, and
what the agent does with its tools on stderr. With json, stdout gets one object at
the end, also when it fails:
  result             the final text, or what was said until it failed
  structured_output  the answer that fits --json-schema, left out without one
  session_id         what --resume takes
  total_cost_usd     an estimate, of the whole session
  usage              the tokens of this turn, as the API counts them
  num_turns          how many answers of the model it took
  duration_ms        how long it took
  error              why it failed, or ""
With stream-json, stdout gets the agent's messages, one JSON object per line. What
the agent writes besides them is a part of text, and on stderr otherwise.

A tool that neither a rule nor the permission mode decides about is asked about
on the terminal, and so is what the agent wants to know; also when the prompt comes
from a pipe. Where there is none, it is denied, and the model told so.

The first Ctrl-C interrupts the turn, the second one ends the program.`

func newRun(s Streams) *cobra.Command {
	o := &runOptions{streams: s, format: formatText}
	cmd := &cobra.Command{
		Use:   "run [PROMPT|-]",
		Short: "Give Claude Code a prompt, and show what it does",
		Long:  runHelp,
		Example: `  clew run "Why does the build fail?"
  git diff | clew run --append-system-prompt "Review this change." -
  clew run --continue --allowedTools Edit "Now fix it."
  clew run --output-format json --json-schema schema.json "List the packages." | jq .structured_output`,
		Args: atMost(1),
		RunE: runE(o.run),
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().Var(&o.format, "output-format", "what stdout gets: text, json or stream-json")
	addOnOff(cmd, &o.partial, "include-partial-messages", "with stream-json, send answers while they grow, too")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 0, "interrupt the turn after so long, such as 90s or 5m")
	o.flags.add(cmd)
	o.flags.addReports(cmd)
	return cmd
}

// stopLimit is how long the agent may take to end an interrupted turn.
const stopLimit = 5 * time.Second

var errTimeout = errors.New("the turn took longer than --timeout allows, and was interrupted")

func (o *runOptions) run(ctx context.Context, args []string) error {
	if o.timeout < 0 {
		return badFlag("--timeout is less than nothing")
	}
	opts, err := o.flags.options(ctx)
	if err != nil {
		return err
	}
	prompt, err := readPrompt(ctx, args, o.streams.In)
	if err != nil {
		return err
	}
	if o.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.timeout, errTimeout)
		defer cancel()
	}
	scr := newScreen(o.streams)
	defer scr.close()
	opts.IncludePartialMessages = o.partial || o.format == formatText
	asker := newAsker(ctx, o.streams, scr)
	asker.serve(opts)
	p := o.printer(scr, len(opts.OutputSchema) > 0)
	err = explain(ctx, converse(ctx, conversation{prompt: prompt, opts: opts, printer: p, asker: asker}))
	scr.rest()
	if unwritten := p.finish(err); unwritten != nil {
		return unwritten
	}
	return runFailure(ctx, err)
}

func (o *runOptions) printer(scr *screen, structured bool) printer {
	switch o.format {
	case formatJSON:
		return newObjectPrinter(scr)
	case formatStreamJSON:
		return &framePrinter{screen: scr}
	}
	return &textPrinter{screen: scr, structured: structured}
}

// A conversation is one prompt and what is needed to have it answered.
type conversation struct {
	prompt  string
	opts    *clew.Options
	printer printer
	asker   *asker
}

// converse runs a turn. When ctx ends, it interrupts the agent and waits for what
// that still has to say.
func converse(ctx context.Context, c conversation) error {
	scr := c.asker.screen
	scr.busy("starting")
	session, err := clew.Connect(ctx, c.opts)
	if err != nil {
		return err
	}
	defer session.Close() //nolint:errcheck // how the agent ends after all was said is of no interest
	scr.busy("thinking")
	turn, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stopped := make(chan struct{})
	keep := context.AfterFunc(ctx, func() {
		defer close(stopped)
		time.AfterFunc(stopLimit, cancel)
		scr.stop() // whatever comes next, it is the end
		scr.note("interrupting")
		_, _ = session.Interrupt(turn) // if that fails, the limit ends the turn
	})
	defer func() {
		if !keep() {
			cancel()
			<-stopped
		}
	}()
	for msg, err := range session.Turn(turn, c.prompt) {
		if err != nil {
			return err
		}
		c.asker.settle()
		if err := c.printer.print(msg); err != nil {
			return &writeError{err} // nobody hears the rest: Close interrupts the turn
		}
		scr.follow(msg)
	}
	return nil
}

// A writeError says that stdout takes no more.
type writeError struct{ err error }

func (e *writeError) Error() string { return outputError(e.err).Error() }

func (e *writeError) Unwrap() error { return e.err }

// A printer writes messages to stdout.
type printer interface {
	print(msg wire.Message) error
	// finish is told how the run ended, and writes what is left.
	finish(err error) error
}

// readPrompt returns the prompt that the arguments or stdin hold.
func readPrompt(ctx context.Context, args []string, stdin io.Reader) (string, error) {
	if len(args) > 0 && args[0] != "-" {
		return checkPrompt(args[0])
	}
	if len(args) == 0 && isTerminal(stdin) {
		return "", &failure{
			code: exitUsage,
			err:  errors.New("there is no prompt: stdin is a terminal"),
			hint: `Give it as an argument, such as clew run "Why does the build fail?", or - to type it.`,
		}
	}
	in, err := newInput(ctx, "stdin", stdin)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(in, maxPrompt+1))
	switch {
	case ctx.Err() != nil:
		return "", &failure{code: exitInterrupted, err: errors.New("interrupted before there was a prompt")}
	case err != nil:
		return "", &failure{code: exitInput, err: in.readError(err)}
	case len(text) > maxPrompt:
		return "", &failure{
			code: exitInput,
			err:  errors.New("the prompt is longer than 16 MiB"),
			hint: "Put it into a file, and have the agent read that.",
		}
	}
	return checkPrompt(string(text))
}

const maxPrompt = 16 << 20
