package archive

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// SaveOptions configure a run of Save. Nil and the zero value mean all sessions of the agent's own
// files, under the name of this machine.
type SaveOptions struct {
	// Roots are the agents' directories. Empty means the result of sessions.Roots.
	Roots []string
	// Machine is the name under which the sessions are saved. Empty means [MachineName].
	Machine string
	// DryRun compares sizes and times, but reads no transcripts and writes nothing. The report then
	// has estimates: NewBytes is exact if files have only grown.
	DryRun bool
	// Progress is called after each session, from one goroutine at a time. Nil means that nothing
	// is called.
	Progress func(SaveProgress)

	batch int // for tests; 0 means maxBatch
}

// SaveProgress is the progress of a call to [Archive.Save].
type SaveProgress struct {
	Sessions, AllSessions int
	Bytes, AllBytes       int64 // of files that have changed
}

// A SaveReport is the report of a call to [Archive.Save].
type SaveReport struct {
	// Machine is the name under which the sessions were saved.
	Machine string
	// Sessions is the number of sessions that were found, New how many of them the archive did not
	// have, and Changed how many others changed.
	Sessions, New, Changed int
	// Bytes is the size of all files that were found. NewBytes is the number of new ones, and
	// Stored the number of bytes that were written for them, without manifests.
	Bytes, NewBytes, Stored int64
	// Blobs is the number of blobs that were written.
	Blobs int
	// Rewritten is the number of files that no longer started with the saved content. The archive
	// has both contents.
	Rewritten int
	// Copies is the number of sessions that another of the roots has in the same project, with a
	// transcript that is as long or longer. They are not saved.
	Copies int
	// Problems lists everything that could not be saved. It is saved later, when the reason is
	// gone.
	Problems []Problem
}

// savers is the number of sessions that are saved at once. Much of the time is spent waiting for
// the disk.
const savers = 8

// Save copies to the archive what is new in the agent's files. It may be called at any time, even
// while agents work: of a transcript that was just written to, it saves whole lines. If nothing is
// new it only looks at the sizes and times of files. If it fails or is interrupted, what it saved
// before stays saved. opts may be nil.
//
// A session or file that can't be read is among the problems of the report, and the others are
// saved. The error is for a target that can't be written to.
func (a *Archive) Save(ctx context.Context, opts *SaveOptions) (*SaveReport, error) {
	r := &saveRun{archive: a, now: time.Now().UTC()}
	if opts != nil {
		r.SaveOptions = *opts
	}
	if r.Machine == "" {
		r.Machine = MachineName()
	}
	r.report.Machine = r.Machine
	if err := CheckMachine(r.Machine); err != nil {
		return nil, err
	}
	roots, err := rootsOr(r.Roots)
	if err != nil {
		return nil, err
	}
	known, _, problems, err := a.load(ctx, r.Machine)
	if err != nil {
		return nil, err
	}
	live, copies, more := liveSessions(ctx, r.Machine, roots)
	r.report.Copies = copies
	r.report.Problems = slices.Concat(a.unsaved(problems, live), more)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.plan(live, known, problems)
	err = r.run(ctx)
	if err == nil && !r.DryRun {
		err = a.noteRun(ctx, r.Machine)
	}
	slices.SortFunc(r.report.Problems, func(a, b Problem) int { return strings.Compare(a.Where, b.Where) })
	return &r.report, err
}

// unsaved says of manifests that can't be read what becomes of their sessions.
func (a *Archive) unsaved(problems []Problem, live []*liveSession) []Problem {
	keys := map[string]Key{}
	for _, l := range live {
		keys[l.Key.String()] = l.Key
	}
	problems = slices.Clone(problems)
	for i := range problems {
		p := &problems[i]
		key, isLive := keys[p.Where]
		if !isLive {
			continue
		}
		what := "the manifest"
		if dir, ok := a.target.(*Dir); ok {
			what = dir.manifestPath(key)
		}
		text := "the session is not saved any more: move " + what + " away, and the next run saves all of it again"
		if errors.Is(p.Err, errNewer) {
			text = "the session is not saved by this version"
		}
		p.Err = fmt.Errorf("%w; %s", p.Err, text)
	}
	return problems
}

