// Package search finds words in transcripts. It searches prompts, answers, thinking, and the inputs
// and tool results, by reading the files ([Scan]) or with an index of them ([Index]). Both have the
// same results.
//
//	q, err := search.Parse("slow login page")
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
//
// # The index
//
// The index is SQLite's FTS5 without the texts, at some 8 % of the size of the transcripts. No
// secret is kept twice. Files are identified by inode, size, time and how far they were read, so
// that only appended lines are read again. An index that is damaged, or of another version, is
// deleted and rebuilt; a second file has its checksum, since SQLite does not notice all damage.
// Long results in separate files are linked to their calls when a search needs them, since either
// file may be read first.
//
// A query by [Parse] finds turns. The index lists the words that there are, so that other forms of
// a word and longer words are looked up when a query has it: the index has no stems, and words stay
// exact where they have to. A turn has the best of its passages for each word.
//
// The order of results is a score that is the same with and without an index: see [Hit.Score]. The
// rank of FTS5 (bm25) would only count lengths, since the index has each word once. Only the best
// 256 texts by everything else are read to measure how close the words are.
package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/sqlite/search/internal/sqlite"
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

	steps     *steps // of an Update, after each of which others can search
	firstStep int64  // see firstStep
}

// ErrBusy means that another process is writing the index. It is returned wrapped.
var ErrBusy = sqlite.ErrBusy

// Search updates the index for the files, which replace its earlier ones, and runs a query. It
// rebuilds a damaged index. The error is the context's error, an [ErrBusy], or the reason why the
// index can't be written. [Scan] works without an index.
func (x *Index) Search(ctx context.Context, files []sessions.File, q *Query) (*Result, error) {
	if err := q.checkIndexed(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(x.Path), 0o700); err != nil {
		return nil, err
	}
	var result *Result
	err := x.repaired(func() (err error) {
		result, err = x.try(ctx, files, q)
		return err
	})
	if err != nil {
		return nil, err
	}
	return result, nil
}

// Update updates the index for the files, which replace its earlier ones, like [Index.Search]. It
// returns the errors of files that could not be read, and an error as from Search. The newest files come
// first, and [Index.Lookup] finds what was read so far.
func (x *Index) Update(ctx context.Context, files []sessions.File) (unread []error, err error) {
	if err := os.MkdirAll(filepath.Dir(x.Path), 0o700); err != nil {
		return nil, err
	}
	err = x.repaired(func() (err error) {
		db, err := sqlite.Open(ctx, x.Path)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		stepwise := *x
		stepwise.steps = &steps{size: cmp.Or(x.firstStep, firstStep), tried: map[string]bool{}}
		_, unread, err = stepwise.refresh(ctx, db, files)
		return err
	})
	return unread, err
}

// Lookup runs a query on the index as it is, so that nobody waits for new content in the files. It
// finds passages of these files only. [Result.Outdated] lists the files that changed since the
// index was updated. Files that could not be read then are in [Result.Unread] instead. The error
// wraps [fs.ErrNotExist] if there is no index yet. A damaged index is an error as well, and
// [Index.Update] rebuilds it.
func (x *Index) Lookup(ctx context.Context, files []sessions.File, q *Query) (result *Result, err error) {
	if err := q.checkIndexed(); err != nil {
		return nil, err
	}
	info, err := os.Stat(x.Path)
	if err != nil {
		return nil, err
	}
	db, err := sqlite.Open(ctx, x.Path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if db.New {
		return nil, &fs.PathError{Op: "search", Path: x.Path, Err: fs.ErrNotExist}
	}
	known, err := db.Files(ctx)
	if err != nil {
		return nil, err
	}
	s := newLookup(q, db, byID(files, known))
	defer s.fileCache.close()
	if result, err = s.search(ctx); err != nil {
		return nil, err
	}
	result.Updated = info.ModTime()
	p := compare(files, known)
	p.changes = slices.DeleteFunc(p.changes, func(c change) bool {
		if c.unreadable() {
			result.Unread = append(result.Unread, fmt.Errorf("search: %s could not be read when the index was updated", c.file.Path))
		}
		return c.unreadable()
	})
	for i := range p.changes {
		result.Outdated = append(result.Outdated, p.changes[i].file)
	}
	if err := p.begin(ctx, db); err != nil {
		return nil, err
	}
	result.OutdatedBytes = p.bytes
	return result, nil
}

// repaired runs a function, and runs it once more after it returns that the index is damaged, and
// the index was removed.
func (x *Index) repaired(run func() error) error {
	err := run()
	if !errors.Is(err, sqlite.ErrDamaged) && !errors.Is(err, errDamaged) {
		return err
	}
	switch {
	case x.Note == nil:
	case errors.Is(err, sqlite.ErrVersion):
		x.Note("the index is unfinished or of another version; rebuilding it")
	default:
		x.Note("the index is damaged; rebuilding it")
	}
	if err := sqlite.Remove(x.Path); err != nil {
		return err
	}
	return run()
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
	s := newLookup(q, db, byID(files, known))
	defer s.fileCache.close()
	if result, err = s.search(ctx); err != nil {
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
	for more := true; more; {
		created := db.New
		var list []error
		list, more, err = x.write(ctx, db, files)
		if err != nil && created && !errors.Is(err, ErrBusy) {
			return nil, nil, errors.Join(err, sqlite.Remove(x.Path))
		}
		if unread = append(unread, list...); cmp.Or(err, ctx.Err()) != nil {
			return nil, nil, cmp.Or(err, ctx.Err())
		}
	}
	known, err = db.Files(ctx)
	return known, unread, err
}

// write writes the changes of the files, or a part of them. It reports whether there are more.
func (x *Index) write(ctx context.Context, db *sqlite.DB, files []sessions.File) (unread []error, more bool, err error) {
	w, err := db.Write(ctx)
	if err != nil {
		return nil, false, err
	}
	defer w.Abandon()
	known, err := db.Files(context.WithoutCancel(ctx)) // another process may have written in between
	if err != nil {
		return nil, false, err
	}
	p := compare(files, known)
	if x.steps != nil {
		more = x.steps.next(p)
	}
	if err := p.begin(context.WithoutCancel(ctx), db); err != nil {
		return nil, false, err
	}
	if x.steps != nil {
		x.steps.started(p)
	}
	if unread, err = p.refresh(ctx, w, x.Progress); err != nil {
		return nil, false, err
	}
	return unread, more, w.Commit()
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
