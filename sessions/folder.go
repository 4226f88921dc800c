package sessions

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clewdev/clew/internal/entrylex"
	"github.com/clewdev/clew/internal/pause"
	"github.com/clewdev/clew/internal/sessionfile"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// A Folder is a [Store] of files with the layout that the agent uses. Each project has a directory.
// In it, each session has a file of JSON lines, "SESSION.jsonl", and a directory "SESSION" with the
// transcripts of its subagents. So a Folder can also be used on the agent's own files: see
// [AgentFolder]. A Folder is also a [ProjectLister].
//
// Only the user can read the files and directories that a Folder creates. The directory of a
// project may be a symbolic link, which the agent follows as well. Other symbolic links never lead
// a Folder out of its directory or a linked project's directory: such a link is an error. Several
// goroutines may use one Folder. Other processes may append to the same files, as the agent does,
// if they write whole lines; but only one process at a time should write to a file.
//
// An append is one write. If it fails, the part that was written is cut off again. If the process
// is killed during the write, none of the entries counts: Load leaves them out, and the next append
// can repeat them. To tell, a Folder puts white space around the lines of an append of several
// entries. [List], [Read] and [Tail] leave them out as well, as does all of package transcript;
// only [ScanUsage] counts them, since their answers were paid for. Agents read the part that was
// written. A metadata file of a subagent is written after the lines.
//
// A Folder does not wait for the disk. As with the agent's own files, a crash of the machine may
// lose the last seconds. Use sqlitestore if that matters.
//
// To leave out entries that are already there, a Folder reads a file when it first appends to it,
// and after that only what others added. It remembers about a million UUIDs, and always the UUIDs
// of the file that was last appended to.
type Folder struct {
	// Skipped is called for each line that Load leaves out because it is not an entry. It is called
	// by the goroutine that loads. If it is nil, [slog.Default] logs a warning, except for an
	// incomplete last line. Set it before the Folder is used.
	Skipped func(SkippedLine)

	dir      string
	readOnly bool         // it has copies from an archive
	deletes  sync.RWMutex // write-locked while files are deleted, read-locked while they are created
	indexes  uuidIndexes
	write    func(*os.File, []byte) (int, error) // for tests; nil means Write
	link     func(from, to string) error         // for tests; nil means os.Root.Link
	step     func(name string)                   // for tests: called before each step of Append, Delete and Restore
	readJob  func(project string)                // for tests: called before the directory of a project is read for its job
}

// NewFolder returns a store in the directory dir. The directory need not exist: the first append
// creates it. To use files that an agent wrote, dir is the directory of the projects, such as
// ~/.claude/projects.
//
//	store := sessions.NewFolder("/var/lib/app/sessions")
//	s, err := clew.Connect(ctx, &clew.Options{Store: clew.StoreOptions{Store: store}})
func NewFolder(dir string) *Folder { return &Folder{dir: dir} }

// String returns the path of the directory. It is the dir of [NewFolder], unchanged.
func (f *Folder) String() string { return f.dir }

// at tells a test that the next step follows.
func (f *Folder) at(step string) {
	if f.step != nil {
		f.step(step)
	}
}

// path returns the path of a transcript's file.
func (f *Folder) path(key wire.SessionKey) string {
	return filepath.Join(f.dir, filepath.FromSlash(sessionfile.Path(key)))
}

// skip reports a line that is left out. An incomplete last line is normal while the agent writes,
// so that it is not logged.
func (f *Folder) skip(l SkippedLine) {
	switch {
	case f.Skipped != nil:
		f.Skipped(l)
	case !l.Torn:
		slog.Warn("skipped a line of a transcript", "file", f.path(l.Key),
			"line", l.Line, "offset", l.Offset, "error", l.Err)
	}
}

// modified returns the modification time of a session's file, or the zero time if there is none.
func (f *Folder) modified(key wire.SessionKey) (time.Time, error) {
	info, err := f.sessionFile(key)
	if info == nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

// sessionFile returns the file of a session, or nil if there is none or it is empty. It returns an
// error if it can't know.
func (f *Folder) sessionFile(key wire.SessionKey) (fs.FileInfo, error) {
	root, err := f.project(key.Project)
	if root == nil {
		return nil, err
	}
	defer root.Close()
	info, err := sessionFile(root, key)
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("sessions: %w", err)
	}
	return info, nil
}

