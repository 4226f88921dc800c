package sessions

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clewdev/clew/internal/newid"
	"github.com/clewdev/clew/transcript"
)

// A followedFile is a transcript file that was read up to an offset. It notices that the file was
// cut, replaced or removed, and then reads it from the start:
//
//   - The file is another one than before, according to os.SameFile.
//   - It is shorter than the offset.
//   - The bytes before the offset are not the same.
type followedFile struct {
	path    string
	opts    *transcript.ReadOptions
	stat    func(path string) (fs.FileInfo, error) // os.Stat or os.Lstat
	builder *transcript.Builder                    // nil while there is no file
	info    fs.FileInfo                            // of the file that was read
	offset  int64                                  // how far it was read
	end     []byte                                 // the last bytes before the offset

	// progress is called while the file is read from its start, or nil.
	progress func(done, total int64)
}

// fingerprint is the number of bytes before the offset that are compared to notice that the file
// was replaced.
const fingerprint = 64

// A growth describes the change of a file since it was last read.
type growth struct {
	lines bool // lines were completed
	reset bool // the file was replaced or cut, and was read from the start
	gone  bool
}

// changed reports whether there is something to report.
func (g growth) changed() bool { return g.lines || g.reset || g.gone }

var errNotRegular = errors.New("not a regular file")

// read reads what was added to the file, in time proportional to that. If sure is true, it opens
// the file even if its size and time have not changed.
func (f *followedFile) read(ctx context.Context, buffer []byte, sure bool) (growth, error) {
	info, err := f.stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f.markGone(), nil
	case err != nil:
		return growth{}, err
	case !info.Mode().IsRegular(): // opening a pipe would block
		return growth{}, &fs.PathError{Op: "open", Path: f.path, Err: errNotRegular}
	case !sure && f.looksSame(info):
		return growth{}, nil
	}
	file, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return f.markGone(), nil
	}
	if err != nil {
		return growth{}, err
	}
	defer file.Close()
	opened, err := file.Stat()
	if err != nil || !os.SameFile(info, opened) { // replaced just now: the next round reads it
		return growth{}, err
	}
	return f.take(ctx, file, opened, buffer)
}

// looksSame reports whether the file seems unchanged since it was read.
func (f *followedFile) looksSame(info fs.FileInfo) bool {
	return f.info != nil && info.Size() == f.offset && info.ModTime().Equal(f.info.ModTime()) && os.SameFile(info, f.info)
}

// take reads the open file from the offset, or from the start if the file was replaced.
func (f *followedFile) take(ctx context.Context, file *os.File, info fs.FileInfo, buffer []byte) (growth, error) {
	var g growth
	if g.reset = f.builder != nil && f.replaced(file, info); g.reset {
		f.forget()
	}
	if f.builder == nil && info.Size() == 0 && !g.reset {
		return g, nil
	}
	if f.builder == nil {
		f.builder = transcript.NewBuilder(f.opts)
	}
	f.info = info
	var err error
	g.lines, err = f.copy(ctx, io.NewSectionReader(file, f.offset, info.Size()-f.offset), buffer)
	return g, err
}

// replaced reports whether the file is another one, or was changed before the offset.
func (f *followedFile) replaced(file *os.File, info fs.FileInfo) bool {
	if info.Size() < f.offset || !os.SameFile(f.info, info) {
		return true
	}
	end := make([]byte, len(f.end))
	_, err := file.ReadAt(end, f.offset-int64(len(end)))
	return err == nil && !bytes.Equal(end, f.end)
}

// readAheadBytes is the size from which a second goroutine, which decodes, pays off.
const readAheadBytes = 1 << 20

