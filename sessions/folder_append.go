package sessions

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/clewdev/clew/internal/entrylex"
	"github.com/clewdev/clew/internal/files"
	"github.com/clewdev/clew/internal/sessionfile"
	"github.com/clewdev/clew/wire"
)

// Append adds entries to the file of a transcript, one line each, with a single write. The last
// entry of type agent_metadata becomes the metadata file next to a subagent's transcript. An entry
// longer than 256 MiB is an error. See [Store].
func (f *Folder) Append(ctx context.Context, key wire.SessionKey, entries []wire.JSON) error {
	if err := checkKey(ctx, key); err != nil {
		return err
	}
	addition, err := newPendingAppend(key, entries)
	if err != nil || len(entries) == 0 {
		return err
	}
	if err := f.append(ctx, addition); err != nil {
		return fmt.Errorf("sessions: append to %s: %w", key, err)
	}
	return nil
}

// append writes the lines first and the metadata file second. If the second step fails, it removes
// the lines again.
func (f *Folder) append(ctx context.Context, a *pendingAppend) error {
	f.deletes.RLock()
	defer f.deletes.RUnlock()
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return err
	}
	root, err := f.project(a.key.Project)
	if err == nil && root == nil {
		err = fs.ErrNotExist
	}
	if err != nil {
		return err
	}
	defer root.Close()
	t := f.indexes.acquire(a.key)
	defer f.indexes.release(a.key, t)
	if err := ctx.Err(); err != nil {
		return err
	}
	undo, err := f.appendLines(ctx, root, t, a)
	if err != nil || a.sidecar == nil {
		return err
	}
	if err := files.WriteIn(root.Root, root.sidecar(a.key), a.sidecar, files.WriteOptions{NoSync: true}); err != nil {
		return errors.Join(err, undo())
	}
	return nil
}

// maxMoves limits how often an append is repeated because its file was moved.
const maxMoves = 100

// errMoved means that a file was moved or removed during an append to it.
var errMoved = errors.New("the file was moved during the append")

// appendLines writes the lines that the file does not have yet, all or none. The function that it
// returns removes them again.
//
// Another process may delete or restore the session at the same time. The lines would then be in a
// file that is no longer the transcript. So appendLines repeats the append until the file has its
// name after it. Lines may then be both in the session and in the trash, and none is lost: see
// [trashDir].
//
// Another process may also append at the same time. Each append is one write to the end of the file,
// so both are there, but both may have the same entry.
func (f *Folder) appendLines(ctx context.Context, root *projectRoot, t *uuidIndex, a *pendingAppend) (undo func() error, err error) {
	for range maxMoves {
		if err := root.MkdirAll(path.Dir(root.file(a.key)), 0o700); err != nil {
			return nil, err
		}
		if undo, err = f.appendOnce(ctx, root, t, a); !errors.Is(err, errMoved) {
			break
		}
	}
	return undo, err
}

