// Package view holds the sessions that the commands and both viewers show. It reads the agent's files and the search
// index, and starts programs that take over the terminal, such as claude or an editor.
//
// An [Entry] of a [List] has the texts of a session, its figures and cost, and the state of its agent. [Columns] are the
// facts that all lists show. A filter (package fuzzy) matches title, project, branch, tag, ID and prompts, each of which
// has to match by itself. A [Listing] keeps a list up to date, for the terminal and for pages.
package view

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"strings"
	"sync"

	"github.com/clewdev/clew/cmd/clew/internal/follow"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// Options configures the viewer.
type Options struct {
	// Dir is the working directory. Its sessions come first, and exported pages are put there.
	Dir string
	// AgentPath is the agent binary, as in clew.Options.
	AgentPath string
	// AgentEnv is the environment of an agent that takes over the terminal. Nil means the
	// environment of this process.
	AgentEnv []string
	// In, Out and Err are the terminal, for programs that take it over.
	In, Out, Err *os.File
	// HandOver is called before another program gets the terminal, and the returned function after
	// it. It may be nil.
	HandOver func() (back func())
	// Held is called with the size of the transcripts that are kept in memory, in bytes, when it has
	// changed; nil means that nothing is called. It must not block.
	Held func(bytes int64)
}

// A Source has the sessions of the agent's own files. Its methods may be called from several
// goroutines.
type Source struct {
	opts Options
	hub  *follow.Hub

	mu     sync.Mutex
	opened map[string]*sessions.Session // by path, to read entries and spills

	files fileList
	index indexer
}

// New returns a source. The caller has to close it.
func New(opts Options) *Source {
	return &Source{opts: opts, hub: follow.New(&follow.Options{Held: opts.Held}), opened: map[string]*sessions.Session{}}
}

// Close ends everything that the source started.
func (s *Source) Close() error {
	s.index.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	errs := []error{s.hub.Close()}
	for _, session := range s.opened {
		errs = append(errs, session.Close())
	}
	clear(s.opened)
	return errors.Join(errs...)
}

// List yields the sessions of all projects by their files, and again when they change.
func (s *Source) List(ctx context.Context) iter.Seq2[[]sessions.SessionInfo, error] {
	return func(yield func([]sessions.SessionInfo, error) bool) {
		var failed error // of a directory; it comes with the next list
		opts := &sessions.WatchOptions{Failed: func(err error) { failed = err }}
		for infos, err := range sessions.Watch(ctx, opts) {
			if err == nil {
				err, failed = failed, nil
			}
			if ctx.Err() != nil || !yield(infos, err) {
				return
			}
		}
	}
}

// Summarize reads the data that a list shows of sessions.
func (s *Source) Summarize(ctx context.Context, infos []sessions.SessionInfo) []sessions.SessionInfo {
	return sessions.Summarize(ctx, infos)
}

// Measure counts the figures of sessions.
func (s *Source) Measure(ctx context.Context, infos []sessions.SessionInfo) []sessions.Figures {
	return sessions.Measure(ctx, infos, nil)
}

// Sizes returns the sizes of the transcripts that Measure reads, or 0.
func (s *Source) Sizes(ctx context.Context, infos []sessions.SessionInfo) []int64 {
	return sessions.TranscriptSizes(ctx, infos)
}

// Running returns the sessions that agents have open.
func (s *Source) Running(ctx context.Context) ([]sessions.RunningSession, error) {
	return sessions.Running(ctx)
}

// Here returns the names of the projects that the working directory belongs to.
func (s *Source) Here(ctx context.Context) map[string]bool {
	here := map[string]bool{}
	infos, _ := sessions.Names(ctx, &sessions.ListOptions{Project: s.opts.Dir}) // List reports the errors
	for i := range infos {
		here[infos[i].Home()] = true
	}
	return here
}

// Trash returns the deleted sessions.
func (s *Source) Trash(ctx context.Context) ([]sessions.TrashedSession, error) {
	return sessions.Trash(ctx, nil)
}

// Follow reads a session as it grows.
func (s *Source) Follow(info sessions.SessionInfo) Follower { return s.Reader(info) }

// Reader is Follow for viewers that share the session's rows.
func (s *Source) Reader(info sessions.SessionInfo) *follow.Reader {
	return s.hub.Open(info.Path, info.Size)
}

// options returns the location of a session.
func options(info *sessions.SessionInfo) *sessions.Options {
	return &sessions.Options{ProjectName: info.Project}
}