// Subpaths returns the subpaths of a session's other transcripts, sorted. Empty files are left out.
// See [Store].
func (f *Folder) Subpaths(ctx context.Context, key wire.SessionKey) ([]string, error) {
	key.Subpath = ""
	if err := checkKey(ctx, key); err != nil {
		return nil, err
	}
	root, err := f.project(key.Project)
	if root == nil {
		return nil, err
	}
	defer root.Close()
	found, err := subpaths(ctx, root, key)
	if err != nil {
		return nil, fmt.Errorf("sessions: %w", err)
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// subpaths walks the directory of a session and returns the subpaths of the transcripts in it.
func subpaths(ctx context.Context, root *projectRoot, session wire.SessionKey) ([]string, error) {
	var found []string
	err := fs.WalkDir(root.FS(), root.session(session), func(name string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !entry.Type().IsRegular() {
			return errors.Join(err, ctx.Err())
		}
		rel := strings.TrimPrefix(name, root.session(session)+"/")
		subpath, ok := sessionfile.Subpath(rel)
		info, err := entry.Info()
		if ok && err == nil && info.Size() > 0 {
			found = append(found, subpath)
		}
		return nil
	})
	return found, err
}

// Delete removes the file of a transcript. If the key has no subpath, it also removes the directory
// of the session. There is no trash: see the function [Delete] for that. See [Store].
func (f *Folder) Delete(ctx context.Context, key wire.SessionKey) error {
	if err := checkKey(ctx, key); err != nil {
		return err
	}
	f.deletes.Lock()
	defer f.deletes.Unlock()
	root, err := f.project(key.Project)
	if root == nil {
		return err
	}
	defer root.Close()
	f.indexes.forgetSession(key)
	err = ignoreNotExist(root.Remove(root.file(key)))
	if key.Subpath == "" {
		err = errors.Join(err, root.RemoveAll(root.session(key)))
	} else {
		err = errors.Join(err, ignoreNotExist(root.Remove(root.sidecar(key))))
	}
	if err != nil {
		return fmt.Errorf("sessions: delete %s: %w", key, err)
	}
	return nil
}

// ignoreNotExist returns nil instead of an error that reports that a file does not exist.
func ignoreNotExist(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Load returns the entries that the transcript has when the loop starts. For a subagent, the first
// entry stands for the metadata file next to the transcript, if there is one. Lines that are not
// entries are left out: see [Folder.Skipped]. See [Store].
//
//	for entry, err := range folder.Load(ctx, info.Key()) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(entry)
//	}
func (f *Folder) Load(ctx context.Context, key wire.SessionKey) iter.Seq2[wire.JSON, error] {
	return f.load(ctx, key, f.skip)
}

// load is Load with another function for lines that are left out.
func (f *Folder) load(ctx context.Context, key wire.SessionKey, skipped func(SkippedLine)) iter.Seq2[wire.JSON, error] {
	return func(yield func(wire.JSON, error) bool) {
		if err := checkKey(ctx, key); err != nil {
			yield("", err)
			return
		}
		root, err := f.project(key.Project)
		if err != nil {
			yield("", err)
		}
		if root == nil {
			return
		}
		defer root.Close()
		l := &loader{ctx: ctx, key: key, skipped: skipped, yield: yield}
		if key.Subpath == "" || l.sidecar(root) {
			l.file(f, root)
		}
	}
}

// A loader is one loop over a transcript. It ends at the size that the file had when it was opened,
// so a loop over a growing file ends as well.
type loader struct {
	ctx     context.Context
	key     wire.SessionKey
	skipped func(SkippedLine)
	yield   func(wire.JSON, error) bool
}

// fail yields an error as the last pair.
func (l *loader) fail(err error) { l.yield("", fmt.Errorf("sessions: load %s: %w", l.key, err)) }

// sidecar yields the entry for the metadata file next to a subagent's transcript. It reports
// whether the loop continues.
func (l *loader) sidecar(root *projectRoot) bool {
	content, err := root.ReadFile(root.sidecar(l.key))
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil {
		l.fail(err)
		return false
	}
	entry, ok := sessionfile.SidecarEntry(content)
	if !ok {
		l.skipped(SkippedLine{Key: l.key, Err: errors.New("sessions: metadata file is not a JSON object")})
		return true
	}
	return l.yield(entry, nil)
}

// file yields the entries of the transcript's file.
func (l *loader) file(f *Folder, root *projectRoot) {
	file, size, err := f.open(root, l.key)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		l.fail(err)
		return
	}
	defer file.Close()
	b := batches{file: file, size: size}
	for text, err := range readLines(io.NewSectionReader(file, 0, size)) {
		torn := false
		if err = errors.Join(err, l.ctx.Err()); err == nil {
			torn, err = b.unfinished(text)
		}
		if err != nil {
			l.fail(err)
			return
		}
		if !l.line(text, torn) {
			return
		}
	}
}

// line yields the entry of a line, or reports why it is not one. It reports whether the loop
// continues. Of an incomplete append, it reports the first line only.
func (l *loader) line(text *line, torn bool) bool {
	_, err := text.entry()
	switch {
	case text.blank() || torn && text.mark() != firstMark:
		return true
	case torn:
		err = transcript.ErrUnfinished
	}
	if err != nil {
		l.skipped(SkippedLine{Key: l.key, Line: text.number, Offset: text.offset, Torn: !text.ended, Err: err})
		return true
	}
	return l.yield(wire.JSON(text.unmarked()), nil)
}

// open opens a transcript and returns its size. It waits for an append in this process to finish,
// so that the size never includes a part of one.
func (f *Folder) open(root *projectRoot, key wire.SessionKey) (*os.File, int64, error) {
	t := f.indexes.acquire(key)
	defer f.indexes.release(key, t)
	if err := checkRegular(root.Root, root.file(key)); err != nil {
		return nil, 0, err
	}
	file, err := root.Open(root.file(key))
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return nil, 0, err
	}
	return file, info.Size(), nil
}

// checkRegular returns an error if name is not a regular file. Opening a pipe would block.
func checkRegular(root *os.Root, name string) error {
	info, err := root.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", name)
	}
	return err
}

