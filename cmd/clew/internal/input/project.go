package input

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/fuzzy"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/sessions"
)

// Project returns the location of a project's sessions. The value of the flag --project is a
// name that lists show, a directory, or the name of the directory in which the agent keeps the
// sessions. An empty word means all projects, and a directory need not have sessions.
func Project(ctx context.Context, word string) (*sessions.Options, error) {
	if word == "" {
		return new(sessions.Options), nil
	}
	info, statErr := os.Stat(word)
	isDirectory := statErr == nil && info.IsDir()
	where := &sessions.Options{Project: word}
	for _, err := range sessions.Files(ctx, where) {
		if err != nil {
			return nil, FindError(ctx, err)
		}
		return where, nil
	}
	projects, err := sessions.Projects(ctx, nil)
	if len(projects) == 0 && err != nil {
		return nil, FindError(ctx, err)
	}
	switch found := matchProjects(word, projects); {
	case len(found) == 1:
		return placeOf(&found[0]), nil
	case len(found) > 1:
		return nil, ambiguousProject(word, found)
	case isDirectory: // it has no sessions yet
		return where, nil
	}
	return nil, noProject(word, projects)
}

// AddProjectFlag adds the flag for the project in which a session is looked for.
func AddProjectFlag(cmd *cobra.Command, project *string) {
	cmd.Flags().StringVar(project, "project", "", "look for the session in the project with this `name` or directory")
}

// Find returns the source that a word names: "-", "last", the ID of a session or its beginning, or the
// path of a file. It looks for a session only in a project, unless that is "".
func Find(ctx context.Context, project, word string) (*Source, error) {
	if project == "" {
		return find(ctx, word)
	}
	where, err := Project(ctx, project)
	if err != nil {
		return nil, err
	}
	list := &sessions.ListOptions{Project: where.Project, ProjectName: where.ProjectName, Limit: 1}
	switch {
	case word == "" || strings.ContainsAny(word, `./\`) || word == "-":
		return nil, clikit.UsageError("--project can't be used with a file", `Give a session ID or a prefix of one, or "last".`)
	case word != "last":
		list.ID, list.Limit = strings.ToLower(word), 0
	}
	switch found, err := sessions.List(ctx, list); {
	case len(found) == 1:
		return &Source{Info: found[0], Path: found[0].Path}, nil
	case len(found) > 1:
		return nil, Ambiguous(word, found)
	case err != nil:
		return nil, FindError(ctx, err)
	}
	return nil, &clikit.Failure{
		Code: clikit.ExitInput, Err: fmt.Errorf("project %s has no session %s", clikit.Printable(project), clikit.Printable(word)),
		Hint: `Run "clew ls --all" to list the sessions of all projects.`,
	}
}

// matchProjects returns the projects that a word names. A whole name goes before one in another
// case.
func matchProjects(word string, projects []sessions.ProjectInfo) []sessions.ProjectInfo {
	for _, same := range []func(a, b string) bool{
		func(a, b string) bool { return a == b }, strings.EqualFold,
	} {
		var found []sessions.ProjectInfo
		for _, p := range projects {
			if same(p.Name, word) || same(p.Directory, word) {
				return []sessions.ProjectInfo{p}
			}
			if same(render.ProjectName(p.Directory, p.Name), word) {
				found = append(found, p)
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	return nil
}

// placeOf returns where the sessions of a project are: in its directory, so that other working trees
// of the repository are included, or if that is another name, by its name.
func placeOf(p *sessions.ProjectInfo) *sessions.Options {
	if name, err := sessions.ProjectName(p.Directory); p.Directory != "" && err == nil && name == p.Name {
		return &sessions.Options{Project: p.Directory}
	}
	return &sessions.Options{ProjectName: p.Name}
}

func ambiguousProject(word string, found []sessions.ProjectInfo) error {
	hint := "Give the directory of one of them:"
	for _, p := range found {
		place := p.Directory
		if where := placeOf(&p); where.Project == "" {
			place = p.Name
		}
		hint += "\n  " + clikit.Printable(place)
	}
	return &clikit.Failure{
		Code: clikit.ExitUsage, Err: fmt.Errorf("%d projects are named %s", len(found), clikit.Printable(word)), Hint: hint,
	}
}

// noProject reports that there is no such project, and which name may have been meant.
func noProject(word string, projects []sessions.ProjectInfo) error {
	hint := `Run "clew ls --all" to list the sessions of all projects.`
	if near := nearProject(word, projects); near != "" {
		hint = "Did you mean " + near + "?\n" + hint
	}
	return &clikit.Failure{Code: clikit.ExitUsage, Err: errors.New("no project matches " + clikit.Printable(word)), Hint: hint}
}

// nearProject returns the name of a project that is like a word, or "".
func nearProject(word string, projects []sessions.ProjectInfo) string {
	word = strings.ToLower(path.Base(strings.ReplaceAll(word, `\`, "/")))
	best, least := "", len([]rune(word))/3+1
	for _, p := range projects {
		name := render.ProjectName(p.Directory, p.Name)
		distance := fuzzy.Distance(word, strings.ToLower(name))
		if len(word) > 2 && strings.Contains(strings.ToLower(name), word) {
			distance = 1
		}
		if distance < least {
			best, least = name, distance
		}
	}
	return tty.Line(best)
}