// appendOnce is one attempt of appendLines. It returns errMoved if the file was moved.
func (f *Folder) appendOnce(ctx context.Context, root *projectRoot, t *uuidIndex, a *pendingAppend) (undo func() error, err error) {
	if len(a.lines) == 0 {
		return func() error { return nil }, nil
	}
	name := root.file(a.key)
	if err := ignoreNotExist(checkRegular(root.Root, name)); err != nil {
		return nil, err
	}
	f.at("append: open")
	file, err := root.OpenFile(name, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	f.at("append: read")
	size, ended, err := a.prepare(ctx, t, file)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	text := a.newLines(t, ended)
	f.at("append: write")
	n, err := f.writeAll(file, text)
	f.at("append: compare names")
	if err == nil && !hasName(root.Root, file, name) {
		t.file = nil
		return nil, errors.Join(errMoved, file.Close())
	}
	if err = errors.Join(err, file.Close()); err != nil {
		t.file = nil
		return nil, errors.Join(err, undoAppend(root.Root, name, size, n))
	}
	if a.hasUUID() {
		t.wrote(size, text)
	}
	return func() error {
		t.file = nil
		return undoAppend(root.Root, name, size, n)
	}, nil
}

// hasName reports whether a name refers to an open file.
func hasName(root *os.Root, file *os.File, name string) bool {
	info, err := file.Stat()
	named, nameErr := root.Stat(name)
	return err == nil && nameErr == nil && os.SameFile(info, named)
}

// writeAll writes text with one call. A short write is an error.
func (f *Folder) writeAll(file *os.File, text []byte) (n int, err error) {
	if len(text) == 0 {
		return 0, nil
	}
	write := (*os.File).Write
	if f.write != nil {
		write = f.write
	}
	if n, err = write(file, text); err == nil && n < len(text) {
		err = io.ErrShortWrite
	}
	return n, err
}

// undoAppend removes the last n bytes of a file that had size bytes before, unless somebody added
// to it since. Anything that another process adds between the check and the cut is lost: this
// happens only after a write that failed, if two processes write to a file, which a [Folder]
// advises against.
func undoAppend(root *os.Root, name string, size int64, n int) error {
	file, err := root.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err == nil && info.Size() == size+int64(n) {
		err = file.Truncate(size)
	}
	return errors.Join(err, file.Close())
}

// A pendingAppend is the output of an append that is not written yet.
type pendingAppend struct {
	key     wire.SessionKey
	lines   []wire.JSON
	uuids   []string // one for each line, possibly ""
	sidecar []byte   // the new metadata file of a subagent, or nil
}

// newPendingAppend checks the entries, and separates lines from metadata.
func newPendingAppend(key wire.SessionKey, entries []wire.JSON) (*pendingAppend, error) {
	uuids, err := entryUUIDs(key, entries)
	if err != nil {
		return nil, err
	}
	a := &pendingAppend{key: key}
	for i, entry := range entries {
		if len(entry) > maxEntry {
			return nil, fmt.Errorf("%w (entry %d for %s)", errTooLong, i, key)
		}
		if key.Subpath != "" {
			if content, ok := sessionfile.Sidecar(entry); ok {
				a.sidecar = content
				continue
			}
		}
		a.lines = append(a.lines, entry)
		a.uuids = append(a.uuids, uuids[i])
	}
	return a, nil
}

// hasUUID reports whether any line has a UUID, so that it may already be in the file.
func (a *pendingAppend) hasUUID() bool {
	return slices.ContainsFunc(a.uuids, func(uuid string) bool { return uuid != "" })
}

// prepare returns the size of the file, and whether its last line is complete, once nobody seems to
// be writing a line. It reads the file for UUIDs only if the append has any: renaming a long
// session should be fast.
func (a *pendingAppend) prepare(ctx context.Context, t *uuidIndex, file *os.File) (size int64, ended bool, err error) {
	if a.hasUUID() {
		if size, ended, err = t.catchUp(ctx, file); ended || err != nil {
			return size, ended, err
		}
	}
	size, ended, err = awaitEnd(ctx, file)
	if err == nil && (a.hasUUID() || !ended) { // read what was written during the wait
		return t.catchUp(ctx, file)
	}
	return size, ended, err
}

// newLines returns the lines that the file does not have, and adds their UUIDs to the index. If the
// last line of the file is incomplete, the text starts with a line feed.
func (a *pendingAppend) newLines(t *uuidIndex, ended bool) []byte {
	var lines []wire.JSON
	for i, entry := range a.lines {
		if a.uuids[i] == "" || !t.has(a.uuids[i]) {
			t.add(a.uuids[i])
			lines = append(lines, entry)
		}
	}
	var text []byte
	if !ended && len(lines) > 0 {
		text = append(text, t.cutEnd...)
	}
	for i, entry := range lines {
		text = appendLine(text, entry, i, len(lines))
	}
	return text
}

// maxIndexedUUIDs is the number of UUIDs a [Folder] remembers, in addition to the UUIDs of the file
// that was last appended to.
const maxIndexedUUIDs = 1 << 20

// endLength is the number of bytes at the end of a file that are compared to notice that the file
// was replaced.
const endLength = 64

// A uuidIndex has the UUIDs of one transcript file, so that an append can leave out entries that
// the file already has. It is locked while somebody appends to the file.
//
// Other processes may append to the file, or replace it. So an index remembers how far it read, and
// the last bytes before that. If these bytes are still the same, it reads only what was added;
// otherwise it reads the whole file again.
type uuidIndex struct {
	mu    sync.Mutex
	file  fs.FileInfo // nil if the file was not read
	size  int64       // how many bytes of the file were read
	end   []byte      // the last of these bytes
	uuids map[uuidHash]bool
	// cutEnd ends the last line, if it is incomplete.
	cutEnd string

	users   int // guarded by uuidIndexes.mu, as is counted
	counted int
}

// A uuidHash stands for a UUID, and takes less memory.
type uuidHash [2]uint64

var uuidSeeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

// hashUUID returns the hash of a UUID. With 128 bits and a random seed, two UUIDs do not collide in
// practice, and nobody can construct a collision.
func hashUUID(uuid string) uuidHash {
	return uuidHash{maphash.String(uuidSeeds[0], uuid), maphash.String(uuidSeeds[1], uuid)}
}

// uuidIndexes are the indexes of a [Folder], by transcript.
type uuidIndexes struct {
	mu    sync.Mutex
	byKey map[wire.SessionKey]*uuidIndex
	total int // number of UUIDs in all indexes
	max   int // for tests; 0 means maxIndexedUUIDs
}

// acquire returns the index of a transcript, locked. The caller has to release it.
func (ts *uuidIndexes) acquire(key wire.SessionKey) *uuidIndex {
	ts.mu.Lock()
	if ts.byKey == nil {
		ts.byKey = map[wire.SessionKey]*uuidIndex{}
	}
	t := ts.byKey[key]
	if t == nil {
		t = new(uuidIndex)
		ts.byKey[key] = t
	}
	t.users++
	ts.mu.Unlock()
	t.mu.Lock()
	return t
}

// release unlocks an index. If the index has grown and there are too many UUIDs in all, it drops
// the other indexes that are not in use. It keeps this one: otherwise each append to a very long
// file would read all of it.
func (ts *uuidIndexes) release(key wire.SessionKey, t *uuidIndex) {
	known, count := t.file != nil, len(t.uuids)+1
	t.mu.Unlock()
	ts.mu.Lock()
	defer ts.mu.Unlock()
	grown := known && count > t.counted
	ts.total += count - t.counted
	t.counted = count
	t.users--
	if t.users == 0 && !known {
		ts.forget(key, t)
	}
	if !grown || ts.total <= cmp.Or(ts.max, maxIndexedUUIDs) {
		return
	}
	for otherKey, other := range ts.byKey {
		if other != t && other.users == 0 {
			ts.forget(otherKey, other)
		}
	}
}

// forgetSession drops the indexes of a session's transcripts that are not in use.
func (ts *uuidIndexes) forgetSession(session wire.SessionKey) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for key, t := range ts.byKey {
		if key.Project == session.Project && key.SessionID == session.SessionID && t.users == 0 {
			ts.forget(key, t)
		}
	}
}

