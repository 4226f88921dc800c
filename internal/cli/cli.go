// Package cli is the clew program: its commands, what they print, and the code
// that they exit with.
package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Streams are where a command reads from and prints to. Where one is an
// [*os.File], commands ask it whether it is a terminal.
type Streams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
}

// Main runs the command that args, without the program's name, ask for, and
// returns the code to exit with. The first interrupt ends the command in good
// order, the second one at once.
func Main(args []string, s Streams) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop)
	// Unless somebody listens, this signal ends the program in the middle of a
	// write, with its progress bar left on the screen.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return execute(ctx, args, s)
}

func execute(ctx context.Context, args []string, s Streams) int {
	root := newRoot(s) //nolint:contextcheck // the commands get ctx when they run
	root.SetArgs(args)
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetHelpFunc(styledHelp(s)) //nolint:contextcheck // the same
	err := root.ExecuteContext(ctx)
	printError(s.Err, err)
	return exitCode(err)
}
