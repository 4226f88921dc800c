package sessions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/clewdev/clew/internal/newid"
	"github.com/clewdev/clew/wire"
)

// A SessionInfo describes a session as far as it is known without reading its conversation. The
// embedded [Summary] has titles, prompts and the working directory.
type SessionInfo struct {
	// ID is a UUID, which the other functions of this package take.
	ID string
	// Project is the name of the project, which the agent makes from the working directory:
	// "-home-me-code". It can't be turned back into the path, which is in CWD.
	Project string
	// Path is the path of the session's main transcript, or "" if the store is not a [Folder].
	Path string
	// Modified is the time of the last write to the main transcript. A new title or a copy of the
	// file counts as well; the time of the last entry is LastTime.
	Modified time.Time
	// Size is the size of the main transcript in bytes, or 0 if the store does not know it.
	Size int64
	// Ongoing reports whether an agent seems to be working in the session: the last turn has not
	// ended, and neither the last entry nor the file is two minutes old. See OngoingUntil.
	Ongoing bool
	// Done reports whether the session is marked as done, see [MarkDone]. It is false in a store that
	// is not a [Folder].
	Done bool
	// Job is the job of a fleet that the session belongs to, or the zero value. It is not set in a
	// store that is not a [Folder].
	Job Job
	Summary
	// Err explains why the session could not be read, or is nil. If it is set, the summary is
	// empty.
	Err error
}

// Key returns the key of the session's main transcript, for the methods of a [Store]. Its subpath
// is empty.
func (i *SessionInfo) Key() wire.SessionKey {
	return wire.SessionKey{Project: i.Project, SessionID: i.ID}
}

// maxQuiet is the time an agent that is working may write nothing.
const maxQuiet = 2 * time.Minute

// maxLoads is the number of sessions that are read at the same time.
const maxLoads = 16

// List returns sessions, the newest first unless the options say otherwise. opts may be nil.
//
//	since := time.Now().AddDate(0, 0, -7)
//	infos, err := sessions.List(ctx, &sessions.ListOptions{Since: since, Text: "login"})
//
// It leaves out sessions in which nobody said anything, or nothing but /clear, sessions whose ID is
// not a UUID, and transcripts of subagents that older agents kept as sessions. Of several copies
// with the same ID, it returns the newest. A session that can't be read is in the list with its Err
// set, unless there are filters, which it can't pass. If the user may not read a project, List
// returns the sessions of the other projects together with that error.
//
// A list of large sessions is fast, since List reads only the beginning and the end of each file:
// 64 KiB each, or up to the first title in the first 16 MiB. So it misses what is only in the
// middle of a larger file, such as a title that was set there. To be sure, use [Read].
//
// A store that is a [Summarizer] supplies the summaries. From other stores List loads the sessions,
// 16 at a time. If the list is sorted by modification time and has a limit, it loads only as many
// as it needs.
func List(ctx context.Context, opts *ListOptions) ([]SessionInfo, error) {
	if opts == nil {
		opts = new(ListOptions)
	}
	found, forbidden, err := opts.find(ctx)
	if err != nil {
		return nil, err
	}
	listed, err := opts.list(ctx, found)
	if err != nil {
		return nil, err
	}
	return listed, forbidden
}

// Names returns sessions like [List] but opens no transcript, so that it is fast however many there
// are: some milliseconds for a thousand. ID, Project, Path, Modified, Size and Job are set, and the
// summaries are empty. [Summarize] reads them, for as many sessions as are needed at a time. Together they
// are List:
//
//	infos, err := sessions.Names(ctx, nil)
//	first := sessions.Summarize(ctx, infos[:min(50, len(infos))])
//	first = slices.DeleteFunc(first, func(i sessions.SessionInfo) bool { return !i.Listed() })
//
// Since the summary decides that, Names includes sessions that List leaves out: see
// [SessionInfo.Listed]. An option that needs a summary, such as Text, is an error; of the orders,
// Names knows [ByModified] and [BySize]. The store must be a [*Folder] or nil. opts may be nil. If
// the user may not read a project, Names returns the sessions of the others together with that
// error.
func Names(ctx context.Context, opts *ListOptions) ([]SessionInfo, error) {
	if opts == nil {
		opts = new(ListOptions)
	}
	if err := opts.checkNames(); err != nil {
		return nil, err
	}
	found, forbidden, err := opts.find(ctx)
	if err != nil {
		return nil, err
	}
	if opts.Reverse && opts.Sort == ByModified {
		slices.Reverse(found)
	}
	infos := infosOf(found)
	opts.sort(infos)
	return opts.page(infos), errors.Join(forbidden, ctx.Err())
}

