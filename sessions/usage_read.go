package sessions

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/clewdev/clew/internal/entrylex"
	"github.com/clewdev/clew/internal/jsonlex"
	"github.com/clewdev/clew/usage"
)

// segmentSize is the number of bytes of a transcript that one goroutine reads at a time. A large
// transcript is cut into segments, so that it does not keep one goroutine busy after all others are
// done.
const segmentSize = 4 << 20

// A usageSegment is a part of a transcript: the lines that start at or after start, and before end.
// A line that crosses the end belongs to the segment in which it starts, so each line is read once,
// whatever the segments.
type usageSegment struct {
	// root is the directory that the file is opened in, so that no path leads out of it.
	root       *os.Root
	dir        string // the path of root
	linked     string // the name of the project, if root is what a symbolic link leads to
	name       string // of the file in root, with slashes
	start, end int64

	project, session, agent string

	started time.Time // the first time in the transcript
	lines   int       // the number of lines that were read
	read    int64     // the offset after the last complete line, if it could be read
}

// compactionPrefix starts the names of transcripts of compactions, which repeat a conversation.
const compactionPrefix = "agent-acompact-"

// newUsageSegment returns a segment for a transcript, from its path in the directory of the
// projects. It returns false if the path does not name a transcript that counts.
func newUsageSegment(name string) (usageSegment, bool) {
	elements := strings.Split(name, "/")
	base, ok := strings.CutSuffix(elements[len(elements)-1], ".jsonl")
	if !ok || strings.HasPrefix(base, compactionPrefix) {
		return usageSegment{}, false
	}
	p := usageSegment{name: name, project: elements[0]}
	switch agent, isAgent := strings.CutPrefix(base, "agent-"); {
	case len(elements) == 2 && isAgent: // where older agents put those of subagents
		p.agent = agent
	case len(elements) == 2:
		p.session = base
	case len(elements) > 3 && elements[2] == "subagents":
		p.session, p.agent = elements[1], agent
	default:
		return usageSegment{}, false
	}
	return p, true
}

// locate adds to a call where it was found.
func (p *usageSegment) locate(c usage.Call) usage.Call {
	c.Project = p.project
	c.SessionID = cmp.Or(p.session, c.SessionID)
	if p.agent != "" {
		c.AgentID, c.Sidechain = p.agent, true
	}
	c.Forked = c.Forked || c.Time.Before(p.started)
	return c
}

// noteStart records when the transcript starts. A forked transcript starts with new lines, followed
// by copied older ones; so a call from before the start is a copy.
func (p *usageSegment) noteStart(line []byte) {
	if !p.started.IsZero() {
		return
	}
	text, _ := jsonlex.Unquote(jsonlex.Lookup(line, 0, entrylex.KeyTimestamp))
	p.started, _ = time.Parse(time.RFC3339, string(text))
}

// findStart is noteStart for a segment that does not include the first lines.
func (p *usageSegment) findStart(file io.ReaderAt) {
	for l, err := range readLines(io.NewSectionReader(file, 0, window)) {
		if err != nil || !p.started.IsZero() {
			return
		}
		p.noteStart(l.text)
	}
}

// path returns the path of the file, for errors.
func (p *usageSegment) path() string { return filepath.Join(p.dir, filepath.FromSlash(p.name)) }

// open opens the file, if it is a regular one. Opening a pipe would block.
func (p *usageSegment) open() (*os.File, error) {
	if err := checkRegular(p.root, p.name); err != nil {
		return nil, p.wrap(err)
	}
	file, err := p.root.Open(p.name)
	return file, p.wrap(err)
}

// wrap adds the path to an error.
func (p *usageSegment) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("sessions: %s: %w", p.path(), err)
}

// list adds the transcripts of a Folder to the run.
func (run *usageRun) list(ctx context.Context, in scope) error {
	folder := in.store.(*Folder) //nolint:forcetypeassert // the caller has checked it
	root, err := folder.root()
	if root == nil {
		return err
	}
	run.roots = append(run.roots, root)
	projects, err := folder.projectDirs(func(name string) bool { return len(in.names) == 0 || in.wants(name) })
	if err != nil {
		run.report.Unread = append(run.report.Unread, fmt.Errorf("sessions: %w", err))
	}
	for _, project := range projects {
		at, err := resolve(root, folder.dir, project)
		if err != nil {
			run.report.Unread = append(run.report.Unread, fmt.Errorf("sessions: %w", err))
			continue
		}
		like := usageSegment{root: at.Root, dir: folder.dir, project: in.home(project)}
		if at.Root != root {
			run.roots = append(run.roots, at.Root)
			like.dir, like.linked = filepath.Join(folder.dir, project), project
		}
		if err := run.walk(ctx, like, at.prefix); err != nil {
			return err
		}
	}
	return nil
}

