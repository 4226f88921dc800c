package cli

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/config"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/usage"
)

// dimensions is a flag for comma-separated groups. The first use of the flag replaces the default.
type dimensions struct {
	list  []usage.Dimension
	tools string // "tool" or "mcp": tool calls are counted in place of answers
	given bool
}

// The words for groups: as values of --by, and as arguments. Each of them is valid in both places.
var (
	groupNames = []string{"month", "week", "day", "hour", "block", "model", "project", "session", "agent", "tool", "mcp"}

	groupArguments = []string{
		"daily", "weekly", "monthly", "hourly", "blocks", "models", "projects", "sessions", "agents", "tools", "mcp",
	}
)

// Type names the value in the help.
func (d *dimensions) Type() string { return "groups" }

func (d *dimensions) String() string {
	words := make([]string, len(d.list))
	for i, dim := range d.list {
		words[i] = dim.String()
	}
	return strings.Join(words, ",")
}

// Set reads the words. Repeated words count once.
func (d *dimensions) Set(text string) error {
	for word := range strings.SplitSeq(text, ",") {
		if !d.add(strings.TrimSpace(word)) {
			return errors.New("must be " + oneOf(groupNames))
		}
	}
	return nil
}

// add adds the group that a word stands for, and reports whether there is one.
func (d *dimensions) add(word string) bool {
	name := groupName(word)
	if name == "tool" || name == "mcp" {
		if !d.given {
			d.list = nil
		}
		d.tools, d.given = name, true
		return true
	}
	dim, err := usage.ParseDimension(name)
	if err != nil {
		return false
	}
	if !d.given {
		d.list, d.given = nil, true
	}
	if !slices.Contains(d.list, dim) {
		d.list = append(d.list, dim)
	}
	return true
}

// groupName returns the name of a group for another word that people use.
func groupName(word string) string {
	switch word {
	case "daily":
		return "day"
	case "monthly", "weekly", "hourly":
		return strings.TrimSuffix(word, "ly")
	}
	if name := strings.TrimSuffix(word, "s"); slices.Contains(groupNames, name) {
		return name
	}
	return word
}

// addArguments reads the arguments of the command, which are groups as well.
func (d *dimensions) addArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 && d.given {
		return clikit.Misused(cmd, errors.New("groups are given both as arguments and with --by"))
	}
	for _, text := range args {
		for word := range strings.SplitSeq(text, ",") {
			if !d.add(strings.TrimSpace(word)) {
				return clikit.Misused(cmd, unknownGroup(word))
			}
		}
	}
	return nil
}

// oneOf joins words with commas and an "or".
func oneOf(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

func unknownGroup(word string) error {
	text := fmt.Sprintf("unknown group %q", clikit.Clip(word))
	if near := config.Nearest(word, slices.Concat(groupArguments, groupNames)); near != "" {
		return fmt.Errorf("%s; did you mean %s?", text, near)
	}
	return fmt.Errorf("%s: must be %s", text, oneOf(groupArguments))
}

// A statsOrder is a flag for the order of groups. "" means the default of the groups.
type statsOrder string

// Type names the value in the help.
func (o *statsOrder) Type() string { return "order" }

func (o *statsOrder) String() string { return string(*o) }

// Set reads the name of an order.
func (o *statsOrder) Set(text string) error {
	if !slices.Contains([]string{"name", "cost", "tokens", "answers"}, text) {
		return errors.New("must be name, cost, tokens or answers")
	}
	*o = statsOrder(text)
	return nil
}

// A projectAlias is another name for the projects that match a text: a directory, or the name of a
// project, in which a * stands for any part.
type projectAlias struct{ project, name string }

// An aliasFlag is a flag for project aliases. The first fitting one counts.
type aliasFlag []projectAlias

// Type names the value in the help.
func (f *aliasFlag) Type() string { return "pair" }

func (f *aliasFlag) String() string {
	texts := make([]string, len(*f))
	for i, a := range *f {
		texts[i] = a.project + "=" + a.name
	}
	return strings.Join(texts, ",")
}

// Set adds an alias.
func (f *aliasFlag) Set(text string) error {
	project, name, ok := config.CutPair(text)
	if !ok {
		return errors.New("must be a project and a name, such as old-shop=shop")
	}
	*f = append(*f, projectAlias{project, name})
	return nil
}

// Replace sets all aliases.
func (f *aliasFlag) Replace(texts []string) error {
	*f = nil
	for _, text := range texts {
		if err := f.Set(text); err != nil {
			return err
		}
	}
	return nil
}

// find returns the alias that the user named, ignoring case.
func (f aliasFlag) find(word string) (string, bool) {
	for _, same := range []func(a, b string) bool{
		func(a, b string) bool { return a == b }, strings.EqualFold,
	} {
		for _, a := range f {
			if same(a.name, word) {
				return a.name, true
			}
		}
	}
	return "", false
}

// of returns the aliases of projects, by the names that the agent uses.
func (f aliasFlag) of(projects []sessions.ProjectInfo) map[string]string {
	aliases := map[string]string{}
	for _, patterns := range []bool{false, true} {
		for _, a := range f {
			if a.isPattern() != patterns {
				continue
			}
			fits := a.matcher()
			for i := range projects {
				if p := &projects[i]; aliases[p.Name] == "" && fits(p) {
					aliases[p.Name] = a.name
				}
			}
		}
	}
	return aliases
}

// members returns the agent's names for the projects with an alias. Directories and names given by
// the user are included, since a project without sessions may still have subagents.
func (f aliasFlag) members(alias string, projects []sessions.ProjectInfo) []string {
	all := slices.Clone(projects)
	for _, a := range f {
		if name := a.agentName(); !a.isPattern() && name != "" {
			all = append(all, sessions.ProjectInfo{Name: name})
		}
	}
	var names []string
	for name, of := range f.of(all) {
		if of == alias {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (a *projectAlias) isPattern() bool { return strings.Contains(a.project, "*") }

// directory returns the directory that the alias is for, or "" if it is for a name.
func (a *projectAlias) directory() string {
	dir := clikit.ExpandHome(a.project)
	if dir != "." && dir != ".." && !strings.ContainsFunc(dir, func(r rune) bool { return r == '/' || r == filepath.Separator }) {
		return ""
	}
	if whole, err := filepath.Abs(dir); err == nil {
		return whole
	}
	return dir
}

// agentName returns the name that the agent uses for the project, or "" if that is not known.
func (a *projectAlias) agentName() string {
	dir := a.directory()
	if dir == "" {
		return a.project
	}
	name, _ := sessions.ProjectName(dir) // "" if it fails
	return name
}

// matcher returns what reports whether the alias is for a project.
func (a *projectAlias) matcher() func(*sessions.ProjectInfo) bool {
	dir := a.directory()
	if !a.isPattern() {
		agents := a.agentName()
		return func(p *sessions.ProjectInfo) bool {
			return p.Name == agents || dir == "" && render.ProjectName(p.Directory, p.Name) == a.project || dir != "" && p.Directory == dir
		}
	}
	pattern := strings.NewReplacer("[", `\[`, "?", `\?`).Replace(strings.ReplaceAll(cmp.Or(dir, a.project), `\`, "/"))
	like := func(text string) bool {
		ok, _ := path.Match(pattern, strings.ReplaceAll(text, `\`, "/")) // the pattern is valid
		return ok
	}
	return func(p *sessions.ProjectInfo) bool {
		return like(p.Directory) || dir == "" && (like(p.Name) || like(render.ProjectName(p.Directory, p.Name)))
	}
}