// Summarize returns the sessions with the fields that [Names] leaves empty: the summary, Ongoing,
// Done and Err, and the size as it is now. It reads several files at a time, as [List] does,
// and keeps the order. The argument stays as it is. A session that can't be read has its Err set,
// and so does a session that was deleted since or not read before the context ended.
func Summarize(ctx context.Context, infos []SessionInfo) []SessionInfo {
	found := make([]foundSession, len(infos))
	sources := map[string]*summarySource{}
	for i := range infos {
		info := &infos[i]
		dir := filepath.Dir(filepath.Dir(info.Path))
		if sources[dir] == nil {
			sources[dir] = &summarySource{scope: scope{store: NewFolder(dir)}}
		}
		found[i] = foundSession{info.Key(), info.Modified, info.Size, sources[dir]}
	}
	read, _ := summarize(ctx, found)
	for i := range infos {
		if infos[i].Path == "" {
			read[i] = infos[i]
			read[i].Err = fmt.Errorf("sessions: session %s has no file to read", infos[i].ID)
		}
	}
	return read
}

// checkNames returns an error if Names can't consider one of the options.
func (o *ListOptions) checkNames() error {
	if _, ok := o.Store.(*Folder); o.Store != nil && !ok {
		return fmt.Errorf("sessions: Names: the store, a %T, does not keep files", o.Store)
	}
	for _, option := range []struct {
		name string
		set  bool
	}{
		{"Branch", o.Branch != ""}, {"Tag", o.Tag != ""}, {"Model", o.Model != ""}, {"Text", o.Text != ""},
		{"Ongoing", o.Ongoing != nil}, {"Done", o.Done != nil}, {"OnlyInteractive", o.OnlyInteractive},
		{"Sort", o.Sort != ByModified && o.Sort != BySize},
	} {
		if option.set {
			return fmt.Errorf("sessions: Names: the option %s needs summaries; use List", option.name)
		}
	}
	return nil
}

// find returns the sessions that pass the filters of ID and time, each ID once, the newest first.
// Projects that the user may not read are in the error forbidden.
func (o *ListOptions) find(ctx context.Context) (found []foundSession, forbidden, err error) {
	where := &Options{Store: o.Store, Project: o.Project, ProjectName: o.ProjectName}
	all, err := where.scopes(!o.OnlyProject)
	if err != nil {
		return nil, nil, err
	}
	found, forbidden, err = all.sessions(ctx)
	if err != nil {
		return nil, nil, err
	}
	found = o.candidates(found)
	if o.Found != nil {
		o.Found(len(found))
	}
	return found, forbidden, nil
}

// A foundSession is a session, and the store that it was found in. There may be many of them, of
// which only a few are listed.
type foundSession struct {
	wire.SessionKey
	modified time.Time
	size     int64 // 0 if the store does not know it
	in       *summarySource
}

// info returns what is known of the session before it is read.
func (f *foundSession) info() SessionInfo {
	info := SessionInfo{ID: f.SessionID, Project: f.Project, Modified: f.modified, Size: f.size}
	if folder, ok := f.in.store.(*Folder); ok {
		info.Path, info.Job = folder.path(f.SessionKey), f.in.job(f.Project)
	}
	return info
}

func infosOf(found []foundSession) []SessionInfo {
	infos := make([]SessionInfo, len(found))
	for i := range found {
		infos[i] = found[i].info()
	}
	return infos
}

// Listed reports whether [List] would list the session, given that its summary was read. It is
// false if nobody said anything in it, or nothing but /clear, if it is a transcript of a subagent,
// and if it was deleted after it was found.
func (i *SessionInfo) Listed() bool {
	if i.Err != nil {
		return !errors.Is(i.Err, fs.ErrNotExist)
	}
	return !i.Sidechain && i.Title() != "" && !i.onlyCleared()
}

// onlyCleared reports whether the session started with /clear and ended before a prompt.
func (s *Summary) onlyCleared() bool {
	return s.FirstPrompt == "" && s.FirstCommand == "/clear" && s.Title() == s.FirstCommand
}

// sessions returns the sessions of all scopes, without summaries. Projects that can't be read for
// lack of permission are in the error forbidden, and the sessions of the others are returned.
func (ss scopes) sessions(ctx context.Context) (all []foundSession, forbidden, err error) {
	var refused []error
	for _, s := range ss {
		l := &summarySource{scope: s}
		projects, err := s.projects(ctx)
		if err != nil {
			return nil, nil, err
		}
		found, errs := l.sessions(ctx, projects)
		for i := range projects {
			if errors.Is(errs[i], fs.ErrPermission) {
				refused = append(refused, errs[i])
				continue
			}
			if errs[i] != nil {
				return nil, nil, errs[i]
			}
			all = append(all, found[i]...)
		}
	}
	return all, errors.Join(refused...), nil
}

