package cli

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/internal/tty"
)

// A flagGroup is a group of flags in the help of a command.
type flagGroup struct {
	title string
	flags []string
}

// agentFlagGroups are the groups of run and chat. A flag that is in none of them is an error, which
// a test finds.
var agentFlagGroups = []flagGroup{
	{"Session", []string{
		"resume", "continue", "fork-session", "resume-session-at", "session-id", "name", "no-session-persistence",
	}},
	{"Model", []string{
		"model", "fallback-model", "effort", "thinking", "max-thinking-tokens", "thinking-display", "betas", "max-turns",
		"max-budget-usd", "task-budget", "autocompact", "system-prompt", "system-prompt-file", "append-system-prompt",
		"append-system-prompt-file", "exclude-dynamic-system-prompt-sections", "system-prompt-snapshot",
	}},
	{"Permission", []string{
		"permission-mode", "dangerously-skip-permissions", "permission-prompts", "permission-prompt-tool", "allowedTools",
		"disallowedTools", "add-dir", "trust", "restricted", "safe-mode", "managed-settings",
	}},
	{"Tool", []string{
		"tools", "agent", "agents", "mcp-config", "strict-mcp-config", "plugin-dir", "disable-slash-commands", "bare",
		"keep-background",
	}},
	{"Output", []string{
		"output-format", "json-schema", "include-partial-messages", "include-hook-events", "forward-subagent-text",
		"replay-user-messages", "prompt-suggestions", "plain",
	}},
	{"Other", []string{
		"timeout", "settings", "setting-sources", "project-config-root", "agent-path", "agent-arg", "debug", "debug-file", "help",
	}},
}

// verbFlagGroups are the groups of the other commands with many flags.
var verbFlagGroups = map[string][]flagGroup{
	"ls": {
		{"Filter", []string{"all", "project", "branch", "model", "tag", "text", "ongoing", "since", "until"}},
		{"Output", []string{"sort", "reverse", "limit", "figures", "json"}},
		{"Other", []string{"help"}},
	},
	"archive": {
		{"Archive", []string{"to", "machine", "dry-run", "watch", "every"}},
		{"Report", []string{"status", "verify", "json"}},
		{"Print", []string{"print-cron", "print-systemd"}},
		{"Other", []string{"help"}},
	},
	"search": {
		{"Filter", []string{"project", "session", "role", "tool", "since", "until"}},
		{"Search", []string{"regex", "no-index"}},
		{"Output", []string{"sort", "limit", "json"}},
		{"Other", []string{"help"}},
	},
	"stats": {
		{"Filter", []string{"project", "since", "until", "last", "active", "recent"}},
		{"Group", []string{"by", "alias", "sort", "limit", "timezone"}},
		{"Price", []string{"prices", "price-table", "reconcile"}},
		{"Output", []string{"plot", "csv", "json", "watch"}},
		{"Other", []string{"help"}},
	},
	"serve": {
		{"Server", []string{"open", "port", "socket", "listen", "tls-cert", "tls-key", "public-url"}},
		{"Job", []string{"fleet", "fleet-credentials"}},
		{"Drive", append([]string{"drive", "root"}, shownAgentFlags...)},
		{"Output", []string{"json", "link", "rotate"}},
		{"Other", []string{"help"}},
	},
	"submit": {
		{"Prompt", []string{"prompt-file", "batch"}},
		{"Repository", []string{"here", "repo", "ref", "branch"}},
		{"Agent", []string{"model", "mode", "tools", "allowed-tools", "secret", "ask", "ask-tools"}},
		{"Limit", []string{"budget", "max-turns", "wall", "idle", "attempts", "on-lost"}},
		{"Queue", []string{"title", "key", "queue", "priority", "account", "after"}},
		{"Output", []string{"wait", "json"}},
		{"Other", []string{"fleet", "fleet-credentials", "help"}},
	},
	"worker": {
		{"Job", []string{"slots", "queue", "account", "policy", "prepare-timeout", "drain-timeout", "min-free", "retain"}},
		{"Server", []string{"fleet", "fleet-credentials", "listen", "tls-cert", "tls-key", "users"}},
		{"Other", []string{"dir", "agent-path", "json", "help"}},
	},
	"show":   documentFlagGroups,
	"export": documentFlagGroups,
}

// documentFlagGroups are the groups of commands that show or write one session.
var documentFlagGroups = []flagGroup{
	{"Content", []string{
		"project", "agent", "turn", "branches", "thinking", "expand", "full", "diff", "context", "redact", "list-rules",
	}},
	{"Output", []string{"format", "output", "force", "json", "no-pager"}},
	{"Other", []string{"help"}},
}