// walk adds the transcripts in a directory. Their segments get root, dir, linked and project from
// like.
func (run *usageRun) walk(ctx context.Context, like usageSegment, dir string) error {
	return fs.WalkDir(like.root.FS(), dir, func(name string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				like.name = name
				run.report.Unread = append(run.report.Unread, like.wrap(err))
			}
			return nil
		}
		inProjects := path.Join(like.linked, name)
		if entry.IsDir() {
			if strings.Count(inProjects, "/") == 2 && path.Base(name) != agentFolder {
				return fs.SkipDir
			}
			return nil
		}
		if segment, ok := newUsageSegment(inProjects); ok {
			segment.project = like.project
			segment.root, segment.dir, segment.linked, segment.name = like.root, like.dir, like.linked, name
			run.add(segment)
		}
		return nil
	})
}

// add cuts a transcript into segments.
func (run *usageRun) add(p usageSegment) {
	info, err := p.root.Stat(p.name)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		run.report.Unread = append(run.report.Unread, p.wrap(err))
		return
	}
	size := info.Size()
	if !info.Mode().IsRegular() || size == 0 || info.ModTime().Before(run.modifiedSince) {
		return
	}
	run.report.Files++
	if p.start = run.before[p.path()]; p.start < 0 || p.start > size {
		p.start = 0
	}
	run.report.Offsets[p.path()] = p.start
	run.report.Bytes += size - p.start
	run.total += size - p.start
	for ; p.start < size; p.start = p.end {
		p.end = min(p.start+segmentSize, size)
		run.segments = append(run.segments, p)
	}
}

// numberLines turns the numbers of bad lines in their segment into numbers in the file, or in the
// part that was read. The segments of a file are adjacent.
func (run *usageRun) numberLines() {
	for i, at := range run.badSegments {
		for k := at; k > 0 && run.segments[k].follows(&run.segments[k-1]); k-- {
			run.report.Bad[i].Line += run.segments[k-1].lines
		}
	}
}

// follows reports whether a segment starts where another one of the same file ends.
func (p *usageSegment) follows(o *usageSegment) bool {
	return p.start > 0 && p.start == o.end && p.root == o.root && p.name == o.name
}

// noteOffsets records how far the files were read: up to the first segment that could not be.
func (run *usageRun) noteOffsets() {
	for i := range run.segments {
		p := &run.segments[i]
		if at := p.path(); run.report.Offsets[at] >= p.start {
			run.report.Offsets[at] = max(run.report.Offsets[at], p.read)
		}
	}
}

const (
	// readSize is the number of bytes a segmentReader reads at a time.
	readSize = 256 << 10
	// largeLine is the length from which a line is large. Only one goroutine at a time has such a
	// line in memory.
	largeLine = 4 << 20
	// maxShortened is the maximum length of a large line without the ends of its long strings.
	maxShortened = 32 << 20
)

// A segmentReader reads the lines of a segment, in bounded memory. Call reset before its first use.
//
// Unlike readLines, it can start in the middle of a file, and only one goroutine at a time holds a
// large line. The text of a line is a slice of the buffer, which grows only for a line that does
// not fit, and shrinks again after it. Of a large line, long strings are cut: they have no figures.
type segmentReader struct {
	large *sync.Mutex
	max   int // the maximum length of a line

	file io.ReaderAt
	at   int64  // the offset to read at
	end  int64  // lines that begin at or after it belong to the next segment
	buf  []byte // buf[r:w] was read and not yet used
	r, w int
	eof  bool
	err  error
	held bool // this reader has locked large

	// The line that next found.
	line   int    // its number in the segment, from 1
	offset int64  // where it begins in the file
	text   []byte // without the line feed; valid until the next call
	ended  bool
	long   bool // too long: there is no text
}

// reset prepares to read the lines of file that start at or after start, and before end.
func (p *segmentReader) reset(file io.ReaderAt, start, end int64) {
	if p.buf == nil {
		p.buf = make([]byte, readSize)
	}
	p.file, p.at, p.end = file, start, end
	p.r, p.w, p.eof, p.err, p.line = 0, 0, false, nil, 0
	if start > 0 { // a line that has begun before belongs to the previous segment
		p.at--
		p.pass(end)
	}
}

