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

	"github.com/clewdev/clew/transcript"
)

// A File is one of the files that a session is made of: its transcript, the transcript of a subagent, or a spill, which
// is a long result of a tool that the agent has put into a file of its own.
type File struct {
	Path    string
	Project string
	// SessionID is empty for the transcript of a subagent that lies beside those of sessions, as older agents have put it:
	// its entries name the session.
	SessionID string
	// AgentID is that of the subagent, or empty.
	AgentID string
	Spill   bool
	// Info is what the file system said of the file when it was found.
	Info fs.FileInfo
}

// Files returns all files of all sessions that opts mean, in no order that can be relied on. Transcripts of compactions
// are left out, since they repeat a conversation, and so is what is not a regular file. Nothing is opened but folders. An
// error is the last pair; what could not be read did not keep the rest from being found. The store must be a [*Folder] or
// nil, and opts may be nil.
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

// A fileWalk goes through folders.
type fileWalk struct {
	ctx   context.Context
	yield func(File, error) bool
	left  bool // the loop was left
	errs  []error
}

func (w *fileWalk) scope(s scope) error {
	folder, ok := s.store.(*Folder)
	if !ok {
		return errors.New("sessions: the store has no files")
	}
	for _, project := range w.read(folder.dir) {
		if !project.IsDir() || len(s.names) > 0 && !s.wants(project.Name()) {
			continue
		}
		if err := w.project(filepath.Join(folder.dir, project.Name()), project.Name()); err != nil {
			return err
		}
	}
	return nil
}

// project goes through the folder of a project.
func (w *fileWalk) project(dir, project string) error {
	for _, entry := range w.read(dir) {
		name := entry.Name()
		f := File{Project: project, SessionID: strings.TrimSuffix(name, transcriptExtension)}
		switch agent, isAgent := strings.CutPrefix(f.SessionID, agentPrefix); {
		case entry.IsDir() && isUUID(name):
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

// session goes through the folder of a session, whose files are like the one given.
func (w *fileWalk) session(dir string, like File) error {
	if err := w.below(filepath.Join(dir, agentFolder), func(dir string, entry fs.DirEntry) error {
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
	return w.below(filepath.Join(dir, spillFolder), func(dir string, entry fs.DirEntry) error {
		return w.found(dir, entry, like)
	})
}

// below visits the files of a folder, at any depth.
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

func (w *fileWalk) transcript(dir string, entry fs.DirEntry, f File) error {
	if path.Ext(entry.Name()) != transcriptExtension || strings.HasPrefix(entry.Name(), compactionPrefix) {
		return nil
	}
	return w.found(dir, entry, f)
}

// found hands out a file, unless it is gone or no regular one.
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

// read returns what is in a folder, as far as it can be read.
func (w *fileWalk) read(dir string) []fs.DirEntry {
	entries, err := os.ReadDir(dir)
	w.noteError(err)
	return entries
}

// fault notes an error. What is gone is none.
func (w *fileWalk) noteError(err error) {
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.errs = append(w.errs, fmt.Errorf("sessions: %w", err))
	}
}

// The names of files and folders of a session.
const (
	transcriptExtension = ".jsonl"
	sidecarExtension    = ".meta.json"
	agentPrefix         = "agent-"
	agentFolder         = "subagents"
	workflowFolder      = "workflows"
)

// maxFirst is how much of a transcript is read for its first entry.
const maxFirst = 1 << 20

// maxSidecar is the size of the largest file beside a subagent's transcript that is read.
const maxSidecar = 1 << 20

// files are those of one session.
type files struct {
	root *os.Root // the folder of the project
	name string   // of the session's own transcript, without its extension
}

// A source is one transcript of a session.
type source struct {
	name  string // with slashes, in the folder of the project
	size  int64
	agent *transcript.Agent // nil for the session's own
}

// open opens a file, and returns its size.
func (f *files) open(name string) (*os.File, int64, error) {
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

// own returns the session's own transcript.
func (f *files) own() (source, error) {
	name := f.name + transcriptExtension
	info, err := f.root.Stat(name)
	if err != nil {
		return source{}, err
	}
	return source{name: name, size: info.Size()}, nil
}

// agents returns the transcripts of the session's subagents. With an error, it returns those that it has found.
func (f *files) agents(ctx context.Context) ([]source, error) {
	below, err := f.agentsBelow(ctx)
	beside, alsoErr := f.agentsBeside(ctx)
	if err = errors.Join(err, alsoErr); err != nil {
		err = fmt.Errorf("sessions: subagents of %s: %w", f.name, err)
	}
	return append(below, beside...), err
}

// agentsBelow returns the subagents in the session's folder, at any depth.
func (f *files) agentsBelow(ctx context.Context) ([]source, error) {
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

// newAgent returns the subagent whose transcript lies at a path with slashes below the session's folder, or nil if it is
// not that of one.
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

// agentsBeside returns the subagents whose transcripts lie beside the session's own, as older agents have put them: those
// whose entries name the session.
func (f *files) agentsBeside(ctx context.Context) ([]source, error) {
	return f.others(ctx, func(name string) (agent *transcript.Agent, fits func(*head) bool) {
		return newAgent(name), func(first *head) bool { return first.session == f.name }
	})
}

// teammates returns those of the agents named name@team that have sessions of their own.
func (f *files) teammates(ctx context.Context, wanted map[string]bool) ([]source, error) {
	if len(wanted) == 0 {
		return nil, nil
	}
	return f.others(ctx, func(name string) (agent *transcript.Agent, fits func(*head) bool) {
		if !isUUID(strings.TrimSuffix(name, transcriptExtension)) {
			return nil, nil
		}
		agent = new(transcript.Agent)
		return agent, func(first *head) bool {
			agent.ID = first.agent + "@" + first.team
			return wanted[agent.ID]
		}
	})
}

// others returns those of the other transcripts in the project's folder that are an agent's by their name, and that fit
// by their first entry.
func (f *files) others(
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

// first returns what the first entry of a transcript that names a session says of itself, and the file's size. What can't
// be read says nothing.
func (f *files) first(name string) (*head, int64) {
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
func (f *files) agentFile(ctx context.Context, agent string) (string, error) {
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

// readSidecar notes what lies beside the transcript of a subagent. If it can't be read, nothing is known.
func (f *files) readSidecar(s source) {
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