// forget drops an index. The caller holds the lock.
func (ts *uuidIndexes) forget(key wire.SessionKey, t *uuidIndex) {
	ts.total -= t.counted
	delete(ts.byKey, key)
}

// catchUp reads what was added to the file since the last time, or all of it if the file is another
// one. It returns the size of the file, and whether its last line is complete. If the context ends,
// the next call continues from there.
func (t *uuidIndex) catchUp(ctx context.Context, file *os.File) (size int64, ended bool, err error) {
	info, err := file.Stat()
	if err != nil {
		return 0, false, err
	}
	if !t.knows(file, info) {
		t.size, t.uuids = 0, map[uuidHash]bool{}
	}
	t.file = nil
	read, ended, err := t.readLines(ctx, file, info.Size())
	if err != nil {
		return 0, false, err
	}
	t.end = make([]byte, min(read, endLength))
	if _, err := file.ReadAt(t.end, read-int64(len(t.end))); err != nil && len(t.end) > 0 {
		return 0, false, err
	}
	t.file, t.size = info, read
	return info.Size(), ended, ctx.Err()
}

// readLines adds the UUIDs of the lines after the first t.size bytes. It returns the offset from
// which to read the next time: the offset of an incomplete line or append at the end, or of the
// line at which the context ended.
func (t *uuidIndex) readLines(ctx context.Context, file *os.File, size int64) (read int64, ended bool, err error) {
	b := batches{file: file, base: t.size, size: size}
	read, ended = size, true
	for l, err := range readLines(io.NewSectionReader(file, t.size, size-t.size)) {
		if err != nil {
			return 0, false, err
		}
		if ctx.Err() != nil {
			return min(read, t.size+l.offset), ended, nil
		}
		torn, err := b.unfinished(l)
		if err != nil {
			return 0, false, err
		}
		switch {
		case !torn && l.ended:
			read = size
		case read == size:
			read = t.size + l.offset
		}
		if uuid, err := l.entry(); err == nil && !torn {
			t.add(uuid)
		}
		if ended, t.cutEnd = l.ended, lineEnd; torn {
			t.cutEnd = tornEnd
		}
	}
	return read, ended, nil
}

// wrote records text that was written at the size that catchUp returned.
func (t *uuidIndex) wrote(size int64, text []byte) {
	if len(text) > 0 {
		t.size = size + int64(len(text))
		t.end = bytes.Clone(text[max(0, len(text)-endLength):])
	}
}

