package index

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/clewdev/clew/sessions"
)

// Scan reads all files, and finds what a query asks for in them. It blocks until
// all are read, or the context ends; with the error of that it returns what it has
// found. progress may be nil, and is called by one goroutine at a time.
func Scan(ctx context.Context, files []sessions.File, q *Query, progress func(done, total int64)) (*Result, error) {
	s := &scan{query: q, progress: progress, best: ranking{limit: q.Limit}}
	for i := range files {
		if q.wantsFile(&files[i]) {
			s.files = append(s.files, &files[i])
			s.total += files[i].Info.Size()
		}
	}
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(s.files)) {
		group.Go(func() { s.work(ctx) })
	}
	group.Wait()
	result := &Result{More: s.best.total - len(s.best.list), Unread: s.unread}
	for _, c := range s.best.sorted() {
		result.Hits = append(result.Hits, c.hit())
	}
	return result, ctx.Err()
}

// wantsFile reports whether a file may have what is looked for.
func (q *Query) wantsFile(f *sessions.File) bool {
	if q.Projects != nil && !q.Projects[f.Project] {
		return false
	}
	return q.Since.IsZero() || !f.Info.ModTime().Before(q.Since)
}

// wantsPlace reports whether a place is one to look at.
func (q *Query) wantsPlace(p *place) bool {
	at := time.UnixMilli(p.time)
	return (q.Role == AnyRole || q.Role == p.role) && (q.Tool == "" || strings.EqualFold(q.Tool, p.tool)) &&
		(q.Since.IsZero() || !at.Before(q.Since)) && (q.Until.IsZero() || at.Before(q.Until))
}

// A scan is the work of a Scan.
type scan struct {
	query    *Query
	files    []*sessions.File
	next     atomic.Int64
	progress func(done, total int64)
	total    int64

	mu     sync.Mutex // guards what follows
	done   int64
	best   ranking
	unread []error
}

func (s *scan) work(ctx context.Context) {
	r := newReader()
	r.progress = s.tell
	var c cutter
	for i := int(s.next.Add(1)) - 1; i < len(s.files) && ctx.Err() == nil; i = int(s.next.Add(1)) - 1 {
		f, st := s.files[i], new(state)
		err := r.read(ctx, f, st, func(p *place, text string) error {
			if s.query.wantsPlace(p) {
				found := &candidate{file: f, state: st, place: *p}
				if found.take(text, s.query.find(&c, text)) {
					s.found(found)
				}
			}
			return ctx.Err()
		})
		if err != nil && !errors.Is(err, ctx.Err()) {
			s.mu.Lock()
			s.unread = append(s.unread, err)
			s.mu.Unlock()
		}
	}
}

func (s *scan) found(c *candidate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.best.add(c)
}

func (s *scan) tell(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done += int64(n); s.progress != nil {
		s.progress(min(s.done, s.total), s.total)
	}
}