// flagGroupsOf returns the groups of a command, or nil if it has few flags.
func flagGroupsOf(cmd *cobra.Command) []flagGroup {
	switch {
	case cmd.Name() == "serve", cmd.Name() == "worker":
		return verbFlagGroups[cmd.Name()]
	case startsAgent(cmd):
		return agentFlagGroups
	case cmd.HasParent() && cmd.Parent() == cmd.Root():
		return verbFlagGroups[cmd.Name()]
	}
	return nil
}

// flagsBy returns the visible flags of a set by group, in the order of the groups for commands that
// have any.
func flagsBy(cmd *cobra.Command, set *pflag.FlagSet) (titles []string, groups [][]*pflag.Flag) {
	var all []*pflag.Flag
	set.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Deprecated == "" {
			all = append(all, f)
		}
	})
	of := flagGroupsOf(cmd)
	if of == nil {
		return []string{""}, [][]*pflag.Flag{all}
	}
	for _, group := range of {
		var members []*pflag.Flag
		for _, f := range all {
			if slices.Contains(group.flags, f.Name) {
				members = append(members, f)
			}
		}
		if !startsAgent(cmd) || verbFlagGroups[cmd.Name()] != nil { // their flags have a special order
			slices.SortStableFunc(members, func(a, b *pflag.Flag) int {
				return slices.Index(group.flags, a.Name) - slices.Index(group.flags, b.Name)
			})
		}
		if len(members) > 0 {
			titles, groups = append(titles, group.title), append(groups, members)
		}
	}
	return titles, groups
}

// showHelp prints the help of a command.
func showHelp(cmd *cobra.Command, _ []string) {
	// Cobra adds these flags when a command runs; "clew help" runs another one.
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	hideGlobalFlags(cmd)
	out := cmd.OutOrStdout()
	stream := any(out)
	if kept, ok := out.(*clikit.ErrWriter); ok {
		stream = kept.W
	}
	h := &helpText{columns: clikit.TextWidth(stream, 80), prose: clikit.TextWidth(stream, 0), color: clikit.Colored(stream)}
	h.command(cmd)
	_, _ = io.WriteString(out, h.String()) // an errWriter keeps the error
}

// A helpText builds the help of a command.
type helpText struct {
	strings.Builder
	columns int
	prose   int // columns of prose, or 0 to keep its lines as they are
	color   bool
}

func (h *helpText) command(cmd *cobra.Command) {
	text := cmd.Long
	if text == "" {
		text = cmd.Short
	}
	h.paragraphs(strings.TrimSpace(text))
	h.head("Usage")
	if cmd.Runnable() {
		h.entry("  "+cmd.UseLine(), "    ")
	}
	if cmd.HasAvailableSubCommands() {
		h.entry("  "+cmd.CommandPath()+" [command]", "    ")
	}
	if cmd.Example != "" {
		h.head("Examples")
		h.WriteString(cmd.Example + "\n") // to be copied
	}
	h.commands(cmd)
	titles, groups := flagsBy(cmd, cmd.LocalFlags())
	for i, flags := range groups {
		h.flags(strings.TrimSpace(titles[i]+" flags"), flags)
	}
	if cmd.HasAvailableInheritedFlags() {
		_, groups := flagsBy(cmd.Root(), cmd.InheritedFlags())
		h.flags("Global flags", groups[0])
	}
	if cmd.HasAvailableSubCommands() {
		h.WriteByte('\n')
		h.entry(fmt.Sprintf("Use \"%s [command] --help\" for more information about a command.", cmd.CommandPath()), "")
	}
}

func (h *helpText) head(title string) {
	h.WriteByte('\n')
	for _, row := range tty.Wrap(strings.ToUpper(title[:1])+title[1:]+":", h.columns) {
		h.WriteString(tty.Title.Paint(row, h.color) + "\n")
	}
}

// entry writes a line, and indents what does not fit.
func (h *helpText) entry(line, indent string) {
	if h.prose == 0 || tty.Width(line) <= h.prose {
		h.WriteString(line + "\n")
		return
	}
	trimmed := strings.TrimLeft(line, " ")
	first := line[:len(line)-len(trimmed)]
	if len(first) > h.prose/2 {
		first = indent
	}
	if h.prose < 20 {
		first, indent = "", ""
	}
	for _, row := range tty.Wrap(trimmed, max(h.prose-max(len(first), len(indent)), 1)) {
		h.WriteString(first + row + "\n")
		first = indent
	}
}

