package clikit

import (
	"context"
	"errors"
	"fmt"
	"io"
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

// PrintHelp implements commands that only have subcommands.
func PrintHelp(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// NoSuchCommand refuses the arguments of a command that only has subcommands: a word that reaches
// it is not the name of one.
func NoSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("unknown command %q", args[0])
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		text += fmt.Sprintf("; did you mean %s?", near[0])
	}
	return Misused(cmd, errors.New(text))
}

// The exit codes of the program.
const (
	ExitDone        = 0
	ExitFailed      = 1 // the turn failed, a problem was found, or the output could not be written
	ExitUsage       = 2
	ExitAgent       = 3 // the agent binary was not found
	ExitInput       = 4 // a file cannot be read
	ExitInterrupted = 130
)

// A Failure is a command's error, with its exit code.
type Failure struct {
	Code    int
	Command string // such as "clew inspect"
	Err     error
	Hint    string // a sentence with a remedy, or ""
}

func (f *Failure) Error() string { return f.Command + ": " + f.Err.Error() }

// Unwrap returns the error without the name of the command.
func (f *Failure) Unwrap() error { return f.Err }

// A ShownError is an error with a text that a terminal can show.
type ShownError struct {
	Text string
	Err  error
}

func (e *ShownError) Error() string { return e.Text }

// Unwrap returns the error.
func (e *ShownError) Unwrap() error { return e.Err }

// A Runner runs a command with its arguments.
type Runner func(ctx context.Context, args []string) error

// RunE adapts a Runner to cobra: its error becomes a failure with the name of the command.
func RunE(run Runner) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		err := run(cmd.Context(), args)
		if err == nil {
			return nil
		}
		var f *Failure
		if !errors.As(err, &f) {
			f = &Failure{Code: ExitFailed, Err: err}
		}
		f.Command = cmd.CommandPath()
		return f
	}
}

// Stopped returns the error for a command that was interrupted before it had a result.
func Stopped() error { return &Failure{Code: ExitInterrupted, Err: errors.New("interrupted")} }

// Interrupted returns the error for a command that was interrupted after some of its output.
func Interrupted() error {
	return &Failure{Code: ExitInterrupted, Err: errors.New("interrupted; the output is incomplete")}
}

// Misused reports that cmd was called with invalid arguments. The error may quote them as they are.
func Misused(cmd *cobra.Command, err error) error {
	return &Failure{
		Code:    ExitUsage,
		Command: cmd.CommandPath(),
		Err:     errors.New(Printable(err.Error())),
		Hint:    fmt.Sprintf("Run %q for help.", cmd.CommandPath()+" --help"),
	}
}

// MisusedFlag reports an invalid flag. It replaces the Go errors about numbers and durations.
func MisusedFlag(cmd *cobra.Command, err error) error {
	if which, _, ok := strings.Cut(err.Error(), "time: "); ok {
		err = errors.New(which + "must be a duration such as 90s or 5m")
	}
	if number, ok := errors.AsType[*strconv.NumError](err); ok {
		err = errors.New(strings.TrimSuffix(err.Error(), number.Error()) + wrongNumber(number))
	}
	return Misused(cmd, err)
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

// AtMost allows n arguments.
func AtMost(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= n {
			return nil
		}
		return Misused(cmd, fmt.Errorf("too many arguments: %q", args[n]))
	}
}

// ExactlyOne requires one argument.
func ExactlyOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return Misused(cmd, errors.New("missing argument: "+what))
		}
		return AtMost(1)(cmd, args)
	}
}

// ExitCode returns the exit code for a command's error. Errors that are not failures come from
// cobra and are about usage. A closed pipe is a success: its reader read enough.
func ExitCode(err error) int {
	var f *Failure
	switch {
	case err == nil, errors.Is(err, syscall.EPIPE):
		return ExitDone
	case errors.As(err, &f):
		return f.Code
	}
	return ExitUsage
}

// PrintError writes a command's error and its hint, unless it counts as a success.
func PrintError(w io.Writer, err error) {
	if ExitCode(err) == ExitDone {
		return
	}
	command, text := "clew", err.Error()
	var f *Failure
	if !errors.As(err, &f) {
		text = Printable(text)
	} else {
		command, text = f.Command, strings.TrimPrefix(text, f.Command+": ")
		if f.Hint != "" {
			text += "\n" + f.Hint
		}
	}
	Remark(w, tty.Failure, command, text)
}

// Remark writes a line about a command, such as "clew show: no files were changed". Only the name of
// the command is painted.
func Remark(w io.Writer, style tty.Style, command, text string) {
	if IsTerminal(w) {
		text = WordsWrapped(text, tty.Width(command)+2, TerminalWidth(w))
	}
	// There is nowhere to report that stderr is closed.
	_, _ = fmt.Fprintln(w, style.Paint(command+":", Colored(w)), text)
}

// WordsWrapped breaks the lines of a text so that they fit into columns. The first line starts at
// column begun. It breaks no word, however long, so that paths can be copied.
func WordsWrapped(text string, begun, columns int) string {
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

// UsageError reports that a command was called with flags or arguments that do not fit. The hint may
// be "".
func UsageError(text, hint string) error {
	return &Failure{Code: ExitUsage, Err: errors.New(text), Hint: hint}
}

// Now is the time. Tests replace it.
var Now = time.Now
