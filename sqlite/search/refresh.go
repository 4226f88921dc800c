package search

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/sqlite/search/internal/sqlite"
)

const (
	// segmentPassages is the most passages of a segment, and segmentBytes roughly the most bytes of
	// words.
	segmentPassages = 4096
	segmentBytes    = 4 << 20
)

// A change is a file that changed since the index was written.
type change struct {
	file  *sessions.File
	known sqlite.File // the zero value if it is not in the index
	state state
	stale bool // the index has passages of it that must be removed
}

// A plan is the work to update the index.
type plan struct {
	changes []change
	gone    []int64
	bytes   int64
	// before and later are the bytes of the steps before and after this one.
	before, later int64
}

func (p *plan) empty() bool { return len(p.changes)+len(p.gone) == 0 }

// compare returns the changes since the index was written.
func compare(files []sessions.File, known map[string]sqlite.File) *plan {
	p := new(plan)
	there := make(map[string]bool, len(files))
	for i := range files {
		f := &files[i]
		there[f.Path] = true
		old, ok := known[f.Path]
		if ok && old.Size == f.Info.Size() && old.Modified == f.Info.ModTime().UnixNano() && old.Inode == inode(f.Info) {
			continue
		}
		p.changes = append(p.changes, change{file: f, known: old})
	}
	for path, old := range known {
		if !there[path] {
			p.gone = append(p.gone, old.ID)
		}
	}
	// The longest first, so that no goroutine has a long one left at the end.
	slices.SortFunc(p.changes, func(a, b change) int {
		return cmp.Or(cmp.Compare(b.file.Info.Size(), a.file.Info.Size()), cmp.Compare(a.file.Path, b.file.Path))
	})
	return p
}

// firstStep is the size of the transcripts that are read in the first step, and maxStep in one of the
// last. Each step is twice as large as the one before: others can soon search what is new, and the end of
// a step has a cost.
const (
	firstStep = 8 << 20
	maxStep   = 96 << 20
)

// steps divides an update.
type steps struct {
	size  int64           // of the next one
	tried map[string]bool // the paths of the files of earlier steps: some can't be read
	done  int64           // bytes of these
}

// next leaves the newest changes of a plan for one step, and reports whether there are more.
func (s *steps) next(p *plan) (more bool) {
	p.changes = slices.DeleteFunc(p.changes, func(c change) bool { return s.tried[c.file.Path] })
	newest := slices.Clone(p.changes)
	slices.SortStableFunc(newest, func(a, b change) int { return b.file.Info.ModTime().Compare(a.file.Info.ModTime()) })
	var size int64
	for i := range newest {
		f := newest[i].file
		if size < s.size {
			s.tried[f.Path] = true
		} else {
			p.later += f.Info.Size()
		}
		size += f.Info.Size()
	}
	s.size = min(2*s.size, maxStep)
	before := len(p.changes)
	p.changes = slices.DeleteFunc(p.changes, func(c change) bool { return !s.tried[c.file.Path] })
	return len(p.changes) < before
}

// started counts the bytes of a step.
func (s *steps) started(p *plan) {
	p.before = s.done
	s.done += p.bytes
}

// begin finds out where to start reading each file.
func (p *plan) begin(ctx context.Context, db *sqlite.DB) error {
	for i := range p.changes {
		c := &p.changes[i]
		if c.known.ID != 0 {
			if err := c.resume(ctx, db); err != nil {
				return err
			}
		}
		p.bytes += max(0, c.file.Info.Size()-c.state.Offset)
	}
	return nil
}

// resume finds out whether the file was only appended to.
func (c *change) resume(ctx context.Context, db *sqlite.DB) error {
	data, spills, err := db.State(ctx, c.known.ID)
	if err != nil {
		return err
	}
	if json.Unmarshal(data, &c.state) != nil {
		return errDamaged
	}
	if c.state.Spills, err = decodeSpills(spills); err != nil {
		return err
	}
	if c.stale = !c.appended(); c.stale {
		c.state = state{}
	}
	return nil
}

func (c *change) appended() bool {
	size := c.file.Info.Size()
	if c.file.Spill || c.state.Rest || c.known.Inode != inode(c.file.Info) || size <= c.known.Size || size < c.state.Offset {
		return false
	}
	file, err := os.Open(c.file.Path)
	if err != nil {
		return false
	}
	defer file.Close()
	sum, err := checksum(file, c.state.Offset)
	return err == nil && sum == c.state.Checksum
}

// A batch has passages of a file that are ready to be written, or the end of a file.
type batch struct {
	change    *change
	first     bool // of the file
	locations []location
	words     [][]byte
	pairs     []pairFilter
	fresh     []string // see wordSet
	size      int      // of the words
	end       bool
	err       error // the file could not be read to its end
}

// refresh writes the changes into the index: other goroutines read, and this one writes. If the
// context ends, files that were read completely are kept.
func (p *plan) refresh(ctx context.Context, w *sqlite.Writer, progress func(done, total int64)) (unread []error, err error) {
	for _, file := range p.gone {
		if err := w.Drop(file); err != nil {
			return nil, err
		}
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	batches := p.start(ctx, progress)
	fresh := map[string]bool{}
	for b := range batches {
		for _, word := range b.fresh {
			fresh[word] = true
		}
		if err == nil && b.err != nil {
			unread = append(unread, b.err)
		}
		if err == nil {
			if err = b.write(w); err != nil {
				stop() // ends the goroutines
			}
		}
	}
	if err == nil {
		err = addVocabulary(w, fresh)
	}
	return unread, err
}

// addVocabulary adds words to the vocabulary of the index.
func addVocabulary(w *sqlite.Writer, words map[string]bool) error {
	byKey := map[string][]string{}
	for word := range words {
		key := formKey(word)
		byKey[key] = append(byKey[key], word)
	}
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		if err := w.AddVocabulary(key, byKey[key]); err != nil {
			return err
		}
	}
	return nil
}

