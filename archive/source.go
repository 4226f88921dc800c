package archive

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clewdev/clew/internal/newid"
	"github.com/clewdev/clew/internal/sessionfile"
)

// A liveSession is a session in the agent's files.
type liveSession struct {
	Key
	root  string // the agent's directory
	files []liveFile
}

// A liveFile is a file of a session.
type liveFile struct {
	path     string // in the agent's directory, with slashes
	size     int64
	modified time.Time
}

func (l *liveSession) mainSize() int64 {
	for i := range l.files {
		if l.files[i].path == "projects/"+l.Project+"/"+l.Session+".jsonl" {
			return l.files[i].size
		}
	}
	return 0
}

// A Problem is a file or a session that could not be saved or read. It does not affect others.
type Problem struct {
	// Where is a path, or the key of a session.
	Where string
	Err   error
}

// Error returns the place and the reason.
func (p Problem) Error() string { return p.Where + ": " + p.Err.Error() }

// Unwrap returns Err.
func (p Problem) Unwrap() error { return p.Err }

// maxFiles is the number of files of a session that are saved.
const maxFiles = 100_000

// A liveWalk finds the sessions in the agent's files.
type liveWalk struct {
	ctx      context.Context
	machine  string
	root     string
	found    map[Key]*liveSession     // of this root
	todos    map[string][]fs.DirEntry // by session
	problems []Problem
}

// liveSessions returns the sessions of all roots. If several roots have a session of the same
// project, it returns the one with the longest transcript.
func liveSessions(ctx context.Context, machine string, roots []string) (all []*liveSession, copies int, problems []Problem) {
	best := map[Key]*liveSession{}
	for _, root := range roots {
		w := &liveWalk{ctx: ctx, machine: machine, root: root, found: map[Key]*liveSession{}}
		w.projects()
		w.findTodos()
		for key, s := range w.found {
			w.beside(s)
			if other := best[key]; other != nil {
				copies++
				if other.mainSize() >= s.mainSize() {
					continue
				}
			}
			best[key] = s
		}
		problems = append(problems, w.problems...)
	}
	for _, s := range best {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *liveSession) int { return cmp.Compare(a.Key.String(), b.Key.String()) })
	return all, copies, problems
}

func (w *liveWalk) problem(where string, err error) {
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.problems = append(w.problems, Problem{where, err})
	}
}

func (w *liveWalk) read(dir string) []fs.DirEntry {
	entries, err := os.ReadDir(dir)
	w.problem(dir, err)
	return entries
}

func (w *liveWalk) projects() {
	dir := filepath.Join(w.root, sessionfile.Folder)
	for _, entry := range w.read(dir) {
		// The directory of a project may be a symbolic link.
		if info, err := os.Stat(filepath.Join(dir, entry.Name())); err == nil && info.IsDir() {
			w.project(filepath.Join(dir, entry.Name()), entry.Name())
		}
	}
}

// findTodos finds the files SESSION-agent-ID.json, which older agents wrote.
func (w *liveWalk) findTodos() {
	w.todos = map[string][]fs.DirEntry{}
	for _, entry := range w.read(filepath.Join(w.root, todoFolder)) {
		id := entry.Name()[:min(36, len(entry.Name()))]
		if newid.IsUUID(id) && entry.Type().IsRegular() && strings.HasSuffix(entry.Name(), ".json") {
			w.todos[id] = append(w.todos[id], entry)
		}
	}
}

func (w *liveWalk) project(dir, project string) {
	for _, entry := range w.read(dir) {
		if w.ctx.Err() != nil {
			return
		}
		name := entry.Name()
		id, isTranscript := strings.CutSuffix(name, ".jsonl")
		rel := path.Join(sessionfile.Folder, project, name)
		switch {
		case entry.IsDir() && newid.IsUUID(name):
			w.below(filepath.Join(dir, name), rel, w.session(project, name))
		case !entry.Type().IsRegular() || !isTranscript:
		case newid.IsUUID(id):
			w.add(w.session(project, id), rel, entry)
		case isAgentBeside(name):
			if id, err := sessionOf(filepath.Join(dir, name)); err != nil {
				w.problem(filepath.Join(dir, name), err)
			} else if id != "" {
				w.add(w.session(project, id), rel, entry)
			}
		}
	}
}

// session returns the session with an ID, which it adds if it is new.
func (w *liveWalk) session(project, id string) *liveSession {
	key := Key{w.machine, project, id}
	s := w.found[key]
	if s == nil {
		s = &liveSession{Key: key, root: w.root}
		w.found[key] = s
	}
	return s
}

// below adds all regular files of a directory, except drafts that a crash of Restore left. It
// follows no symbolic links.
func (w *liveWalk) below(dir, rel string, s *liveSession) {
	for _, entry := range w.read(dir) {
		name := path.Join(rel, entry.Name())
		switch {
		case w.ctx.Err() != nil:
			return
		case entry.IsDir():
			w.below(filepath.Join(dir, entry.Name()), name, s)
		case entry.Type().IsRegular() && !strings.HasPrefix(entry.Name(), draftStart):
			w.add(s, name, entry)
		}
	}
}

func (w *liveWalk) add(s *liveSession, rel string, entry fs.DirEntry) {
	where := filepath.Join(w.root, filepath.FromSlash(rel))
	owner := Session{Key: s.Key}
	info, err := entry.Info()
	if err == nil {
		err = owner.checkPath(rel)
	}
	if err == nil && len(s.files) == maxFiles {
		err = fmt.Errorf("the session has more than %d files", maxFiles)
	}
	if err != nil {
		w.problem(where, err)
		return
	}
	s.files = append(s.files, liveFile{rel, info.Size(), info.ModTime()})
}

// beside adds what the agent keeps of a session in other directories.
func (w *liveWalk) beside(s *liveSession) {
	for _, folder := range sideFolders {
		dir := filepath.Join(w.root, folder, s.Session)
		if info, err := os.Lstat(dir); err == nil && info.IsDir() {
			w.below(dir, path.Join(folder, s.Session), s)
		}
	}
	for _, entry := range w.todos[s.Session] {
		w.add(s, path.Join(todoFolder, entry.Name()), entry)
	}
	slices.SortFunc(s.files, func(a, b liveFile) int { return strings.Compare(a.path, b.path) })
}

// maxFirst is the number of bytes of a transcript that are read to find its session.
const maxFirst = 1 << 20

// sessionMember is the ID of a session in a line that is too long to be decoded. In a text its quotes
// would be escaped.
var sessionMember = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`"sessionId":"([^"\\]*)"`)
})

// sessionOf returns the session that a line of a transcript names, or "" if the file is empty.
func sessionOf(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	r := bufio.NewReader(io.LimitReader(f, maxFirst))
	for empty := true; ; empty = false {
		line, err := r.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", err
		}
		var entry struct {
			SessionID string `json:"sessionId"`
		}
		if json.Unmarshal(line, &entry) != nil && err != nil { // the line goes on
			if member := sessionMember().FindSubmatch(line); member != nil {
				entry.SessionID = string(member[1])
			}
		}
		switch {
		case newid.IsUUID(entry.SessionID):
			return entry.SessionID, nil
		case err == nil:
		case empty && len(line) == 0:
			return "", nil
		default:
			return "", errors.New("it names no session, so that it can't be saved with one")
		}
	}
}
