package sessions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/clewdev/clew/transcript"
)

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
	if err := regular(f.root, name); err != nil {
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
	return "", cmp.Or(err, fmt.Errorf("sessions: subagent %q of session %s: %w", agent, f.name, ErrNotFound))
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