// start starts goroutines that read the files. The channel is closed when all end.
func (p *plan) start(ctx context.Context, progress func(done, total int64)) <-chan *batch {
	batches := make(chan *batch, 2)
	var next, done atomic.Int64
	var reporting sync.Mutex
	report := func(n int) {
		if sum := done.Add(int64(n)); progress != nil && reporting.TryLock() {
			progress(p.before+min(sum, p.bytes), p.before+p.bytes+p.later)
			reporting.Unlock()
		}
	}
	var group sync.WaitGroup
	for range min(max(runtime.GOMAXPROCS(0), 2), len(p.changes)) {
		group.Go(func() {
			b := &batcher{out: batches, reader: newReader()}
			b.collects = true
			b.reader.progress = report
			for i := int(next.Add(1)) - 1; i < len(p.changes) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				b.read(ctx, &p.changes[i])
			}
		})
	}
	go func() {
		group.Wait()
		close(batches)
	}()
	return batches
}

// A batcher reads files into batches.
type batcher struct {
	out    chan<- *batch
	reader *reader
	wordSet
	batch *batch
}

// read reads one file. If the context ends before the end of the file, the last batch has an error,
// and nothing of the file is kept.
func (b *batcher) read(ctx context.Context, c *change) {
	b.batch = &batch{change: c, first: true}
	err := b.reader.read(ctx, c.file, &c.state, func(p *location, text string) error {
		words := bytes.Clone(b.of(text, b.marks(c.file, p)...))
		p.words = int64(b.total)
		b.batch.locations = append(b.batch.locations, *p)
		b.batch.words, b.batch.size = append(b.batch.words, words), b.batch.size+len(words)
		b.batch.pairs = append(b.batch.pairs, newPairFilter(b.wordSet.pairs.list))
		if len(b.batch.locations) == segmentPassages || b.batch.size > segmentBytes {
			b.send()
			b.batch = &batch{change: c}
		}
		return ctx.Err()
	})
	if err == nil && c.state.Rewound && c.file.AgentID == "" {
		c.state.Runs = encodeTurns(readTurns(ctx, c.file))
		err = ctx.Err()
	}
	b.batch.end, b.batch.err = true, err
	b.send()
}

// send passes the batch on, with the words that are new since the last one.
func (b *batcher) send() {
	b.batch.fresh, b.fresh = b.fresh, nil
	b.out <- b.batch
}

// marks returns the words for the known properties of a passage.
func (b *batcher) marks(f *sessions.File, p *location) []string {
	if f.Spill {
		return append(marks(p.role, p.source, ""), spillMark)
	}
	return marks(p.role, p.source, p.tool)
}

// write writes a batch. A file without its last batch counts as changed, and is read again.
func (b *batch) write(w *sqlite.Writer) error {
	c := b.change
	if b.first {
		if c.stale {
			if err := w.Empty(c.known.ID); err != nil {
				return err
			}
		}
		if c.known.ID == 0 {
			id, err := w.Put(&sqlite.File{Path: c.file.Path, State: []byte("{}")})
			if err != nil {
				return err
			}
			c.known.ID = id
		}
	}
	if len(b.locations) > 0 {
		newest := slices.MaxFunc(b.locations, func(a, b location) int { return cmp.Compare(a.time, b.time) }).time
		content := &sqlite.Content{Locations: encodeLocations(b.locations), Filters: encodeFilters(b.pairs), Words: b.words}
		for i := range b.locations {
			content.Said = append(content.Said, b.locations[i].source == Said)
		}
		if err := w.Add(sqlite.Segment{File: c.known.ID, Newest: newest}, content); err != nil {
			return err
		}
	}
	if !b.end {
		return nil
	}
	if b.err != nil {
		return c.forget(w, b.err)
	}
	return c.keep(w)
}

// unreadSize is the size of a file in the index that was not read to its end. It has the time of the
// file if that was not possible, and none if there was no time for it.
const unreadSize = -1

// forget marks the file in the index, so that it is read again. cause is why it could not be read.
func (c *change) forget(w *sqlite.Writer, cause error) error {
	if err := w.Empty(c.known.ID); err != nil {
		return err
	}
	file := &sqlite.File{ID: c.known.ID, Path: c.file.Path, Size: unreadSize, State: []byte("{}")}
	if !errors.Is(cause, context.Canceled) && !errors.Is(cause, context.DeadlineExceeded) {
		file.Modified = c.file.Info.ModTime().UnixNano()
	}
	_, err := w.Put(file)
	return err
}

// unreadable reports whether the file could not be read for the index, and did not change since.
func (c *change) unreadable() bool {
	return c.known.Size == unreadSize && c.known.Modified == c.file.Info.ModTime().UnixNano()
}

func (c *change) keep(w *sqlite.Writer) error {
	state, err := json.Marshal(&c.state)
	if err != nil {
		return err
	}
	spills, err := encodeSpills(c.state.Spills)
	if err != nil {
		return err
	}
	info := c.file.Info
	_, err = w.Put(&sqlite.File{
		ID: c.known.ID, Path: c.file.Path, Inode: inode(info), Size: info.Size(), Modified: info.ModTime().UnixNano(),
		State: state, Spills: spills,
	})
	return err
}