const (
	// maxWrite is the time another process may take to complete a line: an agent writes long lines
	// in pieces.
	maxWrite = time.Second
	// endInterval is the interval at which awaitEnd checks the end of a file.
	endInterval = 5 * time.Millisecond
)

// awaitEnd returns the size of a file, and whether its last line is complete. An incomplete last
// line may still be being written, and a line appended to it now would break both. So awaitEnd
// waits until the line is complete, or until nothing is written for a second. In that case a crash
// has cut the line, and the caller has to end it.
func awaitEnd(ctx context.Context, file *os.File) (size int64, ended bool, err error) {
	for {
		info, err := file.Stat()
		if err != nil {
			return 0, false, err
		}
		size = info.Size()
		if ended, err = endsLine(file, size); ended || err != nil {
			return size, ended, err
		}
		if quiet := time.Since(info.ModTime()); quiet > maxWrite || quiet < -maxWrite {
			return size, false, nil
		}
		if pause.For(ctx, endInterval) != nil {
			return 0, false, ctx.Err()
		}
	}
}

// endsLine reports whether a file of that size ends with a complete line.
func endsLine(file *os.File, size int64) (bool, error) {
	if size == 0 {
		return true, nil
	}
	var last [1]byte
	text, err := readAt(file, last[:], size-1)
	return len(text) == 1 && text[0] == '\n', err
}

const (
	// window is the number of bytes at each end of a file that a summary is made from.
	window = 64 << 10
	// maxSearch limits the search for a title if the window has none. A first prompt with many
	// pictures is that long.
	maxSearch = 16 << 20
)

var windows = sync.Pool{New: func() any { return new([window]byte) }}

