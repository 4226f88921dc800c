package archive

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clewdev/clew/internal/files"
	"github.com/clewdev/clew/internal/newid"
)

// UnpackOptions select the sessions to unpack. Nil and the zero value mean all sessions.
type UnpackOptions struct {
	// Live are agents' directories. Sessions of which they have as much as the archive are not
	// unpacked.
	Live []string
	// Progress is called after each session that was unpacked, from one goroutine at a time, with
	// bytes. Nil means that nothing is called.
	Progress func(done, all int64)
}

// Unpacked is the result of [Archive.Unpack].
type Unpacked struct {
	// Roots are the directories that have sessions, by machine. Each has the layout of an agent's
	// directory.
	Roots map[string]string
	// Sessions is the number of sessions in them, and Bytes their size.
	Sessions int
	Bytes    int64
	// Written is the number of sessions that were unpacked by this call.
	Written int
	// Problems are sessions and files that can't be read.
	Problems []Problem
}

// Unpack makes sessions of the archive readable as files, so that package sessions can read them,
// below a directory for each machine: dir/MACHINE/projects/PROJECT/SESSION.jsonl. Of the same
// session it unpacks one copy: that with the longest transcript. Files get their old times, and only
// the user can read them. Everything is compared with its checksums.
//
// A second call writes only what changed, and removes from dir what no longer belongs there, such
// as a session that was restored. The directory must be used for nothing else; it is a cache that
// can be deleted. Several processes may unpack to it at once. opts may be nil.
//
//	u, err := a.Unpack(ctx, dir, nil)
//	for machine, root := range u.Roots {
//		infos, err := sessions.List(ctx, &sessions.ListOptions{Store: sessions.NewFolder(root + "/projects")})
func (a *Archive) Unpack(ctx context.Context, dir string, opts *UnpackOptions) (*Unpacked, error) {
	u := &unpacking{archive: a, dir: dir}
	if opts != nil {
		u.UnpackOptions = *opts
	}
	all, problems, err := a.Sessions(ctx)
	if err != nil {
		return nil, err
	}
	u.result.Problems = problems
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	u.readIndex()
	u.choose(best(all))
	if err := u.run(ctx); err != nil {
		return nil, err
	}
	return u.finish()
}

// An unpacking is one call of Unpack.
type unpacking struct {
	UnpackOptions
	archive *Archive
	dir     string
	index   unpackIndex // what is in dir
	wanted  map[string]wantedSession

	mu     sync.Mutex
	result Unpacked
	done   int64
}

// A wantedSession is a session that has to be in the directory.
type wantedSession struct {
	*Session
	newer time.Time // the live transcript has less, and this time: the copy has to look newer
}

// An unpackIndex lists the unpacked sessions, by key.
type unpackIndex map[string]unpackedSession

type unpackedSession struct {
	Revision string   `json:"revision"`
	Bytes    int64    `json:"bytes"`
	Paths    []string `json:"paths"` // in the directory of the machine, with slashes
}

const (
	indexName = "unpacked.json"
	maxIndex  = 256 << 20
)

func (u *unpacking) readIndex() {
	u.index = unpackIndex{}
	data, err := files.ReadSmall(filepath.Join(u.dir, indexName), maxIndex)
	if err != nil || json.Unmarshal(data, &u.index) != nil || u.index == nil {
		u.index = unpackIndex{} // everything is unpacked again
	}
}

// choose finds the sessions of which the live files have less.
func (u *unpacking) choose(sessions []*Session) {
	live := mainFiles(u.Live)
	u.wanted = map[string]wantedSession{}
	for _, s := range sessions {
		file, ok := live[strings.ToLower(s.Session)]
		if ok && file.size >= s.Main().Size {
			continue
		}
		w := wantedSession{Session: s}
		if ok && !s.Main().Modified.After(file.modified) {
			w.newer = file.modified.Add(time.Second)
		}
		u.wanted[s.Key.String()] = w
	}
}

// mainFiles returns the longest transcript of each session in the agents' directories, by ID.
func mainFiles(roots []string) map[string]liveFile {
	found := map[string]liveFile{}
	for _, root := range roots {
		projects, _ := os.ReadDir(filepath.Join(root, "projects")) // what can't be read has nothing to show
		for _, project := range projects {
			entries, _ := os.ReadDir(filepath.Join(root, "projects", project.Name()))
			for _, entry := range entries {
				id, ok := strings.CutSuffix(entry.Name(), ".jsonl")
				if !ok || !newid.IsUUID(id) || !entry.Type().IsRegular() {
					continue
				}
				id = strings.ToLower(id)
				if info, err := entry.Info(); err == nil && info.Size() > found[id].size {
					found[id] = liveFile{entry.Name(), info.Size(), info.ModTime()}
				}
			}
		}
	}
	return found
}

// run removes what does not belong in the directory, and unpacks what is missing.
func (u *unpacking) run(ctx context.Context) error {
	changed := u.removeOthers()
	var jobs []wantedSession
	var all int64
	for key, s := range u.wanted {
		if was, ok := u.index[key]; !ok || was.Revision != s.stamp() || !u.there(s) {
			jobs = append(jobs, s)
			all += s.Size()
		}
	}
	slices.SortFunc(jobs, func(a, b wantedSession) int { return cmp.Compare(b.Size(), a.Size()) })
	queue := make(chan wantedSession)
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0)+1, len(jobs)) {
		wg.Go(func() {
			for s := range queue {
				u.session(ctx, s, all)
			}
		})
	}
	for _, s := range jobs {
		if ctx.Err() != nil {
			break
		}
		queue <- s
	}
	close(queue)
	wg.Wait()
	if changed || len(jobs) > 0 {
		return errors.Join(ctx.Err(), u.writeIndex())
	}
	return ctx.Err()
}

