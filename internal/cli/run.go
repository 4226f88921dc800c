package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/wire"
)

type runOptions struct {
	streams Streams
	format  outputFormat
	timeout time.Duration
	partial bool
	flags   agentFlags
}

const runHelp = `Send a prompt to Claude Code and show what it does. The prompt is the argument. If
the argument is - or missing, the prompt is read from stdin.

With --output-format text, the answer appears on stdout as it is written, and the
agent's use of tools on stderr. With json, stdout gets one object at the end, even
if the turn fails:
  result             the final text, or the text up to the failure
  structured_output  the answer that matches --json-schema, if one is given
  session_id         the ID for --resume
  total_cost_usd     the estimated cost of the whole session
  usage              the tokens of this turn, as the API counts them
  num_turns          the number of answers of the model
  duration_ms        the duration in milliseconds
  error              the reason for the failure, or ""
With stream-json, stdout gets the agent's messages, one JSON object per line. Other
output of the agent is included in text output, and goes to stderr in the other
formats.

Tools that no rule and no permission mode allows need your answer on the terminal,
even if the prompt comes from a pipe. The question shows the whole input of the
tool. If that does not fit on the screen, Enter shows more of it, and until its end
only the whole word yes or always allows the tool. Anything you type before the
question appears is discarded. The agent's own questions appear on the terminal as
well. Without a terminal, these tools are denied.

A directory can have files that make the agent run programs: hooks in .claude,
servers in .mcp.json. Unless you have trusted the directory, here or in Claude Code,
or it is below one of trusted_dirs (see "clew config"), you are asked whether to use
them. Without a terminal, or if you say no, the agent gets only your own settings.
You are not asked with --trust, which uses them, with --trust=false, which does not,
or with --setting-sources. The answer yes is remembered for the repository, in
$XDG_STATE_HOME/clew/trusted.json, or ~/.local/state/clew/trusted.json.

The first Ctrl-C interrupts the turn, the second one ends the program.`

func newRun(s Streams) *cobra.Command {
	o := &runOptions{streams: s, format: formatText}
	cmd := &cobra.Command{
		Use:   "run [PROMPT|-]",
		Short: "Send a prompt to Claude Code and show what it does",
		Long:  runHelp,
		Example: `  clew run "Why does the build fail?"
  git diff | clew run --append-system-prompt "Review this change." -
  clew run --continue --allowedTools Edit "Now fix it."
  clew run --output-format json --json-schema schema.json "List the packages." | jq .structured_output`,
		Args: atMost(1),
		RunE: runE(o.run),
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().Var(&o.format, "output-format", "output format: text, json or stream-json")
	addOnOff(cmd, &o.partial, "include-partial-messages", "with stream-json, also print partial answers")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 0, "interrupt the turn after this `duration`, such as 90s or 5m")
	o.flags.add(cmd)
	o.flags.addReports(cmd)
	return cmd
}

// The limits are variables, so that tests can set longer ones for busy machines.
var (
	// stopLimit is how long the agent may take to end an interrupted turn.
	stopLimit = 5 * time.Second
	// contextLimit is how long the user waits for the status line above the input.
	contextLimit = 2 * time.Second
	// toolLimit is how long a question waits for its tool use.
	toolLimit = time.Second
	// tidyLimit is how long a terminal, which may be stopped, may take to be restored.
	tidyLimit = 100 * time.Millisecond
	// completionLimit is how long the user of a shell waits for the names of sessions.
	completionLimit = 2 * time.Second
	// checkLimit is how long a check of doctor may take.
	checkLimit = 10 * time.Second
)

var errTimeout = errors.New("the turn took longer than --timeout and was interrupted")

func (o *runOptions) run(ctx context.Context, args []string) error {
	if o.timeout < 0 {
		return badFlag("--timeout must not be negative")
	}
	opts, err := o.flags.options(ctx)
	if err != nil {
		return err
	}
	prompt, err := readPrompt(ctx, args, o.streams.In)
	if err != nil {
		return err
	}
	note, err := o.flags.settleTrust(ctx, o.streams, opts)
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
	if note != "" {
		scr.note(note)
	}
	opts.IncludePartialMessages = o.partial || o.format == formatText
	questioner := newQuestioner(ctx, o.streams, scr)
	questioner.serve(opts)
	scr.dir = questioner.workspace.dir
	p := o.printer(scr, len(opts.OutputSchema) > 0)
	err = explain(ctx, converse(ctx, conversation{prompt: prompt, opts: opts, printer: p, questioner: questioner}))
	scr.idle()
	if unwritten := p.finish(err); unwritten != nil {
		return unwritten
	}
	if text, ok := p.(*textPrinter); ok && isTerminal(o.streams.Err) && text.result != nil {
		scr.say(tty.Dim.Paint(tty.Fit(closingLine(text.result, opts.Ephemeral), scr.width-1), colored(o.streams.Err)) + "\n")
	}
	return runFailure(ctx, err)
}

