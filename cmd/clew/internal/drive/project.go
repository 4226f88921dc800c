package drive

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clewdev/clew/sessions"
)

// A Project is a directory in which an agent can be started. Pages name it by its ID: no path comes
// from them.
type Project struct {
	ID  string `json:"id"`
	Dir string `json:"dir"`
}

// maxProjects is the maximum number of listed projects.
const maxProjects = 1000

// Projects returns the directories in which agents can be started: first the known projects, the
// last used first, and then the roots' directories.
func (a *Agents) Projects(ctx context.Context) ([]Project, error) {
	infos, err := a.opts.Names(ctx, "")
	if ctx.Err() != nil || len(infos) == 0 && err != nil {
		return nil, failed("the projects can't be listed", cmp.Or(ctx.Err(), err))
	}
	newest := slices.Clone(infos)
	slices.SortStableFunc(newest, func(x, y sessions.SessionInfo) int { return y.Modified.Compare(x.Modified) })
	seen := map[string]bool{}
	newest = slices.DeleteFunc(newest, func(i sessions.SessionInfo) bool {
		known := seen[i.Project]
		seen[i.Project] = true
		return known
	})
	list := &projectList{seen: map[string]bool{}}
	for _, info := range sessions.Summarize(ctx, newest[:min(len(newest), maxProjects)]) {
		list.add(info.CWD)
	}
	for _, root := range a.opts.Roots {
		list.addRoot(root)
	}
	return list.projects, ctx.Err()
}

// A projectList collects projects.
type projectList struct {
	projects []Project
	seen     map[string]bool
}

// add adds a directory if it exists.
func (l *projectList) add(dir string) {
	if dir == "" || l.seen[dir] || len(l.projects) >= maxProjects || !isDirectory(dir) {
		return
	}
	l.seen[dir] = true
	l.projects = append(l.projects, Project{projectID(dir), dir})
}

// addRoot adds a directory and those in it that are not hidden.
func (l *projectList) addRoot(root string) {
	root, err := filepath.Abs(root)
	if err != nil {
		return
	}
	l.add(root)
	entries, _ := os.ReadDir(root) // the readable ones
	for _, e := range entries {
		if e.Type() == fs.ModeDir && e.Name()[0] != '.' {
			l.add(filepath.Join(root, e.Name()))
		}
	}
}

// isDirectory reports whether a path is an absolute path of a directory.
func isDirectory(path string) bool {
	if !filepath.IsAbs(path) {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// projectID returns the ID of the project of a directory.
func projectID(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:8])
}

// project returns the directory of a project.
func (a *Agents) project(ctx context.Context, id string) (string, error) {
	projects, err := a.Projects(ctx)
	if err != nil {
		return "", err
	}
	for _, p := range projects {
		if p.ID == id {
			return p.Dir, nil
		}
	}
	return "", &Error{
		Kind: NotFound, Reason: "there is no such project",
		Hint: "Agents can be started in directories of projects that have sessions, and in those that clew serve was given with --root.",
	}
}

// isOf reports whether the agent keeps the sessions of a directory in a project.
func isOf(dir, project string) bool {
	name, err := sessions.ProjectName(dir)
	return err == nil && name == project
}

// session returns a session by its ID, which may have its project after an @, with its working
// directory.
func (a *Agents) session(ctx context.Context, name string) (*sessions.SessionInfo, error) {
	id, project, several := strings.Cut(name, "@")
	infos, err := a.opts.Names(ctx, project)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	i := slices.IndexFunc(infos, func(i sessions.SessionInfo) bool { return i.ID == id })
	if i < 0 {
		if err != nil {
			return nil, failed("the session was not found", err)
		}
		return nil, &Error{Kind: NotFound, Reason: "there is no such session"}
	}
	info := sessions.Summarize(ctx, infos[i:i+1])[0]
	switch {
	case info.Err != nil:
		return nil, failed("the session can't be read", info.Err)
	case isArchived(info.Path):
		return nil, &Error{Kind: Conflict, Reason: "the session is only in the archive", Hint: "Run clew restore " + id + " first."}
	case !isDirectory(info.CWD):
		return nil, &Error{
			Kind: Conflict, Reason: "the directory of the session does not exist any more",
			Hint: "Make it again, or read the session here.",
		}
	case several && !isOf(info.CWD, info.Project):
		// The agent looks for the session by its ID, in the project of the directory.
		return nil, &Error{
			Kind: Conflict, Reason: "several projects have a session with this ID, and the agent would continue another one than this",
			Hint: "Continue the one of the project in which the session was written: " + info.CWD,
		}
	}
	return &info, nil
}

// isArchived reports whether a transcript is in an archive, where no agent works.
func isArchived(path string) bool {
	_, ok := sessions.FromArchive(path)
	return ok
}