// copy passes new bytes to the builder. It reports whether they complete a line; NUL bytes do as
// well.
func (f *followedFile) copy(ctx context.Context, from *io.SectionReader, buffer []byte) (lines bool, err error) {
	p := &pieceReader{ctx: ctx, from: from, file: f}
	if f.offset == 0 && f.progress != nil {
		p.progress = f.progress
	}
	if from.Size() >= readAheadBytes {
		_, err = f.builder.ReadFrom(p)
		return p.lines, err
	}
	for {
		n, err := p.Read(buffer)
		_, _ = f.builder.Write(buffer[:n]) // never fails
		if errors.Is(err, io.EOF) {
			return p.lines, nil
		}
		if err != nil {
			return p.lines, err
		}
	}
}

// A pieceReader reads what is new in a file, and keeps account of it.
type pieceReader struct {
	ctx      context.Context
	from     *io.SectionReader
	file     *followedFile
	progress func(done, total int64) // or nil
	lines    bool                    // lines were completed
}

// Read reads the next piece.
func (p *pieceReader) Read(buffer []byte) (int, error) {
	if err := p.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := p.from.Read(buffer)
	piece := buffer[:n]
	p.file.offset += int64(n)
	p.file.remember(piece)
	p.lines = p.lines || bytes.IndexByte(piece, '\n') >= 0 || bytes.IndexByte(piece, 0) >= 0
	if p.progress != nil && n > 0 {
		p.progress(p.file.offset, p.from.Size())
	}
	return n, err
}

// remember updates the last bytes before the offset.
func (f *followedFile) remember(piece []byte) {
	f.end = append(f.end, piece[max(0, len(piece)-fingerprint):]...)
	f.end = append(f.end[:0], f.end[max(0, len(f.end)-fingerprint):]...)
}

// markGone records that the file does not exist.
func (f *followedFile) markGone() growth {
	gone := f.builder != nil
	f.forget()
	return growth{gone: gone}
}

// forget drops everything that was read.
func (f *followedFile) forget() { f.builder, f.info, f.offset, f.end = nil, nil, 0, f.end[:0] }

// tailPaths are the paths at which the subagents of a session may be.
type tailPaths struct {
	session string // the ID of the session
	project string // the directory of the project
	folder  string // the directory of the session
	agents  string // the directory of the subagents, in that of the session

	refused   map[string]*string  // the errors reported for directories
	neighbors map[string]neighbor // other transcripts in the project's directory, by name
	teammates map[string]bool     // name@team of those that the session has started
}

// A neighbor holds names from the first entry of another transcript in the project's directory.
type neighbor struct{ session, teammate string }

// newTailPaths returns the paths for a session, whose directory is folder.
func newTailPaths(folder string) tailPaths {
	return tailPaths{
		session: filepath.Base(folder), project: filepath.Dir(folder),
		folder: folder, agents: filepath.Join(folder, agentFolder),
		refused: map[string]*string{}, neighbors: map[string]neighbor{}, teammates: map[string]bool{},
	}
}

// discoverAll finds all subagents that are new, and watches their directories.
func (t *tailer) discoverAll() {
	if t.opts.OnlyMain {
		return
	}
	t.discover(t.paths.folder)
	t.discoverBeside()
}

// discover finds new subagents at a path and below it. It does not follow symbolic links.
func (t *tailer) discover(path string) {
	if t.opts.OnlyMain {
		return
	}
	if filepath.Dir(path) == t.paths.project && path != t.paths.folder {
		t.addBeside(filepath.Base(path))
		return
	}
	if path != t.paths.folder && path != t.paths.agents && !within(path, t.paths.agents) {
		return
	}
	info, err := os.Lstat(path)
	switch {
	case err != nil:
	case info.Mode().IsRegular():
		t.addBelow(path)
	case !info.IsDir():
	case path == t.paths.folder:
		t.watch.add(path)
		t.discover(t.paths.agents)
	default:
		t.enter(path)
	}
}

// within reports whether a path is inside of a directory.
func within(path, folder string) bool {
	return strings.HasPrefix(path, folder+string(filepath.Separator))
}

