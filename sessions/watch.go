package sessions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/clewdev/clew/internal/newid"
	"github.com/clewdev/clew/internal/pause"
	"github.com/clewdev/clew/wire"
)

// WatchOptions select sessions and configure how they are watched. Nil and the zero value mean all
// sessions in the agent's own files.
type WatchOptions struct {
	// Store, Project, ProjectName and OnlyProject select the sessions, as in [ListOptions]. The
	// store must be a [*Folder] or nil.
	Store                Store
	Project, ProjectName string
	OnlyProject          bool
	// PollInterval is the interval between checks for changes. 0 means that the operating system
	// reports them; directories are then also checked every 30 seconds, or every 2 seconds where
	// the system can't report changes. Set it for files on a network file system. Of old sessions
	// that grow again, a check may notice only every fifteenth time.
	PollInterval time.Duration
	// Failed is called with the error of each directory that can't be read, once for each error.
	// The other sessions are watched all the same. Nil means that nothing is called.
	Failed func(error)

	notify func() (*notifier, error) // nil means newListNotifier
}

// Watch follows the session list. It yields the list at once, and again whenever a session has
// appeared, grown or gone, but not more than four times a second. A list is the same as from
// [Names], the newest first; use [Summarize] for the sessions that you show.
//
//	for infos, err := range sessions.Watch(ctx, nil) {
//		if err != nil {
//			return err
//		}
//		draw(infos)
//	}
//
// The lists must not be changed, since the next one may share them. Neither the directories nor
// those above them have to exist yet. The loop ends when the caller leaves it, or with the error of
// the context when that ends. Nothing keeps running after it.
//
// Where the operating system reports changes, which are Linux and Windows, waiting costs nearly
// nothing however many sessions there are, and a change costs no more than looking at the file that
// changed.
func Watch(ctx context.Context, opts *WatchOptions) iter.Seq2[[]SessionInfo, error] {
	var own WatchOptions
	if opts != nil {
		own = *opts
	}
	return func(yield func([]SessionInfo, error) bool) {
		w := &listWatch{opts: own, roots: map[string]*watchedRoot{}, refused: map[string]string{}}
		if _, ok := own.Store.(*Folder); own.Store != nil && !ok {
			yield(nil, fmt.Errorf("sessions: Watch: the store, a %T, does not keep files", own.Store))
			return
		}
		create := own.notify
		if create == nil {
			create = newListNotifier
		}
		w.watch = newWatch(own.PollInterval, create)
		defer w.watch.close()
		if own.PollInterval == 0 {
			w.watch.slow, w.watch.fast = slowListPoll, fastListPoll
		}
		if err := w.run(ctx, func(infos []SessionInfo) bool { return yield(infos, nil) }); !errors.Is(err, errLeft) {
			yield(nil, err)
		}
	}
}

const (
	// slowListPoll and fastListPoll are the polling intervals of Watch, as slowPoll and fastPoll
	// are for Tail.
	slowListPoll = 30 * time.Second
	fastListPoll = 2 * time.Second
	// listPace is the shortest time between two lists.
	listPace = 250 * time.Millisecond
	// newestChecked is the number of sessions that are checked at each poll: the ones most likely
	// to grow. All are checked at each poll whose number is divisible by fullPoll.
	newestChecked = 64
	fullPoll      = 15
	// settleTime is the time a directory may change without getting another modification time.
	settleTime = 2 * time.Second
)

// newListNotifier is newNotifier where a watched directory reports the growth of its files. On the
// other systems, that takes an open file for each of them.
func newListNotifier() (*notifier, error) {
	if runtime.GOOS != "linux" && runtime.GOOS != "windows" {
		return nil, errors.ErrUnsupported
	}
	return newNotifier()
}

// A listWatch is one loop of Watch.
type listWatch struct {
	opts  WatchOptions
	watch *watch
	roots map[string]*watchedRoot // by directory
	polls int

	// list has all sessions, the newest first, also several with the same ID. It is never changed,
	// only replaced. files holds the files of its sessions.
	list  []SessionInfo
	files []watchedFile
	// changed are the sessions that are not in the list as they are now.
	changed map[watchedFile]fileState
	refused map[string]string // the errors that were reported for directories
}

