package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// The codes that the program exits with.
const (
	exitDone        = 0
	exitFailed      = 1 // the turn failed, or the output could not be written
	exitUsage       = 2
	exitAgent       = 3 // there is no agent binary
	exitInput       = 4 // a file cannot be read
	exitInterrupted = 130
)

// A failure is how a command ends when it does not end well.
type failure struct {
	code    int
	command string // such as "clew inspect"
	err     error
	hint    string // what to do about it, a sentence, or ""
}

func (f *failure) Error() string { return f.command + ": " + f.err.Error() }

func (f *failure) Unwrap() error { return f.err }

// A runner is what a command does with its arguments.
type runner func(ctx context.Context, args []string) error

// runE makes a runner fit for cobra: whatever it returns becomes a failure with
// the name of the command.
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

func outputError(err error) error {
	return fmt.Errorf("the output cannot be written: %w", cause(err))
}

// misused reports that cmd was called in the wrong way. The error may quote the
// arguments as they are.
func misused(cmd *cobra.Command, err error) error {
	return &failure{
		code:    exitUsage,
		command: cmd.CommandPath(),
		err:     errors.New(escaped(err.Error())),
		hint:    fmt.Sprintf("Run %q for help.", cmd.CommandPath()+" --help"),
	}
}

// misusedFlag reports a flag that is wrong. What Go says of numbers and durations is
// nothing for users.
func misusedFlag(cmd *cobra.Command, err error) error {
	if which, _, ok := strings.Cut(err.Error(), "time: "); ok {
		err = errors.New(which + "it is a duration such as 90s or 5m")
	}
	if number, ok := errors.AsType[*strconv.NumError](err); ok {
		err = errors.New(strings.TrimSuffix(err.Error(), number.Error()) + wrongNumber(number))
	}
	return misused(cmd, err)
}

func wrongNumber(err *strconv.NumError) string {
	switch {
	case errors.Is(err, strconv.ErrRange):
		return "it is out of range"
	case err.Func == "ParseFloat":
		return "it is a number"
	}
	return "it is a whole number"
}

// atMost allows n arguments.
func atMost(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= n {
			return nil
		}
		return misused(cmd, fmt.Errorf("one argument too many: %s", printable(args[n])))
	}
}

// exitCode returns the code for what a command returned. Errors that are no
// failures are cobra's, and about usage. A reader that closed the pipe has what
// it wanted.
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
	text := err.Error()
	var f *failure
	if !errors.As(err, &f) {
		text = "clew: " + escaped(text)
	} else if f.hint != "" {
		text += "\n" + f.hint
	}
	// There is nowhere to report that stderr is closed.
	_, _ = fmt.Fprintln(w, text)
}