// has reports whether the file has an entry with that UUID.
func (t *uuidIndex) has(uuid string) bool { return t.uuids[hashUUID(uuid)] }

// add adds a UUID. Entries without one are not indexed.
func (t *uuidIndex) add(uuid string) {
	if uuid != "" {
		t.uuids[hashUUID(uuid)] = true
	}
}

// knows reports whether the bytes that were read are still the same.
func (t *uuidIndex) knows(file *os.File, info fs.FileInfo) bool {
	if t.file == nil || !os.SameFile(t.file, info) || info.Size() < t.size {
		return false
	}
	end := make([]byte, len(t.end))
	_, err := file.ReadAt(end, t.size-int64(len(end)))
	return err == nil && bytes.Equal(end, t.end)
}

// The marks of the lines of an append of several entries.
const (
	firstMark  = entrylex.FirstMark
	middleMark = entrylex.MiddleMark
	lastMark   = entrylex.LastMark
)

// The next append ends a line that was cut with lineEnd, or with tornEnd if it belongs to an
// incomplete append: it may be an entry that lacks only its mark.
const (
	lineEnd = "\n"
	tornEnd = ",\n"
)

// appendLine adds line i of an append of n entries to a text. Line breaks in an entry can only be
// between values. White space around it could be taken for a mark.
func appendLine(text []byte, entry wire.JSON, i, n int) []byte {
	if n > 1 && i == 0 {
		text = append(text, firstMark...)
	}
	text = append(text, strings.TrimSpace(lineBreaks.Replace(string(entry)))...)
	switch {
	case n == 1 || i == 0:
	case i == n-1:
		text = append(text, lastMark...)
	default:
		text = append(text, middleMark...)
	}
	return append(text, lineEnd...)
}

var lineBreaks = strings.NewReplacer("\n", " ", "\r", " ")

// mark returns the mark of a line, or "".
func (l *line) mark() string {
	mark := entrylex.Mark(l.text)
	if l.long || mark != firstMark && !l.ended {
		return ""
	}
	return mark
}

// unmarked returns the text of a line without its mark.
func (l *line) unmarked() []byte {
	mark := l.mark()
	if mark == firstMark {
		return l.text[len(mark):]
	}
	return l.text[:len(l.text)-len(mark)]
}

// batches know which lines of a file belong to incomplete appends. Lines have to be given in order.
type batches struct {
	file io.ReaderAt
	base int64 // the offset at which the lines begin
	size int64 // of the file
	torn bool  // the append that began last is incomplete
	// begun reports whether a line was given.
	begun bool
}

// unfinished reports whether a line belongs to an incomplete append. The lines that are given may
// start inside one. A line with a mark whose append lost its first line belongs to none.
func (b *batches) unfinished(l *line) (bool, error) {
	mark := l.mark()
	if !b.begun && b.base > 0 && mark == middleMark {
		whole, err := b.ends(b.base + l.offset)
		if err != nil {
			return false, err
		}
		b.torn = !whole
	}
	b.begun = true
	torn := b.torn
	switch mark {
	case "":
		// A part of the last line of an append, perhaps without only the mark. A line that ends
		// without a mark is not of an append, or was its last one.
		b.torn = torn && !l.ended
		return b.torn, nil
	case firstMark:
		whole, err := b.ends(b.base + l.next - 1)
		if err != nil {
			return false, err
		}
		b.torn = !whole
		return b.torn, nil
	case lastMark:
		b.torn = false
	}
	return torn, nil
}

// The sizes of the pieces in which ends reads. Most appends are short.
const (
	minPiece = 4 << 10
	maxPiece = 256 << 10
)

// ends reports whether the append whose first line ends after an offset is complete: its last line
// comes before the first one of another append. A damaged line in between does not hide the others.
func (b *batches) ends(from int64) (bool, error) {
	first, last := []byte("\n"+firstMark+"{"), []byte(lastMark+"\n")
	for size := int64(minPiece); from < b.size; size = min(2*size, maxPiece) {
		piece := make([]byte, min(size, b.size-from))
		n, err := b.file.ReadAt(piece, from)
		if err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		piece = piece[:n]
		end, next := bytes.Index(piece, last), bytes.Index(piece, first)
		if end >= 0 || next >= 0 {
			return end >= 0 && (next < 0 || end < next), nil
		}
		if n < len(first) {
			break
		}
		if from += int64(n); from < b.size { // a mark may begin in this piece
			from -= int64(len(first) - 1)
		}
	}
	return false, nil
}
