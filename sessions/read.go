package sessions

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/clewdev/clew/internal/entrylex"
	"github.com/clewdev/clew/internal/sessionfile"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// ReadOptions select a session and configure how it is read. Nil and the zero value mean any
// project of the agent's own files, all subagents, and the default limits.
type ReadOptions struct {
	// Store, Project and ProjectName locate the session, as in [Options]. [ReadFile] and
	// [Session.Read] ignore them.
	Store                Store
	Project, ProjectName string

	// Read configures how transcripts are read, such as the longest line. Nil means the defaults.
	Read *transcript.ReadOptions
	// OnlyMain leaves out the subagents.
	OnlyMain bool
	// Progress is called while files are read, with the bytes read so far and their total. It is
	// called from several goroutines, but never twice at the same time. The total may grow, since
	// the transcripts of teammates are found while reading. Nil means that nothing is called.
	Progress func(done, total int64)
}

// Read reads a session as it is now, with all of its subagents: subagents in its directory,
// subagents of workflows, subagents whose transcripts older agents put next to the session's, and
// teammates with separate sessions. Each subagent is under the item that started it. If that item
// is not found, the subagent is in [transcript.Transcript.Unlinked].
//
//	t, err := sessions.Read(ctx, id, nil)
//	if err != nil {
//		return err
//	}
//	for _, chunk := range t.Chunks {
//		fmt.Println(chunk.Type, chunk.Text)
//	}
//
// If transcripts of subagents can't be read, Read returns the rest together with the error. Lines
// that are not entries are not an error: see [transcript.Transcript.Invalid]. If there is no
// session with that ID, the error wraps [ErrNotFound].
//
// It reads several transcripts at a time. Everything is in memory at the end; for a very long
// session, use [Open] and read single entries.
func Read(ctx context.Context, id string, opts *ReadOptions) (*transcript.Transcript, error) {
	if opts == nil {
		opts = new(ReadOptions)
	}
	s, key, err := (&Options{opts.Store, opts.Project, opts.ProjectName}).find(ctx, id)
	if err != nil {
		return nil, err
	}
	folder, ok := s.store.(*Folder)
	if !ok {
		return s.read(ctx, key, opts)
	}
	return ReadFile(ctx, folder.path(key), opts)
}

// ReadFile reads a transcript by the path of its file, which must end in ".jsonl". It also reads
// the subagents whose transcripts are where the agent puts them, relative to that file. See
// [Read].
//
//	t, err := sessions.ReadFile(ctx, "/backup/0b7d2c7e-5a63-4d0c-9a3c-6a1b2d9e8f10.jsonl", nil)
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
		return nil, fmt.Errorf("sessions: read %s: file name does not end in %s", path, transcriptExtension)
	}
	return (&sessionFiles{root: root, name: name}).read(ctx, opts)
}

// read reads the session with its subagents.
func (f *sessionFiles) read(ctx context.Context, opts *ReadOptions) (*transcript.Transcript, error) {
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
	r := &filesReader{sessionFiles: f, opts: opts}
	main, agents, failed := readTranscripts(ctx, r.jobs(sources))
	if main == nil || opts.OnlyMain {
		return main, failed
	}
	mates, mateNotFound := f.teammates(ctx, teamCalls(main))
	_, more, mateFailed := readTranscripts(ctx, r.jobs(mates))
	linkAgents(main, append(agents, more...))
	return main, errors.Join(notFound, failed, mateNotFound, mateFailed)
}

// linkAgents puts subagents under the items that started them, including subagents whose entries
// are in the same file.
func linkAgents(t *transcript.Transcript, agents []*transcript.Agent) {
	t.Unlinked = transcript.Link(t, append(agents, transcript.InlineAgents(t)...))
}

// A readJob is one transcript to read.
type readJob struct {
	agent *transcript.Agent // nil for the session's own
	read  func(ctx context.Context) (*transcript.Transcript, error)
}