// paragraphs writes prose, whose lines are filled again if they do not fit. Indented lines stay
// lines: they are lists and examples.
func (h *helpText) paragraphs(text string) {
	lines := strings.Split(text, "\n")
	fits := !slices.ContainsFunc(lines, func(line string) bool { return tty.Width(line) > h.prose })
	if h.prose == 0 || fits {
		h.WriteString(text + "\n")
		return
	}
	filled, listed := "", listEntry{}
	end := func() {
		if filled != "" {
			h.WriteString(clikit.Wrapped(filled, h.prose))
		}
		h.listed(listed)
		filled, listed = "", listEntry{}
	}
	for _, line := range lines {
		entry, isEntry := readListEntry(line)
		switch {
		case listed.column > 0 && strings.HasPrefix(line, strings.Repeat(" ", listed.column)):
			listed.about += " " + strings.TrimSpace(line)
		case isEntry:
			end()
			listed = entry
		case line == "" || strings.HasPrefix(line, " "):
			end()
			h.entry(line, "    ")
		default:
			h.listed(listed)
			listed = listEntry{}
			filled = strings.TrimSpace(filled + " " + line)
		}
	}
	end()
}

// A listEntry is a line in a list: a name, and its meaning from some column on.
type listEntry struct {
	name, about string
	column      int
}

var listLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^( +\S+(?: \S+)* {2,})(\S.*)$`)
})

func readListEntry(line string) (listEntry, bool) {
	m := listLine().FindStringSubmatch(line)
	if m == nil {
		return listEntry{}, false
	}
	return listEntry{name: strings.TrimSpace(m[1]), about: m[2], column: len(m[1])}, true
}

// listed writes an entry of a list, if there is one.
func (h *helpText) listed(e listEntry) {
	if e.column > 0 {
		h.item(e.name, e.about, e.column-margin-gap)
	}
}

func (h *helpText) commands(cmd *cobra.Command) {
	if !cmd.HasAvailableSubCommands() {
		return
	}
	h.head("Available commands")
	wide := 11
	for _, sub := range cmd.Commands() {
		wide = max(wide, len(sub.Name()))
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() || sub.Name() == "help" {
			h.item(sub.Name(), sub.Short, wide)
		}
	}
}

// maxFlagColumn is the maximum width of a name with its description on the same line.
const maxFlagColumn = 32

func (h *helpText) flags(title string, flags []*pflag.Flag) {
	if len(flags) == 0 {
		return
	}
	h.head(title)
	wide := 0
	for _, f := range flags {
		if n := len(flagName(f)); n <= maxFlagColumn {
			wide = max(wide, n)
		}
	}
	for _, f := range flags {
		_, usage := pflag.UnquoteUsage(f)
		h.item(flagName(f), usage+shownDefault(f), wide)
	}
}

// flagName returns a flag as it is typed, with its value.
func flagName(f *pflag.Flag) string {
	name := "    --" + f.Name
	if f.Shorthand != "" && f.ShorthandDeprecated == "" {
		name = "-" + f.Shorthand + ", --" + f.Name
	}
	value, _ := pflag.UnquoteUsage(f)
	if value != "" {
		name += " " + value
	}
	if f.NoOptDefVal != "" && f.Value.Type() != "bool" {
		name += fmt.Sprintf("[=%q]", f.NoOptDefVal)
	}
	return name
}

const (
	margin = 2 // before a name
	gap    = 3 // after the longest name
	// minAbout is the minimum width of descriptions beside names, and narrowAbout their indentation
	// below them.
	minAbout    = 22
	narrowAbout = 6
)

// item writes a name and its description: beside it or, if there is no room, below.
func (h *helpText) item(name, about string, wide int) {
	indent := margin + wide + gap
	if h.columns-indent < minAbout {
		indent = narrowAbout
		name = strings.TrimSpace(name)
	}
	indent = min(indent, h.columns/2)
	rows := tty.Wrap(about, max(h.columns-indent, 1))
	head := strings.Repeat(" ", margin) + name
	if short := strings.TrimSpace(name); h.columns < 20 || len(head) > h.columns {
		head = strings.Repeat(" ", min(margin, max(h.columns-len(short), 0))) + short
	}
	if len(head)+2 > indent {
		for _, row := range tty.Wrap(head, max(h.columns, 1)) {
			h.WriteString(row + "\n")
		}
	} else {
		h.WriteString(head + strings.Repeat(" ", indent-len(head)) + rows[0] + "\n")
		rows = rows[1:]
	}
	for _, row := range rows {
		h.WriteString(strings.Repeat(" ", indent) + row + "\n")
	}
}