// noteRun keeps when a machine was last saved.
func (a *Archive) noteRun(ctx context.Context, machine string) error {
	key := Key{Machine: machine}
	before, err := a.target.Manifest(ctx, key)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	data, err := json.Marshal(machineRun{format, time.Now().UTC()})
	if err != nil {
		return err
	}
	if err := a.target.Swap(ctx, key, data, before.Revision); err != nil && !errors.Is(err, ErrChanged) {
		return err
	}
	return nil // if it has changed, another process has kept about the same time
}

// A saveRun is one call of Save.
type saveRun struct {
	SaveOptions
	archive *Archive
	now     time.Time
	jobs    []saveJob

	mu       sync.Mutex
	report   SaveReport
	progress SaveProgress
}

// A saveJob is a session of which something is new.
type saveJob struct {
	live  *liveSession
	known *Session // nil for a session that is new
	bytes int64    // of files that have changed
}

// plan finds the sessions that changed, by sizes and times.
func (r *saveRun) plan(live []*liveSession, known []*Session, unreadable []Problem) {
	byKey := map[Key]*Session{}
	for _, s := range known {
		byKey[s.Key] = s
	}
	damaged := map[string]bool{}
	for _, p := range unreadable {
		damaged[p.Where] = true
	}
	for _, l := range live {
		r.report.Sessions++
		job := saveJob{live: l, known: byKey[l.Key]}
		changed := false
		for i := range l.files {
			f := &l.files[i]
			r.report.Bytes += f.size
			if was := job.known.lookup(f.path); f.differs(was) {
				changed = true
				job.bytes += f.size
				if r.DryRun {
					r.report.NewBytes += f.growth(was)
				}
			}
		}
		// A manifest that can't be read is never replaced: somebody may be able to repair it.
		if !changed || damaged[l.Key.String()] {
			continue
		}
		r.jobs = append(r.jobs, job)
		r.progress.AllBytes += job.bytes
		if r.DryRun {
			r.count(job.known == nil)
		}
	}
	r.progress.AllSessions = len(r.jobs)
}

func (s *Session) lookup(path string) *File {
	if s == nil {
		return nil
	}
	return s.file(path)
}

// differs reports whether a file may have changed since it was saved.
func (f *liveFile) differs(saved *File) bool {
	return saved == nil || saved.Size != f.size || !saved.Modified.Equal(f.modified)
}

// growth returns how many bytes are new, if the file has only grown.
func (f *liveFile) growth(saved *File) int64 {
	if saved == nil || f.size < saved.Size {
		return f.size
	}
	return f.size - saved.Size
}

func (r *saveRun) count(isNew bool) {
	if isNew {
		r.report.New++
	} else {
		r.report.Changed++
	}
}

