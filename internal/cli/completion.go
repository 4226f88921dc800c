package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/sessions"
	"github.com/spf13/cobra"
)

const completionHelp = `Prints a script with which a shell completes commands, flags, their values, and
sessions with their titles. The help of each shell tells where to put it.`

// addCompletion has cobra add its completion command, and makes an unknown shell
// an error there; left alone, it prints the help. It also has the scripts printed
// where all else is, and tells what there is to complete.
func addCompletion(root *cobra.Command, st *settings) {
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			cmd.Short, cmd.Long = "Print a script with which a shell completes commands", completionHelp
			cmd.Args, cmd.RunE = noSuchCommand, printHelp
			for _, shell := range cmd.Commands() {
				shell.Args, shell.RunE = atMost(0), printCompletion
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
	case "show", "tail", "export":
		cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return st.completeSession(cmd, word, shortID)
		}
	case "man":
		cmd.ValidArgsFunction = completeTopic
	case "inspect": // files, as shells do
	default:
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
}

// flagValues are what flags can be set to, by the command and the flag.
var flagValues = map[string][]string{
	"run output-format": {"text", "json", "stream-json"},
	"show format":       {"text", "markdown", "html", "json", "ndjson", "messages"},
	"export format":     {"html", "markdown", "json"},
	"search role":       {"prompt", "answer", "tool", "thinking"},
	"ls sort":           orders,
	"stats sort":        {"name", "cost", "tokens", "answers"},
	"stats by":          {"month", "week", "day", "hour", "block", "model", "project", "session", "agent"},

	"run effort":           {"low", "medium", "high", "xhigh", "max"},
	"run permission-mode":  {"default", "acceptEdits", "plan", "dontAsk", "auto", "bypassPermissions"},
	"chat effort":          {"low", "medium", "high", "xhigh", "max"},
	"chat permission-mode": {"default", "acceptEdits", "plan", "dontAsk", "auto", "bypassPermissions"},
}

func completeFlags(cmd *cobra.Command, st *settings) {
	complete := func(flag string, f cobra.CompletionFunc) {
		if cmd.Flags().Lookup(flag) != nil {
			_ = cmd.RegisterFlagCompletionFunc(flag, f) // it fails for flags that are not there
		}
	}
	for name, values := range flagValues {
		if verb, flag, _ := strings.Cut(name, " "); verb == cmd.Name() {
			complete(flag, completeList(values))
		}
	}
	complete("resume", func(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		return st.completeSession(cmd, word, wholeID) // which is what the agent takes
	})
	for _, flag := range []string{"project", "dir", "add-dir"} {
		complete(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		})
	}
}

// completeList completes the last of several words with commas between.
func completeList(values []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		before := word[:strings.LastIndex(word, ",")+1]
		all := make([]string, len(values))
		for i, value := range values {
			all[i] = before + value
		}
		return all, cobra.ShellCompDirectiveNoFileComp
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

// completionTime is how long whoever has pressed a key waits for sessions.
const completionTime = 2 * time.Second

func wholeID(id string) string { return id }

// completeSession completes the ID of a session of this project, or if there is none that fits, of any. Where none fits
// at all, shells complete files.
func (s *settings) completeSession(
	cmd *cobra.Command, word string, shown func(id string) string,
) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
	defer cancel()
	s.applyFolders(ctx, cmd)
	for _, project := range []string{".", ""} {
		infos, _ := sessions.List(ctx, &sessions.ListOptions{Project: project})
		infos = slices.DeleteFunc(infos, func(i sessions.Info) bool { return !strings.HasPrefix(i.ID, strings.ToLower(word)) })
		if len(infos) > 0 {
			return sessionWords(infos, word, shown), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
		}
	}
	return nil, cobra.ShellCompDirectiveDefault
}

// applyFolders has sessions looked for where the settings say.
func (s *settings) applyFolders(ctx context.Context, cmd *cobra.Command) {
	c, err := s.load(ctx)
	if err != nil {
		return
	}
	if dirs := c.Values["config_dirs"]; dirs.File != "" {
		_ = applyToProgram(cmd, dirs) // without them, there are fewer sessions
	}
}

// sessionWords returns IDs as they are to be shown, or whole where more was typed, with titles.
func sessionWords(infos []sessions.Info, word string, shown func(id string) string) []string {
	words := make([]string, len(infos))
	for i := range infos {
		id := infos[i].ID
		if short := shown(id); len(word) <= len(short) {
			id = short
		}
		words[i] = id + "\t" + render.Fit(render.Line(infos[i].Title()), 60)
	}
	return words
}