// sessions returns the sessions of projects, or the error of each. It reads several projects at a
// time.
func (l *summarySource) sessions(ctx context.Context, projects []string) ([][]foundSession, []error) {
	found, errs := make([][]foundSession, len(projects)), make([]error, len(projects))
	inParallel(len(projects), func(i int) { found[i], errs[i] = l.project(ctx, projects[i]) })
	return found, errs
}

// inParallel calls do with each number below n, and as many of them at a time as there are
// processors.
func inParallel(n int, do func(i int)) {
	var wg sync.WaitGroup
	var next atomic.Int64
	for range min(runtime.GOMAXPROCS(0), n) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wg.Wait()
}

// project returns the sessions of a project. Those whose ID is not a UUID are left out.
func (l *summarySource) project(ctx context.Context, name string) ([]foundSession, error) {
	var found []foundSession
	add := func(id string, at time.Time, size int64) {
		if newid.IsUUID(id) {
			found = append(found, foundSession{wire.SessionKey{Project: name, SessionID: id}, at, size, l})
		}
	}
	if folder, ok := l.store.(*Folder); ok {
		err := folder.eachSession(ctx, name, func(id string, info fs.FileInfo) { add(id, info.ModTime(), info.Size()) })
		return found, err
	}
	times, err := l.store.Sessions(ctx, name)
	for id, at := range times {
		add(id, at, 0)
	}
	return found, err
}

// A summarySource is a store with the summaries that it keeps, by project and ID, and the jobs of its
// projects.
type summarySource struct {
	scope
	summaries map[string]map[string]Summary // as far as they were asked for
	known     map[string]Job                // by project, as far as they were asked for
}

// job returns the job of a project. It reads the directory of each project once, since a project may
// have thousands of sessions.
func (l *summarySource) job(project string) Job {
	job, ok := l.known[project]
	if !ok {
		if l.known == nil {
			l.known = map[string]Job{}
		}
		job = jobOf(l.store, project)
		l.known[project] = job
	}
	return job
}

// summarize reads the summaries of sessions, several at a time. It fails only if the context ends.
func summarize(ctx context.Context, sessions []foundSession) ([]SessionInfo, error) {
	infos := infosOf(sessions)
	var wg sync.WaitGroup
	free := make(chan struct{}, maxLoads)
	for i := range sessions {
		in, info := sessions[i].in, &infos[i]
		if in.stored(ctx, info) {
			continue
		}
		free <- struct{}{}
		wg.Go(func() {
			in.fill(ctx, info)
			<-free
		})
	}
	wg.Wait()
	return infos, ctx.Err()
}

// stored fills in the summary that the store keeps of a session, and reports whether there is one.
func (l *summarySource) stored(ctx context.Context, info *SessionInfo) bool {
	summarizer, ok := l.store.(Summarizer)
	if !ok {
		return false
	}
	if l.summaries == nil {
		l.summaries = map[string]map[string]Summary{}
	}
	if l.summaries[info.Project] == nil {
		found, err := summarizer.Summaries(ctx, info.Project)
		if err != nil || found == nil { // then List loads the sessions
			found = map[string]Summary{}
		}
		l.summaries[info.Project] = found
	}
	info.Summary, ok = l.summaries[info.Project][info.ID]
	info.setOngoing()
	return ok
}

// fill reads the summary of a session from its file or its entries.
func (s scope) fill(ctx context.Context, info *SessionInfo) {
	if folder, ok := s.store.(*Folder); ok {
		info.Path = folder.path(info.Key())
		info.Summary, info.Size, info.Err = folder.summary(ctx, info.Key())
		info.setOngoing()
		info.Done = info.Err == nil && folder.isDone(ctx, info)
		return
	}
	var summary Summary
	for entry, err := range s.store.Load(ctx, info.Key()) {
		if err != nil {
			info.Err = err
			return
		}
		summary.Add(entry)
	}
	info.Summary = summary
	info.setOngoing()
}

// setOngoing sets Ongoing from the summary and the times.
func (i *SessionInfo) setOngoing() { i.Ongoing = i.Working() && time.Now().Before(i.OngoingUntil()) }

