package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

func newRoot(s Streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "clew",
		Short: "A toolkit for Claude Code",
		Long: `Clew reads what Claude Code writes, and shows it.

Exit codes:
  0    done
  1    the turn failed, or the output could not be written
  2    wrong usage
  3    the agent binary was not found
  4    the input could not be read
  130  interrupted`,
		Args: noSuchCommand,
		RunE: printHelp,

		Version: readBuild().Version,
	}
	root.SetFlagErrorFunc(misused)
	root.SetHelpFunc(showHelp)
	root.SetHelpCommand(newHelp())
	root.AddCommand(newInspect(s), newVersion(s))
	root.AddCommand(newStats(s))
	root.AddCommand(newRun(s))
	root.AddCommand(newLs(s), newShow(s), newTail(s))
	strictCompletion(root)
	return root
}

func printHelp(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// strictCompletion has cobra add its completion command, and makes an unknown
// shell an error there; left alone, it prints the help.
func strictCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			cmd.Args, cmd.RunE = noSuchCommand, printHelp
		}
	}
}

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
