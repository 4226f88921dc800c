// Package recall lets an agent look up past sessions. It searches them, reads around a place, and
// lists sessions, for the tools of "clew mcp". Answers are short texts for a model. It knows
// nothing of MCP, which is tools.Serve.
//
// Old transcripts hold pages, files and messages that somebody else wrote, to reach a model. So by
// default an answer has only the user's prompts and the answers and calls of the session's own
// agent, never the data that the agent was given: see [search.Source]. Each text is a JSON string
// after the name of who wrote it, without secrets, terminal escapes and invisible characters.
//
// The package writes nothing but the search index, which it keeps up to date in the background.
//
// The index of the search decides whose text a passage is ([search.Source]), entry by entry, and
// [search.Passages] decides the same again when a text is read, so that there is no second opinion.
//
// A question is a query as people type them ([search.Parse]): without the words that all texts have, by prefixes
// of words, and ranked by how many of them a text has and how rare they are. A query that needs all
// words finds nothing for most questions.
//
// No call waits for the index if there is one. A search uses it as it is and reports what is
// missing. One update at a time runs in the background, at most every ten seconds. Without an
// index, a call waits for it for 20 seconds, with progress. If it can't be written, transcripts are
// read for 10 seconds.
//
// A ref is a place: a prefix of the session's ID, the offset of the line, and how much of its text
// was read. It stays valid while the transcript grows, and leads there without reading earlier
// lines.
package recall

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clewdev/clew/internal/newid"
	"github.com/clewdev/clew/internal/pause"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/sqlite/search"
)

// Options configures the scope of lookups.
type Options struct {
	// Index is the path of the search index.
	Index string
	// Store has the sessions. Nil means the agent's own files.
	Store *sessions.Folder
	// Dirs returns the working directories whose sessions are looked up. Other working trees of
	// their repositories count as well.
	Dirs func(ctx context.Context) []string
	// Running returns the IDs of sessions to leave out, such as the session that asks. It may be
	// nil.
	Running func(ctx context.Context) []string
	// All allows to look up other projects.
	All bool
	// Results allows to look up texts that somebody else wrote: tool results and the like.
	Results bool
	// Home is the user's home directory, which answers don't have.
	Home string
	// Wait is the time for which a call waits for an index that is being built. 0 means 20 seconds.
	Wait time.Duration
	// Now returns the time. Nil means [time.Now].
	Now func() time.Time
}

// A Recall looks up past sessions. Its methods may be called from several goroutines. Close it when
// it is no longer needed.
type Recall struct {
	opts  Options
	index search.Index
	ctx   context.Context // ends with Close
	stop  context.CancelFunc
	group sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	listed  listing
	update  *update
	figured map[string]figures // by path
}

// New returns a Recall. It reads no file yet.
func New(opts Options) *Recall {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Wait == 0 {
		opts.Wait = 20 * time.Second
	}
	r := &Recall{opts: opts, figured: map[string]figures{}}
	r.index.Path = opts.Index
	r.ctx, r.stop = context.WithCancel(context.Background())
	r.group.Go(func() { r.safe(warmText) })
	return r
}

// warmText has what most rules for secrets look for, so that they are compiled while the client still
// introduces itself.
const warmText = "key token secret password api auth https://a.example/b?c=d a@example.com /home/a eyJhbGci AKIA sk-a ghp_a -----BEGIN"

// Close ends an update of the index in the background, and waits for it.
func (r *Recall) Close() {
	r.stop()
	r.group.Wait()
}

// A listing has the files of sessions for a moment.
type listing struct {
	at      time.Time
	files   []sessions.File
	own     map[string]bool // the names of this project, one for each working tree
	running map[string]bool
	short   map[string]int // number of sessions whose IDs start with these characters
	err     error
}

const (
	// listedFor is the time for which a file list is used.
	listedFor = 2 * time.Second
	// shortLength is the number of characters of an ID that are usually enough.
	shortLength = 8
)