// removeOthers removes the sessions that are not wanted, except sessions whose manifest can't be
// read any more.
func (u *unpacking) removeOthers() (removed bool) {
	unreadable := map[string]bool{}
	for _, p := range u.result.Problems {
		unreadable[p.Where] = true
	}
	for key, was := range u.index {
		if _, ok := u.wanted[key]; !ok && !unreadable[key] {
			u.remove(key, was)
			delete(u.index, key)
			removed = true
		}
	}
	return removed
}

// stamp identifies the content that was unpacked.
func (s *wantedSession) stamp() string {
	if s.newer.IsZero() {
		return s.revision
	}
	return s.revision + " " + s.newer.Format(time.RFC3339Nano)
}

// there reports whether the transcript is still there: somebody may have cleaned the cache.
func (u *unpacking) there(s wantedSession) bool {
	info, err := os.Lstat(filepath.Join(u.dir, s.Machine, filepath.FromSlash(s.mainPath())))
	return err == nil && info.Size() == s.Main().Size
}

// remove removes the files of a session. The index is checked as a manifest is: it may be damaged.
func (u *unpacking) remove(key string, was unpackedSession) {
	parts := strings.Split(key, "/")
	if len(parts) != 3 {
		return
	}
	owner := Session{Key: Key{parts[0], parts[1], parts[2]}}
	root, err := os.OpenRoot(filepath.Join(u.dir, parts[0]))
	if err != nil || owner.Key.Check() != nil {
		return
	}
	defer root.Close()
	for _, name := range was.Paths {
		if owner.checkPath(name) == nil {
			_ = root.Remove(name) // what stays is unpacked over
		}
	}
	_ = root.RemoveAll(path.Join("projects", owner.Project, owner.Session))
}

// session unpacks a session. The transcript comes last: with it, the others are found.
func (u *unpacking) session(ctx context.Context, s wantedSession, all int64) {
	problems, err := u.unpack(ctx, s)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.done += s.Size()
	u.result.Problems = append(u.result.Problems, problems...)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		u.result.Problems = append(u.result.Problems, Problem{s.Key.String(), err})
		return
	}
	was := unpackedSession{Revision: s.stamp(), Bytes: s.Size()}
	if len(problems) > 0 {
		was.Revision = "" // it is tried again
	}
	for i := range s.Files {
		was.Paths = append(was.Paths, s.Files[i].Path)
	}
	u.index[s.Key.String()] = was
	u.result.Written++
	if u.Progress != nil {
		u.Progress(u.done, all)
	}
}

func (u *unpacking) unpack(ctx context.Context, s wantedSession) ([]Problem, error) {
	machine := filepath.Join(u.dir, s.Machine)
	if err := os.MkdirAll(machine, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(machine)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	r := reader{archive: u.archive, session: s.Session}
	w := fileWriter{&r}
	var problems []Problem
	for i := range s.Files {
		f := &s.Files[i]
		if f.Path == s.mainPath() {
			continue
		}
		if err := w.replace(ctx, root, draftOptions{f, f.Modified, false}); err != nil {
			problems = append(problems, Problem{s.Key.String(), err})
		}
	}
	modified := s.Main().Modified
	if !s.newer.IsZero() {
		modified = s.newer
	}
	return problems, w.replace(ctx, root, draftOptions{s.Main(), modified, false})
}

// A fileWriter writes files of a session below a directory, which nothing in them can leave.
type fileWriter struct {
	reader *reader
}

// draftOptions configure a draft.
type draftOptions struct {
	file     *File
	modified time.Time
	sync     bool
}

// draftStart starts the names of files that are being written. A crash may leave one.
const draftStart = ".clew-"

// draft writes the content of a file under another name in its directory, which it returns.
func (w *fileWriter) draft(ctx context.Context, root *os.Root, rel string, o draftOptions) (name string, err error) {
	dir := path.Dir(rel)
	if err := root.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	name = path.Join(dir, draftStart+rand.Text())
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	err = w.reader.write(ctx, file, o.file.Path, o.file.Segments)
	if err == nil && o.sync {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = root.Chtimes(name, o.modified, o.modified)
	}
	if err != nil {
		_ = root.Remove(name) // the first error says more
		return "", err
	}
	return name, nil
}

// replace writes a file, in place of one of the same name.
func (w *fileWriter) replace(ctx context.Context, root *os.Root, o draftOptions) error {
	name, err := w.draft(ctx, root, o.file.Path, o)
	if err != nil {
		return err
	}
	if err := root.Rename(name, o.file.Path); err != nil {
		_ = root.Remove(name)
		return err
	}
	return nil
}

func (u *unpacking) writeIndex() error {
	data, err := json.Marshal(u.index)
	if err != nil {
		return err
	}
	// Without its index, all is unpacked again.
	return files.Write(filepath.Join(u.dir, indexName), data, files.WriteOptions{NoSync: true})
}

func (u *unpacking) finish() (*Unpacked, error) {
	u.result.Roots = map[string]string{}
	for key, s := range u.index {
		machine, _, _ := strings.Cut(key, "/")
		u.result.Roots[machine] = filepath.Join(u.dir, machine)
		u.result.Sessions++
		u.result.Bytes += s.Bytes
	}
	slices.SortFunc(u.result.Problems, func(a, b Problem) int { return strings.Compare(a.Where, b.Where) })
	return &u.result, nil
}