// run saves the sessions, several at a time. The first error of the target ends it, unless it is about
// one session.
func (r *saveRun) run(ctx context.Context) error {
	if r.DryRun {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	jobs := make(chan saveJob)
	var wg sync.WaitGroup
	for range min(savers, len(r.jobs)) {
		wg.Go(func() {
			for job := range jobs {
				if err := r.session(ctx, job); err != nil {
					cancel(err)
				}
			}
		})
	}
	for _, job := range r.jobs {
		if ctx.Err() != nil {
			break
		}
		jobs <- job
	}
	close(jobs)
	wg.Wait()
	return context.Cause(ctx)
}

// attempts limits the tries to save a session that another process saves at the same time.
const attempts = 10

// session saves one session. Errors that are only about this one become problems.
func (r *saveRun) session(ctx context.Context, job saveJob) error {
	for try := 1; ; try++ {
		w := &sessionWriter{ctx: ctx, run: r, job: job}
		err := w.save()
		isSaved := err == nil
		if errors.Is(err, ErrChanged) && try < attempts {
			var m Manifest
			if m, err = r.archive.target.Manifest(ctx, job.live.Key); err == nil {
				if job.known, err = decodeSession(m); err == nil {
					continue
				}
				err = &sessionFailure{err}
			}
		}
		failure, ok := errors.AsType[*sessionFailure](err)
		if ok || errors.Is(err, ErrChanged) {
			if ok {
				err = failure.error
			}
			w.problems = append(w.problems, Problem{job.live.Key.String(), err})
			err = nil
		}
		w.done(isSaved)
		return err
	}
}

// A sessionFailure is an error about one session, which does not end the run.
type sessionFailure struct{ error }

// A sessionWriter saves one session, once.
type sessionWriter struct {
	ctx      context.Context
	run      *saveRun
	job      saveJob
	next     *Session // what will be the manifest
	buf      []byte   // the frames of the next blob
	pending  []place  // of the segments in buf
	plain    []byte   // the segment at hand
	report   SaveReport
	problems []Problem
}

// A place is a segment in a file of the new manifest.
type place struct{ file, segment int }

// maxBatch is the size at which a blob is written, and a new one started.
const maxBatch = 4 << 20

func (w *sessionWriter) save() error {
	w.next = &Session{Format: format, Key: w.job.live.Key}
	if w.job.known != nil {
		w.next = w.job.known.clone()
	}
	for i := range w.job.live.files { // sorted by path, so that files before one in next.Files keep their index
		f := &w.job.live.files[i]
		if was := w.job.known.lookup(f.path); f.differs(was) {
			if err := w.file(f); err != nil {
				return err
			}
		}
	}
	if err := w.flush(); err != nil {
		return err
	}
	w.next.Saved = w.run.now
	data, err := w.next.encode()
	if err == nil && len(data) > maxManifest {
		err = fmt.Errorf("archive: its manifest would have %d bytes, more than %d: it has too many files or changes", len(data), maxManifest)
	}
	if err != nil {
		return &sessionFailure{err}
	}
	if w.job.known == nil && len(w.next.Files) == 0 { // nothing of it could be read
		return nil
	}
	return w.run.archive.target.Swap(w.ctx, w.next.Key, data, w.next.revision)
}

// done adds the figures of the session to the run's.
func (w *sessionWriter) done(saved bool) {
	r := w.run
	r.mu.Lock()
	defer r.mu.Unlock()
	if saved {
		r.count(w.job.known == nil)
		r.report.NewBytes += w.report.NewBytes
		r.report.Rewritten += w.report.Rewritten
	}
	r.report.Stored += w.report.Stored
	r.report.Blobs += w.report.Blobs
	r.report.Problems = append(r.report.Problems, w.problems...)
	r.progress.Sessions++
	r.progress.Bytes += w.job.bytes
	if r.Progress != nil {
		r.Progress(r.progress)
	}
}

// file saves what is new in a file. Only errors of the target are returned.
func (w *sessionWriter) file(live *liveFile) error {
	path := filepath.Join(w.job.live.root, filepath.FromSlash(live.path))
	src, err := w.open(path)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) { // it was deleted since it was found
			w.problems = append(w.problems, Problem{path, err})
		}
		return nil
	}
	defer src.Close()
	info, err := src.Stat()
	if err == nil {
		live.size, live.modified = info.Size(), info.ModTime()
		err = w.copy(src, live)
	}
	if target, ok := errors.AsType[*targetFailure](err); ok {
		return target.error
	}
	if w.ctx.Err() != nil {
		return w.ctx.Err()
	}
	if err != nil {
		w.problems = append(w.problems, Problem{path, err})
	}
	return nil
}

// open opens a regular file. Nobody waits for a pipe that took the place of one.
func (w *sessionWriter) open(path string) (*os.File, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no longer a regular file")
	}
	return os.Open(path)
}

// A targetFailure is an error of the target, which ends the run.
type targetFailure struct{ error }

