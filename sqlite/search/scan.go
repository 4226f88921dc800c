package search

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

// Scan runs a query by reading all files. It blocks until all are read or the context ends. In the
// latter case it returns what it found so far and the error of the context. progress may be nil,
// and is called by one goroutine at a time.
func Scan(ctx context.Context, files []sessions.File, q *Query, progress func(done, total int64)) (*Result, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	s := &scan{
		query: q, words: q.separate(), progress: progress,
		newest: ranking{limit: q.Limit}, best: newRelevance(q, true),
	}
	transcripts, spills := s.plan(files)
	s.read(ctx, transcripts)
	s.read(ctx, spills) // whose calls are known now
	result, err := s.result(ctx)
	if err != nil {
		return nil, err
	}
	result.Unread = s.unread
	return result, ctx.Err()
}

// wantsFile reports whether a file may have matches. A spill has the time of its call.
func (q *Query) wantsFile(f *sessions.File) bool {
	if q.Projects != nil && !q.Projects[f.Project] || q.Sessions != nil && f.SessionID != "" && !q.Sessions[f.SessionID] {
		return false
	}
	return f.Spill || q.Since.IsZero() || !f.Info.ModTime().Before(q.Since)
}

// wantsLocation reports whether a passage may be a match, by everything but its text.
func (q *Query) wantsLocation(p *location) bool {
	at := time.UnixMilli(p.time)
	return (q.Role == AnyRole || q.Role == p.role) && (q.Source == AnySource || q.Source == p.source) && (q.Tool == "" || strings.EqualFold(q.Tool, p.tool)) &&
		(q.Since.IsZero() || !at.Before(q.Since)) && (q.Until.IsZero() || at.Before(q.Until))
}

// separate returns a query for the words of phrases, wherever they are in a text. It returns nil if
// there are no phrases.
func (q *Query) separate() *Query {
	if q.exact() {
		return nil
	}
	words := new(Query)
	for _, p := range q.phrases {
		for i, word := range p.words {
			words.phrases = append(words.phrases, phrase{words: []string{word}, prefix: p.prefix && i == len(p.words)-1})
		}
	}
	return words
}

// A scan is the state of a call of Scan.
type scan struct {
	query    *Query
	words    *Query // see separate
	progress func(done, total int64)
	total    int64

	mu     sync.Mutex // guards what follows
	done   int64
	newest ranking
	best   *relevance
	spills spillTable
	unread []error
}

// plan returns the files to read. Transcripts of sessions with spills are among them in any case:
// they have the calls.
func (s *scan) plan(files []sessions.File) (transcripts, spills []*sessions.File) {
	spilled := map[groupKey]bool{}
	for i := range files {
		if f := &files[i]; f.Spill && s.query.wantsFile(f) {
			spills = append(spills, f)
			spilled[groupKey{f.Project, f.SessionID}] = true
			s.total += f.Info.Size()
		}
	}
	for i := range files {
		f := &files[i]
		if !f.Spill && (s.query.wantsFile(f) || spilled[groupKey{f.Project, f.SessionID}]) {
			transcripts = append(transcripts, f)
			s.total += f.Info.Size()
		}
	}
	return transcripts, spills
}

// read reads files with several goroutines, until all are read or the context ends.
func (s *scan) read(ctx context.Context, files []*sessions.File) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(files)) {
		group.Go(func() {
			w := &scanWorker{scan: s, reader: newReader()}
			w.reader.progress = s.report
			for i := int(next.Add(1)) - 1; i < len(files) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				w.read(ctx, files[i])
			}
		})
	}
	group.Wait()
}

// A scanWorker reads one file after the other, for one goroutine.
type scanWorker struct {
	scan   *scan
	reader *reader
	wordSet

	file  *sessions.File
	state *state
	owner *spillOwner // of a spill

	newest ranking // the candidates of the file, or
	group  *group  // those for the order Relevance
}