// OngoingUntil returns the time from which Ongoing is outdated, if nothing is written to the session
// before. A program that keeps the info for long needs it: an agent that was killed writes nothing.
func (i *SessionInfo) OngoingUntil() time.Time {
	last := i.Modified
	if !i.LastTime.IsZero() && i.LastTime.Before(last) { // a new title changes the file's time
		last = i.LastTime
	}
	return last.Add(maxQuiet)
}

// Get returns what is known of one session, from the beginning and the end of its transcript, as
// [List] does. If there is none with that ID, the error wraps [ErrNotFound]. opts may be nil. A
// session that [List] leaves out, such as one without a prompt, is found as well.
//
//	info, err := sessions.Get(ctx, id, nil)
//	if errors.Is(err, sessions.ErrNotFound) {
//		return fmt.Errorf("no session %s", id)
//	}
func Get(ctx context.Context, id string, opts *Options) (SessionInfo, error) {
	s, key, at, err := opts.findWithTime(ctx, id)
	if err != nil {
		return SessionInfo{}, err
	}
	info := SessionInfo{ID: id, Project: key.Project, Modified: at, Job: jobOf(s.store, key.Project)}
	s.fill(ctx, &info)
	return info, info.Err
}

// GetAll is like [Get] for an ID that several projects have, as after a copy: it returns the
// session of each project, the newest first. It looks at one file in each project, however many
// sessions there are. If some projects can't be read for lack of permission, it returns the others
// together with that error.
func GetAll(ctx context.Context, id string, opts *Options) ([]SessionInfo, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	all, err := opts.scopes(true)
	if err != nil {
		return nil, err
	}
	var found []foundSession
	var forbidden []error
	for _, s := range all {
		projects, err := s.projects(ctx)
		if err != nil {
			return nil, err
		}
		for _, project := range projects {
			key := wire.SessionKey{Project: project, SessionID: id}
			at, err := s.modified(ctx, key)
			if errors.Is(err, fs.ErrPermission) {
				forbidden = append(forbidden, err)
			} else if err != nil {
				return nil, err
			}
			if !at.IsZero() {
				found = append(found, foundSession{key, at, 0, &summarySource{scope: s}})
			}
		}
	}
	if len(found) == 0 {
		return nil, errors.Join(append([]error{&notFoundError{"session " + id, all.String()}}, forbidden...)...)
	}
	slices.SortFunc(found, newestFirst)
	infos := infosOf(found)
	for i := range found {
		found[i].in.fill(ctx, &infos[i])
	}
	return infos, errors.Join(forbidden...)
}

// ListOptions select the sessions to list and their order. Nil and the zero value mean all sessions
// in the agent's own files, the newest first. A session must pass all filters that are set.
type ListOptions struct {
	// Store has the sessions. Nil means the agent's own files, in all of [Roots].
	Store Store
	// Project is the path of a working directory, such as "/home/me/code". Only its sessions are
	// listed, together with sessions from other working trees of its repository and of jobs that
	// worked on it. Empty means all projects, which needs a store that is a [ProjectLister].
	Project string
	// ProjectName is the name of a project in the store, as in [Options]. If it is set, Project is
	// ignored.
	ProjectName string
	// OnlyProject leaves out the sessions of other working trees of the git repository that Project
	// is in.
	OnlyProject bool

	// ID is the beginning of the ID that the session must have. Empty means any.
	ID string
	// Since and Until limit [SessionInfo.Modified]: not before Since, and before Until. The zero
	// time means no limit.
	Since, Until time.Time
	// Branch and Tag are the git branch and the tag that the session must have. Empty means any.
	Branch, Tag string
	// Model must be part of the model's name, such as "opus", and Text part of the title, of the
	// first prompt or of the last one. Both ignore case. Empty means any.
	Model, Text string
	// Ongoing lists only sessions in which an agent is working, or only the others. Nil means both.
	Ongoing *bool
	// Done lists only sessions that are marked as done, see [MarkDone], or only the others. Nil means
	// both.
	Done *bool
	// OnlyInteractive leaves out sessions that a program started, such as by package clew: see
	// [Summary.Programmatic].
	OnlyInteractive bool

	// Sort is the order of the list, by default [ByModified].
	Sort SortBy
	// Reverse reverses the order, so that the oldest, the smallest or the last title comes first.
	// Limit and Offset count from there.
	Reverse bool
	// Limit is the maximum length of the list. 0 or less means no limit.
	Limit int
	// Offset is the number of sessions to skip before the first one, for lists in pages. If it is
	// larger than the number of sessions, the list is empty.
	Offset int
	// Found is called with the number of sessions that were found, before they are read. It counts
	// each ID once and considers ID, Since and Until, but neither the other filters nor whether a
	// session is worth listing. Nil means that nothing is called.
	Found func(n int)
}