// Rename gives a session a title.
func (s *Source) Rename(ctx context.Context, info sessions.SessionInfo, title string) error {
	return sessions.Rename(ctx, info.ID, title, options(&info))
}

// Tag sets the tag of a session.
func (s *Source) Tag(ctx context.Context, info sessions.SessionInfo, tag string) error {
	return sessions.Tag(ctx, info.ID, tag, options(&info))
}

// Delete moves a session to the trash.
func (s *Source) Delete(ctx context.Context, info sessions.SessionInfo) error {
	return sessions.Delete(ctx, info.ID, options(&info))
}

// Restore brings a session back from the trash.
func (s *Source) Restore(ctx context.Context, deleted sessions.TrashedSession) error {
	return sessions.Restore(ctx, deleted.ID, &sessions.Options{ProjectName: deleted.Project})
}

// open returns the files of a session, which stay open until the source is closed.
func (s *Source) open(ctx context.Context, info *sessions.SessionInfo) (*sessions.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if session := s.opened[info.Path]; session != nil {
		return session, nil
	}
	session, err := sessions.Open(ctx, info.ID, fileOptions(info))
	if err == nil {
		s.opened[info.Path] = session
	}
	return session, err
}

// Entry reads an entry as it was written.
func (s *Source) Entry(ctx context.Context, info sessions.SessionInfo, agent string, at wire.Position) (wire.JSON, error) {
	session, err := s.open(ctx, &info)
	if err != nil {
		return "", err
	}
	entry, err := session.Entry(ctx, agent, at)
	if err != nil {
		return "", err
	}
	return wire.JSON(entry.Raw), nil
}

// Spill reads a long result that is in a separate file.
func (s *Source) Spill(ctx context.Context, info sessions.SessionInfo, path string) ([]byte, error) {
	session, err := s.open(ctx, &info)
	if err != nil {
		return nil, err
	}
	return session.Spill(path)
}

const (
	// glanceBytes is the size of the transcript's end that is read for a preview. If that has no
	// whole line, more is read.
	glanceBytes     = 256 << 10
	longGlanceBytes = 8 << 20
)

// Glance reads the end of a session.
func (s *Source) Glance(ctx context.Context, info sessions.SessionInfo) (Glance, error) {
	for _, size := range []int64{glanceBytes, longGlanceBytes} {
		end, whole, err := readEnd(info.Path, size)
		if err != nil || ctx.Err() != nil {
			return Glance{}, errors.Join(err, ctx.Err())
		}
		t, err := transcript.Read(bytes.NewReader(end), nil)
		if err != nil {
			return Glance{}, err
		}
		if len(t.Chunks) > 0 || whole {
			return glanceOf(t), nil
		}
	}
	return Glance{}, nil
}

// readEnd returns the last lines of a file, and whether these are all.
func readEnd(path string, size int64) (end []byte, whole bool, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, false, err
	}
	defer file.Close()
	all, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, false, err
	}
	from := max(all-size, 0)
	end = make([]byte, all-from)
	n, err := file.ReadAt(end, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	end = end[:n]
	if from == 0 {
		return end, true, nil
	}
	_, end, _ = bytes.Cut(end, []byte("\n")) // the first line is a part of one
	return end, false, nil
}

// glanceOf returns the last prompt and answer, and the call that has no result.
func glanceOf(t *transcript.Transcript) (g Glance) {
	for i := len(t.Chunks) - 1; i >= 0 && g.Prompt == ""; i-- {
		switch c := &t.Chunks[i]; c.Type {
		case transcript.UserChunk:
			g.Prompt = c.Text
		case transcript.AIChunk:
			if g.Answer == "" {
				g.Answer = lastText(c.Items)
			}
			if i == len(t.Chunks)-1 {
				g.Call = openCall(c)
			}
		}
	}
	return g
}

// lastText returns the last text of an answer.
func lastText(items []transcript.DisplayItem) string {
	if last := transcript.FindLastOutput(items); last != nil && last.Type == transcript.LastOutputText {
		return last.Text
	}
	return ""
}

// openCall returns the call that an agent waits for, or "".
func openCall(c *transcript.Chunk) string {
	for i := range c.Items {
		item := &c.Items[i]
		if item.IsCall() && !item.HasResult && !item.ResultLost {
			line := render.Options{}.CallLine(c, item, nil)
			return strings.TrimSpace(line.Name + " " + line.Summary)
		}
	}
	return ""
}
