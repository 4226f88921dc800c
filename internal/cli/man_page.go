package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manPage returns the manual page of a command in roff, with the macros that every
// man has.
func manPage(cmd *cobra.Command) string {
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	hideConfigFlag(cmd)
	p := new(manText)
	p.request("TH", strings.ToUpper(manName(cmd)), "1", "", "clew "+readBuild().Version, "Clew")
	p.request("SH", "NAME")
	p.text(manName(cmd) + " - " + cmd.Short)
	p.request("SH", "SYNOPSIS")
	p.synopsis(cmd)
	p.request("SH", "DESCRIPTION")
	p.prose(cmp.Or(cmd.Long, cmd.Short+"."))
	p.commands(cmd)
	p.options("OPTIONS", cmd.NonInheritedFlags())
	p.options("GLOBAL OPTIONS", cmd.InheritedFlags())
	if cmd.Example != "" {
		p.request("SH", "EXAMPLES")
		p.literal(strings.Split(cmd.Example, "\n"))
	}
	p.seeAlso(cmd)
	return p.String()
}

// A manText is a page in the making.
type manText struct{ strings.Builder }

// request writes a line that tells the formatter what to do.
func (p *manText) request(name string, args ...string) {
	p.WriteString("." + name)
	for _, arg := range args {
		p.WriteString(` "` + strings.ReplaceAll(escapeRoff(arg), `"`, `\(dq`) + `"`)
	}
	p.WriteByte('\n')
}

// text writes lines that are filled.
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

// prose writes paragraphs. Lines that are indented stay as they are.
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

// literal writes lines that are not filled, indented by two columns.
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

func (p *manText) options(heading string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	p.request("SH", heading)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" {
			return
		}
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
	})
}

// shownDefault tells what a flag is that was not given, if that is of interest.
func shownDefault(f *pflag.Flag) string {
	switch f.DefValue {
	case "", "false", "0", "0s", "[]":
		return ""
	}
	return fmt.Sprintf(" (default %s)", f.DefValue)
}

// seeAlso names the pages above, below and beside.
func (p *manText) seeAlso(cmd *cobra.Command) {
	p.request("SH", "SEE ALSO")
	if !cmd.HasParent() {
		p.text("The commands above have pages of their own.")
		return
	}
	p.WriteString(`\fB` + escapeRoff(manName(cmd.Root())) + `\fR(1), for the exit codes and the other commands` + "\n")
}

// roffLine is escapeRoff for a whole line, which is no request, however it begins.
func roffLine(line string) string {
	text := escapeRoff(line)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, `\(aq`) {
		return `\&` + text
	}
	return text
}

// escapeRoff makes a text stand for itself: as it is typed, and not as it would be
// set in a book.
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