// readTranscripts reads transcripts, several at a time. It returns the main transcript, or nil if
// there is none or it can't be read, and the subagents whose transcripts could be read.
func readTranscripts(ctx context.Context, jobs []readJob) (*transcript.Transcript, []*transcript.Agent, error) {
	read, failed := make([]*transcript.Transcript, len(jobs)), make([]error, len(jobs))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(len(jobs), max(2, runtime.GOMAXPROCS(0))) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(jobs)); i = next.Add(1) - 1 {
				read[i], failed[i] = jobs[i].read(ctx)
			}
		})
	}
	wg.Wait()
	var main *transcript.Transcript
	var agents []*transcript.Agent
	for i, p := range jobs {
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

// A filesReader reads the transcripts of one session from files, and reports progress.
type filesReader struct {
	*sessionFiles
	opts *ReadOptions

	mu          sync.Mutex
	done, total int64
}

// jobs returns a job for each source, and adds their sizes to the total.
func (r *filesReader) jobs(sources []source) []readJob {
	var jobs []readJob
	for _, s := range sources {
		r.total += s.size
		jobs = append(jobs, readJob{s.agent, func(ctx context.Context) (*transcript.Transcript, error) {
			t, err := r.source(ctx, s)
			if err != nil {
				return nil, fmt.Errorf("sessions: read %s: %w", filepath.Join(r.root.Name(), s.name), err)
			}
			return t, nil
		}})
	}
	return jobs
}

// copyBuffer is the number of bytes of a file that are read at a time.
const copyBuffer = 256 << 10

// source reads one transcript, up to the size that it had when it was found.
func (r *filesReader) source(ctx context.Context, s source) (*transcript.Transcript, error) {
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
	for section := io.NewSectionReader(file, 0, s.size); ; {
		n, err := section.Read(buffer)
		_, _ = b.Write(buffer[:n])
		r.progress(int64(n))
		if errors.Is(err, io.EOF) {
			_ = b.Close() // it never fails
			return b.Transcript(), nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return nil, err
		}
	}
}

// progress counts n more bytes as read.
func (r *filesReader) progress(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done += n
	if r.opts.Progress != nil && n > 0 {
		r.opts.Progress(r.done, r.total)
	}
}

// teamCalls returns the names of the teammates that tool calls in a transcript started, as
// "name@team".
func teamCalls(t *transcript.Transcript) map[string]bool {
	names := map[string]bool{}
	addAll(names, transcript.Teammates(t))
	return names
}

// read reads a session with its subagents from any store.
func (s scope) read(ctx context.Context, key wire.SessionKey, opts *ReadOptions) (*transcript.Transcript, error) {
	jobs := []readJob{s.readJob(key, nil, opts)}
	if !opts.OnlyMain {
		subpaths, err := s.store.Subpaths(ctx, key)
		if err != nil {
			return nil, err
		}
		for _, key.Subpath = range subpaths {
			agent := newAgent(key.Subpath + transcriptExtension)
			if agent != nil && strings.HasPrefix(key.Subpath, agentFolder+"/") {
				jobs = append(jobs, s.readJob(key, agent, opts))
			}
		}
	}
	main, agents, err := readTranscripts(ctx, jobs)
	if main != nil && !opts.OnlyMain {
		linkAgents(main, agents)
	}
	return main, err
}

// readJob returns the job that reads one transcript of the store.
func (s scope) readJob(key wire.SessionKey, agent *transcript.Agent, opts *ReadOptions) readJob {
	return readJob{agent, func(ctx context.Context) (*transcript.Transcript, error) {
		b := transcript.NewBuilder(opts.Read)
		for entry, err := range s.store.Load(ctx, key) {
			if err != nil {
				return nil, err
			}
			if content, ok := sidecarOfAgent(agent, entry); ok {
				if meta, err := transcript.DecodeAgentMeta(content); err == nil {
					agent.Meta = meta
				}
				continue
			}
			_, _ = b.Write([]byte(lineBreaks.Replace(string(entry)) + "\n"))
		}
		_ = b.Close() // it never fails
		return b.Transcript(), nil
	}}
}

// sidecarOfAgent returns the metadata of a subagent, if the entry stands for its metadata file.
func sidecarOfAgent(agent *transcript.Agent, entry wire.JSON) ([]byte, bool) {
	if agent == nil {
		return nil, false
	}
	return sessionfile.Sidecar(entry)
}

// maxEntry is the length of the longest entry that a [Folder] accepts and reads.
const maxEntry = 256 << 20

var errTooLong = errors.New("sessions: entry is longer than 256 MiB")

// A SkippedLine is a line of a transcript file that a [Folder] leaves out because it is not an
// entry.
type SkippedLine struct {
	// Key is the key of the transcript.
	Key wire.SessionKey
	// Line is the number of the line, from 1, or 0 for the metadata file of a subagent.
	Line int
	// Offset is the offset in the file at which the line starts.
	Offset int64
	// Torn reports whether it is the last line and incomplete: the agent is just writing it, or a
	// crash has cut it.
	Torn bool
	// Err explains why the line is not an entry.
	Err error
}

// A line is one line of a transcript file.
type line struct {
	number int
	offset int64
	next   int64  // the offset after it
	text   []byte // without the line feed; valid until the next line
	ended  bool
	long   bool // longer than maxEntry: the text is incomplete
	feeds  int  // line feeds so far
}

// entry checks that the line is an entry, and returns its UUID.
func (l *line) entry() (uuid string, err error) {
	if l.long {
		return "", errTooLong
	}
	return entryUUID(l.text)
}

// blank reports whether the line has nothing but white space. Such lines are not reported as bad.
func (l *line) blank() bool { return len(bytes.TrimSpace(l.text)) == 0 }

// readLines returns the lines of a part of a file. NUL bytes, of which a crash can leave megabytes,
// end a line like a line feed, but don't count as one in line numbers. An error is the last pair.
func readLines(section *io.SectionReader) iter.Seq2[*line, error] {
	return func(yield func(*line, error) bool) {
		in := bufio.NewReaderSize(section, int(min(section.Size(), 64<<10)))
		l := new(line)
		for {
			err := l.read(in)
			if l.next > l.offset && !yield(l, nil) {
				return
			}
			if err != nil {
				if !errors.Is(err, io.EOF) {
					yield(nil, err)
				}
				return
			}
		}
	}
}

// read reads the next line from in.
func (l *line) read(in *bufio.Reader) error {
	l.number, l.offset = l.feeds+1, l.next
	l.text, l.ended, l.long = l.text[:0], false, false
	if err := l.passNULs(in); err != nil {
		return err
	}
	for !l.ended {
		piece, err := buffered(in)
		if err != nil {
			return err
		}
		end := entrylex.LineEnd(piece)
		l.ended = end < len(piece)
		l.add(piece[:end])
		if l.ended && piece[end] == '\n' {
			end++
			l.feeds++
		}
		l.pass(in, end)
	}
	return nil
}

// passNULs skips NUL bytes before a line. NUL bytes at the end of a file are a line without text.
func (l *line) passNULs(in *bufio.Reader) error {
	for {
		piece, err := buffered(in)
		if err != nil {
			return err
		}
		rest := entrylex.TrimNULs(piece)
		l.pass(in, len(piece)-len(rest))
		if len(rest) > 0 {
			l.offset = l.next
			return nil
		}
	}
}

// pass skips n buffered bytes.
func (l *line) pass(in *bufio.Reader, n int) {
	n, _ = in.Discard(n) // they are buffered
	l.next += int64(n)
}

// add adds a piece to the text, without the byte order mark that some editors write at the
// beginning of a file.
func (l *line) add(piece []byte) {
	if l.next == 0 {
		piece = bytes.TrimPrefix(piece, []byte(entrylex.ByteOrderMark))
	}
	if l.long = l.next-l.offset+int64(len(piece)) > maxEntry; !l.long {
		l.text = append(l.text, piece...)
	}
}

// buffered returns the bytes that in has in memory, at least one.
func buffered(in *bufio.Reader) ([]byte, error) {
	if _, err := in.Peek(1); err != nil {
		return nil, err
	}
	return in.Peek(in.Buffered())
}
