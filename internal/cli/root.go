package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

func newRoot(s Streams) *cobra.Command {
	st := &settings{streams: s}
	root := &cobra.Command{
		Use:   "clew",
		Short: "A toolkit for Claude Code",
		Long: `Clew runs Claude Code, reads what it writes, and shows it. Without a command, it
lists the sessions of this project, as "clew ls" does.

Exit codes:
  0    done
  1    the turn failed, or the output could not be written
  2    wrong usage
  3    the agent binary was not found
  4    the input could not be read
  130  interrupted`,
		Example: `  clew demo
  clew run "Why does the build fail?"
  clew ls --all`,
		Args: noSuchCommand,
		RunE: runE((&lsOptions{streams: s, none: noSessionsYet}).run),

		PersistentPreRunE: st.prepare,

		Version: readBuild().Version,
	}
	root.SetFlagErrorFunc(misusedFlag)
	root.SetHelpFunc(showHelp)
	root.SetHelpCommand(newHelp())
	root.AddCommand(newInspect(s), newVersion(s))
	root.AddCommand(newStats(s))
	root.AddCommand(newRun(s))
	root.AddCommand(newChat(s))
	root.AddCommand(newLs(s), newShow(s), newTail(s))
	root.AddCommand(newMan(s))
	root.AddCommand(newConfig(s, st), newDoctor(s, st))
	st.addFlag(root)
	root.AddCommand(newSearch(s))
	root.AddCommand(newExport(s))
	root.AddCommand(newDemo(s, st))
	addCompletion(root, st)
	return root
}

const noSessionsYet = `There are no sessions of this project yet.
  clew run "PROMPT"  begins one
  clew ls --all      lists those of all projects
  clew demo          shows what clew can do, without a key or an agent
  clew help          lists all commands`

func printHelp(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// noSuchCommand refuses the arguments of a command that only has commands: a word
// that reaches it is none of them.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("there is no command %s", printable(args[0]))
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		text += fmt.Sprintf("; did you mean %s?", near[0])
	}
	return misused(cmd, errors.New(text))
}
