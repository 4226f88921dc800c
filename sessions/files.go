package sessions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/clewdev/clew/internal/newid"
	"github.com/clewdev/clew/transcript"
)

// A File is one of the files of a session: its main transcript, the transcript of a subagent, or a
// spill. A spill is a long tool result that the agent saved to a separate file.
type File struct {
	// Path is the path of the file.
	Path string
	// Project is the name of the project, such as "-home-me-code".
	Project string
	// SessionID is the ID of the session. It is empty for a subagent's transcript that is next to
	// session transcripts, where older agents put it; its entries name the session.
	SessionID string
	// AgentID is the ID of the subagent, such as "a0618b082132820bd", or "" for the main transcript
	// and for spills.
	AgentID string
	// Spill reports whether the file is a spill. See [Session.Spill].
	Spill bool
	// Job is the job of a fleet that the session belongs to, or the zero value.
	Job Job
	// Info describes the file as it was when it was found. Its size may have grown since.
	Info fs.FileInfo
}

// Files returns all files of the sessions that opts describe, in no particular order. It leaves out
// files that are not regular, and transcripts of compactions, since these repeat a conversation. It
// reads directories, but does not open files. The directory of a project may be a symbolic link;
// other links are not followed.
//
//	var size int64
//	for f, err := range sessions.Files(ctx, nil) {
//		if err != nil {
//			return err
//		}
//		size += f.Info.Size()
//	}
//
// The store must be a [*Folder] or nil, and opts may be nil. An error is the last pair. If some
// directories can't be read, the files of all others come before the error.
func Files(ctx context.Context, opts *Options) iter.Seq2[File, error] {
	return func(yield func(File, error) bool) {
		w := fileWalk{ctx: ctx, yield: yield}
		where, err := opts.scopes(true)
		for _, s := range where {
			if err == nil {
				err = w.scope(s)
			}
		}
		if err = errors.Join(append(w.errs, err)...); err != nil && !w.left {
			yield(File{}, err)
		}
	}
}

// A fileWalk walks the directories of one call of Files.
type fileWalk struct {
	ctx   context.Context
	yield func(File, error) bool
	left  bool // the caller has left the loop
	errs  []error
}

// scope walks the projects of one store.
func (w *fileWalk) scope(s scope) error {
	folder, ok := s.store.(*Folder)
	if !ok {
		return errors.New("sessions: the store does not keep files")
	}
	projects, err := folder.projectDirs(func(name string) bool { return len(s.names) == 0 || s.wants(name) })
	w.noteError(err)
	for _, project := range projects {
		if err := w.project(filepath.Join(folder.dir, project), File{Project: project, Job: folder.job(project)}); err != nil {
			return err
		}
	}
	return nil
}

// project walks the directory of a project. The files in it get the fields of like.
func (w *fileWalk) project(dir string, like File) error {
	for _, entry := range w.read(dir) {
		name := entry.Name()
		f := like
		f.SessionID = strings.TrimSuffix(name, transcriptExtension)
		switch agent, isAgent := strings.CutPrefix(f.SessionID, agentPrefix); {
		case entry.IsDir() && newid.IsUUID(name):
			if err := w.session(filepath.Join(dir, name), f); err != nil {
				return err
			}
			continue
		case isAgent:
			f.SessionID, f.AgentID = "", agent
		}
		if err := w.transcript(dir, entry, f); err != nil {
			return err
		}
	}
	return nil
}

// session walks the directory of a session. The files in it get the fields of like.
func (w *fileWalk) session(dir string, like File) error {
	if err := w.inside(filepath.Join(dir, agentFolder), func(dir string, entry fs.DirEntry) error {
		f := like
		f.AgentID = strings.TrimPrefix(strings.TrimSuffix(entry.Name(), transcriptExtension), agentPrefix)
		if !strings.HasPrefix(entry.Name(), agentPrefix) {
			return nil
		}
		return w.transcript(dir, entry, f)
	}); err != nil {
		return err
	}
	like.Spill = true
	return w.inside(filepath.Join(dir, spillFolder), func(dir string, entry fs.DirEntry) error {
		return w.found(dir, entry, like)
	})
}

