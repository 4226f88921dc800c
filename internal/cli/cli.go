// Package cli is the clew program: its commands, their output, and their exit codes.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/internal/tty"
)

// Streams are the input and the outputs of a command. If one is an [*os.File], commands check
// whether it is a terminal.
type Streams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
}

// Main runs the command in args, which do not include the program's name, and returns the exit
// code. The first interrupt or SIGTERM ends the command in an orderly way, the second one at once.
func Main(args []string, s Streams) int {
	ctx, stop := untilInterrupted(restorer(s))
	defer stop()
	// Without a handler, this signal ends the program in the middle of a write, and its progress
	// bar stays on the screen.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return execute(ctx, args, s)
}

// untilInterrupted returns a context that the first interrupt cancels. The second one calls restore
// and ends the program.
func untilInterrupted(restore func()) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		for sig := range signals {
			if sig == os.Interrupt && handedOver.Load() {
				continue
			}
			if ctx.Err() != nil {
				restore()
				os.Exit(exitInterrupted)
			}
			cancel()
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		cancel()
	}
}

func execute(ctx context.Context, args []string, s Streams) int {
	root := newRoot
	// Claude Code runs it after each answer, and to make all commands would take longer than the line.
	if len(args) > 0 && args[0] == statuslineName {
		root = statuslineRoot
	}
	return runRoot(ctx, root(s), args, s)
}

func runRoot(ctx context.Context, root *cobra.Command, args []string, s Streams) int {
	out := &errWriter{w: s.Out}
	root.SetArgs(args)
	root.SetIn(s.In)
	root.SetOut(out)
	root.SetErr(s.Err)
	root.SilenceErrors, root.SilenceUsage = true, true
	err := root.ExecuteContext(ctx)
	if err == nil && out.err != nil {
		err = &failure{code: exitFailed, command: root.CommandPath(), err: outputError(out.err)}
	}
	printError(s.Err, err)
	return exitCode(err)
}

// statuslineRoot returns the program with one command.
func statuslineRoot(s Streams) *cobra.Command {
	root, _ := bareRoot(s)
	root.AddCommand(newStatusline(s))
	return root
}

// bareRoot returns the program without commands, and its settings.
func bareRoot(s Streams) (*cobra.Command, *settings) {
	st := &settings{streams: s}
	bare := &bareOptions{
		viewOptions: viewOptions{streams: s, settings: st}, ls: lsOptions{streams: s, now: time.Now, none: noSessionsYet},
	}
	root := &cobra.Command{
		Use:   "clew",
		Short: "A toolkit for Claude Code",
		Long: `Run Claude Code, and read, search and export its sessions. Without a command, clew
opens the list of sessions on a terminal: read, filter, search, resume and export
them there, and press ? for the keys. Without a terminal, it lists the sessions of
this project, like "clew ls".

All commands accept --color. Without it, the color setting (CLEW_COLOR) applies, then
NO_COLOR, CLICOLOR_FORCE, FORCE_COLOR and CLICOLOR, in this order. By default, clew
uses color on a terminal.

Exit codes:
  0    success
  1    the turn failed, a problem was found, or the output could not be written
  2    invalid usage
  3    the agent binary was not found
  4    the input could not be read
  130  interrupted`,
		Example: `  clew demo
  clew run "Why does the build fail?"
  clew ls --all`,
		Args: noSuchCommand,
		RunE: runE(bare.run),

		PersistentPreRunE: st.prepare,

		Version: readBuild().Version,
	}
	root.SetFlagErrorFunc(misusedFlag)
	root.SetHelpFunc(showHelp)
	st.addFlag(root)
	bare.addFlags(root)
	return root, st
}

func newRoot(s Streams) *cobra.Command {
	root, st := bareRoot(s)
	root.SetHelpCommand(newHelp())
	root.AddCommand(newInspect(s), newVersion(s))
	root.AddCommand(newStats(s))
	root.AddCommand(newRun(s))
	root.AddCommand(newChat(s, st))
	root.AddCommand(newLs(s), newShow(s), newTail(s), newView(s, st), newServe(s, st), newHook(s), newStatusline(s), newMCP(s))
	root.AddCommand(newMan(s))
	root.AddCommand(newConfig(s, st), newDoctor(s, st))
	root.AddCommand(newSearch(s))
	root.AddCommand(newExport(s))
	root.AddCommand(newArchive(s, st), newRestore(s, st))
	root.AddCommand(newDemo(s, st))
	addCompletion(root, st)
	return root
}

const noSessionsYet = `This project has no sessions yet.
  clew run "PROMPT"  starts one
  clew ls --all      lists the sessions of all projects
  clew demo          shows what clew can do, without a key or an agent
  clew help          lists all commands`

func printHelp(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// noSuchCommand refuses the arguments of a command that only has subcommands: a word that reaches
// it is not the name of one.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("unknown command %q", args[0])
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		text += fmt.Sprintf("; did you mean %s?", near[0])
	}
	return misused(cmd, errors.New(text))
}

