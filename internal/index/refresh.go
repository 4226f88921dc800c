package index

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/clewdev/clew/internal/index/sqlite"
	"github.com/clewdev/clew/sessions"
)

const (
	// partPlaces is how many passages a part of the index has at most, and partBytes
	// how many bytes of words, more or less.
	partPlaces = 4096
	partBytes  = 4 << 20
)

// A change is a file that is not in the index as it is on disk.
type change struct {
	file  *sessions.File
	known sqlite.File // the zero value if it is not in the index at all
	state state
	anew  bool // what the index has of it is of no use
}

// A plan is what makes the index one of the files on disk.
type plan struct {
	changes []change
	gone    []int64
	bytes   int64
}

func (p *plan) empty() bool { return len(p.changes)+len(p.gone) == 0 }

// compare returns what has changed since the index was written.
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

// begin finds out from where on each file is to be read.
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
	data, err := db.State(ctx, c.known.ID)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, &c.state); err != nil {
		return errPlaces
	}
	if c.anew = !c.appended(); c.anew {
		c.state = state{}
	}
	return nil
}

func (c *change) appended() bool {
	size := c.file.Info.Size()
	if c.file.Spill || c.known.Inode != inode(c.file.Info) || size <= c.known.Size || size < c.state.Offset {
		return false
	}
	file, err := os.Open(c.file.Path)
	if err != nil {
		return false
	}
	defer file.Close()
	sum, err := guard(file, c.state.Offset)
	return err == nil && sum == c.state.Guard
}

// A batch is a part of a file that is ready to be written, or the end of one.
type batch struct {
	change *change
	first  bool // of the file
	places []place
	words  [][]byte
	pairs  []pairFilter
	size   int // of the words
	end    bool
	err    error // the file could not be read to its end
}

// refresh writes the changes into the index: goroutines read, and this one
// writes. If the context ends, what was read whole is kept.
func (p *plan) refresh(ctx context.Context, w *sqlite.Writer, progress func(done, total int64)) (unread []error, err error) {
	for _, file := range p.gone {
		if err := w.Drop(file); err != nil {
			return nil, err
		}
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	batches := p.start(ctx, progress)
	for b := range batches {
		if err == nil && b.err != nil {
			unread = append(unread, b.err)
		}
		if err == nil {
			if err = b.write(w); err != nil {
				stop() // and let the goroutines end
			}
		}
	}
	return unread, err
}

// start has goroutines read the files. The channel is closed when all are done.
func (p *plan) start(ctx context.Context, progress func(done, total int64)) <-chan *batch {
	batches := make(chan *batch, 2)
	var next, done atomic.Int64
	var telling sync.Mutex
	tell := func(n int) {
		if sum := done.Add(int64(n)); progress != nil && telling.TryLock() {
			progress(min(sum, p.bytes), p.bytes)
			telling.Unlock()
		}
	}
	var group sync.WaitGroup
	for range min(max(runtime.GOMAXPROCS(0), 2), len(p.changes)) {
		group.Go(func() {
			b := &batcher{out: batches, reader: newReader()}
			b.reader.progress = tell
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

// A batcher makes batches of files.
type batcher struct {
	out    chan<- *batch
	reader *reader
	vocabulary
	batch *batch
}

// read reads one file. If the context ends in the middle of it, its state is that
// of the last batch that was handed out: none.
func (b *batcher) read(ctx context.Context, c *change) {
	b.batch = &batch{change: c, first: true}
	err := b.reader.read(ctx, c.file, &c.state, func(p *place, text string) error {
		b.batch.places = append(b.batch.places, *p)
		words := bytes.Clone(b.of(text, marks(p.role, p.tool)...))
		b.batch.words, b.batch.size = append(b.batch.words, words), b.batch.size+len(words)
		b.batch.pairs = append(b.batch.pairs, newPairFilter(b.vocabulary.pairs.list))
		if len(b.batch.places) == partPlaces || b.batch.size > partBytes {
			b.out <- b.batch
			b.batch = &batch{change: c}
		}
		return ctx.Err()
	})
	b.batch.end, b.batch.err = true, err
	b.out <- b.batch
}

// write writes a batch. A file whose end has not come counts as one that has
// changed since: it is read anew.
func (b *batch) write(w *sqlite.Writer) error {
	c := b.change
	if b.first {
		if c.anew {
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
	if len(b.places) > 0 {
		newest := slices.MaxFunc(b.places, func(a, b place) int { return cmp.Compare(a.time, b.time) }).time
		content := &sqlite.Content{Places: encodePlaces(b.places), Filters: encodeFilters(b.pairs), Words: b.words}
		if err := w.Add(sqlite.Part{File: c.known.ID, Newest: newest}, content); err != nil {
			return err
		}
	}
	if !b.end {
		return nil
	}
	if b.err != nil {
		return c.forget(w)
	}
	return c.keep(w)
}

// forget leaves the file in the index as one that is to be read anew.
func (c *change) forget(w *sqlite.Writer) error {
	if err := w.Empty(c.known.ID); err != nil {
		return err
	}
	_, err := w.Put(&sqlite.File{ID: c.known.ID, Path: c.file.Path, Size: -1, State: []byte("{}")})
	return err
}

func (c *change) keep(w *sqlite.Writer) error {
	state, err := json.Marshal(&c.state)
	if err != nil {
		return err
	}
	info := c.file.Info
	_, err = w.Put(&sqlite.File{
		ID: c.known.ID, Path: c.file.Path, Inode: inode(info), Size: info.Size(), Modified: info.ModTime().UnixNano(), State: state,
	})
	return err
}