// release frees the memory that a large line needed.
func (p *segmentReader) release() {
	if p.held {
		p.buf = append(make([]byte, 0, readSize), p.buf[p.r:p.w]...)[:readSize]
		p.r, p.w = 0, p.w-p.r
		p.held = false
		p.large.Unlock()
	}
}

// position returns the offset of the next byte to use.
func (p *segmentReader) position() int64 { return p.at - int64(p.w-p.r) }

// next finds the next line. It returns false if there is none, or if reading failed.
func (p *segmentReader) next() bool {
	p.release()
	p.text, p.long, p.offset = nil, false, p.position()
	if p.offset >= p.end || p.err != nil {
		return false
	}
	p.ended = false
	for scanned := 0; ; {
		if scanned == 0 {
			p.passNULs()
		}
		i := bytes.IndexByte(p.buf[p.r+scanned:p.w], '\n')
		if i >= 0 {
			scanned, p.ended = scanned+i, true
		} else {
			scanned = p.w - p.r
		}
		switch {
		case scanned > p.max:
			p.line++
			p.long, p.ended = true, p.pass(math.MaxInt64)
			return p.err == nil
		case !p.ended && scanned >= largeLine:
			return p.takeLarge()
		case p.ended:
			p.take(scanned)
			p.r++
			return true
		case p.fill():
		case p.err != nil || scanned == 0:
			return false
		default:
			p.take(scanned)
			return true
		}
	}
}

// take makes the next n bytes the text of the line.
func (p *segmentReader) take(n int) {
	if p.line++; n > 0 && p.offset == 0 && p.position() == 0 {
		p.text = bytes.TrimPrefix(p.buf[p.r:p.r+n], []byte(entrylex.ByteOrderMark))
	} else {
		p.text = p.buf[p.r : p.r+n]
	}
	p.r += n
}

// takeLarge makes a large line the text, without the ends of its long strings. The beginning of the
// line is in the buffer. The buffer does not grow: the line is read to its end even if it turns out
// to be too long.
func (p *segmentReader) takeLarge() bool {
	p.large.Lock()
	p.held = true
	p.line++
	var short entrylex.Shortener
	length := 0
	for {
		piece := p.buf[p.r:p.w]
		if i := bytes.IndexByte(piece, '\n'); i >= 0 {
			piece, p.ended = piece[:i], true
		}
		length += len(piece)
		if p.long = p.long || length > p.max || len(short.Text) > maxShortened; p.long {
			short.Text = nil
		} else {
			short.Add(piece)
		}
		if p.r += len(piece); p.ended {
			p.r++
			break
		}
		if !p.fill() {
			break
		}
	}
	if p.text = short.Text; p.offset == 0 {
		p.text = bytes.TrimPrefix(p.text, []byte(entrylex.ByteOrderMark))
	}
	return p.err == nil
}

// passNULs skips NUL bytes at the beginning of a line. A crash can leave millions of them.
func (p *segmentReader) passNULs() {
	for p.r < p.w && p.buf[p.r] == 0 {
		p.r++
	}
}

// pass skips the rest of a line, and reports whether it is complete. It stops at the offset limit.
func (p *segmentReader) pass(limit int64) bool {
	for {
		if i := bytes.IndexByte(p.buf[p.r:p.w], '\n'); i >= 0 {
			p.r += i + 1
			return true
		}
		p.r = p.w
		if p.at >= limit || !p.fill() {
			return false
		}
	}
}

// fill reads more bytes, and reports whether there were any.
func (p *segmentReader) fill() bool {
	if p.eof || p.err != nil {
		return false
	}
	p.makeRoom()
	n, err := p.file.ReadAt(p.buf[p.w:min(len(p.buf), p.w+readSize)], p.at)
	p.w += n
	p.at += int64(n)
	if p.eof = errors.Is(err, io.EOF); err != nil && !p.eof {
		p.err = err
	}
	return n > 0
}

// makeRoom moves the unused bytes to the front of the buffer, or to a larger one if it is full.
func (p *segmentReader) makeRoom() {
	if p.r > 0 {
		p.w = copy(p.buf, p.buf[p.r:p.w])
		p.r = 0
	}
	if p.w < len(p.buf) {
		return
	}
	larger := make([]byte, min(2*len(p.buf), p.max+readSize))
	copy(larger, p.buf)
	p.buf = larger
}