// closingLine says what a turn took, and how to continue the session.
func closingLine(r *wire.ResultMessage, ephemeral bool) string {
	parts := []string{render.Duration(r.Duration.Duration())}
	if u := r.Usage; u != nil {
		tokens := u.InputTokens + u.OutputTokens + u.CacheCreationInputTokens + u.CacheReadInputTokens
		parts = append(parts, render.Count(tokens)+" tokens")
	}
	parts = append(parts, fmt.Sprintf("$%.2f", r.TotalCostUSD))
	if id := tty.Line(r.SessionID); id != "" && !ephemeral {
		parts = append(parts, "session "+tty.Cut(id, 8), `clew run --continue "..."`)
	}
	return strings.Join(parts, " · ")
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

// A conversation is one prompt, and what it takes to get an answer.
type conversation struct {
	prompt     string
	opts       *clew.Options
	printer    printer
	questioner *questioner
}

// converse runs a turn. When ctx ends, it interrupts the agent and waits for the rest of the
// output.
func converse(ctx context.Context, c conversation) error {
	scr := c.questioner.screen
	scr.busy("starting")
	session, err := clew.Connect(ctx, c.opts)
	if err != nil {
		return err
	}
	defer session.Close() //nolint:errcheck // the turn is over
	scr.busy("thinking")
	turn, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stopped := make(chan struct{})
	keep := context.AfterFunc(ctx, func() {
		defer close(stopped)
		time.AfterFunc(stopLimit, cancel)
		scr.stop() // the program ends with this turn
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
			return &writeError{err} // Close interrupts the turn
		}
		scr.follow(msg)
	}
	return nil
}

// A printer writes messages to stdout.
type printer interface {
	print(msg wire.Message) error
	// finish writes the rest. err is the error of the run, or nil.
	finish(err error) error
}

// readPrompt returns the prompt from the arguments or stdin.
func readPrompt(ctx context.Context, args []string, stdin io.Reader) (string, error) {
	if len(args) > 0 && args[0] != "-" {
		return checkPrompt(args[0])
	}
	if len(args) == 0 && isTerminal(stdin) {
		return "", &failure{
			code: exitUsage,
			err:  errors.New("no prompt: stdin is a terminal"),
			hint: `Give it as an argument, as in clew run "Why does the build fail?", or - to type it.`,
		}
	}
	in, err := newInput(ctx, "stdin", stdin)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(in, maxPrompt+1))
	switch {
	case ctx.Err() != nil:
		return "", &failure{code: exitInterrupted, err: errors.New("interrupted while reading the prompt")}
	case err != nil:
		return "", &failure{code: exitInput, err: in.readError(err)}
	case len(text) > maxPrompt:
		return "", errPromptTooLong()
	}
	return checkPrompt(string(text))
}

const maxPrompt = 16 << 20

func errPromptTooLong() error {
	return &failure{
		code: exitInput,
		err:  errors.New("the prompt is longer than 16 MiB"),
		hint: "Write it to a file, and ask the agent to read that.",
	}
}

// A runError is the failure of a run, with a reason for the user. The reason may quote the agent.
type runError struct {
	reason string
	err    error
}

func (e *runError) Error() string { return e.reason }

func (e *runError) Unwrap() error { return e.err }

// explain adds the reason why the run failed to an error. Nil stays nil.
func explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	return &runError{reason: reason(ctx, err), err: err}
}

// runFailure returns the failure of the command after a run that ended with err.
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
		f.hint = "Allow more time with --timeout, or resume with --continue."
	case ctx.Err() != nil:
		f.code = exitInterrupted
	case errors.As(err, new(*clew.NotFoundError)):
		f.code = exitAgent
		f.hint = "Install Claude Code, or set --agent-path or CLEW_AGENT to its binary."
	case errors.As(err, new(*clew.OptionsError)):
		f.code = exitUsage
		f.hint = `Run "clew run --help" for help.`
	}
	return f
}

func timedOut(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errTimeout) }

// reason returns why a run failed, in the words of the program.
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

// withFlags replaces the names of options in a text with those of flags.
func withFlags(text string) string {
	words := strings.Split(text, " ")
	for i, word := range words {
		words[i] = cmp.Or(flagNames[word], word)
	}
	return strings.Join(words, " ")
}

// flagNames maps options to the flags that set them.
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