// A watchedRoot is a directory of projects.
type watchedRoot struct {
	scope
	folder   *Folder
	dir      string
	stamp    time.Time
	projects map[string]*watchedProject // by name
}

// A watchedProject is the directory of a project.
type watchedProject struct {
	root      *watchedRoot
	name, dir string
	stamp     time.Time
	known     map[string]fileState // the sessions, by ID
}

// A watchedFile is the file of a session.
type watchedFile struct {
	project *watchedProject
	id      string
}

// A fileState identifies the content of a file. That of a file that is gone has no size.
type fileState struct {
	modified time.Time
	size     int64
}

func stateOf(info fs.FileInfo) fileState { return fileState{info.ModTime(), info.Size()} }

func (s fileState) equal(to fileState) bool {
	return s.size == to.size && s.modified.Equal(to.modified)
}

// run yields lists until the context ends or the caller leaves the loop.
func (w *listWatch) run(ctx context.Context, yield func([]SessionInfo) bool) error {
	if err := w.check(ctx); err != nil {
		return err
	}
	for begun := false; ; begun = true {
		if len(w.changed) > 0 || !begun {
			w.merge()
			if !yield(w.newest()) {
				return errLeft
			}
			if pause.For(ctx, listPace) != nil {
				return ctx.Err()
			}
		}
		changed, err := w.watch.wait(ctx)
		if err != nil {
			return err
		}
		if changed == nil {
			err = w.check(ctx)
		} else {
			err = w.look(ctx, changed.paths)
		}
		if err != nil {
			return err
		}
	}
}

// check finds changes that the system has not reported. It opens no directory that has the same time as
// before, except now and then.
func (w *listWatch) check(ctx context.Context) error {
	all := w.watch.lost || w.polls%fullPoll == 0
	w.watch.lost = false
	w.polls++
	w.watch.forgetMoved()
	if err := w.findRoots(); err != nil {
		return err
	}
	var outdated []*watchedProject
	for _, r := range w.roots {
		w.checkRoot(r)
		for _, p := range r.projects {
			added := w.watch.add(p.dir)
			stamp, same := stampOf(p.dir, p.stamp)
			if p.stamp = stamp; !same || added || all {
				outdated = append(outdated, p)
			}
		}
	}
	w.readProjects(ctx, outdated)
	if !all {
		for _, file := range w.files[:min(newestChecked, len(w.files))] {
			w.checkSession(file)
		}
	}
	return ctx.Err()
}

// findRoots finds the directories of projects. Those that did not exist may do so now.
func (w *listWatch) findRoots() error {
	where := &Options{Store: w.opts.Store, Project: w.opts.Project, ProjectName: w.opts.ProjectName}
	all, err := where.scopes(!w.opts.OnlyProject)
	if err != nil {
		return err
	}
	wanted := map[string]bool{}
	for _, s := range all {
		folder, _ := s.store.(*Folder)
		dir := filepath.Clean(folder.dir)
		wanted[dir] = true
		r := w.roots[dir]
		if r == nil {
			r = &watchedRoot{folder: folder, dir: dir, projects: map[string]*watchedProject{}}
			w.roots[dir] = r
		}
		if r.scope.store == nil || !slices.Equal(r.names, s.names) || !slices.Equal(r.ofJobs, s.ofJobs) {
			r.scope, r.stamp = s, time.Time{}
		}
	}
	for dir, r := range w.roots {
		if !wanted[dir] {
			w.dropProjects(r, func(string) bool { return true })
			delete(w.roots, dir)
		}
	}
	return nil
}

// checkRoot finds the projects of a directory, if it may have changed.
func (w *listWatch) checkRoot(r *watchedRoot) {
	added := w.watch.add(r.dir)
	stamp, same := stampOf(r.dir, r.stamp)
	if same && !added {
		return
	}
	names, err := r.folder.projectDirs(func(name string) bool {
		return projectKey(name).Check() == nil && (len(r.names) == 0 || r.wants(name))
	})
	w.refuse(r.dir, err)
	r.stamp = stamp
	for _, name := range names {
		if r.projects[name] == nil {
			r.projects[name] = &watchedProject{root: r, name: name, dir: filepath.Join(r.dir, name)}
		}
	}
	w.dropProjects(r, func(name string) bool { return !slices.Contains(names, name) })
}

