package sessions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/clewdev/clew/transcript"
)

// ReadOptions say which session to read, and how. Nil and the zero value mean any project of the agent's own files.
type ReadOptions struct {
	// Options say where the session is.
	Options
	// Read says how transcripts are read. Nil means the defaults.
	Read *transcript.ReadOptions
	// OnlyMain leaves out the subagents.
	OnlyMain bool
	// Progress is called as bytes of files are read, with how many there are, one call at a time but from several
	// goroutines. The total may grow: teammates are found in what was read.
	Progress func(done, total int64)
}

// Read reads a session as it is now, with all of its subagents: those in its folder and in folders of workflows, those
// that older agents have put beside it, and teammates with sessions of their own. Each is under the item that started it,
// and one whose item is not found is among [transcript.Transcript.Unlinked].
//
// If transcripts of subagents can't be read, the rest comes back with the error. Bad lines are no error: they are in the
// transcript that has them.
func Read(ctx context.Context, id string, opts *ReadOptions) (*transcript.Transcript, error) {
	if opts == nil {
		opts = new(ReadOptions)
	}
	p, key, err := opts.find(ctx, id)
	if err != nil {
		return nil, err
	}
	folder, ok := p.store.(*Folder)
	if !ok {
		return p.read(ctx, key, opts)
	}
	return ReadFile(ctx, folder.path(key), opts)
}

// ReadFile reads the transcript in a file, with the subagents that lie beside it as the agent lays them out. opts.Options
// do not count. See [Read].
func ReadFile(ctx context.Context, path string, opts *ReadOptions) (*transcript.Transcript, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("sessions: %w", err)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("sessions: read %s: %w", path, err)
	}
	defer root.Close()
	name, ok := strings.CutSuffix(filepath.Base(path), transcriptExtension)
	if !ok {
		return nil, fmt.Errorf("sessions: read %s: its name does not end in %s", path, transcriptExtension)
	}
	return (&files{root: root, name: name}).read(ctx, opts)
}

// read reads the session with its subagents.
func (f *files) read(ctx context.Context, opts *ReadOptions) (*transcript.Transcript, error) {
	if opts == nil {
		opts = new(ReadOptions)
	}
	own, err := f.own()
	if err != nil {
		return nil, fmt.Errorf("sessions: read %s: %w", f.name, err)
	}
	sources, notFound := []source{own}, error(nil)
	if !opts.OnlyMain {
		var agents []source
		agents, notFound = f.agents(ctx)
		sources = append(sources, agents...)
	}
	r := &reading{files: f, opts: opts}
	main, agents, failed := readTranscripts(ctx, r.parts(sources))
	if main == nil || opts.OnlyMain {
		return main, failed
	}
	mates, mateNotFound := f.teammates(ctx, teamCalls(main))
	_, more, mateFailed := readTranscripts(ctx, r.parts(mates))
	linkAgents(main, append(agents, more...))
	return main, errors.Join(notFound, failed, mateNotFound, mateFailed)
}

// linkAgents puts subagents under the items that started them, with those whose lines are in the same file.
func linkAgents(t *transcript.Transcript, agents []*transcript.Agent) {
	t.Unlinked = transcript.Link(t, append(agents, transcript.InlineAgents(t)...))
}

// A part is one transcript that is read.
type part struct {
	agent *transcript.Agent // nil for the session's own
	read  func(ctx context.Context) (*transcript.Transcript, error)
}

// readTranscripts reads transcripts, some at the same time. It returns that of the session itself, or nil if there is none or
// it can't be read, and the subagents whose transcripts could be read.
func readTranscripts(ctx context.Context, parts []part) (*transcript.Transcript, []*transcript.Agent, error) {
	read, failed := make([]*transcript.Transcript, len(parts)), make([]error, len(parts))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(len(parts), max(2, runtime.GOMAXPROCS(0))) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(parts)); i = next.Add(1) - 1 {
				read[i], failed[i] = parts[i].read(ctx)
			}
		})
	}
	wg.Wait()
	var main *transcript.Transcript
	var agents []*transcript.Agent
	for i, p := range parts {
		switch {
		case failed[i] != nil:
		case p.agent == nil:
			main = read[i]
		default:
			p.agent.Transcript = read[i]
			agents = append(agents, p.agent)
		}
	}
	return main, agents, errors.Join(failed...)
}

// A reading is that of files.
type reading struct {
	*files
	opts *ReadOptions

	mu          sync.Mutex
	done, total int64
}

func (r *reading) parts(sources []source) []part {
	var parts []part
	for _, s := range sources {
		r.total += s.size
		parts = append(parts, part{s.agent, func(ctx context.Context) (*transcript.Transcript, error) {
			t, err := r.source(ctx, s)
			if err != nil {
				return nil, fmt.Errorf("sessions: read %s: %w", filepath.Join(r.root.Name(), s.name), err)
			}
			return t, nil
		}})
	}
	return parts
}

// copyBuffer is how much of a file is read at a time.
const copyBuffer = 256 << 10

func (r *reading) source(ctx context.Context, s source) (*transcript.Transcript, error) {
	if s.agent != nil {
		r.readSidecar(s)
	}
	file, _, err := r.open(s.name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	b := transcript.NewBuilder(r.opts.Read)
	buffer := make([]byte, min(copyBuffer, max(s.size, 1)))
	for part := io.NewSectionReader(file, 0, s.size); ; {
		n, err := part.Read(buffer)
		_, _ = b.Write(buffer[:n])
		r.tell(int64(n))
		if errors.Is(err, io.EOF) {
			_ = b.Close() // it never fails
			return b.Transcript(), nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return nil, err
		}
	}
}

func (r *reading) tell(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done += n
	if r.opts.Progress != nil && n > 0 {
		r.opts.Progress(r.done, r.total)
	}
}

// teamCalls returns the names of the teammates that calls in a transcript have started, as name@team.
func teamCalls(t *transcript.Transcript) map[string]bool {
	names := map[string]bool{}
	note(names, transcript.Teammates(t))
	return names
}