// enter finds the subagents in a directory. It watches the directory before reading it, so that no
// file is missed in between.
func (t *tailer) enter(folder string) {
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

// list returns the entries of a directory. If it can't be read, the error is reported.
func (t *tailer) list(folder string) []fs.DirEntry {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	reported := t.paths.refused[folder]
	if reported == nil {
		reported = new(string)
		t.paths.refused[folder] = reported
	}
	if err := reportOnce(reported, folder, err); err != nil {
		t.refused = append(t.refused, err)
	}
	return entries
}

// addBelow adds the subagent that a file in the session's directory belongs to, if it is a
// transcript and new.
func (t *tailer) addBelow(path string) {
	if t.byPath[path] != nil {
		return
	}
	rel, err := filepath.Rel(t.paths.folder, path)
	if err != nil {
		return
	}
	if agent := newAgent(filepath.ToSlash(rel)); agent != nil {
		t.add(path, agent)
	}
}

// add follows the transcript of a subagent from now on.
func (t *tailer) add(path string, agent *transcript.Agent) {
	f := &tailedFile{followedFile: followedFile{path: path, opts: t.opts.Read, stat: os.Lstat}, agent: agent}
	t.agents = append(t.agents, f)
	t.byPath[path], t.byPath[sidecarOf(path)] = f, f
	t.touch(f)
}

// discoverBeside finds new subagents in the project's directory.
func (t *tailer) discoverBeside() {
	for _, entry := range t.list(t.paths.project) {
		if entry.Type().IsRegular() {
			t.addBeside(entry.Name())
		}
	}
}

// noteTeammates notes the teammates that the session started, according to an update. They have
// separate sessions. It reports whether there are new ones.
func (t *tailer) noteTeammates(u *Update) bool {
	before := len(t.paths.teammates)
	maps.Copy(t.paths.teammates, teamCalls(&transcript.Transcript{
		Chunks: u.Transcript.Chunks[u.First:], Branches: u.Transcript.Branches,
	}))
	return len(t.paths.teammates) > before
}

// mayHaveAgents reports whether there may be subagents to find and to read. It opens none of their
// files.
func (t *tailer) mayHaveAgents() bool {
	if t.opts.OnlyMain {
		return false
	}
	if info, err := os.Lstat(t.paths.agents); err == nil && info.IsDir() || len(t.paths.teammates) > 0 {
		return true
	}
	entries, _ := os.ReadDir(t.paths.project) // the first round reports the error
	return slices.ContainsFunc(entries, func(entry fs.DirEntry) bool { return newAgent(entry.Name()) != nil })
}

// addBeside adds a subagent whose transcript is next to the session's.
func (t *tailer) addBeside(name string) {
	path := filepath.Join(t.paths.project, name)
	id, ok := strings.CutSuffix(name, transcriptExtension)
	if !ok || t.byPath[path] != nil {
		return
	}
	agent := newAgent(name)
	if agent == nil && (len(t.paths.teammates) == 0 || !newid.IsUUID(id)) {
		return
	}
	n := t.neighbor(name)
	switch {
	case agent != nil && n.session == t.paths.session:
		t.add(path, agent)
	case agent == nil && t.paths.teammates[n.teammate]:
		t.add(path, &transcript.Agent{ID: n.teammate})
	}
}

// neighbor returns what another transcript says about itself. Each one is read once.
func (t *tailer) neighbor(name string) neighbor {
	if n, ok := t.paths.neighbors[name]; ok {
		return n
	}
	root, err := os.OpenRoot(t.paths.project)
	if err != nil {
		return neighbor{}
	}
	defer root.Close()
	first, _ := (&sessionFiles{root: root}).first(name)
	n := neighbor{session: first.session, teammate: first.agent + "@" + first.team}
	if n.session != "" { // otherwise its first line may be incomplete
		t.paths.neighbors[name] = n
	}
	return n
}