// stampOf returns the modification time of a directory, and whether it has that since before. A
// time that is very new is not worth anything, since the directory may change again at that time.
func stampOf(dir string, before time.Time) (stamp time.Time, same bool) {
	info, err := os.Stat(dir)
	if err != nil {
		return time.Time{}, false
	}
	if stamp = info.ModTime(); time.Since(stamp).Abs() < settleTime {
		return time.Time{}, false
	}
	return stamp, stamp.Equal(before)
}

// dropProjects forgets projects with their sessions.
func (w *listWatch) dropProjects(r *watchedRoot, gone func(name string) bool) {
	for name, p := range r.projects {
		if gone(name) {
			w.setSessions(p, nil)
			delete(r.projects, name)
			delete(w.watch.folders, p.dir)
		}
	}
}

// readProjects finds the sessions of projects, several at a time.
func (w *listWatch) readProjects(ctx context.Context, projects []*watchedProject) {
	found, errs := make([]map[string]fileState, len(projects)), make([]error, len(projects))
	inParallel(len(projects), func(i int) { found[i], errs[i] = projects[i].read(ctx) })
	if ctx.Err() != nil {
		return
	}
	for i, p := range projects {
		if w.refuse(p.dir, errs[i]); errs[i] != nil {
			p.stamp = time.Time{} // the next check tries again
		}
		if errs[i] == nil || errors.Is(errs[i], fs.ErrPermission) {
			w.setSessions(p, found[i])
		}
	}
}

// read returns the sessions of a project, by ID.
func (p *watchedProject) read(ctx context.Context) (map[string]fileState, error) {
	found := map[string]fileState{}
	err := p.root.folder.eachSession(ctx, p.name, func(id string, info fs.FileInfo) {
		if newid.IsUUID(id) {
			found[id] = stateOf(info)
		}
	})
	return found, err
}

// setSessions replaces the sessions of a project, and notes what changed.
func (w *listWatch) setSessions(p *watchedProject, found map[string]fileState) {
	for id := range p.known {
		if _, ok := found[id]; !ok {
			w.note(watchedFile{p, id}, fileState{})
		}
	}
	for id, state := range found {
		if was, ok := p.known[id]; !ok || !was.equal(state) {
			w.note(watchedFile{p, id}, state)
		}
	}
	p.known = found
}

// note notes that a session changed.
func (w *listWatch) note(file watchedFile, state fileState) {
	if w.changed == nil {
		w.changed = map[watchedFile]fileState{}
	}
	w.changed[file] = state
}

// look looks at files that the system has named. If it has named the directory of a project, that
// may be new, gone or another one.
func (w *listWatch) look(ctx context.Context, paths []string) error {
	seen := map[string]bool{}
	projects := false
	for _, path := range paths {
		if seen[path] {
			continue
		}
		seen[path] = true
		dir, name := filepath.Dir(path), filepath.Base(path)
		if r := w.roots[dir]; r != nil {
			r.stamp, projects = time.Time{}, true
			continue
		}
		p := w.projectAt(dir)
		if id, ok := strings.CutSuffix(name, transcriptExtension); p != nil && ok && newid.IsUUID(id) {
			w.checkSession(watchedFile{p, id})
		}
	}
	if projects {
		return w.check(ctx)
	}
	return ctx.Err()
}

// projectAt returns the project with a directory, or nil.
func (w *listWatch) projectAt(dir string) *watchedProject {
	if r := w.roots[filepath.Dir(dir)]; r != nil {
		return r.projects[filepath.Base(dir)]
	}
	return nil
}

// checkSession looks at the file of one session.
func (w *listWatch) checkSession(file watchedFile) {
	p := file.project
	info, err := p.root.folder.sessionFile(wire.SessionKey{Project: p.name, SessionID: file.id})
	if err != nil {
		return
	}
	var state fileState
	if info != nil {
		state = stateOf(info)
	}
	if p.known[file.id].equal(state) {
		return
	}
	if w.note(file, state); info == nil {
		delete(p.known, file.id)
		return
	}
	if p.known == nil {
		p.known = map[string]fileState{}
	}
	p.known[file.id] = state
}

