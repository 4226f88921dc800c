package sessions

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/clewdev/clew/internal/sessionfile"
	"github.com/clewdev/clew/wire"
)

// ErrNotFound says that there is no such session, message or subagent. It comes wrapped, with what was looked for.
var ErrNotFound = errors.New("not found")

// Options say where a session is. Nil and the zero value mean any project in the agent's own folder.
type Options struct {
	// Store has the session. Nil means the agent's own files, see [AgentFolder].
	Store Store
	// Project is the path of the session's working folder. Empty means any project, if the store is a [ProjectLister].
	Project string
	// ProjectName is the name that the agent gave to that folder, or clew.Options.StoreProject where that was set. It is
	// used instead of Project where it is set.
	ProjectName string
}

// A place is where sessions are looked for.
type place struct {
	store Store
	name  string // of the project; "" for any
}

func (o *Options) place() (place, error) {
	if o == nil {
		o = new(Options)
	}
	p := place{store: o.Store, name: o.ProjectName}
	if p.store == nil {
		folder, err := AgentFolder()
		if err != nil {
			return p, err
		}
		p.store = folder
	}
	if p.name != "" || o.Project == "" {
		return p, nil
	}
	name, err := ProjectName(o.Project)
	p.name = name
	return p, err
}

// ProjectName returns the name that the agent gives to a working folder.
func ProjectName(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("sessions: %w", err)
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return sessionfile.ProjectName(dir), nil
}

// String says where that is, for an error.
func (p place) String() string {
	where := "the store"
	if s, ok := p.store.(fmt.Stringer); ok {
		where = s.String()
	}
	if p.name == "" {
		return where
	}
	return "project " + p.name + " of " + where
}

// projects returns the names of the projects in which to look.
func (p place) projects(ctx context.Context) ([]string, error) {
	lister, ok := p.store.(ProjectLister)
	if p.name != "" && (!ok || !sessionfile.CutName(p.name)) {
		return []string{p.name}, nil
	}
	if !ok {
		return nil, errors.New("sessions: the store does not know its projects: name one")
	}
	names, err := lister.Projects(ctx)
	if p.name == "" || err != nil {
		return names, err
	}
	// Agents do not agree on the hash at the end of a long name.
	return slices.DeleteFunc(names, func(name string) bool { return !sessionfile.SameCut(name, p.name) }), nil
}

// find returns the key of a session, that of the newest if several projects have one of that ID.
func (p place) find(ctx context.Context, id string) (wire.SessionKey, time.Time, error) {
	var found wire.SessionKey
	var newest time.Time
	if !isUUID(id) {
		return found, newest, fmt.Errorf("sessions: %q is not the ID of a session", id)
	}
	projects, err := p.projects(ctx)
	if err != nil {
		return found, newest, err
	}
	for _, project := range projects {
		key := wire.SessionKey{Project: project, SessionID: id}
		at, err := p.modified(ctx, key)
		if err != nil {
			return found, newest, err
		}
		if at.After(newest) {
			found, newest = key, at
		}
	}
	if found.SessionID == "" {
		return found, newest, fmt.Errorf("sessions: session %s: %w in %s", id, ErrNotFound, p)
	}
	return found, newest, nil
}

// modified returns the time of the last append to a session, or the zero time if there is none.
func (p place) modified(ctx context.Context, key wire.SessionKey) (time.Time, error) {
	if folder, ok := p.store.(*Folder); ok {
		return folder.modified(key)
	}
	sessions, err := p.store.Sessions(ctx, key.Project)
	return sessions[key.SessionID], err
}

// isUUID reports whether id has the form of a UUID, as the ID of each session has.
func isUUID(id string) bool {
	if len(id) != 36 {
		return false
	}
	for i, c := range strings.ToLower(id) {
		switch {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return false
			}
		case !strings.ContainsRune("0123456789abcdef", c):
			return false
		}
	}
	return true
}
