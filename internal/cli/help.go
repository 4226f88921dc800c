package cli

import (
	"strings"

	"charm.land/fang/v2"
	"github.com/spf13/cobra"
)

// styledHelp has fang print the help of a command. It gets a program of its own
// to do that: given the one that runs, it would also print the errors, for which
// it asks the terminal for its colours. A terminal that does not answer would
// delay each error by seconds.
func styledHelp(s Streams) func(*cobra.Command, []string) {
	return func(cmd *cobra.Command, _ []string) {
		root := newRoot(s)
		root.SetArgs(append(strings.Fields(cmd.CommandPath())[1:], "--help"))
		root.SetOut(s.Out)
		root.SetErr(s.Err)
		// Asked for help, a command fails only where its output does.
		_ = fang.Execute(cmd.Context(), root, fang.WithoutVersion())
	}
}

// newHelp returns a help command for which a word that is no command is an
// error; cobra's own prints the general help then.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show how a command is used",
		RunE: func(cmd *cobra.Command, args []string) error {
			topic, rest, err := cmd.Root().Find(args)
			if err != nil {
				return misused(cmd, err)
			}
			if len(rest) > 0 {
				return noSuchCommand(topic, rest)
			}
			return topic.Help()
		},
	}
}
