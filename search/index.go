// Package search finds words in transcripts: in prompts, answers, thinking, and in the inputs and
// results of tools. It either reads the files ([Scan]) or uses an index of them ([Index]). Both
// have the same results.
//
//	q, err := search.Words("login page", "valid*")
//	…
//	result, err := search.Scan(ctx, files, q, nil) // files of sessions.Files
//	for _, hit := range result.Hits {
//		fmt.Println(hit.SessionID, hit.Role, hit.Excerpt(80).Text)
//	}
//
// Functions may be called from several goroutines. An index is a file that several processes may
// use: one of them writes it at a time, and the others get an [ErrBusy].
//
// All texts are as a transcript has them, including escape sequences for terminals:
// [transcript.Truncate] makes them safe to print.
//
// A passage is one text of an entry, such as a prompt, or a piece of a spilled result. The index
// stores for each passage its location in a file, its words and a filter of its pairs of words, and
// no text. Excerpts are read from the transcripts.
package search

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/clewdev/clew/search/internal/sqlite"
	"github.com/clewdev/clew/sessions"
)

// An Index is a file that lists which passages have which words.
type Index struct {
	// Path is the path of the file. The file and its directory are created if they don't exist.
	Path string
	// Progress is called now and then, by one goroutine at a time, with the number of bytes of
	// transcripts that were read, and the number to read. It may be nil.
	Progress func(done, total int64)
	// Note is called with a sentence when the index had to be rebuilt. It may be nil.
	Note func(text string)
}

// ErrBusy means that another process is writing the index. It is returned wrapped.
var ErrBusy = sqlite.ErrBusy

// Search updates the index for the files, which replace those that it had, and runs a query. It
// rebuilds a damaged index. The error is that of the context, an [ErrBusy], or the reason why the
// index can't be written. [Scan] works without an index.
func (x *Index) Search(ctx context.Context, files []sessions.File, q *Query) (*Result, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	if q.pattern != nil {
		return nil, errors.New("search: an index can't match a Pattern: use Scan")
	}
	if err := os.MkdirAll(filepath.Dir(x.Path), 0o700); err != nil {
		return nil, err
	}
	result, err := x.try(ctx, files, q)
	if !errors.Is(err, sqlite.ErrDamaged) && !errors.Is(err, errDamaged) {
		return result, err
	}
	switch {
	case x.Note == nil:
	case errors.Is(err, sqlite.ErrVersion):
		x.Note("the index is unfinished or of another version; rebuilding it")
	default:
		x.Note("the index is damaged; rebuilding it")
	}
	if err := sqlite.Remove(x.Path); err != nil {
		return nil, err
	}
	return x.try(ctx, files, q)
}

// try is like Search, and returns an error if the index is damaged.
func (x *Index) try(ctx context.Context, files []sessions.File, q *Query) (result *Result, err error) {
	db, err := sqlite.Open(ctx, x.Path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	known, unread, err := x.refresh(ctx, db, files)
	if err != nil {
		return nil, err
	}
	s := lookup{query: q, pairs: q.pairs(), db: db, reader: newReader(), states: map[int64]*state{}, unread: map[string]bool{}}
	defer s.fileCache.close()
	if result, err = s.search(ctx, byID(files, known)); err != nil {
		return nil, err
	}
	result.Unread = append(unread, result.Unread...)
	return result, nil
}

// refresh writes the changes of the files into the index, and returns the files in the index.
func (x *Index) refresh(
	ctx context.Context, db *sqlite.DB, files []sessions.File,
) (known map[string]sqlite.File, unread []error, err error) {
	if !db.New {
		known, err = db.Files(ctx)
		if err != nil || compare(files, known).empty() {
			return known, nil, err
		}
	}
	created := db.New
	unread, err = x.write(ctx, db, files)
	if err != nil && created && !errors.Is(err, ErrBusy) {
		return nil, nil, errors.Join(err, sqlite.Remove(x.Path))
	}
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return nil, nil, err
	}
	known, err = db.Files(ctx)
	return known, unread, err
}

func (x *Index) write(ctx context.Context, db *sqlite.DB, files []sessions.File) (unread []error, err error) {
	w, err := db.Write(ctx)
	if err != nil {
		return nil, err
	}
	defer w.Abandon()
	known, err := db.Files(context.WithoutCancel(ctx)) // another process may have written in between
	if err != nil {
		return nil, err
	}
	p := compare(files, known)
	if err := p.begin(context.WithoutCancel(ctx), db); err != nil {
		return nil, err
	}
	if unread, err = p.refresh(ctx, w, x.Progress); err != nil {
		return nil, err
	}
	return unread, w.Commit()
}

// byID returns the files by their ID in the index.
func byID(files []sessions.File, known map[string]sqlite.File) map[int64]*sessions.File {
	list := make(map[int64]*sessions.File, len(files))
	for i := range files {
		if f, ok := known[files[i].Path]; ok {
			list[f.ID] = &files[i]
		}
	}
	return list
}

// A lookup is one search in an index that is up to date.
type lookup struct {
	query     *Query
	pairs     []pair // of the query
	db        *sqlite.DB
	reader    *reader
	tokenizer tokenizer
	fileCache fileCache
	states    map[int64]*state
	unread    map[string]bool // by path
	faults    []error
}