// SortBy is the order of a list. The zero value is [ByModified].
type SortBy int

// The orders of a list.
const (
	// ByModified sorts by [SessionInfo.Modified], the newest first. It is the only order in which a
	// list with a limit need not load all sessions.
	ByModified SortBy = iota
	// ByCreated sorts by [Summary.Created], the newest first.
	ByCreated
	// BySize sorts by [SessionInfo.Size], the largest first. Stores that don't know the size leave
	// the sessions in the order of ByModified.
	BySize
	// ByTitle sorts by [Summary.Title], ignoring case.
	ByTitle
)

// candidates returns the sessions that pass the filters of ID and time, each ID once, the newest first.
func (o *ListOptions) candidates(found []foundSession) []foundSession {
	slices.SortFunc(found, newestFirst)
	seen := make(map[string]bool, len(found))
	return slices.DeleteFunc(found, func(f foundSession) bool {
		repeated := seen[f.SessionID]
		seen[f.SessionID] = true
		return repeated || !strings.HasPrefix(f.SessionID, o.ID) ||
			f.modified.Before(o.Since) || !o.Until.IsZero() && !f.modified.Before(o.Until)
	})
}

// newestFirst orders sessions by time, then by key, so that the order is stable.
func newestFirst(a, b foundSession) int {
	if c := b.modified.Compare(a.modified); c != 0 {
		return c
	}
	return cmp.Or(strings.Compare(a.Project, b.Project), strings.Compare(a.SessionID, b.SessionID))
}

// list reads summaries until it has the sessions that are wanted, and not more than it has to.
func (o *ListOptions) list(ctx context.Context, found []foundSession) ([]SessionInfo, error) {
	most := len(found)
	if o.Sort == ByModified {
		if o.Reverse {
			slices.Reverse(found)
		}
		if o.Limit > 0 && o.Limit < most-o.skip() {
			most = o.skip() + o.Limit
		}
	}
	var infos []SessionInfo
	for atOnce := most; len(found) > 0 && len(infos) < most; atOnce = maxLoads {
		some := found[:min(atOnce, len(found))]
		found = found[len(some):]
		read, err := summarize(ctx, some)
		if err != nil {
			return nil, err
		}
		for i := range read {
			if read[i].Listed() && o.wants(&read[i]) {
				infos = append(infos, read[i])
			}
		}
	}
	o.sort(infos)
	return o.page(infos), ctx.Err()
}

// skip returns how many sessions to leave out at the beginning.
func (o *ListOptions) skip() int { return max(o.Offset, 0) }

// page applies Offset and Limit.
func (o *ListOptions) page(infos []SessionInfo) []SessionInfo {
	infos = infos[min(o.skip(), len(infos)):]
	if o.Limit > 0 {
		infos = infos[:min(o.Limit, len(infos))]
	}
	return infos
}

// wants reports whether a session passes the filters that need its summary.
func (o *ListOptions) wants(i *SessionInfo) bool {
	if o.Branch == "" && o.Tag == "" && o.Model == "" && o.Text == "" && o.Ongoing == nil &&
		o.Done == nil && !o.OnlyInteractive {
		return true
	}
	return i.Err == nil &&
		(o.Branch == "" || o.Branch == i.GitBranch) &&
		(o.Tag == "" || o.Tag == i.Tag) &&
		hasText(o.Model, i.Model) &&
		hasText(o.Text, i.Title(), i.FirstPrompt, i.LastPrompt) &&
		(o.Ongoing == nil || *o.Ongoing == i.Ongoing) &&
		(o.Done == nil || *o.Done == i.Done) &&
		!(o.OnlyInteractive && i.Programmatic())
}

// hasText reports whether one of the texts contains part, ignoring case.
func hasText(part string, texts ...string) bool {
	part = strings.ToLower(part)
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(strings.ToLower(text), part) })
}

// sort sorts a list that is already in the order of ByModified.
func (o *ListOptions) sort(infos []SessionInfo) {
	if o.Sort == ByModified {
		return
	}
	slices.SortStableFunc(infos, func(a, b SessionInfo) int {
		switch o.Sort {
		case ByCreated:
			return b.Created.Compare(a.Created)
		case BySize:
			return cmp.Compare(b.Size, a.Size)
		case ByTitle:
			return strings.Compare(strings.ToLower(a.Title()), strings.ToLower(b.Title()))
		}
		return 0
	})
	if o.Reverse {
		slices.Reverse(infos)
	}
}
