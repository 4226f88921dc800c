package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/clewdev/clew/internal/clikit"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/view"
	"github.com/clewdev/clew/sessions"
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

type manOptions struct {
	streams Streams
	cmd     *cobra.Command
	dir     string
}

const manHelp = `Print the manual page of a command, or of clew itself, in roff. It has the same
text as the help.

--dir writes the pages of all commands to a directory as clew.1, clew-run.1 and so
on, and creates the directory if needed. To see where man looks for pages, run
manpath; below a prefix such as ~/.local, the directory is share/man/man1.`

func newMan(s Streams) *cobra.Command {
	o := &manOptions{streams: s}
	o.cmd = &cobra.Command{
		Use:   "man [COMMAND]",
		Short: "Print manual pages",
		Long:  manHelp,
		Example: `  clew man run | man -l -
  clew man --dir ~/.local/share/man/man1 && man clew-run`,
		RunE: clikit.RunE(o.run),
	}
	o.cmd.Flags().StringVar(&o.dir, "dir", "", "write the pages of all commands to this `directory`")
	return o.cmd
}

func (o *manOptions) run(ctx context.Context, args []string) error {
	if o.cmd.Flags().Changed("dir") {
		return o.writeAll(ctx, args)
	}
	topic, err := findTopic(o.cmd, args)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(o.streams.Out, manPage(topic)); err != nil {
		return clikit.OutputError(err)
	}
	return nil
}

// writeAll writes a page for each command that the help shows.
func (o *manOptions) writeAll(ctx context.Context, args []string) error {
	switch {
	case len(args) > 0:
		return clikit.UsageError("--dir writes the pages of all commands", "Leave out "+clikit.Printable(strings.Join(args, " "))+".")
	case o.dir == "":
		return clikit.UsageError("--dir is empty", "")
	}
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return clikit.Unwritable(o.dir, err)
	}
	for _, cmd := range commandsOf(o.cmd.Root()) {
		if ctx.Err() != nil {
			return clikit.Stopped()
		}
		path := filepath.Join(o.dir, manName(cmd)+".1")
		if err := os.WriteFile(path, []byte(manPage(cmd)), 0o644); err != nil {
			return clikit.Unwritable(path, err)
		}
	}
	return nil
}

// commandsOf returns a command and those below it that the help shows.
func commandsOf(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			all = append(all, commandsOf(sub)...)
		}
	}
	return all
}

// manName is the name of a page, such as clew-run.
func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manPage returns a command's manual page in roff, with macros that every man knows.
func manPage(cmd *cobra.Command) string {
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	hideGlobalFlags(cmd)
	p := new(manText)
	p.request("TH", strings.ToUpper(manName(cmd)), "1", "", "clew "+readBuild().Version, "Clew")
	p.request("SH", "NAME")
	p.text(manName(cmd) + " - " + cmd.Short)
	p.request("SH", "SYNOPSIS")
	p.synopsis(cmd)
	p.request("SH", "DESCRIPTION")
	p.prose(cmp.Or(cmd.Long, cmd.Short+"."))
	p.commands(cmd)
	p.options("OPTIONS", cmd, cmd.NonInheritedFlags())
	p.options("GLOBAL OPTIONS", cmd.Root(), cmd.InheritedFlags())
	if cmd.Example != "" {
		p.request("SH", "EXAMPLES")
		p.literal(strings.Split(cmd.Example, "\n"))
	}
	p.seeAlso(cmd)
	return p.String()
}

// A manText builds a page.
type manText struct{ strings.Builder }

// request writes a request: a line with a command for the formatter.
func (p *manText) request(name string, args ...string) {
	p.WriteString("." + name)
	for _, arg := range args {
		p.WriteString(` "` + strings.ReplaceAll(escapeRoff(arg), `"`, `\(dq`) + `"`)
	}
	p.WriteByte('\n')
}

// text writes lines that the formatter fills.
func (p *manText) text(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		p.WriteString(roffLine(line) + "\n")
	}
}

func (p *manText) synopsis(cmd *cobra.Command) {
	p.request("B", cmd.CommandPath())
	if usage := strings.TrimPrefix(cmd.UseLine(), cmd.CommandPath()+" "); usage != cmd.CommandPath() {
		p.text(usage)
	}
	if cmd.HasAvailableSubCommands() {
		p.request("br")
		p.request("B", cmd.CommandPath())
		p.text("COMMAND")
	}
}

// prose writes paragraphs. Indented lines stay unchanged.
func (p *manText) prose(text string) {
	begun := false
	var kept []string
	keep := func() {
		if kept != nil {
			p.literal(kept)
			kept, begun = nil, false
		}
	}
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		switch {
		case strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t"):
			kept = append(kept, line)
		case strings.TrimSpace(line) == "":
			keep()
			begun = false
		default:
			keep()
			if !begun {
				p.request("PP")
				begun = true
			}
			p.text(line)
		}
	}
	keep()
}

// literal writes lines that the formatter does not fill, indented by two columns.
func (p *manText) literal(lines []string) {
	p.request("PP")
	p.request("RS", "2n")
	p.request("nf")
	for _, line := range lines {
		line = strings.TrimPrefix(strings.ReplaceAll(line, "\t", "  "), "  ")
		p.WriteString(roffLine(line) + "\n")
	}
	p.request("fi")
	p.request("RE")
}