// list returns the files of all sessions.
func (r *Recall) list(ctx context.Context) (listing, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.opts.Now(); !r.listed.at.IsZero() && now.Sub(r.listed.at).Abs() < listedFor {
		return r.listed, nil
	}
	l := listing{own: map[string]bool{}, running: map[string]bool{}, short: map[string]int{}}
	l.files, l.err = r.files(ctx, "")
	if r.opts.Running != nil {
		for _, id := range r.opts.Running(ctx) {
			l.running[strings.ToLower(id)] = true
		}
	}
	for _, dir := range r.opts.Dirs(ctx) {
		found, err := r.files(ctx, dir)
		if err != nil && l.err == nil {
			l.err = err
		}
		for i := range found {
			l.own[found[i].Project] = true
		}
	}
	if err := ctx.Err(); err != nil {
		return listing{}, err
	}
	counted := map[string]bool{}
	for i := range l.files {
		if id := l.files[i].SessionID; len(id) > shortLength && !counted[id] {
			counted[id] = true
			l.short[id[:shortLength]]++
		}
	}
	l.at = r.opts.Now()
	r.listed = l
	return l, nil
}

// files lists the files of a working directory's project, or of all projects.
func (r *Recall) files(ctx context.Context, dir string) (files []sessions.File, err error) {
	where := &sessions.Options{Project: dir}
	if r.opts.Store != nil {
		where.Store = r.opts.Store
	}
	for f, err := range sessions.Files(ctx, where) {
		if err != nil {
			return files, err // comes last
		}
		files = append(files, f)
	}
	return files, nil
}

// ref returns the shortest name of a session that no other session has.
func (l *listing) ref(id string) string {
	if len(id) > shortLength && l.short[id[:shortLength]] == 1 {
		return id[:shortLength]
	}
	return id
}

// EveryProject is the name for all projects.
const EveryProject = "*"

// scope returns the files that may be looked up in a project, and the number of their sessions.
func (r *Recall) scope(l *listing, project string) (files []sessions.File, count int, err error) {
	if project != "" && !r.opts.All {
		return nil, 0, errors.New(`other projects can't be searched: the server was started without --all`)
	}
	known := project == "" || project == EveryProject
	for i := range l.files {
		f := &l.files[i]
		known = known || matchesProject(f.Home(), project)
		switch {
		case project == "" && !l.own[f.Project]:
		case project != "" && project != EveryProject && !matchesProject(f.Home(), project):
		case f.SessionID != "" && (l.running[strings.ToLower(f.SessionID)] || !newid.IsUUID(f.SessionID)):
		case (f.AgentID != "" || f.Spill) && !r.opts.Results:
		default:
			if f.AgentID == "" && !f.Spill {
				count++
			}
			files = append(files, *f)
		}
	}
	if !known {
		return nil, 0, fmt.Errorf("no project matches %s; sessions with project %q lists names", quoted(project, 80), EveryProject)
	}
	return files, count, nil
}

// matchesProject reports whether a word names a project: its whole name, or the end of it, which is
// the name of the directory.
func matchesProject(name, word string) bool {
	dashed := strings.Map(func(r rune) rune {
		if r < 0x80 && (r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z') {
			return r
		}
		return '-'
	}, word)
	return name == word || strings.EqualFold(name, dashed) ||
		len(name) > len(dashed) && strings.EqualFold(name[len(name)-len(dashed)-1:], "-"+dashed)
}

// An update brings the index up to date. There is one at a time.
type update struct {
	begun time.Time
	done  chan struct{} // closed at its end

	mu          sync.Mutex // guards the fields below
	read, total int64
	err         error
}

func (u *update) progress() (read, total int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.read, u.total
}

// updateInterval is the minimum time between the starts of two updates.
const updateInterval = 10 * time.Second

// startUpdate starts an update in the background, unless one is running, or one ran recently and
// needed is false. It returns the running update, or the last one.
func (r *Recall) startUpdate(needed bool) *update {
	r.mu.Lock()
	defer r.mu.Unlock()
	if u := r.update; u != nil {
		select {
		case <-u.done:
			if !needed && r.opts.Now().Sub(u.begun).Abs() < updateInterval {
				return u
			}
		default:
			return u
		}
	}
	u := &update{begun: r.opts.Now(), done: make(chan struct{})}
	r.update = u
	r.group.Go(func() {
		defer close(u.done)
		err := r.runUpdate(u)
		u.mu.Lock()
		defer u.mu.Unlock()
		u.err = err
	})
	return u
}

