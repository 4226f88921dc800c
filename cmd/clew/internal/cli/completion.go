package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/view"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/sessions"
)

const completionHelp = `Print a script that makes a shell complete commands, flags, their values, and
the IDs of sessions and jobs with their titles. The help for each shell says where to
put it.`

// addCompletion adds cobra's completion command, and changes it: an unknown shell is an error
// instead of a reason to print the help, and scripts go to the program's stdout. It also registers
// the completions of arguments and flags.
func addCompletion(root *cobra.Command, st *settings) {
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			cmd.Short, cmd.Long = "Print a completion script for a shell", completionHelp
			cmd.Args, cmd.RunE = clikit.NoSuchCommand, clikit.PrintHelp
			for _, shell := range cmd.Commands() {
				shell.Short = "Print the completion script for " + shell.Name()
				shell.Args, shell.RunE = clikit.AtMost(0), printCompletion
			}
		}
		completeArguments(cmd, st)
		completeFlags(cmd, st)
	}
}

func printCompletion(cmd *cobra.Command, _ []string) error {
	plain, err := cmd.Flags().GetBool("no-descriptions")
	if err != nil {
		return err
	}
	root, out := cmd.Root(), cmd.OutOrStdout()
	switch cmd.Name() {
	case "bash":
		return root.GenBashCompletionV2(out, !plain)
	case "fish":
		return root.GenFishCompletion(out, !plain)
	case "powershell":
		if plain {
			return root.GenPowerShellCompletion(out)
		}
		return root.GenPowerShellCompletionWithDesc(out)
	}
	if plain {
		return root.GenZshCompletionNoDesc(out)
	}
	return root.GenZshCompletion(out)
}

func completeArguments(cmd *cobra.Command, st *settings) {
	switch cmd.Name() {
	case "show", "tail", "view", "export":
		cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return st.completeSession(cmd, word, view.ShortID)
		}
	case "man":
		cmd.ValidArgsFunction = completeTopic
	case "stats":
		cmd.ValidArgsFunction = clikit.CompleteList(groupArguments)
	case "inspect": // files, as shells do
	default:
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
}

// completionLimit is the time limit to list session names for shell completion.
var completionLimit = 2 * time.Second

// flagValues are the values of flags, by command and flag.
var flagValues = map[string][]string{
	"run output-format": {"text", "json", "stream-json"},
	"show format":       {"text", "markdown", "html", "json", "ndjson", "messages"},
	"export format":     {"html", "markdown", "json"},
	"search role":       {"prompt", "answer", "tool", "thinking"},
	"ls sort":           orders,
	"stats sort":        {"name", "cost", "tokens", "answers"},
	"stats by":          groupNames,

	"run effort":           {"low", "medium", "high", "xhigh", "max"},
	"run permission-mode":  {"default", "acceptEdits", "plan", "dontAsk", "auto", "bypassPermissions"},
	"chat effort":          {"low", "medium", "high", "xhigh", "max"},
	"submit on-lost":       {"resume", "restart", "hold"},
	"submit mode":          {"default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"},
	"chat permission-mode": {"default", "acceptEdits", "plan", "dontAsk", "auto", "bypassPermissions"},
}

func completeFlags(cmd *cobra.Command, st *settings) {
	complete := func(flag string, f cobra.CompletionFunc) { clikit.CompleteFlag(cmd, flag, f) }
	for name, values := range flagValues {
		if verb, flag, _ := strings.Cut(name, " "); verb == cmd.Name() {
			complete(flag, clikit.CompleteList(values))
		}
	}
	complete("resume", func(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		return st.completeSession(cmd, word, wholeID) // the agent needs whole IDs
	})
	for _, flag := range []string{"project", "dir", "add-dir", "root"} {
		complete(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		})
	}
}

// completeTopic completes the name of a command.
func completeTopic(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	topic, err := findTopic(cmd, args)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, sub := range topic.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name()+"\t"+sub.Short)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func wholeID(id string) string { return id }

// completeSession completes the ID of a session of this project or, if none matches, of any
// project. If still none matches, shells complete files.
func (s *settings) completeSession(
	cmd *cobra.Command, word string, shown func(id string) string,
) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completionLimit)
	defer cancel()
	s.applyFolders(ctx, cmd)
	for _, project := range []string{".", ""} {
		infos, _ := sessions.List(ctx, &sessions.ListOptions{Project: project})
		infos = slices.DeleteFunc(infos, func(i sessions.SessionInfo) bool { return !strings.HasPrefix(i.ID, strings.ToLower(word)) })
		if len(infos) > 0 {
			return sessionWords(infos, word, shown), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
		}
	}
	return nil, cobra.ShellCompDirectiveDefault
}

// sessionWords returns IDs with titles: in the shown form, or whole if more was typed.
func sessionWords(infos []sessions.SessionInfo, word string, shown func(id string) string) []string {
	words := make([]string, len(infos))
	for i := range infos {
		id := infos[i].ID
		if short := shown(id); len(word) <= len(short) {
			id = short
		}
		words[i] = id + "\t" + tty.Fit(tty.Line(infos[i].Title()), 60)
	}
	return words
}