// The exit codes of the program.
const (
	exitDone        = 0
	exitFailed      = 1 // the turn failed, a problem was found, or the output could not be written
	exitUsage       = 2
	exitAgent       = 3 // the agent binary was not found
	exitInput       = 4 // a file cannot be read
	exitInterrupted = 130
)

// A failure is the error of a command, with its exit code.
type failure struct {
	code    int
	command string // such as "clew inspect"
	err     error
	hint    string // a sentence that says what to do about it, or ""
}

func (f *failure) Error() string { return f.command + ": " + f.err.Error() }

func (f *failure) Unwrap() error { return f.err }

// A runner runs a command with its arguments.
type runner func(ctx context.Context, args []string) error

// runE adapts a runner to cobra: its error becomes a failure with the name of the command.
func runE(run runner) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		err := run(cmd.Context(), args)
		if err == nil {
			return nil
		}
		var f *failure
		if !errors.As(err, &f) {
			f = &failure{code: exitFailed, err: err}
		}
		f.command = cmd.CommandPath()
		return f
	}
}

func errStopped() error { return &failure{code: exitInterrupted, err: errors.New("interrupted")} }

func errInterrupted() error {
	return &failure{code: exitInterrupted, err: errors.New("interrupted; the output is incomplete")}
}

// misused reports that cmd was called with invalid arguments. The error may quote them as they are.
func misused(cmd *cobra.Command, err error) error {
	return &failure{
		code:    exitUsage,
		command: cmd.CommandPath(),
		err:     errors.New(escaped(err.Error())),
		hint:    fmt.Sprintf("Run %q for help.", cmd.CommandPath()+" --help"),
	}
}

// misusedFlag reports an invalid flag. It replaces the Go errors about numbers and durations.
func misusedFlag(cmd *cobra.Command, err error) error {
	if which, _, ok := strings.Cut(err.Error(), "time: "); ok {
		err = errors.New(which + "must be a duration such as 90s or 5m")
	}
	if number, ok := errors.AsType[*strconv.NumError](err); ok {
		err = errors.New(strings.TrimSuffix(err.Error(), number.Error()) + wrongNumber(number))
	}
	return misused(cmd, err)
}

func wrongNumber(err *strconv.NumError) string {
	switch {
	case errors.Is(err, strconv.ErrRange):
		return "out of range"
	case err.Func == "ParseFloat":
		return "must be a number"
	}
	return "must be a whole number"
}

// atMost allows n arguments.
func atMost(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= n {
			return nil
		}
		return misused(cmd, fmt.Errorf("too many arguments: %q", args[n]))
	}
}

// exactlyOne requires one argument.
func exactlyOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return misused(cmd, errors.New("missing argument: "+what))
		}
		return atMost(1)(cmd, args)
	}
}

// exitCode returns the exit code for the error of a command. Errors that are not failures come from
// cobra and are about usage. A closed pipe is a success: its reader has read enough.
func exitCode(err error) int {
	var f *failure
	switch {
	case err == nil, errors.Is(err, syscall.EPIPE):
		return exitDone
	case errors.As(err, &f):
		return f.code
	}
	return exitUsage
}

func printError(w io.Writer, err error) {
	if exitCode(err) == exitDone {
		return
	}
	command, text := "clew", err.Error()
	var f *failure
	if !errors.As(err, &f) {
		text = escaped(text)
	} else {
		command, text = f.command, strings.TrimPrefix(text, f.command+": ")
		if f.hint != "" {
			text += "\n" + f.hint
		}
	}
	remark(w, tty.Failure, command, text)
}

// remark writes a line about a command, such as "clew show: no files were changed". Only the name of
// the command is painted.
func remark(w io.Writer, style tty.Style, command, text string) {
	if isTerminal(w) {
		text = wordsWrapped(text, tty.Width(command)+2, terminalWidth(w))
	}
	// There is nowhere to report that stderr is closed.
	_, _ = fmt.Fprintln(w, style.Paint(command+":", colored(w)), text)
}

// wordsWrapped breaks the lines of a text so that they fit into columns, the first of which begins
// after some others. It breaks no word, however long, so that paths can be copied.
func wordsWrapped(text string, begun, columns int) string {
	var b strings.Builder
	at := begun
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			b.WriteByte('\n')
			at = 0
		}
		start := true
		for j, word := range strings.Split(line, " ") {
			width := tty.Width(word)
			switch {
			case j == 0 && (at == 0 || at+width <= columns):
			case j == 0:
				b.WriteByte('\n')
				at = 0
			case !start && at+1+width > columns:
				b.WriteByte('\n')
				at = 0
			default:
				b.WriteByte(' ')
				at++
			}
			b.WriteString(word)
			at += width
			start = start && word == ""
		}
	}
	return b.String()
}
