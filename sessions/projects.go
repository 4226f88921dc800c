package sessions

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
)

// A ProjectInfo is a project that has sessions.
type ProjectInfo struct {
	// Name is the name of the project in the store, such as "-home-me-code".
	Name string
	// Directory is the working directory of its sessions, such as "/home/me/code", or "" if no
	// recent session has one.
	Directory string
	// Sessions is the number of sessions, also of those that [List] leaves out.
	Sessions int
	// Modified is when the newest session was last written to.
	Modified time.Time
}

// Projects returns the projects of a store that have sessions, the newest first. A nil store means
// the agent's own files, in all of [Roots]. It reads one or a few sessions of each project, for the
// directory. If the user may not read a project, Projects returns the others together with that
// error.
//
//	projects, err := sessions.Projects(ctx, nil)
//	for _, p := range projects {
//		fmt.Println(p.Directory, p.Sessions)
//	}
func Projects(ctx context.Context, store Store) ([]ProjectInfo, error) {
	all, err := (&Options{Store: store}).scopes(false)
	if err != nil {
		return nil, err
	}
	found, failed := all.sessions(ctx)
	slices.SortFunc(found, newestFirst)
	byName := map[string][]foundSession{}
	for _, s := range found {
		byName[s.Project] = append(byName[s.Project], s)
	}
	var projects []ProjectInfo
	for name, list := range byName {
		directory, err := directoryOf(ctx, list)
		if err != nil {
			return nil, err
		}
		projects = append(projects, ProjectInfo{Name: name, Directory: directory, Sessions: len(list), Modified: list[0].Modified})
	}
	slices.SortFunc(projects, func(a, b ProjectInfo) int {
		return cmp.Or(b.Modified.Compare(a.Modified), strings.Compare(a.Name, b.Name))
	})
	return projects, failed
}

// directoryOf returns the working directory of the newest sessions of a project.
func directoryOf(ctx context.Context, newest []foundSession) (string, error) {
	const most = 3 // sessions without a directory are rare
	for i := range newest[:min(most, len(newest))] {
		if err := summarize(ctx, newest[i:i+1]); err != nil {
			return "", err
		}
		if newest[i].CWD != "" {
			return newest[i].CWD, nil
		}
	}
	return "", nil
}
