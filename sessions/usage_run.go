package sessions

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/clewdev/clew/transcript"
)

// readFolders reads folders of files with several goroutines.
func (r *UsageReport) readFolders(ctx context.Context, opts *UsageOptions, where places) error {
	run := &usageRun{report: r, progress: opts.Progress}
	defer run.close()
	for _, p := range where {
		if err := run.list(ctx, p); err != nil {
			return err
		}
	}
	workers := make([]usageWorker, min(runtime.GOMAXPROCS(0), len(run.parts)))
	var group sync.WaitGroup
	for i := range workers {
		workers[i].run = run
		group.Go(func() { workers[i].work(ctx) })
	}
	group.Wait()
	for i := range workers {
		r.Tally.Merge(&workers[i].tally)
		r.CostStates = append(r.CostStates, workers[i].states...)
	}
	run.numberLines()
	return ctx.Err()
}

// A usageRun is the work that usageWorkers share.
type usageRun struct {
	report   *UsageReport
	progress func(done, total int64)
	parts    []usagePart
	roots    []*os.Root
	next     atomic.Int64 // the index of the next part
	total    int64
	large    sync.Mutex // held by the one worker that has a large line in memory

	mu       sync.Mutex // guards what follows, and the report
	done     int64
	badParts []int // the parts of the bad lines in the report
}

func (run *usageRun) close() {
	for _, root := range run.roots {
		_ = root.Close()
	}
}

// finish takes note of how a part went.
func (run *usageRun) finish(p *usagePart, err error) {
	run.mu.Lock()
	defer run.mu.Unlock()
	if err != nil {
		run.report.Unread = append(run.report.Unread, err)
	}
	run.done += p.end - p.start
	if run.progress != nil {
		run.progress(run.done, run.total)
	}
}

// bad takes note of a bad line of a part. Its number is that inside of the part, until all parts are read.
func (run *usageRun) bad(part int, l BadLine) {
	l.Path = run.parts[part].path()
	run.mu.Lock()
	defer run.mu.Unlock()
	if run.report.bad(l) {
		run.badParts = append(run.badParts, part)
	}
}

// A usageWorker reads parts of transcripts.
type usageWorker struct {
	run     *usageRun
	tally   transcript.Tally
	states  []transcript.CostState
	decoder transcript.CallDecoder
	reader  partReader
}

func (w *usageWorker) work(ctx context.Context) {
	w.reader.large, w.reader.max = &w.run.large, maxEntry
	for ctx.Err() == nil {
		i := int(w.run.next.Add(1) - 1)
		if i >= len(w.run.parts) {
			return
		}
		w.run.finish(&w.run.parts[i], w.read(ctx, i))
	}
}

// read adds up a part.
func (w *usageWorker) read(ctx context.Context, part int) error {
	p := &w.run.parts[part]
	file, err := p.open()
	if err != nil {
		return err
	}
	defer file.Close()
	defer w.reader.release()
	if p.start > 0 {
		p.findBegin(file)
	}
	w.reader.reset(&endingReader{ctx, file}, p.start, p.end)
	for ctx.Err() == nil && w.reader.next() {
		if err := w.line(p); err != nil {
			w.run.bad(part, BadLine{Line: w.reader.line, Offset: w.reader.offset, Torn: !w.reader.ended, Err: err})
		}
	}
	p.lines = w.reader.line
	return p.fault(w.reader.err)
}

// An endingReader reads until its context ends, in the middle of a line, too: a crash can leave gigabytes of NUL bytes.
type endingReader struct {
	ctx context.Context
	io.ReaderAt
}

// ReadAt returns the error of the context once that has ended.
func (r *endingReader) ReadAt(p []byte, at int64) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.ReaderAt.ReadAt(p, at)
}

// line adds up the line that was read. NUL bytes in it, which a crash has left, are the end of one entry and come before
// the next.
func (w *usageWorker) line(p *usagePart) error {
	if w.reader.long {
		return errTooLong
	}
	if w.reader.blank() {
		return nil
	}
	err := w.entry(p, w.reader.text)
	if err == nil || bytes.IndexByte(w.reader.text, 0) < 0 {
		return err
	}
	err = nil
	for piece := range bytes.SplitSeq(w.reader.text, []byte{0}) {
		if len(bytes.TrimSpace(piece)) > 0 {
			err = cmp.Or(err, w.entry(p, piece))
		}
	}
	return err
}

func (w *usageWorker) entry(p *usagePart, text []byte) error {
	p.begin(text)
	c, ok, err := w.decoder.Decode(text)
	if ok {
		w.tally.Add(p.place(c))
	} else if state, ok := costStateOf(text, &w.decoder); ok {
		w.states = append(w.states, state)
	}
	return err
}
