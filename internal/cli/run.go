package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/wire"
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

// These limits are variables since tests set longer ones: a busy machine must not decide how they end.
var (
	// stopLimit is how long the agent may take to end an interrupted turn.
	stopLimit = 5 * time.Second
	// contextLimit is how long the user waits for the status line above the input.
	contextLimit = 2 * time.Second
	// toolLimit is how long a question waits for the call that it is about.
	toolLimit = time.Second
	// tidyLimit is how long a terminal, which may be stopped, may take to be restored.
	tidyLimit = 100 * time.Millisecond
)

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
	questioner := newQuestioner(ctx, o.streams, scr)
	questioner.serve(opts)
	p := o.printer(scr, len(opts.OutputSchema) > 0)
	err = explain(ctx, converse(ctx, conversation{prompt: prompt, opts: opts, printer: p, questioner: questioner}))
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
	prompt     string
	opts       *clew.Options
	printer    printer
	questioner *questioner
}

// converse runs a turn. When ctx ends, it interrupts the agent and waits for what
// that still has to say.
func converse(ctx context.Context, c conversation) error {
	scr := c.questioner.screen
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
		_, _ = session.Interrupt(turn, nil) // if that fails, the limit ends the turn
	})
	defer func() {
		if !keep() {
			cancel()
			<-stopped
		}
	}()
	for msg, err := range session.Turn(turn, clew.Text(c.prompt)) {
		if err != nil {
			return err
		}
		c.questioner.waitForAnswer()
		if err := c.printer.print(msg); err != nil {
			return &writeError{err} // nobody hears the rest: Close interrupts the turn
		}
		scr.follow(msg)
	}
	return nil
}

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

// A runError is how a run failed, with a reason to be told. The reason may quote
// the agent.
type runError struct {
	reason string
	err    error
}

func (e *runError) Error() string { return e.reason }

func (e *runError) Unwrap() error { return e.err }

// explain adds to an error why the run failed. Nil stays nil.
func explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	return &runError{reason: reason(ctx, err), err: err}
}

// runFailure returns how the program ends after a run that ended with err.
func runFailure(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if broken, ok := errors.AsType[*writeError](err); ok {
		return broken
	}
	f := &failure{code: exitFailed, err: errors.New(cleanText(err.Error()))}
	switch {
	case timedOut(ctx):
		f.hint = "Give it more time with --timeout, or go on with --continue."
	case ctx.Err() != nil:
		f.code = exitInterrupted
	case errors.As(err, new(*clew.NotFoundError)):
		f.code = exitAgent
		f.hint = "Install Claude Code, or name its binary with --agent-path or CLEW_AGENT."
	case errors.As(err, new(*clew.OptionsError)):
		f.code = exitUsage
		f.hint = `Run "clew run --help" for help.`
	}
	return f
}

func timedOut(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errTimeout) }

// reason says why a run failed, on behalf of the program.
func reason(ctx context.Context, err error) string {
	switch {
	case timedOut(ctx):
		return errTimeout.Error()
	case ctx.Err() != nil:
		return "interrupted"
	}
	if missing, ok := errors.AsType[*clew.NotFoundError](err); ok {
		return "the agent binary was not found; looked at " + strings.Join(missing.Looked, ", ")
	}
	if wrong, ok := errors.AsType[*clew.OptionsError](err); ok && flagNames[wrong.Option] != "" {
		return flagNames[wrong.Option] + ": " + withFlags(wrong.Reason)
	}
	return strings.TrimPrefix(err.Error(), "clew: ")
}

// withFlags names the flags in place of the options that a text is about.
func withFlags(text string) string {
	words := strings.Split(text, " ")
	for i, word := range words {
		words[i] = cmp.Or(flagNames[word], word)
	}
	return strings.Join(words, " ")
}

// flagNames are the flags by the options that they set.
var flagNames = map[string]string{
	"AddDirs": "--add-dir", "Agent": "--agent", "Agents": "--agents", "AllowedTools": "--allowedTools",
	"AutoCompactTokens": "--autocompact", "Bare": "--bare", "Betas": "--betas", "Continue": "--continue",
	"DebugCategories": "--debug", "DebugFile": "--debug-file", "DisallowedTools": "--disallowedTools",
	"Effort": "--effort", "Ephemeral": "--no-session-persistence", "ExtraArgs": "--agent-arg",
	"FallbackModels": "--fallback-model", "ForkSession": "--fork-session", "ManagedSettings": "--managed-settings",
	"MaxBudgetUSD": "--max-budget-usd", "MaxTurns": "--max-turns", "MCPConfigFiles": "--mcp-config", "Model": "--model",
	"OutputSchema": "--json-schema", "PermissionMode": "--permission-mode",
	"PermissionPrompts": "--permission-prompts", "PermissionPromptTool": "--permission-prompt-tool",
	"Plugins": "--plugin-dir", "ProjectConfigRoot": "--project-config-root", "Resume": "--resume",
	"ResumeAt": "--resume-session-at", "SessionID": "--session-id", "Settings": "--settings",
	"SettingsFile": "--settings", "SettingSources": "--setting-sources", "SystemPrompt": "--system-prompt",
	"TaskBudget": "--task-budget", "Thinking": "--thinking", "Title": "--name", "Tools": "--tools",
}
