// Package cli is the clew program: its commands, what they print, and the code
// that they exit with.
package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// Streams are where a command reads from and prints to. Where one is an
// [*os.File], commands ask it whether it is a terminal.
type Streams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
}

// Main runs the command that args, without the program's name, ask for, and
// returns the code to exit with. The first interrupt, or request to terminate,
// ends the command in good order, the second one at once.
func Main(args []string, s Streams) int {
	ctx, stop := untilInterrupted(tidier(s))
	defer stop()
	// Unless somebody listens, this signal ends the program in the middle of a
	// write, with its progress bar left on the screen.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return execute(ctx, args, s)
}

// untilInterrupted returns a context that the first interrupt ends. The second one
// ends the program: it is listened for all the time, so that none is lost.
func untilInterrupted(tidy func()) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		<-signals
		tidy()
		os.Exit(exitInterrupted)
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel()
	}
}

func execute(ctx context.Context, args []string, s Streams) int {
	return perform(ctx, newRoot(s), args, s) //nolint:contextcheck // the commands get ctx when they run
}

func perform(ctx context.Context, root *cobra.Command, args []string, s Streams) int {
	out := &outlet{w: s.Out}
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