// refuse reports the error of a directory, unless it was reported before.
func (w *listWatch) refuse(dir string, err error) {
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, context.Canceled) {
		delete(w.refused, dir)
		return
	}
	if w.refused[dir] != err.Error() && w.opts.Failed != nil {
		w.opts.Failed(err)
	}
	w.refused[dir] = err.Error()
}

// merge puts the sessions that changed into a new list.
func (w *listWatch) merge() {
	changed := make([]changedFile, 0, len(w.changed))
	for file, state := range w.changed {
		if state.size > 0 {
			changed = append(changed, changedFile{file, state})
		}
	}
	slices.SortFunc(changed, func(a, b changedFile) int { return compareFiles(a.file, a.state.modified, b.file, b.state.modified) })
	list := make([]SessionInfo, 0, len(w.list)+len(changed))
	files := make([]watchedFile, 0, cap(list))
	jobs := map[*watchedProject]Job{}
	next := func() { // takes the first changed one
		file := changed[0].file
		job, ok := jobs[file.project]
		if !ok {
			job = file.project.root.folder.job(file.project.name)
			jobs[file.project] = job
		}
		list, files = append(list, file.info(changed[0].state, job)), append(files, file)
		changed = changed[1:]
	}
	for i := range w.list {
		if _, ok := w.changed[w.files[i]]; ok {
			continue
		}
		for len(changed) > 0 && compareFiles(changed[0].file, changed[0].state.modified, w.files[i], w.list[i].Modified) < 0 {
			next()
		}
		list, files = append(list, w.list[i]), append(files, w.files[i])
	}
	for len(changed) > 0 {
		next()
	}
	w.list, w.files, w.changed = list, files, nil
}

// A changedFile is the file of a session that is not in the list as it is now.
type changedFile struct {
	file  watchedFile
	state fileState
}

// compareFiles orders files of sessions, the newest first, and by their names, so that their order is stable.
func compareFiles(a watchedFile, aTime time.Time, b watchedFile, bTime time.Time) int {
	if c := bTime.Compare(aTime); c != 0 {
		return c
	}
	return cmp.Or(strings.Compare(a.project.name, b.project.name), strings.Compare(a.id, b.id), strings.Compare(a.project.dir, b.project.dir))
}

// info returns what is known of a session without opening its file.
func (f watchedFile) info(state fileState, job Job) SessionInfo {
	return SessionInfo{
		ID: f.id, Project: f.project.name, Modified: state.modified, Size: state.size, Job: job,
		Path: f.project.dir + string(filepath.Separator) + f.id + transcriptExtension,
	}
}

// newest returns the list with each ID once.
func (w *listWatch) newest() []SessionInfo {
	seen := make(map[string]bool, len(w.list))
	for i := range w.list {
		seen[w.list[i].ID] = true
	}
	if len(seen) == len(w.list) {
		return w.list
	}
	clear(seen)
	return slices.DeleteFunc(slices.Clone(w.list), func(i SessionInfo) bool {
		repeated := seen[i.ID]
		seen[i.ID] = true
		return repeated
	})
}

// A watch waits until something may have changed in a set of directories. Where the operating
// system can't report changes, it polls. It also polls, less often, where the system can, in case
// an event was lost.
type watch struct {
	notify  *notifier       // nil where the system can't report changes
	folders map[string]bool // the directories to watch, and whether that succeeded
	// slow is the polling interval while the system reports all changes, and fast the interval
	// while it does not.
	slow, fast time.Duration
	quiet      int  // how often it has polled, one after the other, and nothing was new
	lost       bool // events were lost
}

// A notifier receives the changes that the operating system reports.
type notifier struct {
	*fsnotify.Watcher
	add func(folder string) error
}

// newNotifier returns a notifier of the operating system, or an error if there is none or too many
// are in use.
func newNotifier() (*notifier, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	return &notifier{w, w.Add}, nil
}

