package sessions

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/clewdev/clew/transcript"
)

// tailPlaces are where the subagents of a session may be.
type tailPlaces struct {
	session string // its ID
	project string // the folder that it is in
	folder  string // the session's own
	agents  string // that of the subagents, in the session's own

	refused    map[string]*string   // why folders can't be read
	neighbours map[string]neighbour // other transcripts in the project's folder, by name
	mates      map[string]bool      // name@team of those that the session has called for
}

// A neighbour is what the first entry of another transcript in the project's folder says.
type neighbour struct{ session, mate string }

func newTailPlaces(folder string) tailPlaces {
	return tailPlaces{
		session: filepath.Base(folder), project: filepath.Dir(folder),
		folder: folder, agents: filepath.Join(folder, agentFolder),
		refused: map[string]*string{}, neighbours: map[string]neighbour{}, mates: map[string]bool{},
	}
}

// discoverAll finds all subagents that are new, and watches their folders.
func (t *tailing) discoverAll() {
	if t.opts.OnlyMain {
		return
	}
	t.discover(t.places.folder)
	t.discoverBeside()
}

// discover finds subagents that are new at a path, and below it. Symbolic links are not followed.
func (t *tailing) discover(path string) {
	if t.opts.OnlyMain {
		return
	}
	if filepath.Dir(path) == t.places.project && path != t.places.folder {
		t.consider(filepath.Base(path))
		return
	}
	if path != t.places.folder && path != t.places.agents && !within(path, t.places.agents) {
		return
	}
	info, err := os.Lstat(path)
	switch {
	case err != nil:
	case info.Mode().IsRegular():
		t.addBelow(path)
	case !info.IsDir():
	case path == t.places.folder:
		t.watch.add(path)
		t.discover(t.places.agents)
	default:
		t.enter(path)
	}
}

func within(path, folder string) bool {
	return strings.HasPrefix(path, folder+string(filepath.Separator))
}

// enter finds the subagents in a folder. It watches the folder before it looks, so that nothing comes between.
func (t *tailing) enter(folder string) {
	t.watch.add(folder)
	for _, entry := range t.list(folder) {
		path := filepath.Join(folder, entry.Name())
		switch {
		case entry.IsDir():
			t.enter(path)
		case entry.Type().IsRegular():
			t.addBelow(path)
		}
	}
}

// list returns what is in a folder. It tells if that can't be read.
func (t *tailing) list(folder string) []fs.DirEntry {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	told := t.places.refused[folder]
	if told == nil {
		told = new(string)
		t.places.refused[folder] = told
	}
	if err := tellOnce(told, folder, err); err != nil {
		t.refused = append(t.refused, err)
	}
	return entries
}

// addBelow adds the subagent in the session's folder whose transcript a file is, if it is one and is new.
func (t *tailing) addBelow(path string) {
	if t.byPath[path] != nil {
		return
	}
	rel, err := filepath.Rel(t.places.folder, path)
	if err != nil {
		return
	}
	if agent := newAgent(filepath.ToSlash(rel)); agent != nil {
		t.add(path, agent)
	}
}

func (t *tailing) add(path string, agent *transcript.Agent) {
	f := &tailed{followed: followed{path: path, opts: t.opts.Read, stat: os.Lstat}, agent: agent}
	t.agents = append(t.agents, f)
	t.byPath[path], t.byPath[sidecarOf(path)] = f, f
	t.touch(f)
}

// discoverBeside finds subagents that are new in the project's folder.
func (t *tailing) discoverBeside() {
	for _, entry := range t.list(t.places.project) {
		if entry.Type().IsRegular() {
			t.consider(entry.Name())
		}
	}
}

// seekMates finds the teammates that an update says the session has called for, which have sessions of their own.
func (t *tailing) seekMates(u *Update) {
	before := len(t.places.mates)
	maps.Copy(t.places.mates, teamCalls(&transcript.Transcript{
		Chunks: u.Transcript.Chunks[u.First:], Branches: u.Transcript.Branches,
	}))
	if len(t.places.mates) > before {
		t.discoverBeside()
	}
}

// consider adds a subagent whose transcript lies beside the session's own.
func (t *tailing) consider(name string) {
	path := filepath.Join(t.places.project, name)
	id, ok := strings.CutSuffix(name, transcriptExtension)
	if !ok || t.byPath[path] != nil {
		return
	}
	agent := newAgent(name)
	if agent == nil && (len(t.places.mates) == 0 || !isUUID(id)) {
		return
	}
	n := t.neighbour(name)
	switch {
	case agent != nil && n.session == t.places.session:
		t.add(path, agent)
	case agent == nil && t.places.mates[n.mate]:
		t.add(path, &transcript.Agent{ID: n.mate})
	}
}

// neighbour returns what another transcript says of itself, which is read once.
func (t *tailing) neighbour(name string) neighbour {
	if n, ok := t.places.neighbours[name]; ok {
		return n
	}
	root, err := os.OpenRoot(t.places.project)
	if err != nil {
		return neighbour{}
	}
	defer root.Close()
	first, _ := (&files{root: root}).first(name)
	n := neighbour{session: first.session, mate: first.agent + "@" + first.team}
	if n.session != "" { // otherwise its first line may have no end yet
		t.places.neighbours[name] = n
	}
	return n
}
