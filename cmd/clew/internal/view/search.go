package view

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/sqlite/search"
)

// CachePath returns the path of a file or directory of clew in the user's cache directory, which
// need not exist.
func CachePath(elements ...string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(append([]string{cache, "clew"}, elements...)...), nil
}

// IndexPath returns the path of the index of the search. Each set of agents' directories has a separate
// index.
func IndexPath() (string, error) {
	roots, err := sessions.Roots()
	if err != nil {
		return "", err
	}
	sum := fnv.New64a()
	_, _ = io.WriteString(sum, strings.Join(roots, "\x00")) // never fails
	return CachePath(fmt.Sprintf("search-%016x.db", sum.Sum64()))
}

// A fileList has the files of all sessions for a moment, so that not every key of a search looks for
// them again.
type fileList struct {
	mu    sync.Mutex
	found []sessions.File
	at    time.Time
	err   error
}

// filesFor is the time for which a file list is used.
const filesFor = 3 * time.Second

func (l *fileList) list(ctx context.Context) ([]sessions.File, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.found != nil && time.Since(l.at) < filesFor {
		return l.found, l.err
	}
	var found []sessions.File
	var unread error
	for f, err := range sessions.Files(ctx, nil) {
		if err != nil {
			unread = err
			break
		}
		found = append(found, f)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	l.found, l.err, l.at = found, unread, time.Now()
	return found, unread
}

// sessionHits is the maximum number of results per session.
const sessionHits = 3

// Search finds words in all sessions. The words may be narrowed by role:prompt, tool:Bash and
// project:NAME. It does not wait for an index that lacks much: see [Found.Indexing].
func (s *Source) Search(ctx context.Context, words string, limit int, progress func(done, total int64)) (*Found, error) {
	query, project, err := parseQuery(words)
	if err != nil || query == nil {
		return &Found{}, err
	}
	files, unlisted := s.files.list(ctx)
	if len(files) == 0 && unlisted != nil {
		return nil, unlisted
	}
	query.Limit, query.PerSession, query.Order, query.Now = limit, sessionHits, search.Relevance, time.Now()
	if project != "" {
		query.Projects = projectsLike(files, project)
	}
	path, err := IndexPath()
	if err != nil {
		return nil, err
	}
	result, indexing, err := s.lookUp(ctx, path, files, query, progress)
	switch {
	case errors.Is(err, search.ErrBusy):
		return nil, errors.New("another clew is writing the index: try again in a moment")
	case err != nil:
		return nil, err
	}
	found := foundIn(ctx, result)
	found.Indexing = indexing
	if n := len(result.Unread); n > 0 || unlisted != nil {
		found.Note = wording.Count(max(n, 1), "file") + " could not be read."
	}
	return found, nil
}

// quickUpdate is the size of transcripts that a search reads before it answers. If more are not in the
// index, it answers from the index as it is.
const quickUpdate = 16 << 20

// lookUp searches the index. If much is missing in it, an update starts, and its progress is returned.
func (s *Source) lookUp(
	ctx context.Context, path string, files []sessions.File, q *search.Query, progress func(done, total int64),
) (*search.Result, *Indexing, error) {
	index := &search.Index{Path: path, Progress: progress}
	result, err := index.Lookup(ctx, files, q)
	if err != nil {
		result = new(search.Result)
		for i := range files {
			result.OutdatedBytes += files[i].Info.Size()
		}
	}
	switch {
	case ctx.Err() != nil:
		return nil, nil, ctx.Err()
	case err == nil && len(result.Outdated) == 0:
		return result, nil, nil
	case result.OutdatedBytes <= quickUpdate && !s.index.runs():
		result, err := index.Search(ctx, files, q)
		return result, nil, err
	}
	indexing, err := s.index.update(path, files) //nolint:contextcheck // the update outlives the search
	return result, indexing, err
}

// An indexer updates the index in the background, once at a time. The zero value is ready.
type indexer struct {
	mu          sync.Mutex // guards the fields below
	stop        context.CancelFunc
	running     bool
	closed      bool
	done, total int64
	err         error // of the last update, until it was returned

	read  func(done int64) // called by tests' updates with the bytes that were read; nil otherwise
	group sync.WaitGroup
}

func (x *indexer) runs() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.running
}

