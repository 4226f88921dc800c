package cli

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
)

// A statsRow is a group of answers, and what its project and its session are called.
type statsRow struct {
	transcript.Row
	CWD   string `json:"cwd,omitempty"`   // the folder of the project
	Title string `json:"title,omitempty"` // of the session
}

// projectName is what lists call a project: the name of its folder, or if that is not known, the one that the agent has
// given to it.
func projectName(cwd, project string) string {
	if cwd == "" {
		return project
	}
	return path.Base(strings.ReplaceAll(cwd, `\`, "/"))
}

// shortID is what lists show of the ID of a session.
func shortID(id string) string { return id[:min(8, len(id))] }

// learnNames looks up what projects and sessions are called, if the rows are about them. Those that can't be looked up
// have no names.
func (r *statsReport) learnNames(ctx context.Context, project string) {
	if !r.isBy(transcript.ByProject) && !r.isBy(transcript.BySession) {
		return
	}
	infos, _ := sessions.List(ctx, &sessions.ListOptions{Project: project})
	folders, titles := map[string]string{}, map[string]string{}
	for i := range infos {
		folders[infos[i].Project] = cmp.Or(folders[infos[i].Project], infos[i].CWD)
		titles[infos[i].ID] = cmp.Or(titles[infos[i].ID], infos[i].Title())
	}
	for i := range r.Rows {
		r.Rows[i].CWD = folders[r.Rows[i].Key.Project]
		r.Rows[i].Title = titles[r.Rows[i].Key.Session]
	}
	r.findNamesakes()
}

// findNamesakes notes which names of folders several projects have.
func (r *statsReport) findNamesakes() {
	first := map[string]string{}
	r.namesakes = map[string]bool{}
	for i := range r.Rows {
		name, project := projectName(r.Rows[i].CWD, r.Rows[i].Key.Project), r.Rows[i].Key.Project
		if other, ok := first[name]; ok && other != project {
			r.namesakes[name] = true
		}
		first[name] = project
	}
}

func (r *statsReport) isBy(d transcript.Dimension) bool { return slices.Contains(r.by, d) }

// projectLabel tells a project from the others.
func (r *statsReport) projectLabel(row *statsRow) string {
	name := projectName(row.CWD, row.Key.Project)
	if r.namesakes[name] {
		return cmp.Or(row.CWD, row.Key.Project)
	}
	return name
}