// copy saves what is new in an open file.
func (w *sessionWriter) copy(src io.ReaderAt, live *liveFile) error {
	f := File{Path: live.path}
	if was := w.next.file(live.path); was != nil {
		f = *was
	}
	same, at, err := w.unchanged(src, live, f.Segments)
	if err != nil {
		return err
	}
	end, err := w.end(src, live)
	if err != nil {
		return err
	}
	if same < len(f.Segments) {
		f.Old = append(slices.Clip(f.Old), Generation{f.Size, f.Modified, w.run.now, f.Segments})
		w.report.Rewritten++
	}
	f.Segments = slices.Clone(f.Segments[:same])
	f.Size, f.Modified = at, live.modified.UTC()
	w.next.put(f)
	place := place{file: -1}
	place.file, _ = w.next.find(f.Path)
	return w.append(src, place, end)
}

// unchanged returns how many segments the file still starts with, and their length.
func (w *sessionWriter) unchanged(src io.ReaderAt, live *liveFile, segments []Segment) (n int, at int64, err error) {
	for _, seg := range segments {
		if at+seg.Size > live.size {
			break
		}
		data, err := w.read(src, at, seg.Size)
		if err != nil {
			return 0, 0, err
		}
		if int64(len(data)) < seg.Size || hashOf(data) != seg.SHA256 {
			break
		}
		n, at = n+1, at+seg.Size
	}
	return n, at, nil
}

// read reads up to so many bytes. They are valid until the next call.
func (w *sessionWriter) read(src io.ReaderAt, at, size int64) ([]byte, error) {
	if err := w.ctx.Err(); err != nil {
		return nil, err
	}
	if int64(cap(w.plain)) < size {
		w.plain = make([]byte, size)
	}
	data := w.plain[:size]
	n, err := src.ReadAt(data, at)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return data[:n], nil
}

// settled is the minimum age of a transcript's last change for an incomplete last line to be saved:
// no agent is writing it any more.
const settled = 5 * time.Minute

// end returns up to where a file is saved.
func (w *sessionWriter) end(src io.ReaderAt, live *liveFile) (int64, error) {
	if !strings.HasSuffix(live.path, ".jsonl") || w.run.now.Sub(live.modified) > settled {
		return live.size, nil
	}
	for end := live.size; end > 0; {
		from := max(0, end-64<<10)
		data, err := w.read(src, from, end-from)
		if err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(data, '\n'); i >= 0 {
			return from + int64(i) + 1, nil
		}
		end = from
	}
	return 0, nil
}

// append adds segments to a file of the new manifest, up to an offset of the live file.
func (w *sessionWriter) append(src io.ReaderAt, p place, end int64) error {
	for {
		f := &w.next.Files[p.file]
		if f.Size >= end {
			return nil
		}
		data, err := w.read(src, f.Size, min(maxSegment, end-f.Size))
		if err != nil {
			return err
		}
		if len(data) == 0 { // it has become shorter
			return nil
		}
		seg := Segment{Size: int64(len(data)), SHA256: hashOf(data), At: int64(len(w.buf))}
		w.buf = compressor().EncodeAll(data, w.buf)
		seg.Stored = int64(len(w.buf)) - seg.At
		p.segment = len(f.Segments)
		f.Segments = append(f.Segments, seg)
		f.Size += seg.Size
		w.pending = append(w.pending, p)
		w.report.NewBytes += seg.Size
		if len(w.buf) >= cmp.Or(w.run.batch, maxBatch) {
			if err := w.flush(); err != nil {
				return &targetFailure{err}
			}
		}
	}
}

// flush writes the blob, and names it in its segments.
func (w *sessionWriter) flush() error {
	if len(w.pending) == 0 {
		return nil
	}
	name := hashOf(w.buf)
	for _, p := range w.pending {
		w.next.Files[p.file].Segments[p.segment].Blob = name
	}
	if err := w.run.archive.target.Put(w.ctx, name, w.buf); err != nil {
		return fmt.Errorf("saving %s: %w", w.next.Key, err)
	}
	w.report.Blobs++
	w.report.Stored += int64(len(w.buf))
	w.buf, w.pending = w.buf[:0], w.pending[:0]
	return nil
}
