package sessions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"github.com/clewdev/clew/internal/sessionfile"
	"github.com/clewdev/clew/wire"
)

// ErrNotFound says that there is no such session, message or subagent. It comes wrapped, with what was looked for.
var ErrNotFound = errors.New("not found")

// Options say where a session is. Nil and the zero value mean any project of the agent's own files.
type Options struct {
	// Store has the session. Nil means the agent's own files, below all of [Roots]. A change is made where the session is.
	Store Store
	// Project is the path of the session's working folder, or of another working tree of the same git repository. Empty
	// means any project, if the store is a [ProjectLister].
	Project string
	// ProjectName is the name that the agent gave to that folder, or clew.Options.StoreProject where that was set. It is
	// used instead of Project where it is set.
	ProjectName string
}

// ProjectName returns the name that the agent gives to a working folder, unless CLAUDE_CODE_PROJECT_DIR_NAME gives it
// another one.
func ProjectName(dir string) (string, error) {
	dir, err := realPath(dir)
	return sessionfile.ProjectName(dir), err
}

// realPath returns the path by which the agent knows a folder.
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

// A place is where sessions are looked for: in one store.
type place struct {
	store Store
	names []string // of the projects; none means any
}

// places are where sessions are looked for. There is at least one.
type places []place

// places returns the places that the options mean, with the other working trees of a repository if they are wanted.
func (o *Options) places(others bool) (places, error) {
	if o == nil {
		o = new(Options)
	}
	names, err := o.names(others)
	if err != nil {
		return nil, err
	}
	if o.Store != nil {
		return places{{store: o.Store, names: names}}, nil
	}
	if name := os.Getenv("CLAUDE_CODE_PROJECT_DIR_NAME"); o.ProjectName == "" && len(names) > 0 && sessionfile.GivenName(name) {
		names = append(names, name)
	}
	folders, err := agentFolders()
	if err != nil {
		return nil, err
	}
	var all places
	for _, folder := range folders {
		all = append(all, place{store: folder, names: names})
	}
	return all, nil
}

// names returns the names of the projects that the options mean, or none for any.
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

// String says where that is, for an error.
func (p place) String() string {
	where := "the store"
	if s, ok := p.store.(fmt.Stringer); ok {
		where = s.String()
	}
	switch len(p.names) {
	case 0:
		return where
	case 1:
		return "project " + p.names[0] + " of " + where
	}
	return "projects " + strings.Join(p.names, ", ") + " of " + where
}

// String says where they are, for an error.
func (ps places) String() string {
	var all []string
	for _, p := range ps {
		all = append(all, p.String())
	}
	return strings.Join(all, " or ")
}

// projects returns the names of the projects in which to look.
func (p place) projects(ctx context.Context) ([]string, error) {
	lister, ok := p.store.(ProjectLister)
	if len(p.names) > 0 && (!ok || !foldNames && !slices.ContainsFunc(p.names, sessionfile.CutName)) {
		return p.names, nil
	}
	if !ok {
		return nil, errors.New("sessions: the store does not know its projects: name one")
	}
	names, err := lister.Projects(ctx)
	if len(p.names) == 0 || err != nil {
		return names, err
	}
	return slices.DeleteFunc(names, func(name string) bool { return !p.wants(name) }), nil
}

// foldNames says that the names of folders are the same in capital and small letters.
const foldNames = runtime.GOOS == "windows"

// wants reports whether a project is one of the place. Agents do not agree on the hash at the end of a long name.
func (p place) wants(name string) bool {
	return slices.ContainsFunc(p.names, func(wanted string) bool {
		if foldNames {
			name, wanted = strings.ToLower(name), strings.ToLower(wanted)
		}
		return name == wanted || sessionfile.SameCut(name, wanted)
	})
}

// find returns the place and the key of a session. If several have one of that ID, the newest counts.
func (o *Options) find(ctx context.Context, id string) (place, wire.SessionKey, error) {
	p, key, _, err := o.findWithTime(ctx, id)
	return p, key, err
}

func (o *Options) findWithTime(ctx context.Context, id string) (place, wire.SessionKey, time.Time, error) {
	var found place
	var foundKey wire.SessionKey
	var newest time.Time
	var forbidden []error
	if !isUUID(id) {
		return found, foundKey, newest, fmt.Errorf("sessions: %q is not the ID of a session", id)
	}
	all, err := o.places(true)
	if err != nil {
		return found, foundKey, newest, err
	}
	for _, p := range all {
		key, at, err := p.find(ctx, id)
		if errors.Is(err, fs.ErrPermission) {
			forbidden = append(forbidden, err)
		} else if err != nil {
			return found, foundKey, newest, err
		}
		if at.After(newest) {
			found, foundKey, newest = p, key, at
		}
	}
	if newest.IsZero() {
		err := fmt.Errorf("sessions: session %s: %w in %s", id, ErrNotFound, all)
		return found, foundKey, newest, errors.Join(append([]error{err}, forbidden...)...)
	}
	return found, foundKey, newest, nil
}

