// Package cli implements the commands of the clew program. Package agentcli has the commands that work
// with an agent, and package fleetcli the commands about jobs.
//
// Commands build on the public packages, as any other program does. Tests with hostile texts, with
// faults and with golden files cover every command, and fail when one is missing.
//
// # Help and manual pages
//
// Help, manual pages and completion come from the commands and their flags. The manual pages are
// not made with cobra/doc, which reads help texts as Markdown and imports another module for it.
package cli

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/cmd/clew/internal/agentcli"
	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/fleetcli"
	"github.com/clewdev/clew/cmd/clew/internal/keymap"
	"github.com/clewdev/clew/cmd/clew/internal/termio"
	"github.com/clewdev/clew/internal/timelimit"
)

// Streams are the input and the outputs of a command.
type Streams = clikit.Streams

// Main runs the command in args, which do not include the program's name, and returns the exit
// code. The first interrupt or SIGTERM ends the command in an orderly way, the second one at once.
func Main(args []string, s Streams) int {
	ctx, stop := untilInterrupted(termio.Restorer(s.In, s.Err))
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
			if sig == os.Interrupt && termio.HandedOver() {
				continue
			}
			if ctx.Err() != nil {
				restore()
				os.Exit(clikit.ExitInterrupted)
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

// setGCPercent sets the garbage collection target percentage of the process.
var setGCPercent = debug.SetGCPercent

// usualGC is the usual percentage.
const usualGC = 100

func execute(ctx context.Context, args []string, s Streams) int {
	if clikit.IsCompletion(args) {
		clikit.Completing = true
	}
	root := newRoot
	// Claude Code runs it after each answer, and to make all commands would take longer than the line.
	if len(args) > 0 && args[0] == statuslineName {
		root = statuslineRoot
	}
	return runRoot(ctx, root(s), args, s)
}

func runRoot(ctx context.Context, root *cobra.Command, args []string, s Streams) int {
	out := &clikit.ErrWriter{W: s.Out}
	root.SetArgs(args)
	root.SetIn(s.In)
	root.SetOut(out)
	root.SetErr(s.Err)
	root.SilenceErrors, root.SilenceUsage = true, true
	err := root.ExecuteContext(ctx)
	if err == nil && out.Err != nil {
		err = &clikit.Failure{Code: clikit.ExitFailed, Command: root.CommandPath(), Err: clikit.OutputError(out.Err)}
	}
	clikit.PrintError(s.Err, err)
	return clikit.ExitCode(err)
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
		Args: clikit.NoSuchCommand,
		RunE: clikit.RunE(bare.run),

		PersistentPreRunE: st.prepare,

		Version: readBuild().Version,
	}
	root.SetFlagErrorFunc(clikit.MisusedFlag)
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
	root.AddCommand(agentcli.Commands(agentcli.Program{Streams: s, Keys: func() *keymap.Map { return st.keys }, Environ: agentEnviron})...)
	root.AddCommand(newLs(s), newShow(s), newTail(s), newView(s, st), newServe(s, st), newHook(s), newStatusline(s), newMCP(s))
	root.AddCommand(newMan(s))
	root.AddCommand(newConfig(s, st), newDoctor(s, st))
	root.AddCommand(newSearch(s))
	root.AddCommand(newExport(s))
	root.AddCommand(newArchive(s, st), newRestore(s, st))
	root.AddCommand(fleetcli.Commands(fleetcli.Program{
		Streams: s, Version: readBuild().Version, Prepare: st.applyFleet, Questions: jobQuestions(s),
	})...)
	root.AddCommand(newDemo(s, st))
	addCompletion(root, st)
	return root
}

// jobQuestions returns a function that opens the terminal for job questions.
func jobQuestions(s Streams) func(ctx context.Context) (fleetcli.Questioner, error) {
	return func(ctx context.Context) (fleetcli.Questioner, error) {
		q, err := agentcli.OpenQuestioner(ctx, s)
		if err != nil { // an interface with a nil pointer is not nil
			return nil, err
		}
		return q, nil
	}
}

var _ = timelimit.Register(&completionLimit, &checkLimit, &versionLimit)

const noSessionsYet = `This project has no sessions yet.
  clew run "PROMPT"  starts one
  clew ls --all      lists the sessions of all projects
  clew demo          shows what clew can do, without a key or an agent
  clew help          lists all commands`

// A bareOptions is clew without a command: the session list in the viewer or, without a terminal,
// in text.
type bareOptions struct {
	viewOptions
	ls lsOptions
}

func (o *bareOptions) addFlags(root *cobra.Command) {
	clikit.AddOnOff(root, &o.all, "all", "start with the sessions of all projects")
	o.viewOptions.addFlags(root)
}

func (o *bareOptions) run(ctx context.Context, args []string) error {
	if o.onTerminal() {
		return o.browse(ctx)
	}
	o.ls.all = o.all
	return o.ls.run(ctx, args)
}