// found are the passages of a segment that have all words.
type found struct {
	segment sqlite.Segment
	file    *sessions.File
	numbers []int
}

func (l *lookup) search(ctx context.Context, files map[int64]*sessions.File) (*Result, error) {
	if err := l.db.Read(ctx); err != nil {
		return nil, err
	}
	matched, err := l.match(ctx, files)
	if err != nil {
		return nil, err
	}
	q := l.query
	all := !q.Since.IsZero() || !q.Until.IsZero() // the time of each passage must be checked
	best := ranking{limit: q.Limit}
	rest := 0
	for i := range matched {
		m := &matched[i]
		if last := best.last(); !all && last != nil && m.segment.Newest < last.location.time {
			rest += len(m.numbers)
			continue
		}
		if err := l.segment(ctx, m, &best); err != nil {
			return nil, err
		}
	}
	return l.result(ctx, &best, rest)
}

// last returns the last candidate of a full ranking, or nil.
func (r *ranking) last() *candidate {
	if r.limit <= 0 || len(r.list) < r.limit {
		return nil
	}
	return r.list[0]
}

// match returns the segments that have passages with all words, the newest first.
func (l *lookup) match(ctx context.Context, files map[int64]*sessions.File) ([]found, error) {
	segments, err := l.db.Segments(ctx)
	if err != nil {
		return nil, err
	}
	numbers, err := l.db.Match(ctx, l.query.expression())
	if err != nil {
		return nil, err
	}
	var list []found
	for id, numbers := range numbers {
		segment, ok := segments[id]
		if !ok {
			return nil, fmt.Errorf("%w: segment %d is missing", sqlite.ErrDamaged, id)
		}
		late := l.query.Since.IsZero() || segment.Newest >= l.query.Since.UnixMilli()
		if file := files[segment.File]; file != nil && late && l.query.wantsFile(file) {
			list = append(list, found{segment, file, numbers})
		}
	}
	slices.SortFunc(list, func(a, b found) int {
		return cmp.Or(cmp.Compare(b.segment.Newest, a.segment.Newest), cmp.Compare(a.segment.ID, b.segment.ID))
	})
	return list, nil
}

// segment ranks the passages of a segment.
func (l *lookup) segment(ctx context.Context, m *found, best *ranking) error {
	data, err := l.db.Locations(ctx, m.segment.ID)
	if err != nil {
		return err
	}
	locations, err := decodeLocations(data)
	if err != nil {
		return err
	}
	filters, err := l.filters(ctx, m.segment.ID)
	if err != nil {
		return err
	}
	for _, n := range slices.Backward(m.numbers) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if n >= len(locations) || len(l.pairs) > 0 && n >= len(filters) {
			return errDamaged
		}
		if len(l.pairs) > 0 && !filters[n].mayHave(l.pairs) {
			continue
		}
		c := &candidate{file: m.file, id: m.segment.File, location: locations[n]}
		if !l.query.wantsLocation(&c.location) {
			continue
		}
		if !best.wants(c) {
			best.total++
		} else if l.check(c) {
			best.add(c)
		}
	}
	return nil
}

// filters returns the filters of a segment, or nil if the query does not need them.
func (l *lookup) filters(ctx context.Context, segment int64) ([]pairFilter, error) {
	if len(l.pairs) == 0 {
		return nil, nil
	}
	data, err := l.db.Filters(ctx, segment)
	if err != nil {
		return nil, err
	}
	return decodeFilters(data)
}

// check reads the passage, and reports whether it matches the query.
func (l *lookup) check(c *candidate) bool {
	file, err := l.fileCache.open(c.file.Path)
	if err != nil {
		l.missed(c.file.Path, err)
		return false
	}
	text, ok := l.reader.text(file, &c.location, c.file.Spill)
	return ok && c.take(text, l.query.find(&l.tokenizer, text))
}

// missed records that a file can't be read. A file that no longer exists has no passages, which is
// not an error.
func (l *lookup) missed(path string, err error) {
	if !errors.Is(err, os.ErrNotExist) && !l.unread[path] {
		l.unread[path] = true
		l.faults = append(l.faults, err)
	}
}

func (l *lookup) state(ctx context.Context, file int64) (*state, error) {
	if s, ok := l.states[file]; ok {
		return s, nil
	}
	data, err := l.db.State(ctx, file)
	if err != nil {
		return nil, err
	}
	s := new(state)
	if json.Unmarshal(data, s) != nil {
		return nil, errDamaged
	}
	l.states[file] = s
	return s, nil
}

func (l *lookup) result(ctx context.Context, best *ranking, rest int) (*Result, error) {
	more := rest + best.total - len(best.list)
	result := &Result{More: more, AtMost: more > 0 && !l.query.exact(), Unread: l.faults}
	var turns turnCounter
	for _, c := range best.sorted() {
		var err error
		if c.state, err = l.state(ctx, c.id); err != nil {
			return nil, err
		}
		result.Hits = append(result.Hits, c.hit(ctx, &turns))
	}
	return result, ctx.Err()
}