func (w *scanWorker) read(ctx context.Context, f *sessions.File) {
	s := w.scan
	w.file, w.state, w.owner = f, new(state), nil
	w.newest, w.group = ranking{limit: s.query.Limit}, newGroup(groupKey{})
	if f.Spill {
		w.owner = s.spills.of(f) // nothing is added any more
	}
	wanted := s.query.wantsFile(f)
	err := w.reader.read(ctx, f, w.state, func(p *location, text string) error {
		w.owner.locate(p)
		if wanted && s.query.wantsLocation(p) {
			w.passage(p, text)
		}
		return ctx.Err()
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	session := f.SessionID
	if session == "" {
		session = w.state.Session
	}
	if !f.Spill {
		s.spills.add(&spillOwner{file: f, from: w.state}, session, w.state.Spills)
	}
	if s.query.Sessions == nil || s.query.Sessions[session] {
		s.merge(w, groupKey{f.Project, session})
	}
	if err != nil && !errors.Is(err, ctx.Err()) {
		s.unread = append(s.unread, err)
	}
}

// merge adds the candidates of a file. The caller holds the lock.
func (s *scan) merge(w *scanWorker, key groupKey) {
	s.newest.total += w.newest.total - len(w.newest.list)
	for _, c := range w.newest.list {
		s.newest.add(c)
	}
	if w.group.count == 0 {
		return
	}
	g := s.best.group(key.project, key.session)
	g.count += w.group.count
	g.matched += w.group.matched
	for _, c := range w.group.waiting.list {
		s.best.add(g, c)
	}
}

// passage adds a passage to the candidates of the file, if it matches.
func (w *scanWorker) passage(p *location, text string) {
	s := w.scan
	c := &candidate{file: w.file, state: w.state, owner: w.owner, location: *p}
	if w.owner != nil {
		c.state = w.owner.from
	}
	if s.query.typed {
		w.passageOfTurn(c, text)
		return
	}
	matches := c.take(text, s.query.find(&w.tokenizer, text))
	if s.query.Order == Newest {
		if matches {
			w.newest.add(c)
		}
		return
	}
	if !matches && (s.words == nil || s.words.find(&w.tokenizer, text) == nil) {
		return
	}
	w.group.count++
	if matches {
		w.group.matched++
		w.of(text)
		c.location.words = int64(w.wordSet.total)
		c.near = s.best.near.in(&w.tokenizer, text)
		s.best.score(c)
		s.best.add(w.group, c)
	}
}

// passageOfTurn adds a passage, for a query by Parse. Its text is read again if it is one of the best,
// which is not known yet.
func (w *scanWorker) passageOfTurn(c *candidate, text string) {
	if _, c.masks = w.scan.query.findAll(&w.tokenizer, text); c.masks.any() == 0 {
		return
	}
	w.of(text)
	c.location.words = int64(w.wordSet.total)
	w.group.count++
	w.group.waiting.list = append(w.group.waiting.list, c)
}

// A scannedTurns reads the texts of turns again.
type scannedTurns struct {
	best      *relevance
	reader    *reader
	files     fileCache
	tokenizer tokenizer
}

func (s *scannedTurns) read(c *candidate) bool {
	file, err := s.files.open(c.file.Path)
	if err != nil {
		return false // it was there before
	}
	text, ok := s.reader.text(file, &c.location, c.file.Spill)
	return ok && s.best.readTurn(&s.tokenizer, c, text)
}

func (s *scan) result(ctx context.Context) (*Result, error) {
	var turns turnCounter
	hit := func(c *candidate) (Hit, error) { return c.hit(ctx, &turns), nil }
	if s.query.typed {
		texts := &scannedTurns{best: s.best, reader: newReader()}
		defer texts.files.close()
		return s.best.hits(texts.read, hit)
	}
	if s.query.Order == Relevance {
		return s.best.hits(func(c *candidate) bool {
			c.score = c.base * c.near
			return true
		}, hit)
	}
	result := &Result{More: s.newest.total - len(s.newest.list)}
	for _, c := range s.newest.sorted() {
		result.Hits = append(result.Hits, c.hit(ctx, &turns))
	}
	return result, nil
}

func (s *scan) report(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done += int64(n); s.progress != nil {
		s.progress(min(s.done, s.total), s.total)
	}
}
