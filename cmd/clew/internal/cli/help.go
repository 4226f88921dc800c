package cli

import (
	"github.com/spf13/cobra"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
)

// newHelp returns a help command that fails for an unknown command. Cobra's own would print the
// general help.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show help for a command",

		ValidArgsFunction: completeTopic,
		RunE: func(cmd *cobra.Command, args []string) error {
			topic, err := findTopic(cmd, args)
			if err != nil {
				return err
			}
			return topic.Help()
		},
	}
}

// findTopic returns the command that the arguments of cmd name.
func findTopic(cmd *cobra.Command, args []string) (*cobra.Command, error) {
	topic, rest, err := cmd.Root().Find(args)
	if err != nil {
		return nil, clikit.Misused(cmd, err)
	}
	if len(rest) > 0 {
		return nil, clikit.NoSuchCommand(topic, rest)
	}
	return topic, nil
}
