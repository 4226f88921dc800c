// Package index finds words in transcripts: in prompts, answers, thinking, and in
// the inputs and results of tools. It reads the files themselves ([Scan]), or asks
// an index of them ([Index]), which has the same results.
package index

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/clewdev/clew/internal/index/sqlite"
	"github.com/clewdev/clew/sessions"
)

// An Index is a file that knows which passages have which words. It has no text:
// that is read from the transcripts.
type Index struct {
	// Path is that of the file. It is made, with its folder, if it is not there.
	Path string
	// Progress is called now and then, by one goroutine at a time, with how many
	// bytes of transcripts were read, and how many there are to read. It may be nil.
	Progress func(done, total int64)
	// Note is told what was noticed and put right. It may be nil.
	Note func(text string)
}

// ErrBusy says that another process writes the index. It comes wrapped.
var ErrBusy = sqlite.ErrBusy

// Search brings the index up to date with the files, which are all that it is to
// know of, and finds what a query asks for. A damaged index is built anew. The
// error is that of the context, an [ErrBusy], or says why the index can't be
// written: [Scan] does without it.
func (x *Index) Search(ctx context.Context, files []sessions.File, q *Query) (*Result, error) {
	if q.pattern != nil {
		return nil, errors.New("index: an index has no texts to match a pattern with")
	}
	if err := os.MkdirAll(filepath.Dir(x.Path), 0o700); err != nil {
		return nil, err
	}
	result, err := x.try(ctx, files, q)
	if !errors.Is(err, sqlite.ErrDamaged) && !errors.Is(err, errPlaces) {
		return result, err
	}
	switch {
	case x.Note == nil:
	case errors.Is(err, sqlite.ErrVersion):
		x.Note("the index is unfinished or of another version; it is built anew")
	default:
		x.Note("the index is damaged; it is built anew")
	}
	if err := sqlite.Remove(x.Path); err != nil {
		return nil, err
	}
	return x.try(ctx, files, q)
}

// try is Search for an index that is not damaged.
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
	defer s.shelf.close()
	if result, err = s.search(ctx, byID(files, known)); err != nil {
		return nil, err
	}
	result.Unread = append(unread, result.Unread...)
	return result, nil
}

// refresh writes what has changed into the index, and returns the files that it
// knows then.
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

// byID returns the files by the ID that they have in the index.
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
	query  *Query
	pairs  []pair // of the query
	db     *sqlite.DB
	reader *reader
	cutter cutter
	shelf  shelf
	states map[int64]*state
	unread map[string]bool // by path
	faults []error
}

// found are the passages of a part that have all words.
type found struct {
	part    sqlite.Part
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
	all := !q.Since.IsZero() || !q.Until.IsZero() // each time has to be looked at
	best := ranking{limit: q.Limit}
	rest := 0
	for i := range matched {
		m := &matched[i]
		if last := best.last(); !all && last != nil && m.part.Newest < last.place.time {
			rest += len(m.numbers)
			continue
		}
		if err := l.part(ctx, m, &best); err != nil {
			return nil, err
		}
	}
	return l.result(ctx, &best, rest)
}

// last returns the last one of a ranking that is full.
func (r *ranking) last() *candidate {
	if r.limit <= 0 || len(r.list) < r.limit {
		return nil
	}
	return r.list[0]
}

// match returns the parts that have passages with all words, the newest first.
func (l *lookup) match(ctx context.Context, files map[int64]*sessions.File) ([]found, error) {
	parts, err := l.db.Parts(ctx)
	if err != nil {
		return nil, err
	}
	numbers, err := l.db.Match(ctx, l.query.expression())
	if err != nil {
		return nil, err
	}
	var list []found
	for id, numbers := range numbers {
		part, ok := parts[id]
		if !ok {
			return nil, fmt.Errorf("%w: there is no part %d", sqlite.ErrDamaged, id)
		}
		late := l.query.Since.IsZero() || part.Newest >= l.query.Since.UnixMilli()
		if file := files[part.File]; file != nil && late && l.query.wantsFile(file) {
			list = append(list, found{part, file, numbers})
		}
	}
	slices.SortFunc(list, func(a, b found) int {
		return cmp.Or(cmp.Compare(b.part.Newest, a.part.Newest), cmp.Compare(a.part.ID, b.part.ID))
	})
	return list, nil
}

// part ranks the passages of a part.
func (l *lookup) part(ctx context.Context, m *found, best *ranking) error {
	data, err := l.db.Places(ctx, m.part.ID)
	if err != nil {
		return err
	}
	places, err := decodePlaces(data)
	if err != nil {
		return err
	}
	filters, err := l.filters(ctx, m.part.ID)
	if err != nil {
		return err
	}
	for _, n := range slices.Backward(m.numbers) {
		if n >= len(places) || len(l.pairs) > 0 && n >= len(filters) {
			return errPlaces
		}
		if len(l.pairs) > 0 && !filters[n].mayHave(l.pairs) {
			continue
		}
		c := &candidate{file: m.file, id: m.part.File, place: places[n]}
		if !l.query.wantsPlace(&c.place) {
			continue
		}
		if !best.wants(c) {
			best.total++
		} else if l.check(c) {
			best.add(c)
		}
	}
	return ctx.Err()
}

// filters returns the filters of a part, or nil if the query has no use for them.
func (l *lookup) filters(ctx context.Context, part int64) ([]pairFilter, error) {
	if len(l.pairs) == 0 {
		return nil, nil
	}
	data, err := l.db.Filters(ctx, part)
	if err != nil {
		return nil, err
	}
	return decodeFilters(data)
}

// check reads the passage, and reports whether it has what is looked for.
func (l *lookup) check(c *candidate) bool {
	file, err := l.shelf.open(c.file.Path)
	if err != nil {
		l.missed(c.file.Path, err)
		return false
	}
	text, ok := l.reader.text(file, &c.place, c.file.Spill)
	return ok && c.take(text, l.query.find(&l.cutter, text))
}

// missed notes that a file can't be read any more. One that is gone has no passages.
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
		return nil, errPlaces
	}
	l.states[file] = s
	return s, nil
}

func (l *lookup) result(ctx context.Context, best *ranking, rest int) (*Result, error) {
	more := rest + best.total - len(best.list)
	result := &Result{More: more, AtMost: more > 0 && !l.query.exact(), Unread: l.faults}
	for _, c := range best.sorted() {
		var err error
		if c.state, err = l.state(ctx, c.id); err != nil {
			return nil, err
		}
		result.Hits = append(result.Hits, c.hit())
	}
	return result, ctx.Err()
}