func (p *manText) commands(cmd *cobra.Command) {
	if !cmd.HasAvailableSubCommands() {
		return
	}
	p.request("SH", "COMMANDS")
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			p.request("TP")
			p.WriteString(`\fB` + escapeRoff(manName(sub)) + `\fR(1)` + "\n")
			p.text(sub.Short)
		}
	}
}

func (p *manText) options(heading string, cmd *cobra.Command, set *pflag.FlagSet) {
	if !set.HasAvailableFlags() {
		return
	}
	p.request("SH", heading)
	titles, groups := flagsBy(cmd, set)
	for i, flags := range groups {
		if titles[i] != "" {
			p.request("SS", titles[i]+" flags")
		}
		for _, f := range flags {
			p.option(f)
		}
	}
}

func (p *manText) option(f *pflag.Flag) {
	value, usage := pflag.UnquoteUsage(f)
	name := `\fB` + escapeRoff("--"+f.Name) + `\fR`
	if f.Shorthand != "" && f.ShorthandDeprecated == "" {
		name = `\fB` + escapeRoff("-"+f.Shorthand) + `\fR, ` + name
	}
	if value != "" {
		name += ` \fI` + escapeRoff(value) + `\fR`
	}
	p.request("TP")
	p.WriteString(name + "\n")
	p.text(usage + shownDefault(f))
}

// shownDefault returns the default of a flag for its description, unless it is empty.
func shownDefault(f *pflag.Flag) string {
	switch f.DefValue {
	case "", "false", "0", "0s", "[]":
		return ""
	}
	return fmt.Sprintf(" (default %s)", f.DefValue)
}

// seeAlso names other pages.
func (p *manText) seeAlso(cmd *cobra.Command) {
	p.request("SH", "SEE ALSO")
	if !cmd.HasParent() {
		p.text("Each of the commands above has its own page.")
		return
	}
	p.WriteString(`\fB` + escapeRoff(manName(cmd.Root())) + `\fR(1), for the exit codes and the other commands` + "\n")
}

// roffLine is escapeRoff for a whole line, which must not become a request.
func roffLine(line string) string {
	text := escapeRoff(line)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, `\(aq`) {
		return `\&` + text
	}
	return text
}

// escapeRoff escapes a text so that it is shown as typed, without typographic replacements.
func escapeRoff(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch r {
		case '\\':
			b.WriteString(`\(rs`)
		case '-':
			b.WriteString(`\-`)
		case '\'':
			b.WriteString(`\(aq`)
		case '`':
			b.WriteString(`\(ga`)
		case '^':
			b.WriteString(`\(ha`)
		case '~':
			b.WriteString(`\(ti`)
		default:
			if r < 0x80 {
				b.WriteRune(r)
			} else {
				fmt.Fprintf(&b, `\[u%04X]`, r)
			}
		}
	}
	return b.String()
}

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

// applyFolders applies the directories of sessions in the settings.
func (s *settings) applyFolders(ctx context.Context, cmd *cobra.Command) {
	c, err := s.load(ctx)
	if err != nil {
		return
	}
	if dirs := c.Values["config_dirs"]; dirs.File != "" {
		_ = applyToProgram(cmd, dirs) // without them, there are fewer sessions
	}
}

// applyFleet applies the settings that locate the jobs.
func (s *settings) applyFleet(ctx context.Context, cmd *cobra.Command) {
	c, err := s.load(ctx)
	if err != nil {
		return
	}
	for _, key := range []string{"fleet", "fleet_credentials"} {
		if value, ok := c.Values[key]; ok {
			_ = applyToFlag(cmd, value) // without it, this machine's jobs are used
		}
	}
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

type versionOptions struct {
	streams Streams
	json    bool
}

func newVersion(s Streams) *cobra.Command {
	o := &versionOptions{streams: s}
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of clew",
		Example: `  clew version
  clew version --json | jq -r .revision`,
		Args: clikit.AtMost(0),
		RunE: clikit.RunE(o.run),
	}
	clikit.AddOnOff(cmd, &o.json, "json", "print one JSON object")
	return cmd
}

func (o *versionOptions) run(context.Context, []string) error {
	b := readBuild()
	text := b.text(canvas{width: clikit.TextWidth(o.streams.Out, 0), color: clikit.Colored(o.streams.Out)})
	if o.json {
		line, err := json.Marshal(b)
		if err != nil {
			return err
		}
		text = string(line) + "\n"
	}
	if _, err := io.WriteString(o.streams.Out, text); err != nil {
		return clikit.OutputError(err)
	}
	return nil
}

// A build describes how the program was built. Unknown values are empty, except for the version.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision"`
	Time     string `json:"time"`     // of the revision
	Modified bool   `json:"modified"` // the source differed from the revision
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func readBuild() build {
	b := build{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// text returns the build in three lines, or in more on a narrow screen.
func (b build) text(on canvas) string {
	text := ""
	for _, line := range []struct {
		text  string
		style tty.Style
	}{
		{"clew " + b.Version, tty.Title}, {"revision " + b.revision(), tty.Plain}, {b.Go + " " + b.Platform, tty.Dim},
	} {
		text += line.style.Paint(strings.TrimSuffix(clikit.Wrapped(line.text, on.width), "\n"), on.color) + "\n"
	}
	return text
}

func (b build) revision() string {
	switch {
	case b.Revision == "":
		return "unknown"
	case b.Modified:
		return b.Revision + " with changes"
	}
	return b.Revision
}
