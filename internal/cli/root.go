package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newRoot(s Streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "clew",
		Short: "A toolkit for Claude Code",
		Long:  "Clew reads what Claude Code writes, and shows it.",
		Args:  noSuchCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },

		Version: readBuild().Version,
	}
	root.SetFlagErrorFunc(misused)
	root.SetHelpCommand(newHelp())
	root.AddCommand(newInspect(s), newVersion(s))
	return root
}

// noSuchCommand refuses the arguments of the root command: a word that reaches
// it is no command.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("there is no command %s", printable(args[0]))
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		text += fmt.Sprintf("; did you mean %s?", near[0])
	}
	return misused(cmd, fmt.Errorf("%s", text))
}
