package sessions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/clewdev/clew/internal/files"
	"github.com/clewdev/clew/internal/newid"
	"github.com/clewdev/clew/internal/sessionfile"
	"github.com/clewdev/clew/wire"
)

// ErrNotFound is wrapped by the error that a session, message or subagent does not exist. That
// error names the missing thing and the place that was searched. Test for it with [errors.Is]. An
// ID that is not a UUID gives another error.
var ErrNotFound = errors.New("sessions: not found")

// ErrReadOnly is wrapped by the error that a session can't be changed, since it is a copy from an
// archive: see [SetArchiveRoots].
var ErrReadOnly = errors.New("it is a copy from an archive; restore it first")

// A notFoundError names the missing thing and the place that was searched. It wraps [ErrNotFound].
type notFoundError struct{ what, where string }

// Error returns, for example, "sessions: session ID not found in /home/me/.claude/projects".
func (e *notFoundError) Error() string {
	if e.where == "" {
		return "sessions: " + e.what + " not found"
	}
	return "sessions: " + e.what + " not found in " + e.where
}

// Unwrap returns ErrNotFound, for errors.Is.
func (e *notFoundError) Unwrap() error { return ErrNotFound }

// checkID returns an error unless id has the form of a session ID.
func checkID(id string) error {
	if !newid.IsUUID(id) {
		return fmt.Errorf("sessions: invalid session ID %q: not a UUID", id)
	}
	return nil
}

// Options locate a session. Nil and the zero value mean any project of the agent's own files, which
// is what most callers want. Set a project if you know it: then fewer directories are searched.
//
//	opts := &sessions.Options{Project: "/home/me/code"}           // in the agent's files
//	opts := &sessions.Options{Store: store, ProjectName: "nightly"} // in another store
type Options struct {
	// Store has the session. Nil means the agent's own files, in all of [Roots]. Changes are made
	// where the session is found.
	Store Store
	// Project is the path of the session's working directory. Other working trees of the same git
	// repository count as well, and jobs that worked on it: see [Job]. Empty means any project, which needs a store that is a
	// [ProjectLister].
	Project string
	// ProjectName is the name of the project in the store, as [ProjectName] returns it, or the
	// value of clew.Options.Store.Project for sessions that clew stored. The jobs that count to the
	// project are included, but of copies with the same ID its own session is found.
	// If it is set, Project is ignored.
	ProjectName string
}

// ProjectName returns the name of the project that has the sessions of a working directory. The
// agent makes it from the path: "/home/me/code" becomes "-home-me-code". It does not consider the
// environment variable CLAUDE_CODE_PROJECT_DIR_NAME, with which the agent uses another name.
//
//	name, err := sessions.ProjectName(".")
//	if err != nil {
//		return err
//	}
//	key := wire.SessionKey{Project: name, SessionID: id}
func ProjectName(dir string) (string, error) {
	dir, err := realPath(dir)
	return sessionfile.ProjectName(dir), err
}

// realPath returns the path by which the agent knows a directory: absolute, and without symbolic
// links.
func realPath(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("sessions: %w", err)
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return dir, nil
}

// A scope is a store, and the projects in it to look at.
type scope struct {
	store Store
	names []string // of the projects; empty means all

	jobs   map[string]Job // by project, if they were looked for
	ofJobs []string       // the projects of jobs that count to one of names
}

// scopes are the stores to look at. There is at least one.
type scopes []scope

// scopes returns the stores and projects that the options mean. If others is true, these include
// the other working trees of a git repository.
func (o *Options) scopes(others bool) (scopes, error) {
	all, err := o.ownScopes(others)
	all.addJobs()
	return all, err
}