// The polling intervals of Tail: where the system reports changes, in case it missed one, as
// happens on network file systems, and where it does not.
const (
	slowPoll = 2 * time.Second
	fastPoll = 200 * time.Millisecond
	// slowestPoll is up to where the first of these is doubled while nothing happens.
	slowestPoll = 30 * time.Second
)

// newWatch returns a watch of no directories yet. If poll is not 0, or create fails, it polls.
func newWatch(poll time.Duration, create func() (*notifier, error)) *watch {
	w := &watch{folders: map[string]bool{}, slow: slowPoll, fast: fastPoll}
	if poll > 0 {
		w.slow, w.fast = poll, poll
		return w
	}
	if notify, err := create(); err == nil {
		w.notify = notify
	}
	return w
}

// close releases the notifier.
func (w *watch) close() {
	if w.notify != nil {
		_ = w.notify.Close()
	}
}

// forgetUnwatched is called before all directories are added again: directories that could not be
// watched may be gone, or may exist now.
func (w *watch) forgetUnwatched() {
	maps.DeleteFunc(w.folders, func(_ string, watched bool) bool { return !watched })
}

// forgetMoved forgets directories that the notifier does not watch any more, since it stops when a
// directory is renamed, and may notice that late.
func (w *watch) forgetMoved() {
	if w.notify == nil {
		return
	}
	watched := map[string]bool{}
	for _, folder := range w.notify.WatchList() {
		watched[folder] = true
	}
	maps.DeleteFunc(w.folders, func(folder string, _ bool) bool { return !watched[folder] })
}

// add watches one more directory, and reports whether it was not watched before. While that fails,
// the watch polls more often.
func (w *watch) add(folder string) bool {
	if w.notify == nil || w.folders[folder] {
		return false
	}
	w.folders[folder] = w.notify.add(folder) == nil
	return true
}

// renew forgets what is watched: directories of the same names may be others now.
func (w *watch) renew() { clear(w.folders) }

// interval returns the longest time to wait.
func (w *watch) interval() time.Duration {
	if w.notify == nil || len(w.folders) == 0 {
		return w.fast
	}
	for _, watched := range w.folders {
		if !watched {
			return w.fast
		}
	}
	return max(w.slow, min(w.slow<<min(w.quiet, 8), slowestPoll))
}

// found records that something was new. Then polling is frequent again, in case the system did not
// report it.
func (w *watch) found() { w.quiet = 0 }

// wait blocks until something may have changed. It returns nil if that may be anything.
func (w *watch) wait(ctx context.Context) (*changes, error) {
	timer := time.NewTimer(w.interval())
	defer timer.Stop()
	var events chan fsnotify.Event
	var faults chan error
	if w.notify != nil {
		events, faults = w.notify.Events, w.notify.Errors
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-timer.C:
		w.quiet++
		return nil, nil
	case _, ok := <-faults: // such as too many events at once
		w.lost = true
		w.check(ok)
		return nil, nil
	case event, ok := <-events:
		if w.check(ok); !ok {
			return nil, nil
		}
		return w.gather(event), nil
	}
}

// check stops using a notifier that ended.
func (w *watch) check(ok bool) {
	if !ok {
		w.close()
		w.notify = nil
	}
}

// maxGathered is the largest number of events in one set of changes.
const maxGathered = 1000

// gather returns the path of an event, with the paths of the events that arrived since.
func (w *watch) gather(event fsnotify.Event) *changes {
	c := new(changes)
	for range maxGathered {
		if _, ok := w.folders[event.Name]; ok && event.Op&(fsnotify.Remove|fsnotify.Rename) != 0 {
			delete(w.folders, event.Name) // if it comes back, it has to be watched again
			w.lost = true
			return nil
		}
		c.paths = append(c.paths, event.Name)
		var ok bool
		select {
		case event, ok = <-w.notify.Events:
			if !ok {
				return c
			}
		default:
			return c
		}
	}
	return c
}

// changes are the files and directories that may have changed, some of them more than once. Nil
// means all files.
type changes struct{ paths []string }

// has reports whether a path is among the changes.
func (c *changes) has(path string) bool { return slices.Contains(c.paths, path) }
