package cli

import (
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// showHelp prints the help of a command. It is plain on every terminal: to choose
// colours, one would have to ask the terminal for its background, and a terminal
// that does not answer would delay the help by seconds.
func showHelp(cmd *cobra.Command, _ []string) {
	text := cmd.Long
	if text == "" {
		text = cmd.Short
	}
	// Cobra adds these flags when a command runs; "clew help" runs another one.
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	hideConfigFlag(cmd)
	// An outlet keeps the error.
	_, _ = io.WriteString(cmd.OutOrStdout(), strings.TrimSpace(text)+"\n\n"+cmd.UsageString())
}

// newHelp returns a help command for which a word that is no command is an
// error; cobra's own prints the general help then.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show how a command is used",

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
		return nil, misused(cmd, err)
	}
	if len(rest) > 0 {
		return nil, noSuchCommand(topic, rest)
	}
	return topic, nil
}

// An outlet is where cobra prints: help, the version, completion scripts. Cobra
// drops most errors of that, so an outlet keeps the first one instead of
// returning it.
type outlet struct {
	w   io.Writer
	err error
}

func (o *outlet) Write(p []byte) (int, error) {
	if o.err == nil {
		_, o.err = o.w.Write(p)
	}
	return len(p), nil
}