// ownScopes is scopes without the projects of jobs.
func (o *Options) ownScopes(others bool) (scopes, error) {
	if o == nil {
		o = new(Options)
	}
	names, err := o.names(others)
	if err != nil {
		return nil, err
	}
	if o.Store != nil {
		return scopes{{store: o.Store, names: names}}, nil
	}
	if name := os.Getenv("CLAUDE_CODE_PROJECT_DIR_NAME"); o.ProjectName == "" && len(names) > 0 && sessionfile.GivenName(name) {
		names = append(names, name)
	}
	folders, err := agentFolders()
	if err != nil {
		return nil, err
	}
	var all scopes
	for _, folder := range folders {
		all = append(all, scope{store: folder, names: names})
	}
	return all, nil
}

// addJobs adds the projects of the jobs that count to the projects of the scopes.
func (ss scopes) addJobs() {
	for i := range ss {
		if s := &ss[i]; len(s.names) > 0 {
			s.addJobs()
		}
	}
}

// names returns the names of the projects that the options mean, or none for all projects.
func (o *Options) names(others bool) ([]string, error) {
	if o.ProjectName != "" {
		return []string{o.ProjectName}, nil
	}
	if o.Project == "" {
		return nil, nil
	}
	dir, err := realPath(o.Project)
	if err != nil {
		return nil, err
	}
	dirs := []string{dir}
	if others {
		dirs = withWorktrees(dir)
	}
	var names []string
	for _, dir := range dirs {
		name, err := ProjectName(dir)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// String describes the scope in an error message.
func (s scope) String() string {
	where := "the store"
	if named, ok := s.store.(fmt.Stringer); ok {
		where = named.String()
	}
	switch len(s.names) {
	case 0:
		return where
	case 1:
		return "project " + s.names[0] + " of " + where
	}
	return "projects " + strings.Join(s.names, ", ") + " of " + where
}

// String describes the scopes in an error message.
func (ss scopes) String() string {
	var all []string
	for _, s := range ss {
		all = append(all, s.String())
	}
	return strings.Join(all, " or ")
}

// projects returns the names of the projects to look at. The agent shortens long names, and not all
// versions do it alike, so names are compared with the store's names where that may matter.
func (s scope) projects(ctx context.Context) ([]string, error) {
	lister, ok := s.store.(ProjectLister)
	if len(s.names) > 0 && (!ok || !foldNames && !slices.ContainsFunc(s.names, sessionfile.CutName)) {
		return slices.Concat(s.names, s.ofJobs), nil
	}
	if !ok {
		return nil, errors.New("sessions: the store can't list its projects; set Project or ProjectName")
	}
	names, err := lister.Projects(ctx)
	if len(s.names) == 0 || err != nil {
		return names, err
	}
	return slices.DeleteFunc(names, func(name string) bool { return !s.wants(name) }), nil
}

// foldNames reports whether the names of directories are case-insensitive.
const foldNames = runtime.GOOS == "windows"

// wants reports whether the scope includes a project.
func (s scope) wants(name string) bool { return s.hasName(name) || slices.Contains(s.ofJobs, name) }

// hasName reports whether a name is one of names. Versions of the agent use different hashes at the
// end of a long name, so the hash is not compared.
func (s scope) hasName(name string) bool {
	return slices.ContainsFunc(s.names, func(wanted string) bool {
		if foldNames {
			name, wanted = strings.ToLower(name), strings.ToLower(wanted)
		}
		return name == wanted || sessionfile.SameCut(name, wanted)
	})
}

// find returns the scope and the key of a session. If there are several sessions with that ID, it
// returns the newest.
func (o *Options) find(ctx context.Context, id string) (scope, wire.SessionKey, error) {
	s, key, _, err := o.findWithTime(ctx, id)
	return s, key, err
}

// findToChange is find for a session that will be changed.
func (o *Options) findToChange(ctx context.Context, id string) (scope, wire.SessionKey, error) {
	s, key, err := o.find(ctx, id)
	if folder, ok := s.store.(*Folder); err == nil && ok && folder.readOnly {
		err = fmt.Errorf("sessions: session %s can't be changed: %w", id, ErrReadOnly)
	}
	return s, key, err
}

// findWithTime is find, and also returns the time of the last append to the session. Projects that
// the user may not read matter only if the session is not found elsewhere.
func (o *Options) findWithTime(ctx context.Context, id string) (scope, wire.SessionKey, time.Time, error) {
	var found scope
	var foundKey wire.SessionKey
	var newest time.Time
	var forbidden []error
	if err := checkID(id); err != nil {
		return found, foundKey, newest, err
	}
	all, err := o.ownScopes(true)
	if err != nil {
		return found, foundKey, newest, err
	}
	named := o != nil && o.ProjectName != ""
	if !named {
		all.addJobs()
	}
	found, foundKey, newest, forbidden, err = all.find(ctx, id)
	if named && newest.IsZero() && err == nil {
		all.addJobs()
		found, foundKey, newest, forbidden, err = all.find(ctx, id)
	}
	if err != nil {
		return found, foundKey, newest, err
	}
	if newest.IsZero() {
		err := &notFoundError{"session " + id, all.String()}
		return found, foundKey, newest, errors.Join(append([]error{err}, forbidden...)...)
	}
	return found, foundKey, newest, nil
}

// find returns the scope, the key and the time of the newest session with an ID. Projects that the
// user may not read are in the errors forbidden.
func (ss scopes) find(ctx context.Context, id string) (in scope, found wire.SessionKey, newest time.Time, forbidden []error, err error) {
	for _, s := range ss {
		key, at, err := s.find(ctx, id)
		if errors.Is(err, fs.ErrPermission) {
			forbidden = append(forbidden, err)
		} else if err != nil {
			return in, found, newest, nil, err
		}
		if at.After(newest) {
			in, found, newest = s, key, at
		}
	}
	return in, found, newest, forbidden, nil
}

// find returns the key of a session and the time of its last append. If several projects have a
// session with that ID, it returns the newest; if none has, the time is zero. If some projects
// can't be read for lack of permission, it returns what it found together with that error.
func (s scope) find(ctx context.Context, id string) (found wire.SessionKey, newest time.Time, err error) {
	projects, err := s.projects(ctx)
	if err != nil {
		return found, newest, err
	}
	var forbidden []error
	for _, project := range projects {
		key := wire.SessionKey{Project: project, SessionID: id}
		at, err := s.modified(ctx, key)
		if errors.Is(err, fs.ErrPermission) {
			forbidden = append(forbidden, err)
		} else if err != nil {
			return found, newest, err
		}
		if at.After(newest) {
			found, newest = key, at
		}
	}
	return found, newest, errors.Join(forbidden...)
}

// modified returns the time of the last append to a session, or the zero time if it does not exist.
func (s scope) modified(ctx context.Context, key wire.SessionKey) (time.Time, error) {
	if folder, ok := s.store.(*Folder); ok {
		return folder.modified(key)
	}
	sessions, err := s.store.Sessions(ctx, key.Project)
	return sessions[key.SessionID], err
}

// Roots returns the existing directories in which agents of this user keep their settings and
// sessions, each of them once. The usual result is one directory, /home/me/.claude.
//
// If the environment variable CLAUDE_CONFIG_DIR is set, it names the directory, or several
// separated by commas. Otherwise Roots looks for .claude in the user's home directory, and for
// claude in XDG_CONFIG_HOME, which some versions of the agent used. It returns an error only if the
// user has no home directory.
//
// The directories of [SetArchiveRoots] come last.
//
//	roots, err := sessions.Roots() // such as ["/home/me/.claude"]
func Roots() ([]string, error) {
	candidates, err := rootCandidates()
	if err != nil {
		return nil, err
	}
	return existingRoots(append(candidates, ArchiveRoots()...)), nil
}

// archiveRoots are the directories of SetArchiveRoots. They don't come from an environment
// variable, since agents and other programs that this one starts must not take them for an agent's
// directories.
var archiveRoots atomic.Pointer[[]string]

// SetArchiveRoots adds directories with sessions that package archive unpacked to [Roots], for the
// whole process, in place of an earlier call's directories. They are only read: functions that
// change a session of theirs return an error that wraps [ErrReadOnly].
func SetArchiveRoots(dirs []string) {
	dirs = slices.Clone(dirs)
	archiveRoots.Store(&dirs)
}

// ArchiveRoots returns the directories of [SetArchiveRoots]. The caller does not change them.
func ArchiveRoots() []string {
	if dirs := archiveRoots.Load(); dirs != nil {
		return *dirs
	}
	return nil
}

// FromArchive returns the directory of [SetArchiveRoots] that a path is in. It returns false for the
// path of an agent's own file.
func FromArchive(path string) (root string, ok bool) {
	for _, root := range ArchiveRoots() {
		if rest, ok := strings.CutPrefix(path, root); ok && rest != "" && os.IsPathSeparator(rest[0]) {
			return root, true
		}
	}
	return "", false
}

// existingRoots returns the directories that exist, each of them once.
func existingRoots(candidates []string) []string {
	var roots []string
	var known []fs.FileInfo
	for _, dir := range candidates {
		dir, info := sessionfile.Existing(dir)
		if info == nil || containsFile(known, info) {
			continue
		}
		roots, known = append(roots, dir), append(known, info)
	}
	return roots
}

// containsFile reports whether info is one of files, under whatever name.
func containsFile(files []fs.FileInfo, info fs.FileInfo) bool {
	for _, file := range files {
		if os.SameFile(file, info) {
			return true
		}
	}
	return false
}

// rootCandidates returns the directories that may be roots, beginning with the agent's default.
// There is at least one.
func rootCandidates() ([]string, error) {
	home, err := os.UserHomeDir()
	if config := sessionfile.ConfigDirs(); len(config) > 0 {
		for i := range config {
			config[i] = rootOf(files.ExpandHome(config[i], home))
		}
		return config, nil
	}
	if err != nil {
		return nil, fmt.Errorf("sessions: finding the agent's directory: %w", err)
	}
	shared := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(shared) {
		shared = filepath.Join(home, ".config")
	}
	return []string{filepath.Join(home, ".claude"), filepath.Join(shared, "claude")}, nil
}

// rootOf returns the root for a directory, which may be the "projects" directory in a root.
func rootOf(dir string) string {
	dir = filepath.Clean(dir)
	if filepath.Base(dir) != sessionfile.Folder {
		return dir
	}
	if _, inside := sessionfile.Existing(filepath.Join(dir, sessionfile.Folder)); inside != nil {
		return dir
	}
	return filepath.Dir(dir)
}

// OtherConfigDir returns the directory that an agent needs in CLAUDE_CONFIG_DIR to resume the session whose transcript is at
// path. It is "" if an agent with the variables of this process looks there by itself. Only a directory of [Roots] is
// returned, and none of [ArchiveRoots]: an agent takes settings from it, among them programs to run.
//
//	if dir := sessions.OtherConfigDir(info.Path); dir != "" {
//		opts.Env = append(opts.Env, "CLAUDE_CONFIG_DIR="+dir)
//	}
func OtherConfigDir(path string) string {
	projects := filepath.Dir(filepath.Dir(path))
	if _, archived := FromArchive(path); archived || filepath.Base(projects) != sessionfile.Folder {
		return ""
	}
	candidates, err := rootCandidates()
	root := filepath.Dir(projects)
	if err != nil || filepath.Clean(candidates[0]) == root {
		return ""
	}
	root, info := sessionfile.Existing(root)
	if info == nil {
		return ""
	}
	for i, candidate := range candidates {
		if _, known := sessionfile.Existing(candidate); known == nil || !os.SameFile(info, known) {
			continue
		}
		if root, err = filepath.Abs(root); err != nil || i == 0 { // the agent takes the first
			return ""
		}
		return root
	}
	return ""
}

// AgentFolder returns a store on the agent's own files: those in the first of [Roots], or in the
// agent's default directory if no root exists yet. Functions of this package that get no store look
// in all roots instead.
//
// Use it as the destination of [Import], to make a session available to an agent that knows no
// store.
//
//	folder, err := sessions.AgentFolder()
//	if err != nil {
//		return err
//	}
//	err = sessions.Import(ctx, folder, id, &sessions.ImportOptions{Store: archive})
func AgentFolder() (*Folder, error) {
	folders, err := agentFolders()
	if err != nil {
		return nil, err
	}
	return folders[0], nil
}

// agentFolders returns a store for each root. There is at least one, and the first is an agent's.
func agentFolders() ([]*Folder, error) {
	candidates, err := rootCandidates()
	if err != nil {
		return nil, err
	}
	roots := existingRoots(candidates)
	if len(roots) == 0 {
		roots = candidates[:1]
	}
	var folders []*Folder
	for _, root := range roots {
		folders = append(folders, NewFolder(filepath.Join(root, sessionfile.Folder)))
	}
	for _, root := range existingRoots(ArchiveRoots()) {
		folder := NewFolder(filepath.Join(root, sessionfile.Folder))
		folder.readOnly = true
		folders = append(folders, folder)
	}
	return folders, nil
}

// A ProjectInfo is a project that has sessions.
type ProjectInfo struct {
	// Name is the name of the project in the store, such as "-home-me-code".
	Name string
	// Directory is the working directory of its sessions, such as "/home/me/code", or "" if no
	// recent session has one. If none but sessions of jobs are there, it is the directory of their
	// repository, or the host and the path of its URL: see [Job].
	Directory string
	// Sessions is the number of sessions, including sessions that [List] leaves out, and sessions of
	// jobs that count to the project.
	Sessions int
	// Modified is the time of the last write to the newest session.
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
	return projectsOf(ctx, store, true)
}

// projectsOf is Projects. It can leave out the sessions of jobs that count to another project, so that
// each directory is one of the project's own sessions.
func projectsOf(ctx context.Context, store Store, withJobs bool) ([]ProjectInfo, error) {
	all, err := (&Options{Store: store}).scopes(false)
	if err != nil {
		return nil, err
	}
	found, forbidden, err := all.sessions(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, newestFirst)
	byName := map[string][]foundSession{}
	for _, s := range found {
		byName[s.Project] = append(byName[s.Project], s)
	}
	homes := map[string]*ProjectInfo{}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		list := byName[name]
		job := list[0].in.job(name)
		own := ""
		if job.Directory == "" {
			if own, err = directoryOf(ctx, list); err != nil {
				return nil, err
			}
		} else if !withJobs {
			continue
		}
		name = job.home(name)
		p := homes[name]
		if p == nil {
			p = &ProjectInfo{Name: name}
			homes[name] = p
		}
		p.Directory, p.Sessions = cmp.Or(own, p.Directory, job.Directory), p.Sessions+len(list)
		if list[0].modified.After(p.Modified) {
			p.Modified = list[0].modified
		}
	}
	var projects []ProjectInfo
	for _, p := range homes {
		projects = append(projects, *p)
	}
	slices.SortFunc(projects, func(a, b ProjectInfo) int {
		return cmp.Or(b.Modified.Compare(a.Modified), strings.Compare(a.Name, b.Name))
	})
	return projects, forbidden
}

// directoryOf returns the working directory of the newest sessions of a project.
func directoryOf(ctx context.Context, newest []foundSession) (string, error) {
	const most = 3 // sessions without a directory are rare
	for i := range newest[:min(most, len(newest))] {
		read, err := summarize(ctx, newest[i:i+1])
		if err != nil {
			return "", err
		}
		if read[0].CWD != "" {
			return read[0].CWD, nil
		}
	}
	return "", nil
}