// blank reports whether the line has only white space and NUL bytes.
func (p *segmentReader) blank() bool {
	p.text = bytes.TrimLeft(p.text, "\x00")
	return len(bytes.TrimSpace(p.text)) == 0
}

// readFolders reads Folders with several goroutines.
func (r *UsageScan) readFolders(ctx context.Context, opts *UsageOptions, where scopes) error {
	r.Offsets = map[string]int64{}
	run := &usageRun{report: r, progress: opts.Progress, before: opts.Offsets, modifiedSince: opts.ModifiedSince}
	defer run.close()
	for _, s := range where {
		if err := run.list(ctx, s); err != nil {
			r.Offsets = nil // they lack files that were read before
			return err
		}
	}
	workers := make([]usageWorker, min(runtime.GOMAXPROCS(0), len(run.segments)))
	var group sync.WaitGroup
	for i := range workers {
		workers[i].run, workers[i].withTools = run, opts.Tools
		group.Go(func() { workers[i].work(ctx) })
	}
	group.Wait()
	for i := range workers {
		r.add(&workers[i].usageCounter)
	}
	run.numberLines()
	run.noteOffsets()
	return ctx.Err()
}

// A usageRun is the work that the usageWorkers share.
type usageRun struct {
	report   *UsageScan
	progress func(done, total int64)
	// before and modifiedSince come from the options.
	before        map[string]int64
	modifiedSince time.Time

	segments []usageSegment
	roots    []*os.Root
	next     atomic.Int64 // the index of the next segment
	total    int64
	large    sync.Mutex // held by the worker that has a large line in memory

	mu          sync.Mutex // guards the fields below, and the report
	done        int64
	badSegments []int // the segment of each line in report.Bad
}

// close closes the directories.
func (run *usageRun) close() {
	for _, root := range run.roots {
		_ = root.Close()
	}
}

// finish records that a segment was read, and the error if there was one.
func (run *usageRun) finish(p *usageSegment, err error) {
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

// bad records a bad line of a segment. Its number is that in the segment until all segments are
// read.
func (run *usageRun) bad(segment int, l BadLine) {
	l.Path = run.segments[segment].path()
	run.mu.Lock()
	defer run.mu.Unlock()
	if run.report.bad(l) {
		run.badSegments = append(run.badSegments, segment)
	}
}

// A usageWorker reads segments, one after the other.
type usageWorker struct {
	usageCounter
	run    *usageRun
	reader segmentReader
}

// work reads segments until there are no more, or the context ends.
func (w *usageWorker) work(ctx context.Context) {
	w.reader.large, w.reader.max = &w.run.large, maxEntry
	for ctx.Err() == nil {
		i := int(w.run.next.Add(1) - 1)
		if i >= len(w.run.segments) {
			return
		}
		w.run.finish(&w.run.segments[i], w.read(ctx, i))
	}
}

// read adds up the lines of a segment.
func (w *usageWorker) read(ctx context.Context, segment int) error {
	p := &w.run.segments[segment]
	file, err := p.open()
	if err != nil {
		return err
	}
	defer file.Close()
	defer w.reader.release()
	if p.start > 0 {
		p.findStart(file)
	}
	w.reader.reset(&endingReader{ctx, file}, p.start, p.end)
	for ctx.Err() == nil && w.reader.next() {
		err := w.line(p)
		if err != nil {
			w.run.bad(segment, BadLine{Line: w.reader.line, Offset: w.reader.offset, Torn: !w.reader.ended, Err: err})
		}
		if w.reader.ended || err == nil { // the rest of a torn line is still to come
			p.read = w.reader.position()
		}
	}
	p.lines = w.reader.line
	return p.wrap(w.reader.err)
}

// An endingReader reads until its context ends, even in the middle of a line: a crash can leave
// gigabytes of NUL bytes.
type endingReader struct {
	ctx context.Context
	io.ReaderAt
}

// ReadAt returns the error of the context once it ends.
func (r *endingReader) ReadAt(p []byte, at int64) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.ReaderAt.ReadAt(p, at)
}

// line adds up the current line. NUL bytes in it, which a crash left, separate entries.
func (w *usageWorker) line(p *usageSegment) error {
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
	for piece := range entrylex.Lines(w.reader.text) {
		if len(bytes.TrimSpace(piece)) > 0 {
			err = cmp.Or(err, w.entry(p, piece))
		}
	}
	return err
}