// summary returns the summary of a session, made from the first and the last entries of its file,
// and the size of the file. Titles and the state of the last turn are at the end; the working
// directory and the first prompt are at the beginning. So the middle of a long file is not needed.
func (f *Folder) summary(ctx context.Context, key wire.SessionKey) (summary Summary, size int64, err error) {
	root, err := f.project(key.Project)
	if err == nil && root == nil {
		err = fs.ErrNotExist
	}
	if err != nil {
		return summary, 0, err
	}
	defer root.Close()
	file, size, err := f.open(root, key)
	if err != nil {
		return summary, 0, fmt.Errorf("sessions: read %s: %w", key, err)
	}
	defer file.Close()
	read, err := summary.addStart(ctx, file, size)
	if err == nil {
		err = summary.addEnd(file, read, size)
	}
	if err != nil {
		return Summary{}, size, fmt.Errorf("sessions: read %s: %w", key, err)
	}
	return summary, size, nil
}

// addStart adds the first entries, and returns the offset at which they end. It continues until
// there is a title: there may be many entries before the first prompt, and the prompt may contain
// pictures.
func (s *Summary) addStart(ctx context.Context, file *os.File, size int64) (read int64, err error) {
	buffer := windows.Get().(*[window]byte) //nolint:forcetypeassert // nothing else is in there
	defer windows.Put(buffer)
	text, err := readAt(file, buffer[:min(size, window)], 0)
	if err != nil {
		return 0, err
	}
	if int64(len(text)) < size {
		text = text[:bytes.LastIndexByte(text, '\n')+1]
	}
	if err := s.addLines(text, &batches{file: file, size: size}); err != nil {
		return 0, err
	}
	read = int64(len(text))
	if read == size || read > 0 && s.Title() != "" {
		return read, ctx.Err()
	}
	return s.addMore(ctx, file, read, size)
}

// addMore adds entries until there is a title, and returns the offset at which they end.
func (s *Summary) addMore(ctx context.Context, file *os.File, start, size int64) (read int64, err error) {
	read = start
	b := batches{file: file, base: start, size: size}
	for l, err := range readLines(io.NewSectionReader(file, start, min(size-start, maxSearch))) {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return 0, err
		}
		if !l.ended && start+l.next < size { // the line is longer than the part that is read
			break
		}
		torn, err := b.unfinished(l)
		if err != nil {
			return 0, err
		}
		if !torn {
			s.add(l.text)
		}
		if read = start + l.next; read >= window && s.Title() != "" {
			break
		}
	}
	return read, nil
}

// addEnd adds the last entries of a file whose first entries were already added. If there is a gap
// between them, the results of calls before the gap may be in it, so these calls no longer count as
// open.
func (s *Summary) addEnd(file *os.File, read, size int64) error {
	buffer := windows.Get().(*[window]byte) //nolint:forcetypeassert // nothing else is in there
	defer windows.Put(buffer)
	start := max(read, size-window)
	text, err := readAt(file, buffer[:size-start], start)
	if err != nil {
		return err
	}
	if start > read { // begins in the middle of a line
		cut := bytes.IndexByte(text, '\n') + 1
		text, start = text[cut:], start+int64(cut)
		s.Unfinished = ""
	}
	return s.addLines(text, &batches{file: file, base: start, size: size})
}

// addLines adds the entries in a part of a file, except incomplete appends.
func (s *Summary) addLines(text []byte, b *batches) error {
	if bytes.IndexByte(text, '\t') < 0 { // no marks, as in all files of agents
		for line := range entrylex.Lines(bytes.TrimPrefix(text, []byte(entrylex.ByteOrderMark))) {
			s.add(line)
		}
		return nil
	}
	for l, err := range readLines(io.NewSectionReader(bytes.NewReader(text), 0, int64(len(text)))) {
		if err != nil {
			return err
		}
		torn, err := b.unfinished(l)
		if err != nil {
			return err
		}
		if !torn {
			s.add(l.text)
		}
	}
	return nil
}

// readAt reads a part of a file, or less if the file has become shorter.
func readAt(file *os.File, buffer []byte, offset int64) ([]byte, error) {
	n, err := file.ReadAt(buffer, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return buffer[:n], nil
}