// inside is below, but does nothing if dir is a symbolic link.
func (w *fileWalk) inside(dir string, visit func(dir string, entry fs.DirEntry) error) error {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		w.noteError(err)
		return nil
	}
	return w.below(dir, visit)
}

// below calls visit for each file in a directory and its subdirectories.
func (w *fileWalk) below(dir string, visit func(dir string, entry fs.DirEntry) error) error {
	for _, entry := range w.read(dir) {
		var err error
		if entry.IsDir() {
			err = w.below(filepath.Join(dir, entry.Name()), visit)
		} else {
			err = visit(dir, entry)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// transcript yields a file if it has a transcript's name.
func (w *fileWalk) transcript(dir string, entry fs.DirEntry, f File) error {
	if path.Ext(entry.Name()) != transcriptExtension || strings.HasPrefix(entry.Name(), compactionPrefix) {
		return nil
	}
	return w.found(dir, entry, f)
}

// found yields a file, unless it is gone or not regular.
func (w *fileWalk) found(dir string, entry fs.DirEntry, f File) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	if !entry.Type().IsRegular() {
		return nil
	}
	f.Path = filepath.Join(dir, entry.Name())
	var err error
	if f.Info, err = entry.Info(); err != nil {
		w.noteError(err)
		return nil
	}
	if !w.yield(f, nil) {
		w.left = true
		return errLeft
	}
	return nil
}

// read returns the entries of a directory that can be read.
func (w *fileWalk) read(dir string) []fs.DirEntry {
	entries, err := os.ReadDir(dir)
	w.noteError(err)
	return entries
}

// noteError keeps an error for the end of the walk. It ignores files that do not exist.
func (w *fileWalk) noteError(err error) {
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.errs = append(w.errs, fmt.Errorf("sessions: %w", err))
	}
}

// The names of the files and directories of a session.
const (
	transcriptExtension = ".jsonl"
	sidecarExtension    = ".meta.json"
	agentPrefix         = "agent-"
	agentFolder         = "subagents"
	workflowFolder      = "workflows"
)

// maxFirst is the number of bytes that are read to find the first entry of a transcript.
const maxFirst = 1 << 20

// maxSidecar is the size of the largest metadata file that is read.
const maxSidecar = 1 << 20

// sessionFiles are the files of one session.
type sessionFiles struct {
	root *os.Root // the directory of the project
	name string   // of the main transcript, without its extension
}

// A source is one transcript of a session.
type source struct {
	name  string // with slashes, in the directory of the project
	size  int64
	agent *transcript.Agent // nil for the main transcript
}

// open opens a regular file and returns its size.
func (f *sessionFiles) open(name string) (*os.File, int64, error) {
	if err := checkRegular(f.root, name); err != nil {
		return nil, 0, err
	}
	file, err := f.root.Open(name)
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, info.Size(), nil
}

// own returns the main transcript of the session.
func (f *sessionFiles) own() (source, error) {
	name := f.name + transcriptExtension
	info, err := f.root.Stat(name)
	if err != nil {
		return source{}, err
	}
	return source{name: name, size: info.Size()}, nil
}

// agents returns the transcripts of the session's subagents. If some directories can't be read, it
// returns those it found together with the error.
func (f *sessionFiles) agents(ctx context.Context) ([]source, error) {
	below, err := f.agentsBelow(ctx)
	beside, alsoErr := f.agentsBeside(ctx)
	if err = errors.Join(err, alsoErr); err != nil {
		err = fmt.Errorf("sessions: finding subagents of %s: %w", f.name, err)
	}
	return append(below, beside...), err
}

// agentsBelow returns the subagents in the directory of the session and its subdirectories.
func (f *sessionFiles) agentsBelow(ctx context.Context) ([]source, error) {
	var found []source
	var unread []error
	top := path.Join(f.name, agentFolder)
	err := fs.WalkDir(f.root.FS(), top, func(name string, entry fs.DirEntry, err error) error {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			unread = append(unread, err)
		}
		if err != nil || !entry.Type().IsRegular() {
			return ctx.Err()
		}
		agent := newAgent(strings.TrimPrefix(name, f.name+"/"))
		info, err := entry.Info()
		if agent != nil && err == nil && info.Size() > 0 {
			found = append(found, source{name, info.Size(), agent})
		}
		return nil
	})
	return found, errors.Join(append(unread, err)...)
}

