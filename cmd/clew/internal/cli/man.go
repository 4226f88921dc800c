package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
)

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