// update starts an update, unless there is one, and returns its progress, or the error of the last one.
func (x *indexer) update(path string, files []sessions.File) (*Indexing, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.closed:
		return nil, context.Canceled
	case x.running:
		return &Indexing{x.done, x.total}, nil
	case x.err != nil:
		err := x.err
		x.err = nil
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	x.stop, x.running, x.done, x.total = stop, true, 0, 0
	index := &search.Index{Path: path, Progress: func(done, total int64) {
		if x.read != nil {
			x.read(done)
		}
		x.mu.Lock()
		defer x.mu.Unlock()
		x.done, x.total = done, total
	}}
	x.group.Go(func() {
		defer stop()
		_, err := index.Update(ctx, files) // each search reports the files that can't be read
		x.mu.Lock()
		defer x.mu.Unlock()
		x.running, x.err = false, err
	})
	return &Indexing{}, nil
}

// close ends an update, and waits for it.
func (x *indexer) close() {
	x.mu.Lock()
	x.closed = true
	if x.stop != nil {
		x.stop()
	}
	x.mu.Unlock()
	x.group.Wait()
}

// projectsLike returns the projects whose sessions count to a project with a text in its name.
func projectsLike(files []sessions.File, text string) map[string]bool {
	found := map[string]bool{}
	text = strings.ToLower(text)
	for i := range files {
		if strings.Contains(strings.ToLower(files[i].Home()), text) {
			found[files[i].Project] = true
		}
	}
	return found
}

// parseQuery reads the typed text. The query is nil if it has no words yet. The last word may not
// be complete, so it stands for all words that start with it.
func parseQuery(text string) (query *search.Query, project string, err error) {
	var args []string
	var role search.Role
	tool := ""
	for _, word := range splitWords(text) {
		name, value, _ := strings.Cut(word, ":")
		switch {
		case value == "" || strings.HasPrefix(word, `"`):
			args = append(args, word)
		case name == "role":
			if role, err = search.ParseRole(value); err != nil {
				return nil, "", errors.New("role: must be prompt, answer, tool, thinking or title")
			}
		case name == "tool":
			tool = value
		case name == "project":
			project = value
		default:
			args = append(args, word)
		}
	}
	if len(args) == 0 {
		return nil, "", nil
	}
	if last := &args[len(args)-1]; strings.HasSuffix(text, *last) && openEnded(*last) {
		*last += "*"
	}
	query, err = search.Parse(strings.Join(args, " "))
	if err != nil {
		return nil, "", err
	}
	query.Role, query.Tool = role, tool
	return query, project, nil
}

// openEnded reports whether a short word may continue: it ends with a letter or a digit, and has two
// or three of them. Longer words find words that start with them in any case.
func openEnded(word string) bool {
	r, _ := utf8.DecodeLastRuneInString(word)
	n := utf8.RuneCountInString(word)
	return n > 1 && n < 4 && !strings.HasPrefix(word, "-") && !strings.ContainsRune(`*"'.,:;!?()[]{}`, r)
}

// splitWords splits a text at spaces that are not in double quotes.
func splitWords(text string) []string {
	quoted := false
	words := strings.FieldsFunc(text, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return !quoted && (r == ' ' || r == '\t')
	})
	return words
}

// foundIn groups results by session, and reads the sessions' data for a list.
func foundIn(ctx context.Context, result *search.Result) *Found {
	type key struct{ project, session string }
	at := map[key]int{}
	found := &Found{More: result.More}
	for _, h := range result.Hits {
		k := key{h.File.Project, h.SessionID}
		i, ok := at[k]
		if !ok {
			i = len(found.Sessions)
			at[k] = i
			found.Sessions = append(found.Sessions, FoundSession{Info: infoOf(ctx, &h)})
		}
		found.Sessions[i].Hits = append(found.Sessions[i].Hits, h)
	}
	for _, g := range result.Groups {
		if i, ok := at[key{g.Project, g.SessionID}]; ok {
			found.Sessions[i].More = g.More
		}
	}
	return found
}

// infoOf returns the info of a result's session. If it can't be read, it is made from the result.
func infoOf(ctx context.Context, h *search.Hit) sessions.SessionInfo {
	info, err := sessions.Get(ctx, h.SessionID, &sessions.Options{ProjectName: h.File.Project})
	if err != nil {
		info = sessions.SessionInfo{ID: h.SessionID, Project: h.File.Project, Path: h.File.Path}
		info.CWD = h.Directory
	}
	return info
}