// newAgent returns the subagent whose transcript has a path, relative to the directory of the
// session and with slashes, such as "subagents/agent-1f3a.jsonl" or
// "subagents/workflows/RUN/agent-1f3a.jsonl". It returns nil if the path does not name a subagent's
// transcript.
func newAgent(rel string) *transcript.Agent {
	id, ok := strings.CutPrefix(path.Base(rel), agentPrefix)
	id, isTranscript := strings.CutSuffix(id, transcriptExtension)
	if !ok || !isTranscript || id == "" {
		return nil
	}
	agent := &transcript.Agent{ID: id}
	if run, ok := strings.CutPrefix(path.Dir(rel), agentFolder+"/"+workflowFolder+"/"); ok {
		agent.Workflow = run
	}
	return agent
}

// agentsBeside returns the subagents whose transcripts are next to the main one, where older agents
// put them. Their entries name the session.
func (f *sessionFiles) agentsBeside(ctx context.Context) ([]source, error) {
	return f.others(ctx, func(name string) (agent *transcript.Agent, fits func(*head) bool) {
		return newAgent(name), func(first *head) bool { return first.session == f.name }
	})
}

// teammates returns the wanted agents, named "name@team", that have separate sessions.
func (f *sessionFiles) teammates(ctx context.Context, wanted map[string]bool) ([]source, error) {
	if len(wanted) == 0 {
		return nil, nil
	}
	return f.others(ctx, func(name string) (agent *transcript.Agent, fits func(*head) bool) {
		if !newid.IsUUID(strings.TrimSuffix(name, transcriptExtension)) {
			return nil, nil
		}
		agent = new(transcript.Agent)
		return agent, func(first *head) bool {
			agent.ID = first.agent + "@" + first.team
			return wanted[agent.ID]
		}
	})
}

// others returns other transcripts in the directory of the project: transcripts whose name belongs
// to an agent, and whose first entry fits.
func (f *sessionFiles) others(
	ctx context.Context, named func(name string) (agent *transcript.Agent, fits func(first *head) bool),
) ([]source, error) {
	entries, err := fs.ReadDir(f.root.FS(), ".")
	if err != nil {
		return nil, err
	}
	var found []source
	for _, entry := range entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		name := entry.Name()
		if !entry.Type().IsRegular() || path.Ext(name) != transcriptExtension || name == f.name+transcriptExtension {
			continue
		}
		agent, fits := named(name)
		if agent == nil {
			continue
		}
		if first, size := f.first(name); fits(first) {
			found = append(found, source{name, size, agent})
		}
	}
	return found, nil
}

// first returns the head of the first entry that names a session, and the size of the file. If the
// file can't be read, the head is empty.
func (f *sessionFiles) first(name string) (*head, int64) {
	file, size, err := f.open(name)
	if err != nil {
		return new(head), 0
	}
	defer file.Close()
	for l, err := range readLines(io.NewSectionReader(file, 0, min(size, maxFirst))) {
		if err != nil {
			break
		}
		if h, ok := readHead(l.text); ok && h.session != "" {
			return &h, size
		}
	}
	return new(head), size
}

// agentFile returns the name of a subagent's transcript.
func (f *sessionFiles) agentFile(ctx context.Context, agent string) (string, error) {
	all, err := f.agents(ctx)
	for _, s := range all {
		if s.agent.ID == agent {
			return s.name, nil
		}
	}
	if err != nil {
		return "", err
	}
	return "", &notFoundError{what: fmt.Sprintf("subagent %q of session %s", agent, f.name)}
}

// readSidecar reads the metadata file of a subagent into s.agent. It does nothing if the file can't
// be read.
func (f *sessionFiles) readSidecar(s source) {
	name := strings.TrimSuffix(s.name, transcriptExtension) + sidecarExtension
	file, size, err := f.open(name)
	if err != nil {
		return
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, min(size, maxSidecar)))
	if err != nil {
		return
	}
	if meta, err := transcript.DecodeAgentMeta(text); err == nil {
		s.agent.Meta = meta
	}
}