// find returns the key of a session and its time, that of the newest if several projects have one of that ID. The time is
// zero if none has. With the error that some projects may not be read, it returns what the others have.
func (p place) find(ctx context.Context, id string) (found wire.SessionKey, newest time.Time, err error) {
	projects, err := p.projects(ctx)
	if err != nil {
		return found, newest, err
	}
	var forbidden []error
	for _, project := range projects {
		key := wire.SessionKey{Project: project, SessionID: id}
		at, err := p.modified(ctx, key)
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

// Roots returns the folders in which agents of this user keep their settings and sessions, as far as they exist, each
// once. With CLAUDE_CONFIG_DIR, those are the folders that it names: one, or several with commas between them. Otherwise
// they are .claude in the user's home, and claude below XDG_CONFIG_HOME, which some agents have used.
func Roots() ([]string, error) {
	candidates, err := rootCandidates()
	if err != nil {
		return nil, err
	}
	var roots []string
	var known []fs.FileInfo
	for _, dir := range candidates {
		dir, info := existing(dir)
		if info == nil || containsFile(known, info) {
			continue
		}
		roots, known = append(roots, dir), append(known, info)
	}
	return roots, nil
}

func containsFile(files []fs.FileInfo, info fs.FileInfo) bool {
	for _, file := range files {
		if os.SameFile(file, info) {
			return true
		}
	}
	return false
}

// existing returns a folder under the name by which it exists: the agent composes the letters of its path, and some
// systems decompose them. The info is nil if there is none.
func existing(dir string) (string, fs.FileInfo) {
	for _, dir := range []string{dir, norm.NFC.String(dir)} {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir, info
		}
	}
	return dir, nil
}

// rootCandidates returns the folders that may be roots, the agent's own first. There is at least one.
func rootCandidates() ([]string, error) {
	home, err := os.UserHomeDir()
	if config := configured(home); len(config) > 0 {
		return config, nil
	}
	if err != nil {
		return nil, fmt.Errorf("sessions: the agent's folder: %w", err)
	}
	shared := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(shared) {
		shared = filepath.Join(home, ".config")
	}
	return []string{filepath.Join(home, ".claude"), filepath.Join(shared, "claude")}, nil
}

// configured returns the folders that CLAUDE_CONFIG_DIR names. A comma may also be part of the name of one that exists.
func configured(home string) []string {
	value := os.Getenv("CLAUDE_CONFIG_DIR")
	names := []string{value}
	if _, info := existing(value); info == nil {
		names = strings.Split(value, ",")
	}
	var dirs []string
	for _, name := range names {
		if name = strings.TrimSpace(name); name != "" {
			dirs = append(dirs, rootOf(expandHome(name, home)))
		}
	}
	return dirs
}

func expandHome(name, home string) string {
	rest, ok := strings.CutPrefix(name, "~")
	if ok && home != "" && (rest == "" || os.IsPathSeparator(rest[0])) {
		return filepath.Join(home, rest)
	}
	return name
}

// rootOf returns the root that is meant by a folder, which may be that of the projects inside it.
func rootOf(dir string) string {
	dir = filepath.Clean(dir)
	if filepath.Base(dir) != sessionfile.Folder {
		return dir
	}
	if _, inside := existing(filepath.Join(dir, sessionfile.Folder)); inside != nil {
		return dir
	}
	return filepath.Dir(dir)
}

// AgentFolder returns the store that stands on the agent's own files: those below the first of [Roots], or below the
// folder that would be that if there is none yet. Functions that are given no store look below all of them.
func AgentFolder() (*Folder, error) {
	folders, err := agentFolders()
	if err != nil {
		return nil, err
	}
	return folders[0], nil
}

// agentFolders returns the stores below all roots. There is at least one.
func agentFolders() ([]*Folder, error) {
	roots, err := Roots()
	if err == nil && len(roots) == 0 {
		roots, err = rootCandidates()
		roots = roots[:min(1, len(roots))]
	}
	if err != nil {
		return nil, err
	}
	var folders []*Folder
	for _, root := range roots {
		folders = append(folders, NewFolder(filepath.Join(root, sessionfile.Folder)))
	}
	return folders, nil
}

// The limits of what is read of a repository.
const (
	maxWorktrees = 256
	maxGitFile   = 4 << 10
)

// withWorktrees returns dir and, if it lies in a git repository, the folders that are its other working trees, and the
// places in them that correspond to dir. It reads git's files and starts nothing.
func withWorktrees(dir string) []string {
	dirs := []string{dir}
	root, common := repository(dir)
	if root == "" {
		return dirs
	}
	rel, err := filepath.Rel(root, dir)
	if err != nil {
		return dirs
	}
	for _, tree := range worktrees(root, common) {
		for _, at := range []string{filepath.Join(tree, rel), tree} {
			if !slices.Contains(dirs, at) {
				dirs = append(dirs, at)
			}
		}
	}
	return dirs
}

// repository returns the working tree in which dir lies, and the folder that it shares with the others of its repository.
func repository(dir string) (root, common string) {
	for root = dir; ; root = filepath.Dir(root) {
		git := filepath.Join(root, ".git")
		if info, err := os.Stat(git); err == nil && info.IsDir() {
			return root, git
		}
		if target, ok := strings.CutPrefix(gitFile(git), "gitdir:"); ok {
			git = from(root, strings.TrimSpace(target))
			if shared := gitFile(filepath.Join(git, "commondir")); shared != "" {
				return root, from(git, shared)
			}
			return root, git
		}
		if root == filepath.Dir(root) {
			return "", ""
		}
	}
}

// worktrees returns the working trees of a repository, of which one is known.
func worktrees(known, common string) []string {
	trees := []string{known}
	if filepath.Base(common) == ".git" {
		trees = append(trees, filepath.Dir(common))
	}
	linked := filepath.Join(common, "worktrees")
	entries, err := os.ReadDir(linked)
	if err != nil {
		return trees
	}
	for _, entry := range entries[:min(len(entries), maxWorktrees)] {
		admin := filepath.Join(linked, entry.Name())
		if git := gitFile(filepath.Join(admin, "gitdir")); git != "" {
			trees = append(trees, filepath.Dir(from(admin, git)))
		}
	}
	return trees
}

// from returns the path that a file in dir names.
func from(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// gitFile returns the content of a small file on one line, or "".
func gitFile(name string) string {
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	file, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxGitFile))
	if err != nil || len(content) == maxGitFile {
		return ""
	}
	return strings.TrimSpace(string(content))
}