func (r *Recall) runUpdate(u *update) error {
	files, err := r.files(r.ctx, "")
	if err != nil && len(files) == 0 {
		return err
	}
	index := search.Index{Path: r.opts.Index, Progress: func(read, total int64) {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.read, u.total = read, total
	}}
	_, err = index.Update(r.ctx, files) // each search reports the files that can't be read
	return err
}

// scanTime is the time limit for reading files without an index.
const scanTime = 10 * time.Second

// A found is a search result, with a note about its scope.
type found struct {
	*search.Result
	note string // the part that was not searched, or ""
}

// find runs a query on files: on the index as it is or, if there is none, when it is built.
func (r *Recall) find(ctx context.Context, files []sessions.File, q *search.Query, progress Progress) (*found, error) {
	result, err := r.index.Lookup(ctx, files, q)
	if err == nil {
		r.startUpdate(false)
		return &found{result, outdatedNote(result, r.opts.Now())}, nil
	}
	deadline := time.NewTimer(r.opts.Wait)
	defer deadline.Stop()
	for ctx.Err() == nil {
		u := r.startUpdate(true)
		if !r.await(ctx, u, deadline.C, progress) {
			break
		}
		if result, err = r.index.Lookup(ctx, files, q); err == nil {
			return &found{result, outdatedNote(result, r.opts.Now())}, nil
		}
		if u.mu.Lock(); u.err != nil {
			err = u.err
		}
		u.mu.Unlock()
		if !errors.Is(err, search.ErrBusy) {
			return r.scan(ctx, files, q, err, progress)
		}
		if pause.For(ctx, busyPause) != nil {
			break
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("the index of past sessions is being built (%s); call again in a minute", r.share())
}

// busyPause is the time for which a call waits for another process before it tries again.
const busyPause = 200 * time.Millisecond

// share returns the share of the transcripts that was read for the index.
func (r *Recall) share() string {
	r.mu.Lock()
	u := r.update
	r.mu.Unlock()
	read, total := u.progress()
	if total == 0 {
		return "another process may be writing it"
	}
	return wording.Size(read) + " of " + wording.Size(total) + " were read"
}

// A Progress is called with the progress of a call. It may be nil.
type Progress func(done, total int64)

// await waits for the end of an update, and reports its progress. It returns false if the time or the
// context ended first.
func (r *Recall) await(ctx context.Context, u *update, deadline <-chan time.Time, progress Progress) bool {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-u.done:
			return true
		case <-deadline:
			return false
		case <-ctx.Done():
			return false
		case <-tick.C:
			if read, total := u.progress(); progress != nil && total > 0 {
				progress(read, total)
			}
		}
	}
}

// scan searches without an index, for a while.
func (r *Recall) scan(ctx context.Context, files []sessions.File, q *search.Query, cause error, progress Progress) (*found, error) {
	timed, cancel := context.WithTimeout(ctx, scanTime)
	defer cancel()
	result, err := search.Scan(timed, files, q, func(done, total int64) {
		if progress != nil {
			progress(done, total)
		}
	})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case result == nil:
		return nil, err
	}
	note := "there is no index (" + reason(cause) + ")"
	if err != nil {
		note += "; only a part of the transcripts was read"
	}
	return &found{result, note}, nil
}

// reason returns the cause of an error without the path, which has the user's name.
func reason(err error) string {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err
	}
	return plainLine(err.Error())
}

// outdatedNote describes the files that the index does not cover yet.
func outdatedNote(result *search.Result, now time.Time) string {
	n := len(slices.DeleteFunc(slices.Clone(result.Outdated), gone))
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("indexed until %s: newer text in %s was not searched; it is being indexed", wording.Clock(result.Updated, now), wording.Count(n, "file"))
}

// gone reports whether a file no longer exists.
func gone(f *sessions.File) bool {
	_, err := os.Stat(f.Path)
	return errors.Is(err, fs.ErrNotExist)
}
